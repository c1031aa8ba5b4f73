// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package backoff_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kube-go/sdk/client/internal/backoff"
)

func TestDelayDoublesUpToItsLimitAndVariesByHalf(t *testing.T) {
	for _, tc := range []struct {
		n    int
		want time.Duration
	}{{1, 100}, {2, 200}, {3, 400}, {4, 500}, {math.MaxInt, 500}} {
		low, high := time.Duration(math.MaxInt64), time.Duration(0)
		for range 1000 {
			d := backoff.Delay(tc.n, 100, 500)
			low, high = min(low, d), max(high, d)
		}
		if low < tc.want/2 || low > tc.want || high > tc.want*3/2 || high < tc.want {
			t.Errorf("the delays after attempt %d are from %d to %d, want about %d to %d", tc.n, low, high, tc.want/2, tc.want*3/2)
		}
	}
}

func TestSleepReturnsTheCauseOfItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := backoff.Sleep(t.Context(), time.Minute); err != nil || time.Since(began) != time.Minute {
			t.Errorf("Sleep returned %v after %v", err, time.Since(began))
		}
		stop := errors.New("stop")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, stop)
		defer cancel()
		if err := backoff.Sleep(ctx, time.Hour); !errors.Is(err, stop) {
			t.Errorf("error = %v, want %v", err, stop)
		}
	})
}
