// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package inventory_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/machine"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/internal/fakeapi"
	"github.com/kube-go/sdk/runtime/inventory"
	"github.com/kube-go/sdk/runtime/reflector"
)

// view is a cache that a test fills.
type view struct {
	server  string
	objects map[core.ObjectRef]reflector.State
}

func (v *view) Server() string { return v.server }

func (v *view) Resource() core.Resource {
	res, err := core.ResourceOf[corev1.ConfigMap]()
	if err != nil {
		panic(err)
	}
	return res
}

func (v *view) State(ref core.ObjectRef) reflector.State { return v.objects[ref] }

// put stores the current state of an object.
func (v *view) put(t *testing.T, maps *client.API[corev1.ConfigMap], name string, encoding wire.Encoding) {
	t.Helper()
	cm, err := maps.Get(t.Context(), name, nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := wire.Pack(cm, encoding)
	if err == nil {
		p, err = p.Compact()
	}
	if err != nil {
		t.Fatal(err)
	}
	v.objects[core.RefOf(cm)] = reflector.StateOf(p)
}

func TestObjectsAreReadFromViews(t *testing.T) {
	var sent []string
	c, err := client.New(t.Context(), &client.Options{
		Config:    &config.Config{Server: "https://cluster.test"},
		Transport: fakeapi.New(resourceOf[corev1.ConfigMap](t)),
		Middleware: []middleware.Func{func(next http.RoundTripper) http.RoundTripper {
			return middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
				sent = append(sent, r.Method)
				return next.RoundTrip(r)
			})
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	maps := client.Namespaced[corev1.ConfigMap](c, "prod")
	for _, encoding := range []wire.Encoding{wire.JSON, wire.Protobuf} {
		name := "page-" + map[wire.Encoding]string{wire.JSON: "json", wire.Protobuf: "protobuf"}[encoding]
		cached := &view{c.Server(), make(map[core.ObjectRef]reflector.State)}
		elsewhere := &view{"https://other.test", make(map[core.ObjectRef]reflector.State)}
		o := &inventory.Options{Views: []inventory.View{elsewhere, cached}}
		applier := inventory.New(c, manager, o)
		var items []machine.Item
		pass := func(what string, want ...string) {
			t.Helper()
			sent = nil
			p := applier.Begin(site(), items, ignore)
			if waiting, err := p.Apply(t.Context(), inventory.Declaration{Object: page(name)}); err != nil || waiting != "" {
				t.Fatalf("%s: waits for %q, %v", what, waiting, err)
			}
			items = p.Items()
			if !slices.Equal(sent, want) {
				t.Errorf("%s, %s: sent %v, want %v", name, what, sent, want)
			}
		}
		patch := func(data map[string]string) {
			t.Helper()
			body := request.MergePatch(map[string]any{"data": data})
			if _, err := maps.Patch(t.Context(), name, body, nil); err != nil {
				t.Fatal(err)
			}
		}
		pass("a new object", "GET", "PATCH")
		pass("an object that the view does not have", "GET")
		cached.put(t, maps, name, encoding)
		pass("an object of the view")
		applier = inventory.New(c, manager, o)
		pass("an object of the view, after a restart")
		patch(map[string]string{"other": "field"})
		cached.put(t, maps, name, encoding)
		pass("another field")
		patch(map[string]string{"title": "drift"})
		pass("a view that is behind")
		cached.put(t, maps, name, encoding)
		pass("drift", "PATCH")
		pass("a view that has not observed the repair")
		if cm, err := maps.Get(t.Context(), name, nil); err != nil || cm.Data["title"] != name || cm.Data["other"] != "field" {
			t.Errorf("the object is %v, %v", cm, err)
		}
	}
}

// TestAnObjectOfOthersIsNotDeletedByAViewThatIsBehind checks that a delete decides by the object on the server:
// somebody may have taken it over since.
func TestAnObjectOfOthersIsNotDeletedByAViewThatIsBehind(t *testing.T) {
	c := fakeapi.New(resourceOf[corev1.ConfigMap](t)).Client()
	maps := client.Namespaced[corev1.ConfigMap](c, "prod")
	cached := &view{c.Server(), make(map[core.ObjectRef]reflector.State)}
	applier := inventory.New(c, manager, &inventory.Options{Views: []inventory.View{cached}})
	p := applier.Begin(site(), nil, ignore)
	if _, err := p.Apply(t.Context(), inventory.Declaration{Object: page("home")}); err != nil {
		t.Fatal(err)
	}
	cached.put(t, maps, "home", wire.JSON)
	body := request.MergePatch(map[string]any{"metadata": map[string]any{"ownerReferences": []any{map[string]any{
		"apiVersion": "v1", "kind": "Pod", "name": "other", "uid": "other", "controller": true,
	}}}})
	if _, err := maps.Patch(t.Context(), "home", body, nil); err != nil {
		t.Fatal(err)
	}
	p = applier.Begin(site(), p.Items(), ignore)
	if waiting, err := p.Prune(t.Context(), nil); waiting != "" || err != nil || len(p.Items()) != 0 {
		t.Errorf("Prune = %q, %v; the inventory is %v, want none", waiting, err, p.Items())
	}
	if _, err := maps.Get(t.Context(), "home", nil); err != nil {
		t.Errorf("the object of the other owner: %v", err)
	}
}

// TestAKnownObjectIsCreatedAgainOnlyForACurrentOwner checks that record is called before a known object is created
// again: it fails if the owner has changed or is gone, and nobody would delete the object.
func TestAKnownObjectIsCreatedAgainOnlyForACurrentOwner(t *testing.T) {
	c := fakeapi.New(resourceOf[corev1.ConfigMap](t)).Client()
	maps := client.Namespaced[corev1.ConfigMap](c, "prod")
	applier := inventory.New(c, manager, nil)
	p := applier.Begin(site(), nil, ignore)
	if _, err := p.Apply(t.Context(), inventory.Declaration{Object: page("home")}); err != nil {
		t.Fatal(err)
	}
	if err := maps.Delete(t.Context(), "home", nil); err != nil {
		t.Fatal(err)
	}
	gone := errors.New("the owner is gone")
	p = applier.Begin(site(), p.Items(), func(context.Context, []machine.Item) error { return gone })
	if _, err := p.Apply(t.Context(), inventory.Declaration{Object: page("home")}); !errors.Is(err, gone) {
		t.Errorf("Apply = %v, want the error of record", err)
	}
	if cm, err := maps.GetOrNil(t.Context(), "home", nil); cm != nil || err != nil {
		t.Errorf("the object is %v, %v, want none", cm, err)
	}
}
