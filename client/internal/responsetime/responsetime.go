// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package responsetime limits the time of a request from the moment at which it is sent.
package responsetime

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// limited is a context that ends a time after Start.
type limited struct {
	context.Context //nolint:containedctx // it is a context

	cancel  context.CancelCauseFunc
	timeout time.Duration

	mu       sync.Mutex // guards the fields below
	timer    *time.Timer
	deadline time.Time
}

type key struct{}

// WithTimeout returns a context for one request, which ends the timeout after [Start] was called with it. Before that,
// it has only the deadline of ctx, so that delays in the client, such as those of a rate limit, do not count.
func WithTimeout(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	l := &limited{timeout: timeout}
	l.Context, l.cancel = context.WithCancelCause(ctx)
	return l, l.stop
}

// Start starts the time of the context of a request that is about to be sent. It has no effect on a context without
// WithTimeout, or if the request is sent again.
func Start(ctx context.Context) {
	if l, ok := ctx.Value(key{}).(*limited); ok {
		l.start()
	}
}

// Value returns the context itself for Start.
func (l *limited) Value(k any) any {
	if k == (key{}) {
		return l
	}
	return l.Context.Value(k)
}

// Deadline returns the end of the time if it has started, so that no retry waits beyond it. Unlike that of other
// contexts, it changes once.
func (l *limited) Deadline() (time.Time, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	outer, ok := l.Context.Deadline()
	if l.timer == nil || ok && outer.Before(l.deadline) {
		return outer, ok
	}
	return l.deadline, true
}

func (l *limited) start() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer == nil {
		l.deadline = time.Now().Add(l.timeout)
		l.timer = time.AfterFunc(l.timeout, func() { l.cancel(fmt.Errorf("no response within %v", l.timeout)) })
	}
}

func (l *limited) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil {
		l.timer.Stop()
	}
	l.cancel(nil)
}
