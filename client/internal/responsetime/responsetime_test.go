// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package responsetime_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kube-go/sdk/client/internal/responsetime"
)

// TestTheTimeBeginsWithTheFirstStart checks when a context ends, and its deadline before and after the start.
func TestTheTimeBeginsWithTheFirstStart(t *testing.T) {
	for _, tc := range []struct {
		name          string
		outer         time.Duration // the timeout of the outer context
		before, after time.Duration // the deadline before and after Start
		cause         string
	}{
		{"a late outer deadline", time.Hour, time.Hour, 12 * time.Second, "no response within 2s"},
		{"an early outer deadline", 11 * time.Second, 11 * time.Second, 11 * time.Second, "context deadline exceeded"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				check := func(ctx context.Context, want time.Duration) {
					t.Helper()
					if at, ok := ctx.Deadline(); !ok || at.Sub(began) != want {
						t.Errorf("Deadline() = %v after the beginning, %t; want %v", at.Sub(began), ok, want)
					}
				}
				outer, cancelOuter := context.WithTimeout(t.Context(), tc.outer)
				defer cancelOuter()
				ctx, cancel := responsetime.WithTimeout(outer, 2*time.Second)
				defer cancel()
				inner, cancelInner := context.WithCancel(ctx)
				defer cancelInner()
				time.Sleep(10 * time.Second)
				check(inner, tc.before)
				responsetime.Start(inner)
				check(inner, tc.after)
				time.Sleep(time.Second / 2)
				responsetime.Start(inner) // the request is sent again
				check(inner, tc.after)
				<-inner.Done()
				if got := time.Since(began); got != tc.after || context.Cause(inner).Error() != tc.cause {
					t.Errorf("the context has ended after %v: %v; want %v: %s", got, context.Cause(inner), tc.after, tc.cause)
				}
			})
		})
	}
}

func TestStartOfAnotherContextHasNoEffect(t *testing.T) {
	responsetime.Start(t.Context())
	if _, ok := t.Context().Deadline(); ok {
		t.Error("the context has a deadline")
	}
	ctx, cancel := responsetime.WithTimeout(t.Context(), time.Second)
	if _, ok := ctx.Deadline(); ok {
		t.Error("the context has a deadline before Start")
	}
	cancel()
	if ctx.Err() == nil {
		t.Error("the context has not ended")
	}
}
