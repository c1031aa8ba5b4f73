// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kubetest_test

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/kubetest"
)

func TestObjectsOfOptionsKeepTheirAgeGenerationAndDeletion(t *testing.T) {
	created := metav1.NewTime(time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC))
	deleted := metav1.NewTime(created.Add(time.Hour))
	cm, running := configMap("a"), pod("b")
	cm.CreationTimestamp, cm.DeletionTimestamp, cm.Finalizers = created, &deleted, []string{"example.com/cleanup"}
	running.DeletionTimestamp, running.Generation = &deleted, 7
	c := kubetest.Start(t, &kubetest.Options{Objects: []kube.Object{cm, running}}).Client(nil)
	maps := kube.Namespaced[corev1.ConfigMap](c, "shop")
	got, err := maps.Get(t.Context(), "a", nil)
	if err != nil || !got.CreationTimestamp.Equal(&created) || !got.DeletionTimestamp.Equal(&deleted) {
		t.Fatalf("config map = %+v, %v; want the times of the options", got, err)
	}
	if _, err := maps.Patch(t.Context(), "a", kube.MergePatch(map[string]any{
		"metadata": map[string]any{"finalizers": nil},
	}), nil); err != nil {
		t.Fatal(err)
	}
	if got, err := maps.GetOrNil(t.Context(), "a", nil); err != nil || got != nil {
		t.Errorf("without a finalizer: %+v, %v; want it deleted", got, err)
	}
	terminating, err := kube.Namespaced[corev1.Pod](c, "shop").Get(t.Context(), "b", nil)
	if err != nil || !terminating.DeletionTimestamp.Equal(&deleted) || terminating.Generation != 7 {
		t.Errorf("pod = %+v, %v; want the deletion and the generation of the options", terminating, err)
	}
}

// mapsWith starts a server with an object, and returns the config maps in namespace shop.
func mapsWith(t *testing.T, obj kube.Object) *kube.API[corev1.ConfigMap] {
	t.Helper()
	c := kubetest.Start(t, &kubetest.Options{Objects: []kube.Object{obj}}).Client(nil)
	return kube.Namespaced[corev1.ConfigMap](c, "shop")
}

func TestObjectsOfOptionsMayComeFromAnotherServer(t *testing.T) {
	ctx := t.Context()
	maps := mapsWith(t, configMap("x"))
	desired := configMap("a")
	desired.Data = map[string]string{"owner": "first"}
	dumped, err := maps.Apply(ctx, desired, &kube.ApplyOptions{FieldManager: "first"})
	if err != nil {
		t.Fatal(err)
	}
	maps = mapsWith(t, dumped)
	desired.Data["owner"] = "second"
	_, err = maps.Apply(ctx, desired, &kube.ApplyOptions{FieldManager: "second"})
	if conflicts := kube.Conflicts(err); len(conflicts) != 1 || conflicts[0].Manager != "first" {
		t.Errorf("conflicts = %+v, %v; want one with the manager of the first server", conflicts, err)
	}
}

func TestNamespacesOfOptionsMayFollowTheirObjects(t *testing.T) {
	labels := map[string]string{"team": "a"}
	c := kubetest.Start(t, &kubetest.Options{Objects: []kube.Object{
		configMap("a"),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: labels}},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default", Labels: labels}},
	}}).Client(nil)
	for _, name := range []string{"shop", "default"} {
		ns, err := kube.ClusterWide[corev1.Namespace](c).Get(t.Context(), name, nil)
		if err != nil || ns.Labels["team"] != "a" {
			t.Errorf("namespace %s = %+v, %v; want its label", name, ns, err)
		}
	}
}

func TestObjectsOfOptionsAreDeletedWithTheirOwner(t *testing.T) {
	owner, child := configMap("owner"), configMap("child")
	owner.UID = "u-1"
	refs := []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: "u-1"}}
	child.OwnerReferences = refs
	for _, objects := range [][]kube.Object{{owner, child}, {child, owner}} {
		maps := kube.Namespaced[corev1.ConfigMap](kubetest.Start(t, &kubetest.Options{Objects: objects}).Client(nil), "shop")
		if _, err := maps.Get(t.Context(), "child", nil); err != nil {
			t.Fatal(err)
		}
		if err := maps.Delete(t.Context(), "owner", nil); err != nil {
			t.Fatal(err)
		}
		late := configMap("late")
		late.OwnerReferences = refs
		if _, err := maps.Create(t.Context(), late, nil); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"child", "late"} {
			if got, err := maps.GetOrNil(t.Context(), name, nil); err != nil || got != nil {
				t.Errorf("after the deletion of its owner, %s is %+v, %v; want it deleted", name, got, err)
			}
		}
	}
}

