// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/internal/fakesource"
	"github.com/kube-go/sdk/runtime/reflector"
	"github.com/kube-go/sdk/runtime/watcher"
)

func TestWatchBeginsWithTheFirstRunAndEndsWithTheLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer("prod/a")
		v := cache.Of[corev1.ConfigMap](cache.New(s.Client(), nil), nil)
		synctest.Wait()
		wantRequests(t, s)
		first := start(t, v)
		wantRequests(t, s, "stream")
		second, third := start(t, v), start(t, v)
		first()
		third()
		s.Put(configMaps, configMap("prod/b", "first"))
		synctest.Wait()
		wantNames(t, v, "prod/a", "prod/b")
		if n := s.Kind(configMaps).Open(); n != 1 {
			t.Errorf("%d watches are open, want 1", n)
		}
		second()
		if n := s.Kind(configMaps).Open(); n != 0 {
			t.Errorf("%d watches are open after the last Run has returned", n)
		}
		wantRequests(t, s)
	})
}

func TestNextRunUpdatesTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer("prod/a", "prod/b", "prod/c")
		v := cache.Of[corev1.ConfigMap](cache.New(s.Client(), nil), nil)
		start(t, v)()
		s.Delete(configMaps, ref("prod/b"))
		s.Put(configMaps, configMap("prod/c", "second"))
		s.Put(configMaps, configMap("prod/d", "first"))
		wantNames(t, v, "prod/a", "prod/b", "prod/c") // the objects of the first run

		changes := make(map[string]core.EventType)
		go func() {
			for c, err := range v.Subscribe(t.Context()) {
				if err == nil && !c.Initial {
					changes[c.Ref.String()] = c.Type
				}
			}
		}()
		synctest.Wait()
		start(t, v)
		wantNames(t, v, "prod/a", "prod/c", "prod/d")
		want := map[string]core.EventType{"prod/b": core.Deleted, "prod/c": core.Modified, "prod/d": core.Added}
		for name, kind := range want {
			if changes[name] != kind {
				t.Errorf("the subscriber received %q of %s, want %q", changes[name], name, kind)
			}
		}
		if _, told := changes["prod/a"]; told {
			t.Error("the subscriber received a change of an unchanged object")
		}
	})
}

func TestSlowEndOfAWatchDelaysOnlyTheNextWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer("prod/a")
		s.SlowEnd(time.Minute)
		v := cache.Of[corev1.ConfigMap](cache.New(s.Client(), nil), nil)
		stop := start(t, v)
		wantRequests(t, s, "stream")
		began := time.Now()
		ended := make(chan time.Duration, 1)
		go func() {
			stop()
			ended <- time.Since(began)
		}()
		synctest.Wait()

		stopSecond, stopThird := start(t, v), start(t, v) // they share a watch that has not started
		if err := v.Health(); err != nil || v.Resource().Kind != "ConfigMap" {
			t.Errorf("Health() = %v of %s", err, v.Resource())
		}
		stopSecond()
		wantRequests(t, s)
		if took := time.Since(began); took > 0 {
			t.Errorf("a Run whose watch has other users returned after %v", took)
		}
		if took := <-ended; took != time.Minute {
			t.Errorf("the last Run of a watch returned after %v, want when the watch has ended", took)
		}
		synctest.Wait()
		wantRequests(t, s, "stream")
		if n := s.Kind(configMaps).Open(); n != 1 {
			t.Errorf("%d watches are open, want 1", n)
		}
		stopThird()
	})
}

// The bubble checks at its end that no goroutine is left, here as in all tests.
func TestConcurrentRunsShareOneWatchAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer("prod/a")
		most := 0
		var mu sync.Mutex
		s.Kind(configMaps).Behave(fakesource.Behaviour{OnWatch: func(*request.WatchOptions) error {
			mu.Lock()
			defer mu.Unlock()
			most = max(most, s.Kind(configMaps).Open())
			return nil
		}})
		v := cache.Of[corev1.ConfigMap](cache.New(s.Client(), nil), nil)
		var users sync.WaitGroup
		for range 20 {
			users.Go(func() {
				for range 100 {
					ctx, cancel := context.WithTimeoutCause(t.Context(), rand.N(4*time.Millisecond), errStop)
					if err := v.Run(ctx); err != errStop {
						t.Errorf("Run() = %v, want the cause", err)
					}
					cancel()
					<-time.After(rand.N(40 * time.Millisecond))
				}
			})
		}
		users.Wait()
		if n := len(s.Kind(configMaps).Requests()); n < 10 {
			t.Errorf("the watch began %d times, which is too few to test anything", n)
		}
		if n := s.Kind(configMaps).Open(); n != 0 || most != 1 {
			t.Errorf("%d watches are open at the end, and at most %d were at the same time, want 0 and 1", n, most)
		}
		start(t, v)
		wantNames(t, v, "prod/a")
	})
}

