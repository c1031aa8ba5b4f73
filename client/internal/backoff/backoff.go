// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package backoff computes and waits for the delays between attempts.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

// Delay returns the delay after the n-th attempt, counted from 1. It doubles from first to most, and varies at random
// by half, so that clients that failed at the same time do not retry at the same time.
func Delay(n int, first, most time.Duration) time.Duration {
	d := min(first, most)
	for i := 1; i < n && d < most; i++ {
		d = min(2*d, most)
	}
	return d/2 + rand.N(d+1)
}

// Sleep waits for d. If ctx ends first, it returns the cause.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
