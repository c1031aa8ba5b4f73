// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/client/middleware"
)

// TestObserve checks that each request is reported once, when its body ends, however that happens.
func TestObserve(t *testing.T) {
	type seen struct {
		Method, Verb string
		Attempt      int
		Outcome      middleware.Outcome
	}
	read := func(body io.ReadCloser) { _, _ = io.ReadAll(body) }
	for _, tc := range []struct {
		name string
		step step
		use  func(io.ReadCloser)
		want middleware.Outcome
	}{
		{
			"a body that is read",
			step{status: 200, body: "hello"},
			read,
			middleware.Outcome{Status: 200, Bytes: 5, HeaderTook: time.Second, Took: 2 * time.Second},
		},
		{
			"a body that is read and closed",
			step{status: 404, body: "hello"},
			func(b io.ReadCloser) { read(b); b.Close(); b.Close() },
			middleware.Outcome{Status: 404, Bytes: 5, HeaderTook: time.Second, Took: 2 * time.Second},
		},
		{
			"a body that is closed",
			step{status: 200, body: "hello"},
			func(b io.ReadCloser) { b.Close() },
			middleware.Outcome{Status: 200, HeaderTook: time.Second, Took: 2 * time.Second},
		},
		{
			"a body that breaks",
			step{status: 200, body: "he", cut: true},
			read,
			middleware.Outcome{Status: 200, Bytes: 2, Err: io.ErrUnexpectedEOF, HeaderTook: time.Second, Took: 2 * time.Second},
		},
		{"no response", step{err: reset}, nil, middleware.Outcome{Err: reset, HeaderTook: time.Second, Took: time.Second}},
		{
			"a request that becomes a stream",
			step{status: 101},
			nil,
			middleware.Outcome{Status: 101, HeaderTook: time.Second, Took: time.Second},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var all []seen
				observer := func(r *http.Request) (context.Context, func(middleware.Outcome)) {
					c, _ := middleware.CallOf(r.Context())
					n, _ := middleware.AttemptOf(r.Context())
					r.Header.Set("Traceparent", "00-1")
					return nil, func(o middleware.Outcome) { all = append(all, seen{r.Method, c.Verb, n, o}) }
				}
				s := &script{steps: []step{tc.step}}
				slow := func(next http.RoundTripper) http.RoundTripper {
					return middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
						if r.Header.Get("Traceparent") == "" {
							t.Error("the observer's header is missing")
						}
						time.Sleep(time.Second)
						return next.RoundTrip(r)
					})
				}
				r := newRequest(t, http.Header{})
				r = r.WithContext(middleware.WithCall(r.Context(), get))
				resp, err := middleware.Chain(s, middleware.Observe(observer), slow).RoundTrip(r)
				if err == nil {
					defer resp.Body.Close()
				}
				if len(r.Header) != 0 {
					t.Errorf("the middleware changed the request that it received: %v", r.Header)
				}
				if tc.use != nil {
					time.Sleep(time.Second)
					tc.use(resp.Body)
				}
				same := cmp.Comparer(func(a, b error) bool { return errors.Is(a, b) || errors.Is(b, a) })
				if diff := cmp.Diff([]seen{{"GET", "get", 1, tc.want}}, all, same); diff != "" {
					t.Errorf("seen (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestObserveContext checks that the observer's context is passed on with the request, that attempts are numbered, and
// that the callback of an observer may be nil.
func TestObserveContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		observer := func(r *http.Request) (context.Context, func(middleware.Outcome)) {
			n, first := middleware.AttemptOf(r.Context())
			return context.WithValue(r.Context(), key{}, fmt.Sprint(n, first.IsZero())), nil
		}
		var got []any
		look := func(next http.RoundTripper) http.RoundTripper {
			return middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
				got = append(got, r.Context().Value(key{}))
				return next.RoundTrip(r)
			})
		}
		s := &script{steps: []step{{status: 503}, {status: 200, body: "ok"}}}
		rt := middleware.Chain(s, mustRetry(t, nil), middleware.Observe(observer), look)
		if _, body, err := call(t.Context(), rt, get, ""); body != "ok" || err != nil {
			t.Errorf("response = %q, %v", body, err)
		}
		if diff := cmp.Diff([]any{"1 true", "2 false"}, got); diff != "" {
			t.Errorf("contexts (-want +got):\n%s", diff)
		}
		if middleware.Observe(nil) != nil {
			t.Error("Observe(nil) is not nil")
		}
	})
}

// TestObserveReportsAPanic checks that a request whose transport panics ends, so that no gauge counts it forever.
func TestObserveReportsAPanic(t *testing.T) {
	var all []middleware.Outcome
	observer := func(r *http.Request) (context.Context, func(middleware.Outcome)) {
		return r.Context(), func(o middleware.Outcome) { all = append(all, o) }
	}
	panics := middleware.RoundTripperFunc(func(*http.Request) (*http.Response, error) { panic("at the disco") })
	func() {
		defer func() {
			if p := recover(); p != "at the disco" {
				t.Errorf("recover() = %v, want the value of the panic", p)
			}
		}()
		resp, err := middleware.Observe(observer)(panics).RoundTrip(newRequest(t, nil))
		if err == nil {
			resp.Body.Close()
		}
		t.Errorf("RoundTrip() returned %v", err)
	}()
	if len(all) != 1 || all[0].Err == nil || all[0].Status != 0 {
		t.Errorf("outcomes = %+v, want an error", all)
	}
}

// TestObserverMayUseTheBody checks that a callback holds no lock of the body: another goroutine can close the body
// meanwhile, as a slow exporter of spans requires.
func TestObserverMayUseTheBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var body io.ReadCloser
		observer := func(*http.Request) (context.Context, func(middleware.Outcome)) {
			return nil, func(middleware.Outcome) {
				closed := make(chan error)
				go func() { closed <- body.Close() }()
				if err := <-closed; err != nil {
					t.Error(err)
				}
			}
		}
		s := &script{steps: []step{{status: 200, body: "hello"}}}
		resp, err := middleware.Observe(observer)(s).RoundTrip(newRequest(t, nil))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body = resp.Body
		if data, err := io.ReadAll(resp.Body); string(data) != "hello" || err != nil {
			t.Errorf("body = %q, %v", data, err)
		}
	})
}