// requestContexts records the contexts of requests.
type requestContexts struct {
	http.RoundTripper
	seen []context.Context
}

func (c *requestContexts) RoundTrip(r *http.Request) (*http.Response, error) {
	c.seen = append(c.seen, r.Context())
	return c.RoundTripper.RoundTrip(r)
}

// The watch serves all callers that share it, so it must not have the values of the first one.
func TestWatchHasNoContextValuesOfTheFirstCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		seen := &requestContexts{RoundTripper: newServer("prod/a")}
		v := cache.Of[corev1.ConfigMap](through(t, seen), nil)
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "the first"))
		go func() { _ = v.Run(ctx) }()
		synctest.Wait()
		start(t, v)
		cancel()
		if len(seen.seen) != 1 || seen.seen[0].Value(key{}) != nil {
			t.Errorf("%d requests, the first with the value %v, want one without", len(seen.seen), seen.seen[0].Value(key{}))
		}
	})
}

func TestPermanentFailureEndsAllRunsAndTheNextRunTriesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer("prod/a")
		invalid := &request.InvalidError{Field: "name", Detail: "is wrong"}
		fail := make(chan struct{})
		s.Kind(configMaps).Behave(fakesource.Behaviour{OnWatch: func(*request.WatchOptions) error {
			<-fail
			return invalid
		}})
		v := cache.Of[corev1.ConfigMap](cache.New(s.Client(), nil), nil)
		ended := make(chan error, 3)
		for range 2 {
			go func() { ended <- v.Run(t.Context()) }()
		}
		go func() { ended <- v.Ready(t.Context()) }()
		synctest.Wait()
		close(fail)
		for range 3 {
			if err := <-ended; !errors.Is(err, invalid) {
				t.Errorf("got %v, want %v", err, invalid)
			}
		}
		s.Kind(configMaps).Behave(fakesource.Behaviour{})
		start(t, v)
		wantNames(t, v, "prod/a")
	})
}

func TestWaitFor(t *testing.T) {
	tests := []struct {
		name      string
		selection cache.Selection
		write     string
		value     string
		wait      bool
	}{
		{"a new object", cache.Selection{}, "prod/new", "first", true},
		{"a changed object", cache.Selection{}, "prod/a", "second", true},
		{"in the namespace", cache.Selection{Namespace: "prod"}, "prod/new", "first", true},
		{"in another namespace", cache.Selection{Namespace: "test"}, "prod/new", "first", false},
		{"with the label", cache.Selection{LabelSelector: "value=first"}, "prod/new", "first", true},
		{"without the label", cache.Selection{LabelSelector: "value=first"}, "prod/new", "second", false},
		{"that has lost the label", cache.Selection{LabelSelector: "value=first"}, "prod/a", "second", true},
		{"with the name", cache.Selection{FieldSelector: "metadata.name=new"}, "prod/new", "first", true},
		{"with another name", cache.Selection{FieldSelector: "metadata.name!=new"}, "prod/new", "first", false},
		{"with the namespace", cache.Selection{FieldSelector: "metadata.namespace!=test"}, "prod/new", "first", true},
		{"with another namespace", cache.Selection{FieldSelector: "metadata.namespace=test"}, "prod/new", "first", false},
		{"with the name, and possibly by a field", cache.Selection{FieldSelector: "metadata.name=new,data=x"}, "prod/new", "first", false},
		{"possibly selected by a field", cache.Selection{FieldSelector: "data=x"}, "prod/new", "first", false},
		{"selected by a field before", cache.Selection{FieldSelector: "data=x"}, "prod/a", "second", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer("prod/a")
				v := cache.Of[corev1.ConfigMap](cache.New(s.Client(), nil), &tt.selection)
				start(t, v)
				s.Lag(time.Second)
				obj := configMap(tt.write, tt.value)
				obj.ResourceVersion = s.Put(configMaps, obj)
				began := time.Now()
				if err := v.WaitFor(t.Context(), obj); err != nil {
					t.Fatal(err)
				}
				if waited := time.Since(began) == time.Second; waited != tt.wait {
					t.Errorf("waited %v: %v, want %v", time.Since(began), waited, tt.wait)
				}
				began = time.Now()
				if err := v.WaitFor(t.Context(), obj); err != nil || time.Since(began) > 0 {
					t.Errorf("WaitFor of an observed object = %v after %v", err, time.Since(began))
				}
			})
		})
	}
}

func TestWaitForEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer("prod/a")
		v := cache.Of[corev1.ConfigMap](cache.New(s.Client(), nil), nil)
		start(t, v)
		obj := configMap("prod/a", "second")
		obj.ResourceVersion = "1000"
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errStop)
		defer cancel()
		if err := v.WaitFor(ctx, obj); !errors.Is(err, errStop) {
			t.Errorf("WaitFor() = %v, want the cause", err)
		}
		obj.ResourceVersion = "latest"
		if err := v.WaitFor(t.Context(), obj); err == nil {
			t.Error("WaitFor() of an invalid version returned no error")
		}
	})
}

func TestOnReturnsTheViewOfAnotherCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		home := cache.New(newServer("prod/a").Client(), nil)
		abroad := cache.New(newServer("prod/a", "test/b").Client(), &cache.Options{Cluster: "abroad"})
		v := cache.Of[corev1.ConfigMap](home, &cache.Selection{Namespace: "test"})
		other := v.On(abroad)
		if v.Cluster() != "" || other.Cluster() != "abroad" || abroad.Cluster() != "abroad" {
			t.Errorf("the clusters are %q and %q, want none and abroad", v.Cluster(), other.Cluster())
		}
		if other != cache.Of[corev1.ConfigMap](abroad, &cache.Selection{Namespace: "test"}) || v.On(home) != v {
			t.Error("On() has returned another view than Of()")
		}
		start(t, other)
		wantNames(t, other, "test/b")
	})
}

func TestViewKeepsItsSelectionIfTheCallerChangesTheOptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		home := cache.New(newServer("prod/a").Client(), nil)
		abroad := cache.New(newServer("prod/a", "test/b").Client(), &cache.Options{Cluster: "abroad"})
		s := &cache.Selection{Namespace: "test"}
		v := cache.Of[corev1.ConfigMap](home, s)
		s.Namespace = "prod"
		other := v.On(abroad)
		start(t, other)
		wantNames(t, other, "test/b")
	})
}

func TestDecodedViewSharesItsObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		home := cache.New(newServer("prod/a").Client(), nil)
		abroad := cache.New(newServer("test/b").Client(), &cache.Options{Cluster: "abroad"})
		v := cache.Decoded(cache.Of[corev1.ConfigMap](home, nil))
		if v != cache.Decoded(cache.Of[corev1.ConfigMap](home, nil)) || v != cache.Decoded(v) || v != v.On(home) {
			t.Error("the decoded view of one view is not always the same")
		}
		for _, tt := range []struct {
			view *cache.View[corev1.ConfigMap]
			obj  string
		}{{v, "prod/a"}, {v.On(abroad), "test/b"}} {
			stop := start(t, tt.view)
			wantNames(t, tt.view, tt.obj)
			first, err := tt.view.Store().Get(ref(tt.obj))
			again, errAgain := cache.Decoded(cache.Of[corev1.ConfigMap](tt.view.Cache(), nil)).Store().Get(ref(tt.obj))
			if first != again || err != nil || errAgain != nil {
				t.Errorf("two reads of %s returned two objects, %v, %v", tt.obj, err, errAgain)
			}
			own, err := cache.Of[corev1.ConfigMap](tt.view.Cache(), nil).Store().Get(ref(tt.obj))
			if own == first || err != nil {
				t.Errorf("the other view shares %s, too, %v", tt.obj, err)
			}
			stop()
			time.Sleep(2 * time.Minute)
			if _, err := tt.view.Store().Get(ref(tt.obj)); !errors.Is(err, reflector.ErrNotReady) {
				t.Errorf("Get after the objects were discarded: %v", err)
			}
		}
	})
}

