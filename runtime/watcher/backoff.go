// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"context"
	"math/rand/v2"
	"time"
)

// The numbers of client-go's reflector, with which API servers have lived for years:
// https://github.com/kubernetes/client-go/blob/v0.34.4/tools/cache/reflector.go#L283.
const (
	firstDelay   = 800 * time.Millisecond
	longestDelay = 30 * time.Second
	quiet        = 2 * time.Minute // the time without a failure after which the delay is reset
)

// backoff computes the delay after a failure. The zero value is the state without failures.
type backoff struct {
	delay time.Duration
	last  time.Time // the time of the last failure
}

// next returns the back-off after a failure, and the delay before jitter.
func (b backoff) next(now time.Time) (backoff, time.Duration) {
	if b.delay == 0 || now.Sub(b.last) > quiet {
		b.delay = firstDelay
	} else {
		b.delay = min(2*b.delay, longestDelay)
	}
	b.last = now
	return b, b.delay
}

// jitter returns a random delay from d to twice d, so that many watchers do not retry at the same time.
func jitter(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return d + rand.N(d)
}

// pause waits for d. If ctx ends first, it returns the cause.
func pause(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
