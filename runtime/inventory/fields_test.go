// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package inventory_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/machine"
	"github.com/kube-go/sdk/runtime/internal/fakeapi"
	"github.com/kube-go/sdk/runtime/inventory"
	"github.com/kube-go/sdk/runtime/reflector"
	"github.com/kube-go/sdk/runtime/wait"
)

// leanWidget is a Widget without its status.
type leanWidget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Size int64 `json:"size"`
	} `json:"spec"`
}

func widgetResource() core.Resource {
	return core.Resource{Group: "example.com", Version: "v1", Kind: "Widget", Plural: "widgets", Namespaced: true}
}

func (*leanWidget) KubeResource() core.Resource { return widgetResource() }

// storeView is a view of the objects of a reflector.
type storeView[K any] struct {
	*reflector.Store[K]
	server string
}

func (v storeView[K]) Server() string { return v.server }

// runningView is a view, and how a test waits for it.
type runningView interface {
	inventory.View
	WaitForVersion(ctx context.Context, version string) error
}

// runView returns a view of the widgets of a server, which runs until the end of the test.
func runView[K any, P core.ObjectPtr[K]](t *testing.T, server *fakeapi.Server) runningView {
	t.Helper()
	r := reflector.New(server.Kind(widgetResource()), nil)
	store := reflector.StoreOf[K, P](r)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	if err := store.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	return storeView[K]{store, "https://cluster.test"}
}

// TestViewsThatLackFieldsDoNotHideThem checks that a pass reads an object from the server if its view lacks the fields
// that matter: for [inventory.Pass.Get], for readiness, and to find out whether an object has all declared values.
func TestViewsThatLackFieldsDoNotHideThem(t *testing.T) {
	for _, tt := range []struct {
		name string
		view func(*testing.T, *fakeapi.Server) runningView
		gets int // after a restart
	}{
		{"a view of metadata", runView[metav1.PartialObjectMetadata], 1},
		{"a view of some fields", runView[leanWidget], 1},
		{"a view of all fields", runView[unstructured.Unstructured], 0},
	} {
		for name, ready := range map[string]wait.Condition[unstructured.Unstructured]{
			"the default condition": nil, "another condition": wait.Ready[unstructured.Unstructured],
		} {
			t.Run(tt.name+", "+name, func(t *testing.T) {
				widgetsAreWhole(t, tt.view, ready, tt.gets)
			})
		}
	}
}

// widgetsAreWhole makes passes over an owner that declares a widget and an object of the next wave.
func widgetsAreWhole(
	t *testing.T, viewOf func(*testing.T, *fakeapi.Server) runningView,
	ready wait.Condition[unstructured.Unstructured], gets int,
) {
	server := fakeapi.New(widgetResource(), resourceOf[corev1.ConfigMap](t))
	var sent []string
	c := fakeapi.ClientOf(middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
		if strings.Contains(r.URL.Path, "/widgets/") {
			sent = append(sent, r.Method)
		}
		return server.RoundTrip(r)
	}))
	view := viewOf(t, server)
	o := &inventory.Options{Views: []inventory.View{view}}
	applier := inventory.New(c, manager, o)
	widgets := client.Dynamic(c, widgetResource()).In("prod")
	declared := inventory.Declaration{Ready: ready, Object: &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "w"},
		"spec": map[string]any{"size": int64(3)},
	}}}
	next := inventory.Declaration{Object: page("next"), Wave: 1}
	var items []machine.Item
	pass := func(all ...inventory.Declaration) (*inventory.Pass, string) {
		t.Helper()
		p := applier.Begin(site(), items, ignore)
		waiting, err := p.Apply(t.Context(), all...)
		if err != nil {
			t.Fatal(err)
		}
		items = p.Items()
		return p, waiting
	}
	setReady := func(status string) {
		t.Helper()
		w, err := widgets.Get(t.Context(), "w", nil)
		if err != nil {
			t.Fatal(err)
		}
		w.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": status}}}
		if err := view.WaitForVersion(t.Context(), server.Put(widgetResource(), w)); err != nil {
			t.Fatal(err)
		}
	}
	pass(declared)
	setReady("False")
	for range 2 {
		sent = nil
		if _, waiting := pass(declared, next); !strings.Contains(waiting, "Widget prod/w is not ready") {
			t.Errorf("the pass waits for %q, want the widget", waiting)
		}
		if slices.Contains(sent, http.MethodPatch) {
			t.Errorf("an unchanged object was applied: %v", sent)
		}
	}
	setReady("True")
	p, waiting := pass(declared, next)
	if waiting != "" {
		t.Errorf("the pass waits for %q, want nothing", waiting)
	}
	whole := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Widget"}}
	whole.SetName("w")
	exists, err := p.Get(t.Context(), whole)
	if !exists || err != nil || whole.Object["spec"] == nil || whole.Object["status"] == nil {
		t.Errorf("Get = %v, %v, %v, want the whole object", exists, err, whole.Object)
	}
	applier, sent = inventory.New(c, manager, o), nil
	if pass(declared); slices.Contains(sent, http.MethodPatch) || len(sent) != gets {
		t.Errorf("after a restart, the pass sends %v, want %d GET", sent, gets)
	}
}

// TestGetReadsATypeFromAViewThatHasItsFields checks that a view need not have all fields of an object.
func TestGetReadsATypeFromAViewThatHasItsFields(t *testing.T) {
	server := fakeapi.New(widgetResource())
	view := runView[leanWidget](t, server)
	c := fakeapi.ClientOf(middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
		t.Errorf("%s %s was sent", r.Method, r.URL)
		return server.RoundTrip(r)
	}))
	w := &leanWidget{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "w"}}
	w.Spec.Size = 3
	if err := view.WaitForVersion(t.Context(), server.Put(widgetResource(), w)); err != nil {
		t.Fatal(err)
	}
	p := inventory.New(c, manager, &inventory.Options{Views: []inventory.View{view}}).Begin(site(), nil, ignore)
	got := &leanWidget{ObjectMeta: metav1.ObjectMeta{Name: "w"}}
	if exists, err := p.Get(t.Context(), got); !exists || err != nil || got.Spec.Size != 3 {
		t.Errorf("Get = %v, %v, %+v, want the size 3", exists, err, got)
	}
}
