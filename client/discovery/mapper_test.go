// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package discovery_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/client/discovery"
	"github.com/kube-go/sdk/core"
)

// gadgetKind is a kind that is installed after the first discovery.
var gadgetKind = schema.GroupVersionKind{Group: "late.test", Version: "v1", Kind: "Gadget"}

// installGadgets makes the server serve gadgetKind.
func installGadgets(s *fakeServer) {
	s.set("/apis", oneGroup("late.test", `{"resource":"gadgets","responseKind":{"kind":"Gadget"},"scope":"Namespaced"}`))
}

func isUnknown(err error) bool {
	_, ok := errors.AsType[*discovery.UnknownResourceError](err)
	return ok
}

func TestANegativeIntervalOfAMapperIsAnError(t *testing.T) {
	m := discovery.NewMapper(modern(t).client(t), &discovery.MapperOptions{MinInterval: -1})
	const want = "discovery.MapperOptions.MinInterval: -1ns is negative"
	for range 2 {
		if _, err := m.Resolve(t.Context(), "pods"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Resolve() = %v, want %s", err, want)
		}
	}
}

// TestMapperRefreshesOnMiss checks that a kind that is installed later is found, and that known kinds need no requests.
func TestMapperRefreshesOnMiss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := modern(t)
		m := discovery.NewMapper(server.client(t), nil)
		if asked := server.takeAsked(); len(asked) != 0 {
			t.Errorf("NewMapper sent requests: %v", asked)
		}
		if _, err := m.ForKind(t.Context(), gadgetKind); !isUnknown(err) {
			t.Errorf("error = %v, want an UnknownResourceError", err)
		}
		if asked := server.takeAsked(); len(asked) != 2 {
			t.Errorf("requests = %v, want 2", asked)
		}
		installGadgets(server)
		began := time.Now()
		for range 10 {
			res, err := m.ForKind(t.Context(), gadgetKind)
			if err != nil || res.Plural != "gadgets" || !res.Namespaced {
				t.Fatalf("ForKind = %+v, %v", res, err)
			}
		}
		if asked := server.takeAsked(); len(asked) != 2 || time.Since(began) != 2*time.Second {
			t.Errorf("requests = %v in %v, want 2 after 2 s", asked, time.Since(began))
		}
		if _, err := m.Resolve(t.Context(), "pods"); err != nil {
			t.Error(err)
		}
		if _, err := m.ForResource(t.Context(),
			schema.GroupVersionResource{Group: "late.test", Resource: "gadgets"}); err != nil {
			t.Error(err)
		}
	})
}

// TestMapperLimitsDiscoveries checks that failed lookups in a loop discover at most once per interval, and that
// concurrent ones share a discovery.
func TestMapperLimitsDiscoveries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := modern(t)
		m := discovery.NewMapper(server.client(t), &discovery.MapperOptions{MinInterval: time.Second})
		began := time.Now()
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
		most := 2 * (1 + int(time.Since(began)/time.Second))
		if asked := server.takeAsked(); len(asked) > most || len(asked) < 10 {
			t.Errorf("%d requests in %v, want at least 10, and at most %d", len(asked), time.Since(began), most)
		}
	})
}

// TestUnknownNameWaitsOnceForADiscovery checks that lookups of a name that has waited for a discovery do not wait
// again within the interval, but another name does, and that a lookup does not wait longer than its context.
func TestUnknownNameWaitsOnceForADiscovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := modern(t)
		m := discovery.NewMapper(server.client(t), nil)
		if _, err := m.Resolve(t.Context(), "pods"); err != nil {
			t.Fatal(err)
		}
		server.takeAsked()
		for i, want := range []time.Duration{2 * time.Second, 0, 0} {
			began := time.Now()
			if _, err := m.ForKind(t.Context(), gadgetKind); !isUnknown(err) || time.Since(began) != want {
				t.Errorf("lookup %d: %v after %v, want an UnknownResourceError after %v", i, err, time.Since(began), want)
			}
		}
		if asked := server.takeAsked(); len(asked) != 2 {
			t.Errorf("requests = %v, want 2", asked)
		}
		short, cancel := contextOf(t, time.Second)
		defer cancel()
		if _, err := m.Resolve(short, "gadgets"); !errors.Is(err, errEnough) {
			t.Errorf("error = %v, want the cause of the context", err)
		}
		installGadgets(server)
		if _, err := m.Resolve(t.Context(), "gadgets"); err != nil {
			t.Errorf("a kind that was served before the call: %v", err)
		}
	})
}

