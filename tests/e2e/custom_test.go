// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/kube"
)

// TestCustomKindHasScaleSubresource checks the scale subresource of a kind whose definition declares it.
func TestCustomKindHasScaleSubresource(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	widgets := newWidgets(t, c, "scale").In(newNamespace(t, c))
	obj := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "a"}, "spec": map[string]any{"replicas": int64(1)},
	}}
	if _, err := widgets.Create(limit(t), obj, nil); err != nil {
		t.Fatal(err)
	}
	scaled, err := widgets.Scale().Modify(limit(t), "a", func(s *core.Scale) error {
		s.Spec.Replicas++
		return nil
	}, nil)
	if err != nil || scaled.Spec.Replicas != 2 || scaled.Kind != "Scale" {
		t.Errorf("Modify of the scale = %+v, %v", scaled, err)
	}
	status := kube.MergePatch([]byte(`{"status":{"replicas":2,"selector":"app=a"}}`))
	if _, err := widgets.Status().Patch(limit(t), "a", status, nil); err != nil {
		t.Fatal(err)
	}
	scaled, err = widgets.Scale().Get(limit(t), "a", nil)
	if err != nil || scaled.Status.Replicas != 2 || scaled.Status.Selector != "app=a" {
		t.Errorf("scale = %+v, %v", scaled, err)
	}
}

// TestMetadataAPIWritesTheStatus checks that a client that reads only metadata can write the status.
func TestMetadataAPIWritesTheStatus(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	widgets := newWidgets(t, c, "metadata").In(newNamespace(t, c))
	obj := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "a"}}}
	if _, err := widgets.Create(limit(t), obj, nil); err != nil {
		t.Fatal(err)
	}
	status := widgets.Metadata().Status()
	meta, err := status.Patch(limit(t), "a", kube.MergePatch([]byte(`{"status":{"phase":"Done"}}`)), nil)
	if err != nil || meta.Name != "a" || meta.Kind != "Widget" {
		t.Errorf("Patch = %+v, %v", meta, err)
	}
	if got, err := status.Get(limit(t), "a", nil); err != nil || got.ResourceVersion != meta.ResourceVersion {
		t.Errorf("Get = %+v, %v; want version %s", got, err, meta.ResourceVersion)
	}
	now, err := widgets.Get(limit(t), "a", nil)
	if err != nil {
		t.Fatal(err)
	}
	if phase, _, _ := unstructured.NestedString(now.Object, "status", "phase"); phase != "Done" {
		t.Errorf("status.phase = %q, want Done", phase)
	}
}

// numbered is the Go type of a widget in a program that was written when sizes were integers.
type numbered struct {
	metav1.TypeMeta   `json:""`
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Size int `json:"size"`
	} `json:"spec"`
}

// TestUnreadableItemsAreReportedOneByOne checks that a program can read a list although it cannot decode some objects,
// for example because the schema has changed. Each of these objects is reported by name.
func TestUnreadableItemsAreReportedOneByOne(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	ns := newNamespace(t, c)
	widgets := newWidgets(t, c, "items").In(ns)
	widget := func(name string, size any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"name": name}, "spec": map[string]any{"size": size},
		}}
	}
	create := func(name string, size any) {
		t.Helper()
		if _, err := widgets.Create(limit(t), widget(name, size), nil); err != nil {
			t.Fatal(err)
		}
	}
	create("a-old", int64(3))
	const schema = `{"spec":{"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object",` +
		`"properties":{"spec":{"type":"object","properties":{"size":{"x-kubernetes-int-or-string":true}}}}}}}]}}`
	crds := kube.Dynamic(c, kube.CRDResource())
	name := "widgets." + widgets.Resource().Group
	if _, err := crds.Patch(limit(t), name, kube.MergePatch([]byte(schema)), nil); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the server accepts a string as size", func(ctx context.Context) error {
		_, err := widgets.Create(ctx, widget("b-new", "large"), nil)
		return err
	})
	create("c-old", int64(4))

	strict := kube.APIOf[numbered](c, widgets.Resource()).In(ns)
	_, err := strict.List(limit(t), nil)
	if item, ok := errors.AsType[*wire.ItemError](err); !ok || item.Head.Ref.Name != "b-new" {
		t.Errorf("List = %v, want an ItemError of b-new", err)
	}
	var bad []string
	tolerant := strict.OnItemError(func(e *wire.ItemError) {
		bad = append(bad, e.Head.Ref.Name+" "+e.Head.ResourceVersion)
	})
	list, err := tolerant.List(limit(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	var good []string
	for _, w := range list.Items {
		good = append(good, fmt.Sprint(w.Name, " ", w.Spec.Size))
	}
	if diff := cmp.Diff([]string{"a-old 3", "c-old 4"}, good); diff != "" {
		t.Errorf("List (-want +got):\n%s", diff)
	}
	for ev, err := range tolerant.WatchOnce(limit(t), &request.WatchOptions{SendInitialEvents: true}) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Type == kube.Bookmark {
			break
		}
	}
	if len(bad) != 2 || bad[0] != bad[1] || bad[0] == "b-new " {
		t.Errorf("reported %q, want b-new with its resource version twice", bad)
	}
}