func TestHealthEndsAnErrorWhenTheServerAcceptsAWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer("prod/a")
		v := cache.Of[corev1.ConfigMap](cache.New(s.Client(), nil), nil)
		start(t, v)
		s.Kind(configMaps).Behave(fakesource.Behaviour{
			OnWatch: func(*request.WatchOptions) error {
				return fakesource.Status(503, metav1.StatusReasonServiceUnavailable)
			},
		})
		s.Kind(configMaps).Cut(errors.New("cut"))
		time.Sleep(10 * time.Second)
		if st := v.Status(); v.Health() == nil || st.Phase != watcher.BackingOff || st.Failures == 0 {
			t.Errorf("Health() = %v, Status() = %+v while the server refuses the watch", v.Health(), st)
		}
		s.Kind(configMaps).Behave(fakesource.Behaviour{})
		for v.Status().Phase != watcher.Watching {
			time.Sleep(time.Second)
		}
		if err := v.Health(); err != nil {
			t.Errorf("Health() = %v when the watch is open, though nothing has changed", err)
		}
	})
}

func TestReadsOfAViewThatNothingRunsSayHowToRunIt(t *testing.T) {
	const remedy = "pass its view to a controller"
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		v := cache.Of[corev1.ConfigMap](cache.New(newServer("prod/a").Client(), &cache.Options{
			Logger: slog.New(slog.NewTextHandler(&log, nil)),
		}), nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := v.Ready(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), remedy) {
			t.Errorf("Ready() = %v", err)
		}
		synctest.Wait()
		if n := strings.Count(log.String(), "nothing runs it"); n != 1 {
			t.Errorf("the log has %d records about a view that nothing runs:\n%s", n, &log)
		}
		if _, err := v.Store().Get(ref("prod/a")); !errors.Is(err, reflector.ErrNotReady) || !strings.Contains(err.Error(), remedy) {
			t.Errorf("Get() = %v", err)
		}
		for _, err := range v.Store().All(nil) {
			if !errors.Is(err, reflector.ErrNotReady) || !strings.Contains(err.Error(), remedy) {
				t.Errorf("All() yields %v", err)
			}
		}
		_, err := v.Store().Refs(nil)
		if !errors.Is(err, reflector.ErrNotReady) || !strings.Contains(err.Error(), remedy) {
			t.Errorf("Refs() = %v", err)
		}
		stop := start(t, v)
		stop()
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := v.Ready(ended); err == nil || strings.Contains(err.Error(), remedy) {
			t.Errorf("Ready() = %v after a run", err)
		}
	})
}

func TestReadsOfANamespaceThatAViewDoesNotSelectAreErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := cache.Of[corev1.ConfigMap](cache.New(newServer("prod/a", "test/b").Client(), nil), &cache.Selection{Namespace: "prod"})
		start(t, v)
		wantNames(t, v, "prod/a")
		const want = `the store has only the namespace "prod"`
		if _, err := v.Store().Get(ref("test/b")); err == nil || errors.Is(err, core.ErrNotFound) || !strings.Contains(err.Error(), want) {
			t.Errorf("Get() = %v", err)
		}
		for _, err := range v.Store().All(&reflector.SelectOptions{Namespace: "test"}) {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("All() yields %v", err)
			}
		}
		if _, err := v.Store().Get(ref("prod/b")); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("Get() = %v, want not found", err)
		}
	})
}

func TestViewOfANilCacheReturnsAnError(t *testing.T) {
	for name, v := range map[string]*cache.View[corev1.ConfigMap]{
		"Of": cache.Of[corev1.ConfigMap](nil, nil),
		"On": cache.Of[corev1.ConfigMap](cache.New(newServer().Client(), nil), nil).On(nil),
	} {
		for call, err := range map[string]error{"Run": v.Run(t.Context()), "Ready": v.Ready(t.Context())} {
			if err == nil || !strings.Contains(err.Error(), "the cache is nil") {
				t.Errorf("%s of a nil cache: %s() = %v, want an error", name, call, err)
			}
		}
	}
}