// TestKindThatIsServedBeforeTheCallIsFound checks that a lookup does not use the result of a discovery that began
// before the call and does not have the kind.
func TestKindThatIsServedBeforeTheCallIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := modern(t)
		api := server.responses["/api"]
		api.delay = time.Second
		server.set("/api", api)
		apis := server.responses["/apis"]
		apis.delay = time.Second
		server.set("/apis", apis)
		m := discovery.NewMapper(server.client(t), nil)
		var first sync.WaitGroup
		first.Go(func() {
			if _, err := m.Resolve(t.Context(), "pods"); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(time.Second / 2) // the discovery has begun
		installGadgets(server)
		if _, err := m.ForKind(t.Context(), gadgetKind); err != nil {
			t.Error(err)
		}
		first.Wait()
	})
}

// TestMapperWithoutServer checks that a failed discovery is not reported as an unknown kind, is not repeated within the
// interval, and is forgotten once the server is available again.
func TestMapperWithoutServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := modern(t)
		m := discovery.NewMapper(server.client(t), nil)
		if _, err := m.Discovery(t.Context()); err != nil {
			t.Fatal(err)
		}
		api := server.responses["/api"]
		server.set("/api", response{code: 403, contentType: "text/plain"})
		time.Sleep(time.Minute)
		server.takeAsked()
		for range 3 {
			if _, err := m.ForKind(t.Context(), gadgetKind); !errors.Is(err, core.ErrForbidden) {
				t.Errorf("error = %v, want the server's", err)
			}
			if _, err := m.Resolve(t.Context(), "pods"); err != nil {
				t.Errorf("a known resource was lost: %v", err)
			}
		}
		if asked := server.takeAsked(); len(asked) != 2 {
			t.Errorf("requests = %v, want 2", asked)
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

// gadgetWith returns the gadgets of installGadgets with a subresource.
func gadgetWith(subresource string) response {
	return oneGroup("late.test", `{"resource":"gadgets","responseKind":{"kind":"Gadget"},"scope":"Namespaced",`+
		`"subresources":[{"subresource":"`+subresource+`","responseKind":{"kind":"Gadget"}}]}`)
}

// TestMapperFindsNewSubresourcesOfKnownKinds checks that a lookup of a known kind discovers again after five minutes,
// with conditional requests.
func TestMapperFindsNewSubresourcesOfKnownKinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := modern(t)
		installGadgets(server)
		m := discovery.NewMapper(server.client(t), nil)
		for _, tc := range []struct {
			name        string
			after       time.Duration
			requests    int
			conditional int // of the requests; the gadgets have no ETag
			want        int // subresources
		}{
			{"the first lookup", 0, 2, 0, 0},
			{"a lookup soon afterwards", 5*time.Minute - 1, 0, 0, 0},
			{"a lookup after five minutes", 1, 2, 1, 1},
			{"a lookup soon after that", time.Minute, 0, 0, 1},
			{"a lookup after an hour", time.Hour, 2, 1, 1},
		} {
			time.Sleep(tc.after)
			var crowd sync.WaitGroup
			for range 20 {
				crowd.Go(func() {
					if _, err := m.ForKind(t.Context(), gadgetKind); err != nil {
						t.Errorf("%s: %v", tc.name, err)
					}
				})
			}
			crowd.Wait()
			res, err := m.ForKind(t.Context(), gadgetKind)
			if err != nil || len(res.Subresources) != tc.want {
				t.Errorf("%s: ForKind = %+v, %v; want %d subresources", tc.name, res, err, tc.want)
			}
			if got := server.conditional(); got != tc.conditional {
				t.Errorf("%s: %d conditional requests, want %d", tc.name, got, tc.conditional)
			}
			if asked := server.takeAsked(); len(asked) != tc.requests {
				t.Errorf("%s: requests = %v, want %d", tc.name, asked, tc.requests)
			}
			server.set("/apis", gadgetWith("status"))
		}
	})
}

