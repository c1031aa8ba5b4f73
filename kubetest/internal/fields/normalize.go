// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fields

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/kubetest/internal/typed"
)

// normalize returns a copy of an object as its Go type encodes it, with empty structs and without empty lists and maps,
// which decides which fields an update owns. The copy of an object without a Go type is the same as the object.
func (m *Manager) normalize(obj *unstructured.Unstructured) *unstructured.Unstructured {
	obj = obj.DeepCopy()
	if m.custom != nil || !typed.Known(m.kind) {
		return obj
	}
	normalized, _, err := typed.FromMap(obj.Object, m.kind)
	if err != nil {
		return obj // as long as it has a wrong type
	}
	return normalized
}
