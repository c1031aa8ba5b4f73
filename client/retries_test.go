// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/internal/testserver"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/client/pod"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
)

// counting is a transport that counts requests and returns the errors of a function.
type counting struct {
	n    int
	fail func(*http.Request) (*http.Response, error)
}

func (c *counting) RoundTrip(r *http.Request) (*http.Response, error) {
	c.n++
	return c.fail(r)
}

// TestOnlySafeRequestsAreRepeated checks for each verb whether a request is repeated after a broken connection, when
// the server may have executed it, and that every request is repeated if the server states that it has done nothing.
func TestOnlySafeRequestsAreRepeated(t *testing.T) {
	uid := types.UID("u-1")
	for _, tc := range []struct {
		name  string
		call  func(context.Context, *client.API[leanConfigMap]) error
		again bool
	}{
		{"get", func(ctx context.Context, a *client.API[leanConfigMap]) error {
			_, err := a.Get(ctx, "web", nil)
			return err
		}, true},
		{"list", func(ctx context.Context, a *client.API[leanConfigMap]) error { _, err := a.List(ctx, nil); return err }, true},
		{"watch", func(ctx context.Context, a *client.API[leanConfigMap]) error {
			for _, err := range a.WatchOnce(ctx, nil) {
				return err
			}
			return nil
		}, true},
		{"update", func(ctx context.Context, a *client.API[leanConfigMap]) error {
			_, err := a.Update(ctx, leanWeb(), nil)
			return err
		}, true},
		{"update of a version", func(ctx context.Context, a *client.API[leanConfigMap]) error {
			obj := leanWeb()
			obj.ResourceVersion = "7"
			_, err := a.Update(ctx, obj, nil)
			return err
		}, false},
		{"apply to a version", func(ctx context.Context, a *client.API[leanConfigMap]) error {
			obj := leanWeb()
			obj.ResourceVersion = "7"
			_, err := a.Apply(ctx, obj, &request.ApplyOptions{FieldManager: "me"})
			return err
		}, false},
		{"merge patch of a version", func(ctx context.Context, a *client.API[leanConfigMap]) error {
			_, err := a.Patch(ctx, "web", request.MergePatch(`{"metadata":{"resourceVersion":"7"}}`), nil)
			return err
		}, false},
		{"apply", func(ctx context.Context, a *client.API[leanConfigMap]) error {
			_, err := a.Apply(ctx, leanWeb(), &request.ApplyOptions{FieldManager: "me"})
			return err
		}, true},
		{"merge patch", func(ctx context.Context, a *client.API[leanConfigMap]) error {
			_, err := a.Patch(ctx, "web", request.MergePatch(map[string]any{}), nil)
			return err
		}, true},
		{"JSON patch", func(ctx context.Context, a *client.API[leanConfigMap]) error {
			_, err := a.Patch(ctx, "web", request.JSONPatch(request.Op{Op: "add", Path: "/data/a", Value: "b"}), nil)
			return err
		}, false},
		{"delete by UID", func(ctx context.Context, a *client.API[leanConfigMap]) error {
			return a.Delete(ctx, "web", &request.DeleteOptions{UID: uid})
		}, true},
		{"delete by version", func(ctx context.Context, a *client.API[leanConfigMap]) error {
			return a.Delete(ctx, "web", &request.DeleteOptions{ResourceVersion: "7"})
		}, false},
		{"delete by UID and version", func(ctx context.Context, a *client.API[leanConfigMap]) error {
			return a.Delete(ctx, "web", &request.DeleteOptions{UID: uid, ResourceVersion: "7"})
		}, false},
		{"delete", func(ctx context.Context, a *client.API[leanConfigMap]) error { return a.Delete(ctx, "web", nil) }, false},
		{"create", func(ctx context.Context, a *client.API[leanConfigMap]) error {
			_, err := a.Create(ctx, leanWeb(), nil)
			return err
		}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				send := func(fail func(*http.Request) (*http.Response, error)) (int, error) {
					rt := &counting{fail: fail}
					c := testserver.NewClient(t, &client.Options{
						Config: newConfig("https://cluster.test"), Transport: rt, Retry: &middleware.RetryOptions{MaxAttempts: 2},
					})
					err := tc.call(t.Context(), client.Namespaced[leanConfigMap](c, "prod"))
					return rt.n, err
				}
				want := 1
				if tc.again {
					want = 2
				}
				n, err := send(func(*http.Request) (*http.Response, error) { return nil, errors.New("http2: client connection lost") })
				if n != want || !core.IsRetryable(err) {
					t.Errorf("after a broken connection: sent %d times, %v; want %d", n, err, want)
				}
				n, err = send(canned(429, http.Header{"Retry-After": {"1"}}, "").RoundTrip)
				if n != 2 || !errors.Is(err, core.ErrTooManyRequests) || !strings.HasSuffix(err.Error(), "; sent 2 times in 1s") && !strings.Contains(err.Error(), "; sent 2 times in 1.") {
					t.Errorf("after 429: sent %d times, %v; want twice", n, err)
				}
			})
		})
	}
}

