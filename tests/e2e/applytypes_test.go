// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/kube-go/sdk/core/managed"
	"github.com/kube-go/sdk/derive/generate/testdata/zoo"
	"github.com/kube-go/sdk/kube"
)

// TestApplyTypesOwnOnlyTheFieldsThatAreSet checks that an apply of a generated apply type owns the fields that are set
// in it, including zero values, and no other fields.
func TestApplyTypesOwnOnlyTheFieldsThatAreSet(t *testing.T) {
	t.Parallel()
	ctx := limit(t)
	c := connect(t, nil)
	crd, err := kube.CRD[zoo.Zoo]()
	if err != nil {
		t.Fatal(err)
	}
	installKind(t, c, crd)
	zoos := kube.Namespaced[zoo.ZooApply](c, newNamespace(t, c))
	with := func(texts *zoo.TextsApply, numbers *zoo.NumbersApply) *zoo.ZooApply {
		return &zoo.ZooApply{
			ObjectMeta: metav1.ObjectMeta{Name: "zoo"},
			Spec:       &zoo.ZooSpecApply{Texts: texts, Numbers: numbers},
		}
	}
	one, two := &kube.ApplyOptions{FieldManager: "one"}, &kube.ApplyOptions{FieldManager: "two"}

	numbers := &zoo.NumbersApply{Replicas: new(int32(0)), Bool: new(false), Int: new(5)}
	first := with(&zoo.TextsApply{Text: new("Abc")}, numbers)
	got, err := zoos.Apply(ctx, first, one)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first.Spec, got.Spec); diff != "" {
		t.Errorf("spec (-applied +stored):\n%s", diff)
	}
	want := []string{".spec.numbers.bool", ".spec.numbers.int", ".spec.numbers.replicas", ".spec.texts.text"}
	if diff := cmp.Diff(want, leaves(t, got, "one")); diff != "" {
		t.Errorf("fields of one (-want +got):\n%s", diff)
	}

	_, err = zoos.Apply(ctx, with(nil, &zoo.NumbersApply{Int: new(0)}), two)
	conflicts := managed.Conflicts(err)
	if !errors.Is(err, kube.ErrConflict) || len(conflicts) != 1 ||
		conflicts[0].Field != ".spec.numbers.int" || conflicts[0].Manager != "one" {
		t.Errorf("apply by two of a field of one: %v, conflicts %v", err, conflicts)
	}
	if got, err = zoos.Apply(ctx, with(nil, &zoo.NumbersApply{Small: new(zoo.Small(0))}), two); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{".spec.numbers.small"}, leaves(t, got, "two")); diff != "" {
		t.Errorf("fields of two (-want +got):\n%s", diff)
	}

	mine, err := managed.Extract(got, "one", nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first.Spec, mine.Spec); diff != "" {
		t.Errorf("Extract (-applied +got):\n%s", diff)
	}
	mine.Spec.Numbers.Int, mine.Spec.Numbers.Replicas = nil, nil
	if _, err = zoos.Apply(ctx, mine, one); err != nil {
		t.Fatal(err)
	}
	status := &zoo.ZooApply{
		ObjectMeta: metav1.ObjectMeta{Name: "zoo"}, Status: &zoo.ObservedApply{Replicas: new(int32(0))},
	}
	if got, err = zoos.Status().Apply(ctx, status, &kube.ApplyOptions{FieldManager: "controller"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{".status.replicas"}, leaves(t, got, "controller")); diff != "" {
		t.Errorf("fields of controller (-want +got):\n%s", diff)
	}
	left := &zoo.NumbersApply{Bool: new(false), Small: new(zoo.Small(0)), Replicas: new(int32(2))} // replicas: the default
	if diff := cmp.Diff(left, got.Spec.Numbers); diff != "" {
		t.Errorf("after one omitted int and replicas (-want +got):\n%s", diff)
	}
}

// leaves returns the paths of the leaf fields that a manager owns.
func leaves(t *testing.T, obj *zoo.ZooApply, manager string) []string {
	t.Helper()
	var paths []string
	for _, entry := range obj.ManagedFields {
		if entry.Manager != manager {
			continue
		}
		fields := fieldpath.NewSet()
		if err := fields.FromJSON(bytes.NewReader(entry.FieldsV1.GetRawBytes())); err != nil {
			t.Fatal(err)
		}
		fields.Iterate(func(path fieldpath.Path) { paths = append(paths, path.String()) })
	}
	slices.Sort(paths)
	return paths
}

// installKind installs a kind, and removes it when the test ends unless it was installed before.
func installKind(t *testing.T, c *kube.Client, crd *unstructured.Unstructured) {
	t.Helper()
	crds := kube.Dynamic(c, kube.CRDResource())
	if _, err := crds.Get(limit(t), crd.GetName(), nil); errors.Is(err, kube.ErrNotFound) {
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
			defer cancel()
			if err := kube.DeleteAndWait(ctx, crds, crd.GetName(), nil); err != nil { // other tests install it, too
				t.Error(err)
			}
		})
	}
	if err := kube.InstallCRDs(limit(t), c, []*unstructured.Unstructured{crd}, nil); err != nil {
		t.Fatal(err)
	}
}
