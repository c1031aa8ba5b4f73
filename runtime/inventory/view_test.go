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

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

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
	"github.com/kube-go/sdk/runtime/wait"
)

// view is a cache that a test fills.
type view struct {
	server   string
	resource core.Resource
	objects  map[core.ObjectRef]reflector.State
}

// viewOf returns an empty cache of the objects of K.
func viewOf[K any, P core.ObjectPtr[K]](t *testing.T, server string) *view {
	t.Helper()
	return &view{server, resourceOf[K, P](t), make(map[core.ObjectRef]reflector.State)}
}

func (v *view) Server() string                           { return v.server }
func (v *view) Resource() core.Resource                  { return v.resource }
func (v *view) State(ref core.ObjectRef) reflector.State { return v.objects[ref] }

// put stores the current state of an object.
func (v *view) put(t *testing.T, maps *client.API[corev1.ConfigMap], name string, encoding wire.Encoding) {
	t.Helper()
	cm, err := maps.Get(t.Context(), name, nil)
	if err != nil {
		t.Fatal(err)
	}
	v.add(t, cm, encoding)
}

// add stores a state of an object.
func (v *view) add(t *testing.T, obj core.Object, encoding wire.Encoding) {
	t.Helper()
	p, err := wire.Pack(obj, encoding)
	if err == nil {
		p, err = p.Compact()
	}
	if err != nil {
		t.Fatal(err)
	}
	v.objects[core.RefOf(obj)] = reflector.StateOf(p)
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
		cached := viewOf[corev1.ConfigMap](t, c.Server())
		elsewhere := viewOf[corev1.ConfigMap](t, "https://other.test")
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
		pass("a view that has not observed the repair", "GET")
		if cm, err := maps.Get(t.Context(), name, nil); err != nil || cm.Data["title"] != name || cm.Data["other"] != "field" {
			t.Errorf("the object is %v, %v", cm, err)
		}
	}
}

// TestGetReturnsWhatThePassHasWritten checks that an object is not read from a view that has not observed the applies
// and deletes of the same pass, or of the last one.
func TestGetReturnsWhatThePassHasWritten(t *testing.T) {
	c := fakeapi.New(resourceOf[corev1.ConfigMap](t)).Client()
	maps := client.Namespaced[corev1.ConfigMap](c, "prod")
	cached := viewOf[corev1.ConfigMap](t, c.Server())
	applier := inventory.New(c, manager, &inventory.Options{Views: []inventory.View{cached}})
	var items []machine.Item
	apply := func(p *inventory.Pass, title string) {
		t.Helper()
		if waiting, err := p.Apply(t.Context(), inventory.Declaration{Object: titled(title)}); err != nil || waiting != "" {
			t.Fatalf("the apply waits for %q, %v", waiting, err)
		}
		items = p.Items()
	}
	get := func(p *inventory.Pass, what, want string) {
		t.Helper()
		got := titled("")
		if exists, err := p.Get(t.Context(), got); err != nil || exists != (want != "") || got.Data["title"] != want {
			t.Errorf("%s, Get returns the title %q, %t, %v, want %q", what, got.Data["title"], exists, err, want)
		}
	}
	begin := func() *inventory.Pass { return applier.Begin(site(), items, ignore) }

	apply(begin(), "one")
	cached.put(t, maps, "home", wire.JSON)
	p := begin()
	get(p, "before the apply", "one")
	apply(p, "two")
	get(p, "after the apply", "two")
	get(begin(), "in the next pass", "two")

	plan := applier.Plan(site(), items)
	get(plan, "before the apply of a plan", "two")
	if _, err := plan.Apply(t.Context(), inventory.Declaration{Object: titled("three")}); err != nil {
		t.Fatal(err)
	}
	get(plan, "after the apply of a plan", "three")

	cached.put(t, maps, "home", wire.JSON)
	p = begin()
	if waiting, err := p.Delete(t.Context(), titled("")); err != nil || waiting != "" {
		t.Fatalf("the delete waits for %q, %v", waiting, err)
	}
	get(p, "after the delete", "")
	items = p.Items()
	apply(begin(), "four")
	get(begin(), "after another object has followed the one of the view", "four")
}

