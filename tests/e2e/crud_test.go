// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/kube"
)

// leanConfigMap declares only some fields of a ConfigMap. It is encoded as JSON.
type leanConfigMap struct {
	metav1.TypeMeta   `json:""`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Data              map[string]string `json:"data,omitempty"`
}

func (*leanConfigMap) KubeResource() kube.Resource {
	return kube.Resource{Version: "v1", Kind: "ConfigMap", Plural: "configmaps", Namespaced: true}
}

// TestVerbsWorkForEveryGoTypeOfAKind checks that each verb does the same for a type of k8s.io/api, a type of the
// program and an unstructured object.
func TestVerbsWorkForEveryGoTypeOfAKind(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	ns := newNamespace(t, c)
	res, err := core.ResourceOf[corev1.ConfigMap]()
	if err != nil {
		t.Fatal(err)
	}
	t.Run("a kind of k8s.io/api", func(t *testing.T) {
		testCRUD(t, kube.Namespaced[corev1.ConfigMap](c, ns),
			func(name string, data map[string]string) *corev1.ConfigMap {
				meta := metav1.ObjectMeta{Name: name, Labels: map[string]string{"set": "a"}}
				return &corev1.ConfigMap{ObjectMeta: meta, Data: data}
			},
			func(cm *corev1.ConfigMap) *map[string]string { return &cm.Data })
	})
	t.Run("a lean struct", func(t *testing.T) {
		testCRUD(t, kube.Namespaced[leanConfigMap](c, ns),
			func(name string, data map[string]string) *leanConfigMap {
				meta := metav1.ObjectMeta{Name: name, Labels: map[string]string{"set": "b"}}
				return &leanConfigMap{ObjectMeta: meta, Data: data}
			},
			func(cm *leanConfigMap) *map[string]string { return &cm.Data })
	})
	t.Run("unstructured", func(t *testing.T) {
		api := kube.Dynamic(c, res).In(ns)
		created, err := api.Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"name": "dynamic"},
			"data":     map[string]any{"k": "1"},
		}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := created.GetKind(); got != "ConfigMap" {
			t.Errorf("kind of the created object = %q, want ConfigMap", got)
		}
		if err := unstructured.SetNestedField(created.Object, "2", "data", "k"); err != nil {
			t.Fatal(err)
		}
		updated, err := api.Update(t.Context(), created, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, _, _ := unstructured.NestedString(updated.Object, "data", "k"); got != "2" {
			t.Errorf("data.k = %q after the update, want 2", got)
		}
		if err := api.Delete(t.Context(), "dynamic", nil); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("a cluster-scoped kind", func(t *testing.T) {
		roles := kube.ClusterWide[rbacv1.ClusterRole](c)
		name := ns + "-role"
		role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := roles.Create(t.Context(), role, nil); err != nil {
			t.Fatal(err)
		}
		got, err := roles.Get(t.Context(), name, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got.Kind != "ClusterRole" || got.APIVersion != "rbac.authorization.k8s.io/v1" {
			t.Errorf("type of the object = %s %s, want rbac.authorization.k8s.io/v1 ClusterRole", got.APIVersion, got.Kind)
		}
		if err := roles.Delete(t.Context(), name, nil); err != nil {
			t.Fatal(err)
		}
	})
}

func testCRUD[K any, P interface {
	*K
	kube.Object
}](t *testing.T, api *kube.API[K], build func(string, map[string]string) *K, data func(*K) *map[string]string) {
	t.Helper()
	ctx := t.Context()
	suffix := P(build("x", nil)).GetLabels()["set"]
	name := "crud-" + suffix

	if _, err := api.Get(ctx, name, nil); !errors.Is(err, kube.ErrNotFound) {
		t.Fatalf("get before create: %v, want ErrNotFound", err)
	}
	created, err := api.Create(ctx, build(name, map[string]string{"k": "1"}), nil)
	if err != nil {
		t.Fatal(err)
	}
	if P(created).GetUID() == "" || P(created).GetObjectKind().GroupVersionKind().Kind != "ConfigMap" {
		t.Errorf("created object = %+v, want a uid and the kind ConfigMap", created)
	}
	if _, err := api.Create(ctx, build(name, nil), nil); !errors.Is(err, kube.ErrAlreadyExists) {
		t.Errorf("second create: %v, want ErrAlreadyExists", err)
	}

	stale := *created
	(*data(created))["k"] = "2"
	updated, err := api.Update(ctx, created, nil)
	if err != nil {
		t.Fatal(err)
	}
	if P(updated).GetResourceVersion() == P(&stale).GetResourceVersion() {
		t.Error("the update returned the old resource version")
	}
	*data(&stale) = map[string]string{"k": "3"}
	if _, err := api.Update(ctx, &stale, nil); !errors.Is(err, kube.ErrConflict) {
		t.Errorf("update of a stale object: %v, want ErrConflict", err)
	}

	patched, err := api.Patch(ctx, name, kube.MergePatch(map[string]any{"data": map[string]any{"p": "merge"}}), nil)
	if err != nil {
		t.Fatal(err)
	}
	patched, err = api.Patch(ctx, P(patched).GetName(), kube.JSONPatch(
		kube.PatchOp{Op: "test", Path: "/data/p", Value: "merge"},
		kube.PatchOp{Op: "add", Path: "/data/j", Value: "json"},
	), nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"k": "2", "p": "merge", "j": "json"}, *data(patched)); diff != "" {
		t.Errorf("after the patches (-want +got):\n%s", diff)
	}

	dry, err := api.Patch(ctx, name, kube.MergePatch([]byte(`{"data":{"k":"dry"}}`)), &kube.PatchOptions{DryRun: true})
	if err != nil || (*data(dry))["k"] != "dry" {
		t.Errorf("dry run: %v, %v", dry, err)
	}
	got, err := api.Get(ctx, name, nil)
	if err != nil || (*data(got))["k"] != "2" {
		t.Errorf("after the dry run: %v, %v; want it unchanged", got, err)
	}

	for i := range 7 {
		if _, err := api.Create(ctx, build(fmt.Sprintf("page-%s-%d", suffix, i), nil), nil); err != nil {
			t.Fatal(err)
		}
	}
	seen := 0
	for obj, err := range api.All(ctx, &kube.ListOptions{LabelSelector: "set=" + suffix, Limit: 3}) {
		if err != nil {
			t.Fatal(err)
		}
		if P(obj).GetObjectKind().GroupVersionKind().Kind != "ConfigMap" {
			t.Errorf("item = %+v, want the kind ConfigMap", obj)
		}
		seen++
	}
	if seen != 8 {
		t.Errorf("All with pages of three yielded %d objects, want 8", seen)
	}
	list, err := api.List(ctx, &kube.ListOptions{LabelSelector: "set=" + suffix, Limit: 5})
	if err != nil || len(list.Items) != 5 || list.Continue == "" || list.ResourceVersion == "" {
		t.Errorf("List = %+v, %v; want a page of five with a continue token", list, err)
	}

	if err := api.DeleteCollection(ctx, nil, &kube.ListOptions{LabelSelector: "set=" + suffix}); err != nil {
		t.Fatal(err)
	}
	if err := api.Delete(ctx, name, nil); !errors.Is(err, kube.ErrNotFound) {
		t.Errorf("delete of a deleted object: %v, want ErrNotFound", err)
	}
}