// TestFailedRenewalKeepsTheLastDiscovery checks that known kinds are found although a new discovery fails, and that
// lookups wait for it once in five minutes, for no longer than ten seconds.
func TestFailedRenewalKeepsTheLastDiscovery(t *testing.T) {
	for _, tc := range []struct {
		name string
		in   response
		took time.Duration
	}{
		{"a server that refuses", response{code: 403, contentType: "text/plain"}, 0},
		{"a server that does not respond", response{silent: true}, 10 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := modern(t)
				installGadgets(server)
				m := discovery.NewMapper(server.client(t), nil)
				find := func(ctx context.Context, took time.Duration, subresources, requests int) {
					t.Helper()
					began := time.Now()
					res, err := m.ForKind(ctx, gadgetKind)
					if err != nil || len(res.Subresources) != subresources {
						t.Errorf("ForKind = %+v, %v; want %d subresources", res, err, subresources)
					}
					if got := time.Since(began); got != took {
						t.Errorf("ForKind took %v, want %v", got, took)
					}
					if asked := server.takeAsked(); len(asked) != requests {
						t.Errorf("requests = %v, want %d", asked, requests)
					}
				}
				find(t.Context(), 0, 0, 2)
				server.set("/apis", tc.in)
				time.Sleep(5 * time.Minute)
				if tc.in.silent { // the end of one caller's context does not postpone the discovery
					ctx, cancel := context.WithCancel(t.Context())
					time.AfterFunc(time.Second, cancel)
					find(ctx, time.Second, 0, 2)
				}
				find(t.Context(), tc.took, 0, 2)
				find(t.Context(), 0, 0, 0)
				server.set("/apis", gadgetWith("status"))
				time.Sleep(5 * time.Minute)
				find(t.Context(), 0, 1, 2)
				if tc.in.silent { // the caller keeps half of its time, and the next one does not wait
					server.set("/apis", tc.in)
					time.Sleep(5 * time.Minute)
					ctx, cancel := contextOf(t, 4*time.Second)
					defer cancel()
					find(ctx, 2*time.Second, 1, 2)
					find(t.Context(), 0, 1, 0)
				}
			})
		})
	}
}

// TestRenewalDoesNotDelayOtherLookups checks that lookups during a new discovery use the last one, and that MinInterval
// and MaxAge also limit new discoveries of known kinds.
func TestRenewalDoesNotDelayOtherLookups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := healthy(t)
		apis := server.responses["/apis"]
		m := discovery.NewMapper(server.client(t), nil)
		rare := discovery.NewMapper(server.client(t), &discovery.MapperOptions{MinInterval: time.Hour})
		cached := discovery.NewMapper(server.client(t), &discovery.MapperOptions{
			Discover: &discovery.Options{Cache: discovery.NewCache(&discovery.CacheOptions{MaxAge: time.Hour})},
		})
		for _, m := range []*discovery.Mapper{m, rare, cached} {
			if _, err := m.Resolve(t.Context(), "pods"); err != nil {
				t.Fatal(err)
			}
		}
		server.takeAsked()
		apis.delay = 5 * time.Second
		server.set("/apis", apis)
		time.Sleep(30 * time.Minute)
		began := time.Now()
		for _, m := range []*discovery.Mapper{rare, cached} {
			if _, err := m.Resolve(t.Context(), "pods"); err != nil {
				t.Error(err)
			}
		}
		if asked := server.takeAsked(); len(asked) != 0 {
			t.Errorf("requests = %v, want none within MinInterval and MaxAge", asked)
		}
		var first sync.WaitGroup
		first.Go(func() {
			if _, err := m.Resolve(t.Context(), "pods"); err != nil || time.Since(began) != 5*time.Second {
				t.Errorf("the first lookup: %v after %v, want it to wait for the discovery", err, time.Since(began))
			}
		})
		synctest.Wait()
		if _, err := m.Resolve(t.Context(), "pods"); err != nil || time.Since(began) != 0 {
			t.Errorf("a lookup during the discovery: %v after %v, want no delay", err, time.Since(began))
		}
		first.Wait()
		if asked := server.takeAsked(); len(asked) != 2 {
			t.Errorf("requests = %v, want 2", asked)
		}
	})
}

