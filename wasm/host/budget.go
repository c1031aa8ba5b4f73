// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"slices"
	"sync"
)

// What an operation needs besides its message and its items: buffers of the connection and goroutines for a request,
// and the states of a watch.
const (
	requestCost = 512 << 10
	watchCost   = 128 << 10
	delayCost   = 512
)

// budget limits the memory of the host that a module uses. It is safe for concurrent use.
type budget struct {
	mu      sync.Mutex // guards the fields below
	limit   int64
	used    int64
	waiting []*waiter // in the order in which they get their memory
}

// waiter is a use that waits for memory.
type waiter struct {
	n       int64
	granted chan struct{} // closed when the memory is in use
}

// reserve uses n bytes, unless this exceeds the limit.
func (b *budget) reserve(n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used+n > b.limit {
		return false
	}
	b.used += n
	return true
}

// wait uses n bytes when the limit is not exceeded, after those that have waited before. So the memory in use exceeds
// the limit by less than one use, and a use that is larger than the limit is possible.
func (b *budget) wait(ctx context.Context, n int64) error {
	b.mu.Lock()
	if b.used <= b.limit {
		b.used += n
		b.mu.Unlock()
		return nil
	}
	w := &waiter{n, make(chan struct{})}
	b.waiting = append(b.waiting, w)
	b.mu.Unlock()
	select {
	case <-w.granted:
		return nil
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if at := slices.Index(b.waiting, w); at >= 0 {
		b.waiting = slices.Delete(b.waiting, at, at+1)
	} else {
		b.add(-n)
	}
	return context.Cause(ctx)
}

// add changes the memory in use, and grants what waits. The caller holds b.mu.
func (b *budget) add(n int64) {
	b.used += n
	for len(b.waiting) > 0 && b.used <= b.limit {
		b.used += b.waiting[0].n
		close(b.waiting[0].granted)
		b.waiting = b.waiting[1:]
	}
}

// force uses n bytes, whatever the limit is.
func (b *budget) force(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.add(n)
}

// free ends the use of n bytes.
func (b *budget) free(n int64) { b.force(-n) }

// inUse returns the number of bytes in use.
func (b *budget) inUse() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}