// TestRetriedRequestsKeepTheirErrorTypes checks that errors are classified the same whether or not the request was
// repeated.
func TestRetriedRequestsKeepTheirErrorTypes(t *testing.T) {
	busyThen := func(t *testing.T, status int, body string) *client.API[leanConfigMap] {
		busy := canned(503, http.Header{"Retry-After": {"1"}}, "")
		rt := &counting{}
		rt.fail = func(r *http.Request) (*http.Response, error) {
			if rt.n == 1 {
				return busy.RoundTrip(r)
			}
			return canned(status, http.Header{"Content-Type": {"application/json"}}, body).RoundTrip(r)
		}
		c := testserver.NewClient(t, &client.Options{Config: newConfig("https://cluster.test"), Transport: rt})
		return client.Of[leanConfigMap](c, core.Resource{Version: "v1", Kind: "Pod", Plural: "pods", Namespaced: true}).In("prod")
	}
	synctest.Test(t, func(t *testing.T) {
		obj, err := busyThen(t, 404, `404 page not found`).GetOrNil(t.Context(), "web", nil)
		if _, ok := errors.AsType[*client.NotServedError](err); !ok || obj != nil {
			t.Errorf("GetOrNil of a kind that is not served = %v, %v; want a NotServedError", obj, err)
		}
		obj, err = busyThen(t, 404, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,`+
			`"details":{"name":"web","kind":"pods"}}`).GetOrNil(t.Context(), "web", nil)
		if obj != nil || err != nil {
			t.Errorf("GetOrNil of a missing object = %v, %v; want nil, nil", obj, err)
		}
		c := busyThen(t, 429, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"TooManyRequests","code":429,`+
			`"details":{"causes":[{"reason":"DisruptionBudget","message":"The disruption budget web needs 2 healthy pods"}]}}`).
			Client()
		err = pod.In(c, "prod").Evict(t.Context(), "web", nil)
		if budget, ok := errors.AsType[*pod.BudgetError](err); !ok || budget.Budget != "web" {
			t.Errorf("Evict = %v, want a BudgetError of budget web", err)
		}
	})
}

// TestModifyDoesNotRepeatAWriteWhoseResponseWasLost checks that the change is applied once: the write may have
// succeeded, and a second one would conflict with it and be repeated on top of it.
func TestModifyDoesNotRepeatAWriteWhoseResponseWasLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		patches := 0
		rt := &counting{fail: func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodPatch {
				patches++
				return nil, errors.New("http2: client connection lost")
			}
			return canned(200, http.Header{"Content-Type": {"application/json"}}, `{"kind":"ConfigMap","apiVersion":"v1",`+
				`"metadata":{"name":"web","namespace":"prod","resourceVersion":"7"}}`).RoundTrip(r)
		}}
		c := testserver.NewClient(t, &client.Options{Config: newConfig("https://cluster.test"), Transport: rt})
		changes := 0
		_, err := client.Namespaced[leanConfigMap](c, "prod").Modify(t.Context(), "web", func(m *leanConfigMap) error {
			changes++
			m.Labels = map[string]string{"a": "b"}
			return nil
		}, nil)
		if patches != 1 || changes != 1 || !core.IsRetryable(err) || errors.Is(err, core.ErrConflict) {
			t.Errorf("Modify sent %d patches after %d changes: %v; want one of each, and the connection's error", patches, changes, err)
		}
	})
}

// leanWeb returns the object named web.
func leanWeb() *leanConfigMap {
	m := &leanConfigMap{}
	m.Name = "web"
	return m
}