// widget is a kind without a method KubeResource, such as one of kubebuilder.
type widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              map[string]string `json:"spec"`
}

func widgets() (*unstructured.Unstructured, error) {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "widgets.example.com"},
		"spec": map[string]any{
			"group": "example.com", "scope": "Namespaced", "names": map[string]any{"plural": "widgets", "kind": "Widget"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object", "x-kubernetes-preserve-unknown-fields": true,
				}},
			}},
		},
	}}, nil
}

func TestTypesWithoutAResourceNeedAKind(t *testing.T) {
	w := &widget{ObjectMeta: metav1.ObjectMeta{Name: "w", Namespace: "shop"}, Spec: map[string]string{"color": "red"}}
	o := &kubetest.Options{
		Definitions: []func() (*unstructured.Unstructured, error){widgets}, Objects: []kube.Object{w},
	}
	text := failed(t, func(t testing.TB) {
		t.Helper()
		kubetest.Start(t, o)
	})
	want := "Options.Objects[0], *kubetest_test.widget: its kind is not known: set its apiVersion and kind"
	if !strings.Contains(text, want) {
		t.Errorf("Start fails with %q, want %q", text, want)
	}
	w.TypeMeta = metav1.TypeMeta{APIVersion: "example.com/v1", Kind: "Widget"}
	c := kubetest.Start(t, o).Client(nil)
	res := kube.Resource{Group: "example.com", Version: "v1", Kind: "Widget", Plural: "widgets", Namespaced: true}
	got, err := kube.APIOf[widget](c, res).In("shop").Get(t.Context(), "w", nil)
	if err != nil || got.Spec["color"] != "red" {
		t.Errorf("widget = %+v, %v; want that of the options", got, err)
	}
}

func TestImpossibleObjectsOfOptionsAreErrors(t *testing.T) {
	deleted := configMap("a")
	deleted.DeletionTimestamp = new(metav1.Now())
	list := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "List", "items": []any{}}}
	for _, tt := range []struct {
		name string
		o    kubetest.Options
		want string
	}{
		{"nil", kubetest.Options{Objects: []kube.Object{nil}}, "Options.Objects[0], <nil>: the object is nil"},
		{"a nil pointer", kubetest.Options{Objects: []kube.Object{(*corev1.Pod)(nil)}}, "*v1.Pod: the object is nil"},
		{"a nil function", kubetest.Options{
			Definitions: []func() (*unstructured.Unstructured, error){nil},
		}, "the function is nil"},
		{"a list", kubetest.Options{Objects: []kube.Object{list}}, "it is a list: pass its items"},
		{"deleted", kubetest.Options{Objects: []kube.Object{deleted}}, "it has a deletionTimestamp and no finalizers"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := failed(t, func(t testing.TB) {
				t.Helper()
				kubetest.Start(t, &tt.o)
			})
			if !strings.Contains(text, tt.want) {
				t.Errorf("Start fails with %q, want %q", text, tt.want)
			}
		})
	}
}

func TestRunReportsCancellationsOfOtherContexts(t *testing.T) {
	var errs []string
	t.Run("function", func(t *testing.T) {
		ended := make(chan struct{})
		kubetest.Run(&errorRecorder{TB: t, errs: &errs}, func(context.Context) error {
			defer close(ended)
			return context.Canceled // of another context
		})
		<-ended
	})
	if len(errs) != 1 {
		t.Errorf("errors = %q, want that of the function", errs)
	}
}

func TestRunEndsWithAFunctionThatExits(t *testing.T) {
	t.Run("function", func(t *testing.T) {
		done := make(chan struct{})
		kubetest.Run(t, func(context.Context) error {
			defer close(done)
			runtime.Goexit() // as FailNow does
			return nil
		})
		<-done
	})
}

func TestServersAreDifferentClusters(t *testing.T) {
	a, b := kubetest.Start(t, nil).Client(nil), kubetest.Start(t, nil).Client(nil)
	if a.Server() == b.Server() {
		t.Errorf("both servers are %s, want different URLs", a.Server())
	}
}
