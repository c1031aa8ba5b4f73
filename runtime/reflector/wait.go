// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"fmt"
	"slices"
)

// waiter waits for a state of the table.
type waiter struct {
	cond func() bool   // called with the table's lock held
	done chan struct{} // closed when cond is true, or when it will never be
}

// await waits until cond is true. cond is called with t.mu held.
func (t *table) await(ctx context.Context, cond func() bool) error {
	w := &waiter{cond: cond, done: make(chan struct{})}
	t.mu.Lock()
	t.waiters = append(t.waiters, w)
	t.wake()
	t.mu.Unlock()
	select {
	case <-w.done:
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiters = slices.DeleteFunc(t.waiters, func(other *waiter) bool { return other == w })
	switch {
	case cond():
		return nil
	case t.failed != nil:
		return t.failed
	case t.trouble != nil:
		return fmt.Errorf("%w; the last error was: %w", context.Cause(ctx), t.trouble)
	}
	return context.Cause(ctx)
}

// wake wakes the waiters whose condition is true, and all of them after a permanent failure. The caller holds t.mu.
func (t *table) wake() {
	if len(t.waiters) == 0 {
		return
	}
	t.waiters = slices.DeleteFunc(t.waiters, func(w *waiter) bool {
		over := t.failed != nil || w.cond()
		if over {
			close(w.done)
		}
		return over
	})
}
