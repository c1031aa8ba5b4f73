// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package defaults_test

import (
	"fmt"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/kubetest/internal/builtin"
)

// lookup returns a built-in kind.
func lookup(gvk schema.GroupVersionKind) (kind, error) {
	for _, group := range builtin.Groups() {
		for _, version := range group.Versions {
			for _, r := range version.Resources {
				if group.Name == gvk.Group && version.Version == gvk.Version && r.ResponseKind.Kind == gvk.Kind {
					return newKind(gvk, r), nil
				}
			}
		}
	}
	return kind{}, fmt.Errorf("kind %v is not built in", gvk)
}

func newKind(gvk schema.GroupVersionKind, r apidiscoveryv2.APIResourceDiscovery) kind {
	k := kind{GroupVersionKind: gvk, namespaced: r.Scope == apidiscoveryv2.ScopeNamespace}
	prefix := "/apis/" + gvk.GroupVersion().String()
	if gvk.Group == "" {
		prefix = "/api/" + gvk.Version
	}
	if k.namespaced {
		prefix += "/namespaces/" + namespace
	}
	k.path = prefix + "/" + r.Resource
	for _, sub := range r.Subresources {
		k.status = k.status || sub.Subresource == "status"
	}
	return k
}