// TestRequestsSurviveARestartOfTheServer checks that the client retries until a server is back at its address.
func TestRequestsSurviveARestartOfTheServer(t *testing.T) {
	testserver.CheckGoroutines(t)
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { testserver.Reply(w, 200, jsonType, []byte(node)) })
	s := httptest.NewServer(handler)
	address := s.Listener.Addr().String()
	retried := make(chan middleware.Retrying, 100)
	c := testserver.NewClient(t, &client.Options{Config: newConfig("http://" + address), Retry: &middleware.RetryOptions{
		OnRetry: func(_ context.Context, r middleware.Retrying) { retried <- r },
	}})
	defer c.CloseIdleConnections()
	get := func() error {
		_, err := client.Dynamic(c, nodes).Get(t.Context(), "n1", nil)
		return err
	}
	if err := get(); err != nil {
		t.Fatal(err)
	}
	s.CloseClientConnections()
	s.Close()
	done := make(chan error)
	go func() { done <- get() }()
	if r := <-retried; r.Call.Verb != "get" || r.Err == nil {
		t.Errorf("retried %+v", r)
	}
	back, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	again := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	serving := make(chan error)
	go func() { serving <- again.Serve(back) }()
	if err := <-done; err != nil {
		t.Errorf("get while the server restarts: %v", err)
	}
	c.CloseIdleConnections()
	if err := again.Close(); err != nil {
		t.Error(err)
	}
	if err := <-serving; !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
}

// TestWarningsReachTheHandler checks that the handler receives the server's warnings with their request.
func TestWarningsReachTheHandler(t *testing.T) {
	s := testserver.New(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Add("Warning", `299 - "v1 Node is old"`)
		testserver.Reply(w, 200, jsonType, []byte(node))
	})
	var heard []string
	c := testserver.NewClient(t, &client.Options{Config: s.Config(), OnWarning: func(ctx context.Context, w middleware.Warning) {
		call, ok := middleware.CallOf(ctx)
		if !ok || call.Verb != "get" || !call.Idempotent {
			t.Errorf("call = %+v, %v", call, ok)
		}
		heard = append(heard, w.Text)
	}})
	if _, err := client.ClusterWide[corev1.Node](c).Get(t.Context(), "n1", nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"v1 Node is old"}, heard); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// TestPerAttemptRunsForEveryRequest checks that Middleware runs once per call, and PerAttempt for each request, with
// its credentials.
func TestPerAttemptRunsForEveryRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []string
		note := func(name string) middleware.Func {
			return func(next http.RoundTripper) http.RoundTripper {
				return middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
					seen = append(seen, strings.TrimSpace(name+" "+r.Header.Get("Authorization")))
					return next.RoundTrip(r)
				})
			}
		}
		cfg := newConfig("https://cluster.test")
		cfg.BearerToken = "abc"
		busy := true
		c := testserver.NewClient(t, &client.Options{
			Config: cfg, Middleware: []middleware.Func{note("call")}, PerAttempt: []middleware.Func{note("attempt")},
			Transport: middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
				code := 200
				if busy {
					code = 503
				}
				busy = false
				return canned(code, http.Header{"Content-Type": {jsonType}}, node).RoundTrip(r)
			}),
		})
		if _, err := client.Dynamic(c, nodes).Get(t.Context(), "n1", nil); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"call", "attempt Bearer abc", "attempt Bearer abc"}, seen); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
	})
}

// TestFeedsAreNotRetried checks that the retries of a watcher are not multiplied by those of the client.
func TestFeedsAreNotRetried(t *testing.T) {
	rt := &counting{fail: canned(503, nil, "").RoundTrip}
	c := testserver.NewClient(t, &client.Options{Config: newConfig("https://cluster.test"), Transport: rt})
	feed := client.Dynamic(c, nodes).Feed()
	if _, err := feed.List(t.Context(), nil, nil); err == nil || rt.n != 1 {
		t.Errorf("list: %v after %d requests, want an error after 1", err, rt.n)
	}
	if _, err := feed.Watch(t.Context(), nil); err == nil || rt.n != 2 {
		t.Errorf("watch: %v after %d requests in all, want an error after 2", err, rt.n)
	}
}
