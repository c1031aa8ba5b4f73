// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kube-go/sdk/core/abi"
)

// kindServer is a server that serves the resource things, with the object a/x.
type kindServer struct {
	*httptest.Server

	plural, kind atomic.Pointer[string]
	asked        atomic.Int64 // how often for its kinds
	onAsked      atomic.Pointer[func()]
	fails        atomic.Bool
}

func newKindServer(t *testing.T, kind string) *kindServer {
	s := new(kindServer)
	s.kind.Store(&kind)
	s.plural.Store(new("things"))
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case s.fails.Load():
			w.WriteHeader(http.StatusBadRequest)
		case r.URL.Path == "/api":
			_, _ = fmt.Fprint(w, `{"kind":"APIVersions","versions":["v1"]}`)
		case r.URL.Path == "/apis":
			_, _ = fmt.Fprint(w, `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`)
		case r.URL.Path == "/api/v1":
			s.asked.Add(1)
			if f := s.onAsked.Swap(nil); f != nil {
				(*f)()
			}
			_, _ = fmt.Fprintf(w, `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":%q,"singularName":"thing",`+
				`"kind":%q,"namespaced":true,"verbs":["list","watch"]}]}`, *s.plural.Load(), *s.kind.Load())
		case r.URL.Path == "/api/v1/namespaces/a/"+*s.plural.Load()+"/x":
			_, _ = fmt.Fprintf(w, `{"kind":%q,"apiVersion":"v1","metadata":{"namespace":"a","name":"x"}}`, *s.kind.Load())
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// thing is a watch of things.
func thing(kind string) *abi.Watch {
	return &abi.Watch{Version: "v1", Resource: "things", Kind: kind, Namespaced: true}
}

// nothing is a watch of a resource that the server does not serve.
func nothing() *abi.Watch { return &abi.Watch{Version: "v1", Resource: "nothings", Kind: "Nothing"} }

func TestWatchNeedsTheKindAndScopeOfTheServer(t *testing.T) {
	s := newKindServer(t, "Thing")
	for name, tt := range map[string]struct {
		w    *abi.Watch
		want error
	}{
		"the kind":           {w: thing("Thing")},
		"another kind":       {w: thing("Other"), want: abi.Invalid},
		"another scope":      {w: &abi.Watch{Version: "v1", Resource: "things", Kind: "Thing"}, want: abi.Invalid},
		"an unknown version": {w: &abi.Watch{Version: "v2", Resource: "things", Kind: "Other"}},
		"an unknown plural":  {w: nothing()},
	} {
		h, _ := newTestHost(t, s.URL, Options{})
		if err := h.kinds.check(t.Context(), tt.w); !errors.Is(err, tt.want) {
			t.Errorf("%s: check = %v, want %v", name, err, tt.want)
		}
	}
	h, _ := newTestHost(t, s.URL, Options{})
	s.fails.Store(true)
	if err := h.kinds.check(t.Context(), thing("Other")); err != nil {
		t.Errorf("check = %v of a server that can't be asked, want nil", err)
	}
	s.fails.Store(false)
	if err := h.kinds.check(t.Context(), thing("Other")); !errors.Is(err, abi.Invalid) {
		t.Errorf("check = %v after the server could be asked again, want Invalid", err)
	}
}

// TestChecksOfAChangedKindShareARefresh has a definition that has changed, and a check that ends while the server is
// asked.
func TestChecksOfAChangedKindShareARefresh(t *testing.T) {
	s := newKindServer(t, "Old")
	h, _ := newTestHost(t, s.URL, Options{})
	if err := h.kinds.check(t.Context(), thing("Old")); err != nil {
		t.Fatal(err)
	}
	s.kind.Store(new("New"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	asked, respond := make(chan struct{}), make(chan struct{})
	s.onAsked.Store(new(func() {
		close(asked)
		<-respond
	}))
	var first, all sync.WaitGroup
	first.Go(func() {
		if err := h.kinds.check(ctx, nothing()); err != nil {
			t.Errorf("the check that ends: %v", err)
		}
	})
	<-asked
	for range 3 {
		all.Go(func() {
			if err := h.kinds.check(t.Context(), thing("New")); err != nil {
				t.Errorf("a watch of the new kind: %v", err)
			}
		})
	}
	cancel()
	first.Wait() // although the server has not responded
	close(respond)
	all.Wait()
	if n := s.asked.Load(); n != 2 {
		t.Errorf("the server was asked %d times, want 2", n)
	}
}

// TestKindIsInvalidOnlyAfterARefresh has modules that make the host ask the server right before a definition changes.
func TestKindIsInvalidOnlyAfterARefresh(t *testing.T) {
	s := newKindServer(t, "Old")
	h, _ := newTestHost(t, s.URL, Options{})
	for range 3 {
		if err := h.kinds.check(t.Context(), nothing()); err != nil {
			t.Fatal(err)
		}
	}
	if n := s.asked.Load(); n != 2 {
		t.Errorf("the server was asked %d times, want 2", n)
	}
	s.kind.Store(new("New"))
	err := h.kinds.check(t.Context(), thing("New"))
	if !errors.Is(err, abi.Unavailable) || !strings.Contains(err.Error(), "repeat the watch in ") {
		t.Errorf("check = %v before the next refresh, want Unavailable with the time until then", err)
	}
	if err := h.kinds.check(t.Context(), thing("Old")); err != nil {
		t.Errorf("check = %v of the kind that the host knows", err)
	}
	h.kinds.mu.Lock()
	h.kinds.next = time.Now()
	h.kinds.mu.Unlock()
	if err := h.kinds.check(t.Context(), thing("New")); err != nil {
		t.Errorf("check = %v with the next refresh", err)
	}
	h.kinds.mu.Lock()
	h.kinds.next = time.Now()
	h.kinds.mu.Unlock()
	if err := h.kinds.check(t.Context(), thing("Old")); !errors.Is(err, abi.Invalid) {
		t.Errorf("check = %v of the former kind, want Invalid", err)
	}
}