// TestMapperKeepsResourcesOfFailedGroups checks that a new discovery keeps the known resources of a group version whose
// server has become unavailable, in the server's order of preference, and forgets those of one that was removed.
func TestMapperKeepsResourcesOfFailedGroups(t *testing.T) {
	group := func(versions string) response {
		return plain(`{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":"late.test"},` +
			`"versions":[` + versions + `]}]}`)
	}
	const (
		resources = `"resources":[{"resource":"gadgets","responseKind":{"kind":"Gadget"},"subresources":[` +
			`{"subresource":"status","responseKind":{"kind":"Gadget"}}]}]}`
		v1, v2 = `{"version":"v1",` + resources, `{"version":"v2",` + resources
		stale  = `{"version":"v2","freshness":"Stale","resources":[]}`
	)
	server := modern(t)
	server.set("/apis", group(v2+","+v1))
	m := discovery.NewMapper(server.client(t), nil)
	anyVersion := gadgetKind.GroupKind().WithVersion("")
	if res, err := m.ForKind(t.Context(), anyVersion); err != nil || res.Version != "v2" {
		t.Fatalf("ForKind = %+v, %v; want version v2", res, err)
	}
	server.set("/apis", group(stale+","+v1))
	for range 2 {
		d, err := m.Refresh(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		res, err := d.ForKind(anyVersion)
		if err != nil || res.Version != "v2" || len(d.Subresources(res)) != 1 || len(d.Resources()) != len(d.Preferred())+1 {
			t.Errorf("ForKind = %+v, %v; want version v2 with its subresource", res, err)
		}
		if failed := d.Failed(); len(failed) != 1 || !errors.Is(failed[0], discovery.ErrStale) {
			t.Errorf("Failed = %v, want version v2", failed)
		}
	}
	d, err := discovery.Discover(t.Context(), server.client(t), nil)
	if err != nil || len(d.Resources()) != len(d.Preferred()) {
		t.Errorf("Discover = %+v, %v; want only version v1 of the gadgets", d, err)
	}
	server.set("/apis", group(v1))
	if d, err = m.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if res, err := d.ForKind(anyVersion); err != nil || res.Version != "v1" || len(d.Failed()) != 0 {
		t.Errorf("ForKind = %+v, %v; want version v1", res, err)
	}
}

// TestMapperIsolatesCanceledCallers checks that the end of one caller's context does not affect other callers.
func TestMapperIsolatesCanceledCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := modern(t)
		apis := server.responses["/apis"]
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
				t.Errorf("error = %v, want the cause of the waiting caller's context", err)
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
		{"an object without a namespace uses the client's", "v1", "Pod", "", "pods in mine"},
		{"a cluster-scoped object", "v1", "Node", "", "nodes in "},
		{"an object without a kind", "", "", "", "the object's kind is empty; set it"},
		{"an object without apiVersion", "", "Pod", "", "the Pod's apiVersion is empty; set it"},
		{
			"an object of an unknown kind", "v1", "Unicorn", "",
			`the server has no resource "Unicorn.v1"; a resource that a CustomResourceDefinition defines must be installed ` +
				`first`,
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
