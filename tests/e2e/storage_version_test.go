// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/runtime/install"
)

// movedGroup is the API group of movedDefinition.
const movedGroup = "moves.e2e.example.com"

// movedDefinition returns a definition with versions, the last of which is stored.
func movedDefinition(versions ...string) *unstructured.Unstructured {
	var list []any
	for i, v := range versions {
		list = append(list, map[string]any{
			"name": v, "served": true, "storage": i == len(versions)-1,
			"schema": map[string]any{"openAPIV3Schema": map[string]any{
				"type": "object", "x-kubernetes-preserve-unknown-fields": true,
			}},
		})
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1",
		"kind":       "CustomResourceDefinition",
		"metadata":   map[string]any{"name": "notes." + movedGroup},
		"spec": map[string]any{
			"group": movedGroup, "scope": "Namespaced", "versions": list,
			"names": map[string]any{"kind": "Note", "plural": "notes"},
		},
	}}
}

// TestEmptyPatchMovesObjectsToTheStorageVersion follows the steps in the documentation of kube-derive. An object that
// is not written again, such as one that Modify leaves unchanged, makes all objects unreadable without its version.
func TestEmptyPatchMovesObjectsToTheStorageVersion(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	ns := newNamespace(t, c)
	definitions := kube.Dynamic(c, kube.CRDResource())
	apply := func(o *kube.InstallOptions, versions ...string) {
		t.Helper()
		crds := []*unstructured.Unstructured{movedDefinition(versions...)}
		if err := kube.InstallCRDs(limit(t), c, crds, o); err != nil {
			t.Fatal(err)
		}
	}
	notes := func(version string) *kube.API[unstructured.Unstructured] {
		resource := kube.Resource{Group: movedGroup, Version: version, Kind: "Note", Plural: "notes", Namespaced: true}
		return kube.Dynamic(c, resource).In(ns)
	}
	t.Cleanup(func() { deleteNow(t, definitions, "notes."+movedGroup) })
	apply(nil, "v1")
	for _, name := range []string{"patched", "updated", "unchanged"} {
		obj := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": name}, "spec": map[string]any{"a": "b"}}}
		if _, err := notes("v1").Create(limit(t), obj, nil); err != nil {
			t.Fatal(err)
		}
	}

	apply(nil, "v1", "v2")
	stored := func() []string {
		t.Helper()
		crd, err := definitions.Get(limit(t), "notes."+movedGroup, nil)
		if err != nil {
			t.Fatal(err)
		}
		list, _, err := unstructured.NestedStringSlice(crd.Object, "status", "storedVersions")
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	if got := stored(); !slices.Equal(got, []string{"v1", "v2"}) {
		t.Errorf("storedVersions = %v, want both", got)
	}
	before, err := notes("v2").Get(limit(t), "patched", nil)
	if err != nil {
		t.Fatal(err)
	}
	// An API server stores objects in the new version when it has observed the definition.
	eventually(t, "an empty patch is stored", func(ctx context.Context) error {
		after, err := notes("v2").Patch(ctx, "patched", kube.MergePatch(map[string]any{}), nil)
		if err == nil && after.GetResourceVersion() == before.GetResourceVersion() {
			err = errors.New("the object was not written")
		}
		return err
	})
	obj, err := notes("v2").Get(limit(t), "updated", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := notes("v2").Update(limit(t), obj, nil); err != nil {
		t.Fatal(err)
	}
	unchanged := func(*unstructured.Unstructured) error { return nil }
	if _, err := notes("v2").Modify(limit(t), "unchanged", unchanged, nil); err != nil {
		t.Fatal(err)
	}

	var down *install.DowngradeError
	err = kube.InstallCRDs(limit(t), c, []*unstructured.Unstructured{movedDefinition("v2")}, nil)
	if !errors.As(err, &down) || !slices.Contains(down.Losses, "version v1, in which objects are stored") {
		t.Errorf("the installation without v1 = %v, want that objects are stored in it", err)
	}
	allowed := &kube.InstallOptions{AllowDowngrade: true}
	err = kube.InstallCRDs(limit(t), c, []*unstructured.Unstructured{movedDefinition("v2")}, allowed)
	if !errors.As(err, &down) || !strings.Contains(err.Error(), "remove v1 from status.storedVersions") {
		t.Errorf("the installation with AllowDowngrade = %v, want the steps that remove v1", err)
	}
	force := &kube.ApplyOptions{FieldManager: "kube-install", Force: true}
	_, err = definitions.Apply(limit(t), movedDefinition("v2"), force)
	if !errors.Is(err, kube.ErrInvalid) || !strings.Contains(err.Error(), "storedVersions") {
		t.Errorf("an apply without v1 = %v, want that the server refuses it", err)
	}
	status := kube.MergePatch(map[string]any{"status": map[string]any{"storedVersions": []string{"v2"}}})
	if _, err := definitions.Status().Patch(limit(t), "notes."+movedGroup, status, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := definitions.Apply(limit(t), movedDefinition("v2"), force); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the object that was not written can't be read", func(ctx context.Context) error {
		_, err := notes("v2").List(ctx, nil)
		if err == nil || !strings.Contains(err.Error(), "invalid group/version") {
			return fmt.Errorf("List returned %w, want that v1 is invalid", err)
		}
		return nil
	})

	apply(nil, "v1", "v2")
	if _, err := notes("v2").Patch(limit(t), "unchanged", kube.MergePatch(map[string]any{}), nil); err != nil {
		t.Fatal(err)
	}
	apply(allowed, "v2")
	if got := stored(); !slices.Equal(got, []string{"v2"}) {
		t.Errorf("storedVersions = %v, want only v2", got)
	}
	for _, name := range []string{"patched", "updated", "unchanged"} {
		got, err := notes("v2").Get(limit(t), name, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if spec := fmt.Sprint(got.Object["spec"]); spec != "map[a:b]" {
			t.Errorf("%s: spec = %s", name, spec)
		}
	}
}
