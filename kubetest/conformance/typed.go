// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/pod"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
)

// runTyped tests the server with the typed client, which prefers protobuf for built-in kinds.
func runTyped(t *testing.T, c *client.Client) {
	t.Helper()
	cases := map[string]func(*testing.T, *client.Client, string){
		"Typed objects are written and read":           testTyped,
		"Errors match the errors of the client":        testErrors,
		"Modify retries conflicts":                     testModify,
		"All yields the items of all pages":            testPages,
		"WatchOnce yields typed events":                testWatch,
		"Unstructured objects are written and read":    testDynamic,
		"Pods are bound and evicted":                   testPods,
		"Discovery finds resources by all their names": testDiscovery,
		"Discovery finds a new definition":             testDefinition,
		"The server has a version":                     testVersion,
		"An access review allows an administrator":     testAccess,
	}
	t.Run("client", func(t *testing.T) {
		t.Parallel()
		for name, run := range cases {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				run(t, c, newNamespace(t, c))
			})
		}
	})
}

// newNamespace creates a namespace and deletes it at the end of the test.
func newNamespace(t *testing.T, c *client.Client) string {
	t.Helper()
	api := client.ClusterWide[corev1.Namespace](c)
	ns, err := api.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "kt-"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := api.Delete(context.Background(), ns.Name, nil); err != nil {
			t.Error(err)
		}
	})
	return ns.Name
}

// configMap returns a config map with the name a.
func configMap(color string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Data: map[string]string{"color": color}}
}

func testTyped(t *testing.T, c *client.Client, ns string) {
	api := client.Namespaced[corev1.ConfigMap](c, ns)
	created, err := api.Create(t.Context(), configMap("blue"), nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := api.Get(t.Context(), "a", nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(created, got); diff != "" {
		t.Errorf("Get differs from Create (-create +get):\n%s", diff)
	}
	got.Data["color"] = "red"
	if got, err = api.Update(t.Context(), got, nil); err != nil || got.Data["color"] != "red" {
		t.Errorf("Update = %v, %v, want the color red", got, err)
	}
	o := &request.ApplyOptions{FieldManager: "test", Force: true}
	if got, err = api.Apply(t.Context(), configMap("green"), o); err != nil || got.Data["color"] != "green" {
		t.Errorf("Apply = %v, %v, want the color green", got, err)
	}
	meta, err := api.Metadata().Get(t.Context(), "a", nil)
	if err != nil || meta.UID != created.UID {
		t.Errorf("Metadata = %v, %v, want the UID %s", meta, err, created.UID)
	}
	if err = api.Delete(t.Context(), "a", nil); err != nil {
		t.Errorf("Delete: %v", err)
	}
	if got, err = api.GetOrNil(t.Context(), "a", nil); err != nil || got != nil {
		t.Errorf("GetOrNil = %v, %v, want nil", got, err)
	}
}

func testErrors(t *testing.T, c *client.Client, ns string) {
	api := client.Namespaced[corev1.ConfigMap](c, ns)
	old, err := api.Create(t.Context(), configMap("blue"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = api.Patch(t.Context(), "a", request.MergePatch(`{"data":{"color":"red"}}`), nil); err != nil {
		t.Fatal(err)
	}
	unknown := core.Resource{Group: "unknown.example.com", Version: "v1", Kind: "Unknown", Plural: "unknowns"}
	errOf := func(_ any, err error) error { return err }
	for _, tt := range []struct {
		name string
		got  error
		want error
	}{
		{"get of a missing object", errOf(api.Get(t.Context(), "b", nil)), core.ErrNotFound},
		{"create of an existing object", errOf(api.Create(t.Context(), configMap(""), nil)), core.ErrAlreadyExists},
		{"update of an old version", errOf(api.Update(t.Context(), old, nil)), core.ErrConflict},
		{"invalid object", errOf(api.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Name: "b", Labels: map[string]string{"a": "b c"},
		}}, nil)), core.ErrInvalid},
		{
			"unsupported selector",
			errOf(api.List(t.Context(), &request.ListOptions{FieldSelector: "a=b"})), core.ErrBadRequest,
		},
		{"list of an unknown kind", errOf(client.Dynamic(c, unknown).List(t.Context(), nil)), core.ErrNotFound},
		{"apply of a field of another manager", errOf(api.Apply(t.Context(), configMap("green"),
			&request.ApplyOptions{FieldManager: "other"})), core.ErrConflict},
	} {
		if !errors.Is(tt.got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, tt.got, tt.want)
		}
	}
	if _, err := client.Dynamic(c, unknown).List(t.Context(), nil); err != nil {
		if _, ok := errors.AsType[*client.NotServedError](err); !ok {
			t.Errorf("list of an unknown kind: %v, want a NotServedError", err)
		}
	}
}