// titled returns the config map home.
func titled(title string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "home"}, Data: map[string]string{"title": title}}
}

// TestAViewThatIsBehindDoesNotMakeAnObjectReady checks that a wave waits for the last apply of the lower one, although
// a view has only the state before it, which is ready.
func TestAViewThatIsBehindDoesNotMakeAnObjectReady(t *testing.T) {
	for _, tt := range []struct {
		name  string
		ready wait.Condition[unstructured.Unstructured]
		late  bool // the second wave is declared only after the change
	}{
		{name: "the default condition"},
		{name: "another condition", ready: wait.Ready[unstructured.Unstructured]},
		{name: "a second wave that is declared later", late: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := fakeapi.New(resourceOf[appsv1.Deployment](t), resourceOf[batchv1.Job](t))
			c := server.Client()
			deployments := client.Namespaced[appsv1.Deployment](c, "prod")
			jobs := client.Namespaced[batchv1.Job](c, "prod")
			cached := viewOf[appsv1.Deployment](t, c.Server())
			applier := inventory.New(c, manager, &inventory.Options{Views: []inventory.View{cached}})
			var items []machine.Item
			pass := func(replicas int32, job bool) string {
				t.Helper()
				declared := []inventory.Declaration{{
					Object: &appsv1.Deployment{
						ObjectMeta: metav1.ObjectMeta{Name: "web"},
						Spec:       appsv1.DeploymentSpec{Replicas: &replicas},
					},
					Ready: tt.ready,
				}}
				if job {
					declared = append(declared, inventory.Declaration{
						Object: &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "migrate"}}, Wave: 1,
					})
				}
				p := applier.Begin(site(), items, ignore)
				waiting, err := p.Apply(t.Context(), declared...)
				if err != nil {
					t.Fatal(err)
				}
				items = p.Items()
				return waiting
			}
			rollOut := func(replicas int32) *appsv1.Deployment {
				t.Helper()
				d, err := deployments.Get(t.Context(), "web", nil)
				if err != nil {
					t.Fatal(err)
				}
				d.Status = appsv1.DeploymentStatus{
					Replicas: replicas, UpdatedReplicas: replicas, ReadyReplicas: replicas, AvailableReplicas: replicas,
				}
				server.Put(cached.resource, d)
				if d, err = deployments.Get(t.Context(), "web", nil); err != nil {
					t.Fatal(err)
				}
				return d
			}
			wantJob := func(when string, want bool) {
				t.Helper()
				if job, err := jobs.GetOrNil(t.Context(), "migrate", nil); err != nil || (job != nil) != want {
					t.Errorf("%s: the job of the next wave exists: %v, %v; want %v", when, job != nil, err, want)
				}
			}
			pass(1, false)
			cached.add(t, rollOut(1), wire.JSON)
			pass(2, !tt.late)
			wantJob("after the change", false)
			const want = "Deployment prod/web is not ready"
			for range 2 {
				if waiting := pass(2, true); !strings.Contains(waiting, want) {
					t.Errorf("with a view that is behind, the pass waits for %q, want %q", waiting, want)
				}
				wantJob("with a view that is behind", false)
			}
			cached.add(t, rollOut(2), wire.JSON)
			if waiting := pass(2, true); waiting != "" {
				t.Errorf("after the rollout, the pass waits for %q", waiting)
			}
			wantJob("after the rollout", true)
		})
	}
}

// TestAnObjectOfOthersIsNotDeletedByAViewThatIsBehind checks that a delete decides by the object on the server:
// somebody may have taken it over since.
func TestAnObjectOfOthersIsNotDeletedByAViewThatIsBehind(t *testing.T) {
	c := fakeapi.New(resourceOf[corev1.ConfigMap](t)).Client()
	maps := client.Namespaced[corev1.ConfigMap](c, "prod")
	cached := viewOf[corev1.ConfigMap](t, c.Server())
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
