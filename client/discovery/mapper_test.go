// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package discovery_test

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/client/discovery"
	"github.com/kube-go/sdk/core"
)

// gadgetKind is a kind that is installed after the start.
var gadgetKind = schema.GroupVersionKind{Group: "late.test", Version: "v1", Kind: "Gadget"}

// installGadgets makes the server serve gadgetKind.
func installGadgets(s *fakeServer) {
	s.set("/apis", oneGroup("late.test", `{"resource":"gadgets","responseKind":{"kind":"Gadget"},"scope":"Namespaced"}`))
}

func isUnknown(err error) bool {
	_, ok := errors.AsType[*discovery.UnknownResourceError](err)
	return ok
}

// TestMapperRefreshesOnMiss promises that a kind which is installed later is found, and that what is found costs nothing.
func TestMapperRefreshesOnMiss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := modern(t)
		m := discovery.NewMapper(server.client(t), nil)
		if asked := server.takeAsked(); len(asked) != 0 {
			t.Errorf("NewMapper asked for %v", asked)
		}
		if _, err := m.ForKind(t.Context(), gadgetKind); !isUnknown(err) {
			t.Errorf("error = %v, want an UnknownResourceError", err)
		}
		if asked := server.takeAsked(); len(asked) != 2 {
			t.Errorf("asked for %v, want 2 requests", asked)
		}
		installGadgets(server)
		if _, err := m.ForKind(t.Context(), gadgetKind); !isUnknown(err) {
			t.Errorf("error = %v, want it to be too early", err)
		}
		time.Sleep(2 * time.Second)
		for range 10 {
			res, err := m.ForKind(t.Context(), gadgetKind)
			if err != nil || res.Plural != "gadgets" || !res.Namespaced {
				t.Fatalf("ForKind = %+v, %v", res, err)
			}
		}
		if asked := server.takeAsked(); len(asked) != 2 {
			t.Errorf("asked for %v, want 2 requests", asked)
		}
		if _, err := m.Resolve(t.Context(), "pods"); err != nil {
			t.Error(err)
		}
		if _, err := m.ForResource(t.Context(), schema.GroupVersionResource{Group: "late.test", Resource: "gadgets"}); err != nil {
			t.Error(err)
		}
	})
}

// TestMapperIsNoHammer promises that a loop which misses does not reach the server more than once in the interval, and
// that a crowd which misses together shares what one gets.
func TestMapperIsNoHammer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := modern(t)
		m := discovery.NewMapper(server.client(t), &discovery.MapperOptions{MinInterval: time.Second})
		for range 50 {
			var crowd sync.WaitGroup
			for range 20 {
				crowd.Go(func() {
					if _, err := m.ForKind(t.Context(), gadgetKind); !isUnknown(err) {
						t.Errorf("error = %v", err)
					}
				})
			}
			crowd.Wait()
			time.Sleep(100 * time.Millisecond)
		}
		if asked := server.takeAsked(); len(asked) != 2*5 {
			t.Errorf("%d requests in 5 s, want 10", len(asked))
		}
	})
}

// TestMapperWithoutServer promises that the error of a discovery is not taken for the absence of a kind, is not asked for
// again and again, and is forgotten when the server is back.
func TestMapperWithoutServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := modern(t)
		m := discovery.NewMapper(server.client(t), nil)
		if _, err := m.Discovery(t.Context()); err != nil {
			t.Fatal(err)
		}
		api := server.answers["/api"]
		server.set("/api", answer{code: 403, contentType: "text/plain"})
		time.Sleep(time.Minute)
		server.takeAsked()
		for range 3 {
			if _, err := m.ForKind(t.Context(), gadgetKind); !errors.Is(err, core.ErrForbidden) {
				t.Errorf("error = %v, want the server's", err)
			}
			if _, err := m.Resolve(t.Context(), "pods"); err != nil {
				t.Errorf("what is known is lost: %v", err)
			}
		}
		if asked := server.takeAsked(); len(asked) != 2 {
			t.Errorf("asked for %v, want 2 requests", asked)
		}
		server.set("/api", api)
		if _, err := m.Refresh(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := m.ForKind(t.Context(), gadgetKind); !isUnknown(err) {
			t.Errorf("error = %v, want an UnknownResourceError", err)
		}
	})
}

// TestMapperCancelled promises that a caller who gives up takes nobody else along.
func TestMapperCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := modern(t)
		apis := server.answers["/apis"]
		apis.delay = time.Minute
		server.set("/apis", apis)
		m := discovery.NewMapper(server.client(t), nil)
		ctx, cancel := contextOf(t, time.Second)
		defer cancel()
		var both sync.WaitGroup
		both.Go(func() {
			if _, err := m.Discovery(ctx); !errors.Is(err, errEnough) {
				t.Errorf("error = %v, want the cause", err)
			}
		})
		synctest.Wait()
		both.Go(func() {
			waiting, stop := contextOf(t, time.Millisecond)
			defer stop()
			if _, err := m.Refresh(waiting); !errors.Is(err, errEnough) {
				t.Errorf("error = %v, want the cause of one who waits for another", err)
			}
		})
		both.Go(func() {
			if _, err := m.Resolve(t.Context(), "pods"); err != nil {
				t.Error(err)
			}
		})
		both.Wait()
	})
}

func TestMapperForObject(t *testing.T) {
	server := modern(t)
	m := discovery.NewMapper(server.client(t), nil)
	for _, tc := range []struct {
		name, apiVersion, kind, namespace string
		want                              string // "plural in namespace", or an error
	}{
		{"an object with a namespace", "apps/v1", "Deployment", "prod", "deployments.apps in prod"},
		{"an object without, which takes the client's", "v1", "Pod", "", "pods in mine"},
		{"an object of the cluster", "v1", "Node", "", "nodes in "},
		{"an object of nothing", "", "", "", "the object's kind is empty; set it"},
		{"an object without apiVersion", "", "Pod", "", "the Pod's apiVersion is empty; set it"},
		{
			"an object of an unknown kind", "v1", "Unicorn", "",
			`the server has no resource "Unicorn.v1", as far as is known: metrics.example.com/v1beta1 can't be discovered; a resource that a CustomResourceDefinition defines must be installed first`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			obj := &unstructured.Unstructured{}
			obj.SetAPIVersion(tc.apiVersion)
			obj.SetKind(tc.kind)
			obj.SetNamespace(tc.namespace)
			api, err := m.Dynamic(t.Context(), obj)
			got := ""
			if err != nil {
				got = err.Error()
			} else {
				got = api.Resource().String() + " in " + api.Namespace()
			}
			if got != tc.want {
				t.Errorf("Dynamic = %s, want %s", got, tc.want)
			}
		})
	}
}
