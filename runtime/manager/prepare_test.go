// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package manager_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/internal/fakeapi"
	"github.com/kube-go/sdk/runtime/manager"
)

// syncBuffer is a buffer that several goroutines may use.
type syncBuffer struct {
	mu  sync.Mutex // guards buf
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// forbidden is the response to a request without a permission.
func forbidden() *http.Response {
	return fakeapi.Response(http.StatusForbidden, &metav1.Status{
		Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: "no permission",
	})
}

// forbid returns a transport that refuses the requests for which refuses returns true.
func forbid(next http.RoundTripper, refuses func(*http.Request) bool) http.RoundTripper {
	return middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
		if refuses(r) {
			return forbidden(), nil
		}
		return next.RoundTrip(r)
	})
}

// reads returns a function that reports whether a request reads a resource.
func reads(plural string) func(*http.Request) bool {
	return func(r *http.Request) bool {
		return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/"+plural)
	}
}

// delayed returns a transport that delays the reads of config maps.
func delayed(next http.RoundTripper, d time.Duration) http.RoundTripper {
	return middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
		if reads("configmaps")(r) {
			select {
			case <-time.After(d):
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
		}
		return next.RoundTrip(r)
	})
}

// candidate is a replica that reconciles config maps.
type candidate struct {
	*manager.Manager
	stop   context.CancelCauseFunc
	result <-chan error

	mu   sync.Mutex // guards seen
	seen map[string]bool
}

func newCandidate(t *testing.T, s http.RoundTripper, o manager.Options, views bool) *candidate {
	t.Helper()
	r := &candidate{seen: map[string]bool{}}
	c := connect(t, s, nil)
	o.Logger = discard
	r.Manager = manager.New(c, &o)
	view := cache.Of[corev1.ConfigMap](cache.New(c, &cache.Options{Logger: discard}), &cache.Selection{Sharded: views})
	ctl := controller.New(controller.ForView(view), &controller.Options{Logger: discard})
	r.Add(ctl.With(func(_ context.Context, cm *corev1.ConfigMap) (controller.Action, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.seen[cm.Name+"="+cm.Data["v"]] = true
		return controller.AwaitChange(), nil
	}))
	r.stop, r.result = run(t, r.Manager)
	return r
}

func (r *candidate) has(state string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.seen[state]
}

func (r *candidate) end(t *testing.T) {
	t.Helper()
	r.stop(errStop)
	if err := <-r.result; err != nil {
		t.Errorf("Run = %v", err)
	}
}

func putMaps(s *fakeapi.Server, n int, v string) {
	for i := range n {
		s.Put(resource[corev1.ConfigMap](), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: fmt.Sprint("cm-", i)}, Data: map[string]string{"v": v},
		})
	}
}

// TestReplicaTakesNoWorkBeforeItsControllersCanBegin adds a replica that lacks a permission, or whose caches are filled
// slowly, to one that works.
func TestReplicaTakesNoWorkBeforeItsControllersCanBegin(t *testing.T) {
	const filled = 90 * time.Second
	forbids := func(s http.RoundTripper) http.RoundTripper { return forbid(s, reads("configmaps")) }
	delays := func(s http.RoundTripper) http.RoundTripper { return delayed(s, filled) }
	for _, tt := range []struct {
		name   string
		views  bool
		change func(http.RoundTripper) http.RoundTripper
		joins  bool
	}{
		{"forbidden", false, forbids, false},
		{"forbidden sharded view", true, forbids, false},
		{"slow", false, delays, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer()
				putMaps(s, 40, "1")
				a := newCandidate(t, s, manager.Options{Sharding: "shop"}, tt.views)
				time.Sleep(10 * time.Second)
				b := newCandidate(t, tt.change(s), manager.Options{Sharding: "shop"}, tt.views)
				time.Sleep(10 * time.Second)
				putMaps(s, 40, "2")
				time.Sleep(5 * time.Second)
				for i := range 40 {
					if !a.has(fmt.Sprintf("cm-%d=2", i)) {
						t.Errorf("cm-%d waits for a replica that can't begin", i)
					}
				}
				time.Sleep(filled + 20*time.Second)
				if b.Leading() != tt.joins {
					t.Errorf("the other replica is a member: %v, want %v", b.Leading(), tt.joins)
				}
				a.end(t)
				b.end(t)
			})
		})
	}
}

func TestReplicaWhoseControllersCannotBeginDoesNotLead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		putMaps(s, 1, "1")
		bad := newCandidate(t, forbid(s, reads("configmaps")), manager.Options{LeaderElection: "shop"}, false)
		time.Sleep(time.Hour)
		good := newCandidate(t, s, manager.Options{LeaderElection: "shop"}, false)
		time.Sleep(5 * time.Second)
		if bad.Leading() || !good.Leading() || !good.has("cm-0=1") {
			t.Errorf("the replica without the permission leads: %v; the other one: %v", bad.Leading(), good.Leading())
		}
		good.end(t)
		bad.end(t)
	})
}

// TestOneControllerDoesNotStopTheOthers adds a controller, or a source, that can't be synced.
func TestOneControllerDoesNotStopTheOthers(t *testing.T) {
	for _, asSource := range []bool{false, true} {
		t.Run(fmt.Sprint("as a source ", asSource), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := fakeapi.New(resource[coordinationv1.Lease](), resource[corev1.ConfigMap](), resource[corev1.Secret]())
				var logs syncBuffer
				c := connect(t, forbid(s, reads("secrets")), nil)
				m := manager.New(c, &manager.Options{
					LeaderElection: "shop", Logger: slog.New(slog.NewTextHandler(&logs, nil)),
				})
				store := cache.New(c, &cache.Options{Logger: discard})
				o := controller.Options{Logger: discard, SyncTimeout: 20 * time.Second}
				maps := controller.New(controller.For[corev1.ConfigMap](store), &o)
				if asSource {
					maps.Reads(controller.Source[corev1.Secret](store))
				} else {
					secrets := controller.New(controller.For[corev1.Secret](store), &o)
					m.Add(secrets.With(func(context.Context, *corev1.Secret) (controller.Action, error) {
						return controller.AwaitChange(), nil
					}))
				}
				m.Add(maps.With(func(context.Context, *corev1.ConfigMap) (controller.Action, error) {
					return controller.AwaitChange(), nil
				}))
				stop, result := run(t, m)
				time.Sleep(19 * time.Second)
				if m.Leading() {
					t.Error("the replica leads before SyncTimeout")
				}
				time.Sleep(3 * time.Second)
				if !m.Leading() {
					t.Error("the replica does not lead after SyncTimeout")
				}
				for text, want := range map[string]bool{
					"this replica takes no work yet":               true,
					"no permission":                                true,
					"controllers=[secret]":                         !asSource,
					"some controllers can't begin: the others beg": !asSource,
				} {
					if got := strings.Contains(logs.String(), text); got != want {
						t.Errorf("the log has %q: %v, want %v:\n%s", text, got, want, logs.String())
					}
				}
				stop(errStop)
				if err := <-result; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestStopDuringTheWaitForControllers(t *testing.T) {
	for name, o := range divisions {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newCandidate(t, forbid(newServer(), reads("configmaps")), o, false)
				time.Sleep(time.Minute)
				began := time.Now()
				r.end(t)
				if took := time.Since(began); took > time.Second {
					t.Errorf("Run has returned after %v", took)
				}
			})
		})
	}
}
