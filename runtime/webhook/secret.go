// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
)

// tlsSecret is a Secret of v1, see
// https://kubernetes.io/docs/reference/kubernetes-api/config-and-storage-resources/secret-v1/. It is not that of
// k8s.io/api, which every program with package kube would link. It has all fields that servers return, since an update
// removes the others.
type tlsSecret struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Immutable *bool             `json:"immutable,omitempty"`
	Data      map[string][]byte `json:"data,omitempty"`
	Type      string            `json:"type,omitempty"`
}

// secretType is the type of a secret with a certificate and its key.
const secretType = "kubernetes.io/tls"

// KubeResource returns the resource of secrets.
func (*tlsSecret) KubeResource() core.Resource {
	return core.Resource{Version: "v1", Kind: "Secret", Plural: "secrets", Namespaced: true}
}
