// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/client/middleware"
)

func limited(t testing.TB, o *middleware.RateLimitOptions, s *script) func(context.Context) error {
	t.Helper()
	mw, err := middleware.RateLimit(o)
	if err != nil {
		t.Fatal(err)
	}
	rt := mw(s)
	return func(ctx context.Context) error {
		_, _, err := call(ctx, rt, create, "body")
		return err
	}
}

// TestRateLimit checks that a burst is followed by a constant rate, and that delays are reported.
func TestRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []time.Duration
		s := &script{steps: []step{{status: 200}}}
		send := limited(t, &middleware.RateLimitOptions{
			PerSecond: 2, Burst: 3,
			OnWait: func(_ context.Context, d time.Duration) { told = append(told, d) },
		}, s)
		for range 6 {
			if err := send(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		half := 500 * time.Millisecond
		if diff := cmp.Diff([]time.Duration{0, 0, half, half, half}, s.waits()); diff != "" {
			t.Errorf("waits (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]time.Duration{half, half, half}, told); diff != "" {
			t.Errorf("reported waits (-want +got):\n%s", diff)
		}
		time.Sleep(time.Minute) // after a pause one burst is allowed
		s.times = nil
		for range 4 {
			if err := send(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff([]time.Duration{0, 0, half}, s.waits()); diff != "" {
			t.Errorf("waits after a pause (-want +got):\n%s", diff)
		}
	})
}

// TestRateLimitOfMany checks that concurrent requests are sent one after the other.
func TestRateLimitOfMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{steps: []step{{status: 200}}}
		send := limited(t, &middleware.RateLimitOptions{PerSecond: 10, Burst: 1}, s)
		start := time.Now()
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				if err := send(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if took := time.Since(start).Round(time.Millisecond); took != 4900*time.Millisecond {
			t.Errorf("50 requests at 10 a second took %v, want 4.9s", took)
		}
	})
}

// TestRateLimitGivesUp checks that a request that would be too late fails immediately, and that a canceled request does
// not count.
func TestRateLimitGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{steps: []step{{status: 200}}}
		send := limited(t, &middleware.RateLimitOptions{PerSecond: 0.1}, s)
		if err := send(t.Context()); err != nil {
			t.Fatal(err)
		}
		soon, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		start := time.Now()
		if err := send(soon); !errors.Is(err, context.DeadlineExceeded) ||
			!strings.HasPrefix(err.Error(), "rate limit: the request would have to wait for 10s") || time.Since(start) != 0 {
			t.Errorf("error = %v after %v, want the rate limit error immediately", err, time.Since(start))
		}
		cause := errors.New("enough")
		ending, end := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { end(cause) })
		if err := send(ending); !errors.Is(err, cause) {
			t.Errorf("error = %v, want the cause", err)
		}
		if err := send(ending); !errors.Is(err, cause) {
			t.Errorf("error = %v, want the cause", err)
		}
		if err := send(t.Context()); err != nil || time.Since(start) != 10*time.Second {
			t.Errorf("the next request left after %v, %v; want 10s", time.Since(start), err)
		}
	})
}

// TestWithoutRateLimit checks that a request with this context neither waits nor counts.
func TestWithoutRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{steps: []step{{status: 200}}}
		send := limited(t, &middleware.RateLimitOptions{PerSecond: 0.1}, s)
		start := time.Now()
		for _, ctx := range []context.Context{
			t.Context(), middleware.WithoutRateLimit(t.Context()), middleware.WithoutRateLimit(t.Context()),
		} {
			if err := send(ctx); err != nil || time.Since(start) != 0 {
				t.Fatalf("the request left after %v, %v; want at once", time.Since(start), err)
			}
		}
		if err := send(t.Context()); err != nil || time.Since(start) != 10*time.Second {
			t.Errorf("the next request with a limit left after %v, %v; want 10s", time.Since(start), err)
		}
	})
}

// TestRateLimitOptions checks that the error for an invalid option names it.
func TestRateLimitOptions(t *testing.T) {
	for _, tc := range []struct {
		name string
		in   middleware.RateLimitOptions
		want string
	}{
		{"a zero rate", middleware.RateLimitOptions{}, "RateLimitOptions.PerSecond: 0 is not a positive number"},
		{"a negative rate", middleware.RateLimitOptions{PerSecond: -1}, "RateLimitOptions.PerSecond: -1 "},
		{"NaN", middleware.RateLimitOptions{PerSecond: math.NaN()}, "RateLimitOptions.PerSecond: NaN "},
		{"an infinite rate", middleware.RateLimitOptions{PerSecond: math.Inf(1)}, "RateLimitOptions.PerSecond: +Inf "},
		{"a negative burst", middleware.RateLimitOptions{PerSecond: 1, Burst: -1}, "RateLimitOptions.Burst: -1 is negative"},
	} {
		if _, err := middleware.RateLimit(&tc.in); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%s: error = %v, want %s", tc.name, err, tc.want)
		}
	}
	if mw, err := middleware.RateLimit(nil); mw != nil || err != nil {
		t.Errorf("RateLimit(nil) = %v, want nil", err)
	}
}