func testModify(t *testing.T, c *client.Client, ns string) {
	api := client.Namespaced[corev1.ConfigMap](c, ns)
	if _, err := api.Create(t.Context(), configMap("blue"), nil); err != nil {
		t.Fatal(err)
	}
	runs := 0
	got, err := api.Modify(t.Context(), "a", func(cm *corev1.ConfigMap) error {
		if runs++; runs == 1 {
			other := request.MergePatch(`{"data":{"size":"big"}}`)
			if _, err := api.Patch(t.Context(), "a", other, nil); err != nil {
				return err
			}
		}
		cm.Data["color"] = "red"
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"color": "red", "size": "big"}
	if diff := cmp.Diff(want, got.Data); diff != "" || runs != 2 {
		t.Errorf("Modify ran %d times, want 2; data (-want +got):\n%s", runs, diff)
	}
	got, err = api.CreateOrUpdate(t.Context(), "b", func(cm *corev1.ConfigMap) error {
		cm.Data = map[string]string{"color": "green"}
		return nil
	}, nil)
	if err != nil || got.Data["color"] != "green" {
		t.Errorf("CreateOrUpdate = %v, %v, want the color green", got, err)
	}
}

func testPages(t *testing.T, c *client.Client, ns string) {
	api := client.Namespaced[corev1.Secret](c, ns)
	var want []string
	for i := range 7 {
		name := fmt.Sprintf("s%d", i)
		want = append(want, name)
		if _, err := api.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}, nil); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for s, err := range api.All(t.Context(), &request.ListOptions{Limit: 3}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, s.Name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

func testWatch(t *testing.T, c *client.Client, ns string) {
	api := client.Namespaced[corev1.Secret](c, ns)
	first, err := api.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for e, err := range api.WatchOnce(t.Context(), &request.WatchOptions{SendInitialEvents: true}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Type == core.Bookmark {
			if !core.InitialEventsEnd(e.Object) {
				continue // servers may send these at any time
			}
			if err := api.Delete(t.Context(), "a", &request.DeleteOptions{UID: first.UID}); err != nil {
				t.Fatal(err)
			}
		}
		got = append(got, fmt.Sprint(e.Type, " ", e.Object.Name))
		if e.Type == core.Deleted {
			if diff := cmp.Diff([]string{"ADDED a", "BOOKMARK ", "DELETED a"}, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			return
		}
	}
	t.Errorf("the watch ended after %q", got)
}

func testDynamic(t *testing.T, c *client.Client, ns string) {
	res := core.Resource{Version: "v1", Kind: "ConfigMap", Plural: "configmaps", Namespaced: true}
	api := client.Dynamic(c, res).In(ns)
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"},
		"data": map[string]any{"color": "blue"},
	}}
	if _, err := api.Create(t.Context(), obj, nil); err != nil {
		t.Fatal(err)
	}
	list, err := api.List(t.Context(), &request.ListOptions{FieldSelector: "metadata.name=a"})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 1 || list.Items[0].GetKind() != "ConfigMap" {
		t.Errorf("List = %v, want the config map", list.Items)
	}
}

func testPods(t *testing.T, c *client.Client, ns string) {
	accounts := client.Namespaced[corev1.ServiceAccount](c, ns)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}} // a controller may create it, too
	if _, err := accounts.Create(t.Context(), account, nil); err != nil && !errors.Is(err, core.ErrAlreadyExists) {
		t.Fatal(err)
	}
	objects, api := client.Namespaced[corev1.Pod](c, ns), pod.In(c, ns)
	_, err := objects.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "a"},
		Spec: corev1.PodSpec{
			SchedulerName: "none", AutomountServiceAccountToken: new(false),
			Containers: []corev1.Container{{Name: "web", Image: "web"}},
		},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := api.Bind(t.Context(), "a", ns, nil); err != nil {
		t.Errorf("Bind: %v", err)
	}
	if err := api.Bind(t.Context(), "a", ns, nil); !errors.Is(err, core.ErrConflict) {
		t.Errorf("second Bind: %v, want a conflict", err)
	}
	if err := api.Evict(t.Context(), "a", nil); err != nil {
		t.Errorf("Evict: %v", err)
	}
	got, err := objects.Get(t.Context(), "a", nil)
	if err == nil && got.DeletionTimestamp == nil || err != nil && !errors.Is(err, core.ErrNotFound) {
		t.Errorf("after Evict: %v, %v, want a terminating pod", got, err)
	}
}
