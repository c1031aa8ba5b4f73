// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"container/heap"
	"context"
	"fmt"
	"slices"
)

// waiter waits for a version of the table, or for a complete list.
type waiter struct {
	version uint64        // or:
	list    func() bool   // reports whether the list is complete; called with the table's lock held
	done    chan struct{} // closed when the wait is over, or will never be
}

func (w *waiter) over(t *table) bool {
	if w.list != nil {
		return w.list()
	}
	return t.number >= w.version
}

// waiters are the waiters of a table: those for a version in a heap, so that an event that nobody waits for costs one
// comparison.
type waiters struct {
	lists    []*waiter
	versions versionHeap
}

type versionHeap []*waiter

func (h versionHeap) Len() int           { return len(h) }
func (h versionHeap) Less(i, j int) bool { return h[i].version < h[j].version }
func (h versionHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *versionHeap) Push(x any)        { *h = append(*h, x.(*waiter)) }

func (h *versionHeap) Pop() any {
	last := len(*h) - 1
	w := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return w
}

func (ws *waiters) add(w *waiter) {
	if w.list != nil {
		ws.lists = append(ws.lists, w)
	} else {
		heap.Push(&ws.versions, w)
	}
}

func (ws *waiters) remove(w *waiter) {
	same := func(other *waiter) bool { return other == w }
	ws.lists = slices.DeleteFunc(ws.lists, same)
	if i := slices.IndexFunc(ws.versions, same); i >= 0 {
		heap.Remove(&ws.versions, i)
	}
}

// await waits for w.
func (t *table) await(ctx context.Context, w *waiter) error {
	w.done = make(chan struct{})
	t.mu.Lock()
	if t.failed == nil && !w.over(t) {
		t.waiters.add(w)
	} else {
		close(w.done)
	}
	t.mu.Unlock()
	select {
	case <-w.done:
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiters.remove(w)
	switch {
	case w.over(t):
		return nil
	case t.failed != nil:
		return t.failed
	case t.status.Err != nil:
		return fmt.Errorf("%w; the last error was: %w", context.Cause(ctx), t.status.Err)
	}
	return context.Cause(ctx)
}

// awaitAll waits until cond, which concerns a complete list, is true.
func (t *table) awaitAll(ctx context.Context, cond func() bool) error {
	if err := t.await(ctx, &waiter{list: cond}); err != nil {
		return fmt.Errorf("wait for all %s: %w", t.resource, err)
	}
	return nil
}

// wakeVersions wakes the waiters for versions that the table has observed. The caller holds t.mu.
func (t *table) wakeVersions() {
	h := &t.waiters.versions
	for len(*h) > 0 && (t.failed != nil || (*h)[0].over(t)) {
		close(heap.Pop(h).(*waiter).done)
	}
}

// wake wakes the waiters whose wait is over, and all of them after a permanent failure. The caller holds t.mu.
func (t *table) wake() {
	t.wakeVersions()
	t.waiters.lists = slices.DeleteFunc(t.waiters.lists, func(w *waiter) bool {
		over := t.failed != nil || w.over(t)
		if over {
			close(w.done)
		}
		return over
	})
}
