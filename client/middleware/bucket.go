// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package middleware

import (
	"sync"
	"time"
)

// bucket contains at most burst tokens, and gains perSecond tokens each second.
type bucket struct {
	perSecond, burst float64

	mu     sync.Mutex // guards the fields below
	tokens float64    // negative if tokens are reserved
	filled time.Time
}

func newBucket(perSecond float64, burst int) *bucket {
	return &bucket{perSecond: perSecond, burst: float64(burst), tokens: float64(burst), filled: time.Now()}
}

// take takes a token if one is available.
func (b *bucket) take() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fill(); b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}

// reserve takes a token that is available after the returned time, unless that is longer than most.
func (b *bucket) reserve(most time.Duration) (wait time.Duration, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fill()
	if b.tokens < 1 {
		wait = time.Duration((1 - b.tokens) / b.perSecond * float64(time.Second))
	}
	if wait > most {
		return wait, false
	}
	b.tokens--
	return wait, true
}

// put returns a token that was reserved and not used.
func (b *bucket) put() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tokens++
}

func (b *bucket) fill() {
	now := time.Now()
	b.tokens = min(b.burst, b.tokens+now.Sub(b.filled).Seconds()*b.perSecond)
	b.filled = now
}
