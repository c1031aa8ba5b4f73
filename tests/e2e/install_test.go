// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/kube"
)

// notes returns the definition of a kind whose spec has these fields, and its resource.
func notes(fields ...string) (*unstructured.Unstructured, kube.Resource) {
	res := kube.Resource{Group: "install.example.com", Version: "v1", Kind: "Note", Plural: "notes", Namespaced: true}
	properties := map[string]any{}
	for _, f := range fields {
		properties[f] = map[string]any{"type": "string"}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1",
		"kind":       "CustomResourceDefinition",
		"metadata":   map[string]any{"name": res.String()},
		"spec": map[string]any{
			"group": res.Group,
			"scope": "Namespaced",
			"names": map[string]any{"kind": res.Kind, "plural": res.Plural},
			"versions": []any{map[string]any{
				"name": res.Version, "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object",
					"properties": map[string]any{
						"spec": map[string]any{"type": "object", "properties": properties},
					},
				}},
			}},
		},
	}}, res
}

// TestInstall promises that a kind can be used when its definition is installed, also when many programs install it at
// once, and that an old program takes nothing away from a newer one.
func TestInstall(t *testing.T) {
	c := connect(t, nil)
	crd, res := notes("title", "body")
	t.Cleanup(func() {
		if err := kube.Dynamic(c, kube.CRDResource(), "").Delete(context.WithoutCancel(t.Context()), crd.GetName(), nil); err != nil && !errors.Is(err, kube.ErrNotFound) {
			t.Error(err)
		}
	})
	ns := newNamespace(t, c)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			mine, _ := notes("title", "body")
			if err := kube.InstallCRDs(limit(t), c, []*unstructured.Unstructured{mine}, nil); err != nil {
				t.Error(err)
				return
			}
			note := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"title": "T", "body": "B"}}}
			note.SetGenerateName("note-")
			if _, err := kube.Dynamic(c, res, ns).Create(limit(t), note, nil); err != nil {
				t.Errorf("right after the installation: %v", err)
			}
		})
	}
	wg.Wait()

	older, _ := notes("title")
	err := kube.InstallCRDs(limit(t), c, []*unstructured.Unstructured{older}, nil)
	if down, ok := errors.AsType[*kube.DowngradeError](err); !ok || !slices.Equal(down.Losses, []string{"version v1: field .spec.body"}) {
		t.Fatalf("an older program's definition: %v, want a refusal for the sake of .spec.body", err)
	}
	for note, err := range kube.Dynamic(c, res, ns).All(limit(t), nil) {
		if err != nil {
			t.Fatal(err)
		}
		if body, _, _ := unstructured.NestedString(note.Object, "spec", "body"); body != "B" {
			t.Errorf("%s has lost its body", note.GetName())
		}
	}
	if err := kube.InstallCRDs(limit(t), c, []*unstructured.Unstructured{older}, &kube.InstallOptions{AllowDowngrade: true}); err != nil {
		t.Errorf("on purpose: %v", err)
	}

	bad, _ := notes("title")
	if err := unstructured.SetNestedField(bad.Object, "Nowhere", "spec", "scope"); err != nil {
		t.Fatal(err)
	}
	bad.SetName("others." + res.Group)
	if err := kube.InstallCRDs(limit(t), c, []*unstructured.Unstructured{bad}, nil); !errors.Is(err, kube.ErrInvalid) {
		t.Errorf("an invalid definition: %v, want %v", err, kube.ErrInvalid)
	}
}
