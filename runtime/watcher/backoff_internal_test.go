// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestBackoffDoublesUpToItsLimitAndResetsAfterAPause(t *testing.T) {
	var b backoff
	var got []time.Duration
	at := now
	next := func(after time.Duration) {
		var d time.Duration
		at = at.Add(after)
		b, d = b.next(at)
		got = append(got, d)
	}
	for range 8 {
		next(time.Minute)
	}
	next(2 * time.Minute)
	next(2*time.Minute + 1)
	next(0)
	const ms = time.Millisecond
	want := []time.Duration{
		800 * ms, 1600 * ms, 3200 * ms, 6400 * ms, 12800 * ms, 25600 * ms, 30000 * ms, 30000 * ms,
		30000 * ms, 800 * ms, 1600 * ms,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestJitterIsUpToTwiceTheDelay(t *testing.T) {
	if d := jitter(0); d != 0 {
		t.Errorf("jitter(0) = %v", d)
	}
	seen := make(map[time.Duration]bool)
	for range 1000 {
		d := jitter(time.Second)
		if d < time.Second || d >= 2*time.Second {
			t.Fatalf("jitter(1s) = %v", d)
		}
		seen[d] = true
	}
	if len(seen) < 900 {
		t.Errorf("%d different delays of 1000", len(seen))
	}
}

func TestPauseEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(cause) })
		start := time.Now()
		if err := pause(ctx, time.Minute); err != cause || time.Since(start) != time.Second {
			t.Errorf("pause = %v after %v, want the cause after a second", err, time.Since(start))
		}
		for _, d := range []time.Duration{0, time.Minute} {
			if err := pause(ctx, d); err != cause {
				t.Errorf("pause(%v) of an ended context = %v", d, err)
			}
		}
		if err := pause(t.Context(), time.Minute); err != nil {
			t.Error(err)
		}
	})
}
