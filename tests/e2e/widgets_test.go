// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/kube"
)

// widgetResource returns the resource of widgets in a group.
func widgetResource(group string) kube.Resource {
	return kube.Resource{
		Group: group, Version: "v1", Kind: "Widget", Plural: "widgets", Singular: "widget", Namespaced: true,
	}
}

// widgetDefinition returns the definition of widgets, which have a size and a scale subresource.
func widgetDefinition(group string) map[string]any {
	typed := func(name string) map[string]any { return map[string]any{"type": name} }
	schema := map[string]any{"type": "object", "properties": map[string]any{
		"spec": map[string]any{"type": "object", "properties": map[string]any{
			"size": typed("integer"), "replicas": typed("integer"),
		}},
		"status": map[string]any{"type": "object", "properties": map[string]any{
			"replicas": typed("integer"), "selector": typed("string"), "phase": typed("string"),
		}},
	}}
	return map[string]any{
		"metadata": map[string]any{"name": "widgets." + group},
		"spec": map[string]any{
			"group": group, "scope": "Namespaced",
			"names": map[string]any{"kind": "Widget", "plural": "widgets", "singular": "widget"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": schema},
				"subresources": map[string]any{"status": map[string]any{}, "scale": map[string]any{
					"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas",
					"labelSelectorPath": ".status.selector",
				}},
			}},
		},
	}
}

// newWidgets defines the kind Widget in a group for the duration of a test, and returns its API in the namespace
// default.
func newWidgets(t *testing.T, c *kube.Client, group string) *kube.API[unstructured.Unstructured] {
	t.Helper()
	group += ".e2e.example.com"
	defineKind(t, c, &unstructured.Unstructured{Object: widgetDefinition(group)})
	return kube.Dynamic(c, widgetResource(group)).In("default")
}

// defineKind creates a definition, waits until its kind is served, and deletes the definition when the test ends.
func defineKind(t *testing.T, c *kube.Client, definition *unstructured.Unstructured) {
	t.Helper()
	crds := kube.Dynamic(c, kube.CRDResource())
	if _, err := crds.Create(limit(t), definition, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { deleteNow(t, crds, definition.GetName()) })
	if _, err := kube.Await(limit(t), crds, definition.GetName(), kube.Ready, nil); err != nil {
		t.Fatal(err)
	}
	mapper := kube.NewMapper(c, nil)
	eventually(t, "discovery lists "+definition.GetName(), func(ctx context.Context) error {
		_, err := mapper.Resolve(ctx, definition.GetName())
		return err
	})
}

// deleteNow deletes an object, unless it is already deleted.
func deleteNow[K any](t *testing.T, api *kube.API[K], name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := api.Delete(ctx, name, nil); err != nil && !errors.Is(err, kube.ErrNotFound) {
		t.Error(err)
	}
}
