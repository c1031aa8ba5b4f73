// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kubetest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/kubetest"
)

// gadgets returns a definition whose objects have some string fields.
func gadgets(names ...string) *unstructured.Unstructured {
	fields := make(map[string]any)
	for _, name := range names {
		fields[name] = map[string]any{"type": "string"}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "gadgets.example.com"},
		"spec": map[string]any{
			"group": "example.com", "scope": "Namespaced", "names": map[string]any{"plural": "gadgets", "kind": "Gadget"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": fields}},
			}},
		},
	}}
}

// gadgetResource is the kind of gadgets.
func gadgetResource() kube.Resource {
	return kube.Resource{Group: "example.com", Version: "v1", Kind: "Gadget", Plural: "gadgets", Namespaced: true}
}

func TestCachesHaveTheFieldsThatAChangedDefinitionAdds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := kubetest.Start(t, &kubetest.Options{Definitions: []func() (*unstructured.Unstructured, error){
			func() (*unstructured.Unstructured, error) { return gadgets("color"), nil },
		}}).Client(nil)
		view := kube.ViewOfResource[unstructured.Unstructured](kube.NewCache(c, nil), gadgetResource(), nil)
		kubetest.Run(t, view.Run)
		synctest.Wait()
		definitions := kube.Dynamic(c, core.CRDResource())
		live, err := definitions.Get(t.Context(), "gadgets.example.com", nil)
		if err != nil {
			t.Fatal(err)
		}
		next := gadgets("color", "size")
		next.SetResourceVersion(live.GetResourceVersion())
		if _, err := definitions.Update(t.Context(), next, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := kube.Dynamic(c, gadgetResource()).In("default").Create(t.Context(), &unstructured.Unstructured{
			Object: map[string]any{
				"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": map[string]any{"name": "a"}, "size": "L",
			},
		}, nil); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute)
		got, err := view.Store().Get(kube.ObjectRef{Namespace: "default", Name: "a"})
		if err != nil || got.Object["size"] != "L" {
			t.Errorf("the cache has %+v, %v; want the new field", got, err)
		}
	})
}
