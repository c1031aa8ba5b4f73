// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/kubetest/internal/journal"
	"github.com/kube-go/sdk/kubetest/internal/store"
)

func podKey(name string) store.Key {
	return store.Key{
		GroupResource: schema.GroupResource{Resource: "pods"}, ObjectRef: core.ObjectRef{Namespace: "shop", Name: name},
	}
}

// generated returns a pod whose name is generated.
func generated(name, prefix string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetName(name)
	obj.SetGenerateName(prefix)
	return obj
}

func get(t *testing.T, path string) *http.Request {
	t.Helper()
	return httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
}

func TestRequestsHaveTheSamePathInEachRun(t *testing.T) {
	j := journal.New(nil)
	j.Changed(journal.Request{Author: "program"}, []store.Change{{Key: podKey("web-x7f2k"), New: generated("web-x7f2k", "web-")}})
	for path, want := range map[string]string{
		"/api/v1/pods":                                       "pods",
		"/api/v1/namespaces/shop":                            "namespaces/shop",
		"/api/v1/namespaces/shop/finalize":                   "namespaces/shop/finalize",
		"/api/v1/namespaces/shop/pods":                       "pods/shop",
		"/api/v1/namespaces/shop/pods/web-x7f2k/status":      "pods/shop/web-*/status",
		"/apis/example.com/v1/namespaces/shop/orders/status": "orders.example.com/shop/status",
		"/apis/example.com/v1/planets/earth":                 "planets.example.com/earth",
		"/version":                                           "version",
		"/":                                                  "",
	} {
		for n := 1; n <= 2; n++ {
			got, ok := j.Request("program", get(t, path), "")
			if w := (journal.Request{Author: "program", Method: "GET", Path: want, N: n}); got != w || !ok {
				t.Errorf("request for %s = %+v, %v; want %+v", path, got, ok, w)
			}
		}
	}
	if got, _ := j.Request("program", get(t, "/api/v1/namespaces/shop/pods"), "web-*"); got.Path != "pods/shop/web-*" {
		t.Errorf("the path of a request for a new object is %s, want its name", got.Path)
	}
	if _, ok := j.Request("story", get(t, "/api/v1/pods"), ""); !ok {
		t.Error("the first request of an author is an endless loop")
	}
}

func TestReadsOfObjectsThatMatter(t *testing.T) {
	for path, want := range map[string]bool{
		"/api/v1/pods": true,
		"/api/v1/namespaces/shop/pods?labelSelector=a%3Db":               true,
		"/api/v1/namespaces/shop/pods/one/status":                        true,
		"/apis/example.com/v1/planets/earth":                             true,
		"/apis/example.com/v1/namespaces/shop/orders?watch=true":         false,
		"/apis/coordination.k8s.io/v1/namespaces/shop/leases/controller": false,
		"/apis/coordination.k8s.io/v1":                                   false,
		"/apis":                                                          false,
		"/api/v1":                                                        false,
		"/api/v1/events":                                                 false,
		"/openapi/v3/apis/example.com/v1":                                false,
		"/version":                                                       false,
	} {
		if got := journal.Reads(get(t, path)); got != want {
			t.Errorf("Reads(%s) = %v, want %v", path, got, want)
		}
	}
	r := get(t, "/api/v1/pods")
	r.Method = http.MethodDelete
	if journal.Reads(r) {
		t.Error("a delete is a read")
	}
}

func TestObjectPathHasNoSubresource(t *testing.T) {
	for path, want := range map[string]string{
		"/api/v1/namespaces/shop/pods/status":        "/api/v1/namespaces/shop/pods/status",
		"/api/v1/namespaces/shop/pods/status/status": "/api/v1/namespaces/shop/pods/status",
		"/api/v1/namespaces/shop/finalize":           "/api/v1/namespaces/shop",
		"/apis/example.com/v1/planets/earth/scale":   "/apis/example.com/v1/planets/earth",
	} {
		if got := journal.ObjectPath(path); got != want {
			t.Errorf("ObjectPath(%s) = %s, want %s", path, got, want)
		}
	}
}

func FuzzObjectPath(f *testing.F) {
	f.Add("/apis/example.com/v1/namespaces/shop/orders/one/status")
	f.Add("/api/v1/namespaces/shop/finalize")
	f.Fuzz(func(t *testing.T, path string) {
		if got := journal.ObjectPath(path); !strings.HasPrefix(path, got) {
			t.Errorf("ObjectPath(%q) = %q, want the beginning of the path", path, got)
		}
	})
}

func TestEqualRequestsAreAnEndlessLoopOnlyBetweenBeginAndEnd(t *testing.T) {
	j := journal.New(nil)
	request := func() (ok bool) {
		for range 10_001 {
			_, ok = j.Request("program", get(t, "/api/v1/pods"), "")
		}
		return ok
	}
	if !request() {
		t.Error("requests before Begin are an endless loop")
	}
	j.Begin()
	if request() {
		t.Error("10,001 equal requests at once are accepted after Begin")
	}
	if got, n := j.MostRequested(); got != "GET /api/v1/pods" || n != 10_001 {
		t.Errorf("MostRequested = %s, %d", got, n)
	}
	j.Begin()
	if _, ok := j.Request("program", get(t, "/api/v1/pods"), ""); !ok {
		t.Error("the first request after Begin is an endless loop")
	}
	j.End()
	if !request() {
		t.Error("requests after End are an endless loop")
	}
}

func TestFrequentRequestsAreNoEndlessLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := journal.New(nil)
		j.Begin()
		for range 20_000 {
			<-time.After(20 * time.Millisecond)
			if _, ok := j.Request("program", get(t, "/api/v1/pods"), ""); !ok {
				t.Fatal("50 requests in a second are an endless loop")
			}
		}
	})
}

func TestChangesAreRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := journal.New(nil)
		before := j.Begin()
		program, obj := journal.Request{Author: "program"}, generated("web-x7f2k", "web-")
		lease := store.Key{
			GroupResource: schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"},
			ObjectRef:     core.ObjectRef{Namespace: "shop", Name: "leader"},
		}
		if j.Changed(program, []store.Change{{Key: lease, New: generated("leader", "")}}) {
			t.Error("a change of a lease matters")
		}
		<-time.After(time.Second)
		if !j.Changed(program, []store.Change{{Key: podKey("web-x7f2k"), New: obj}, {Key: lease, Old: obj}}) {
			t.Error("a new pod does not matter")
		}
		j.Note("fault:   crash")
		j.Changed(program, []store.Change{
			{Key: podKey("web-x7f2k"), Old: obj, New: obj}, {Key: podKey("web-x7f2k"), Old: obj}, {Key: podKey("a"), New: obj},
		})
		const want = `      1s  program  created pods shop/web-x7f2k
      1s  fault:   crash
      1s  program  changed pods shop/web-x7f2k
      1s  program  deleted pods shop/web-x7f2k
      1s  program  created pods shop/a`
		if diff := cmp.Diff(want, j.String()); diff != "" {
			t.Errorf("lines (-want +got):\n%s", diff)
		}
		counts := map[string]journal.Counts{"pods shop/web-*": {1, 1}, "pods shop/a": {1, 0}}
		if diff := cmp.Diff(counts, j.Counts()); diff != "" {
			t.Errorf("counts (-want +got):\n%s", diff)
		}
		if got := j.Changes() - before; got != 4 {
			t.Errorf("%d changes, want 4", got)
		}
		if got, n := j.MostChanged(); got != "pods shop/web-*" || n != 3 {
			t.Errorf("MostChanged = %s, %d", got, n)
		}
	})
}
