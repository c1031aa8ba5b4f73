// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"slices"
)

// waiter waits for a version of the table, or for a list.
type waiter struct {
	version uint64        // or:
	list    func() bool   // reports whether the list has begun or is complete; called with the table's lock held
	done    chan struct{} // closed when the wait is over, or will never be
	slot    int           // the index in the heap or list; -1 if it is not there
	failed  error         // why it will never be
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

func (h versionHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].slot, h[j].slot = i, j
}

func (h *versionHeap) Push(x any) {
	w := x.(*waiter)
	w.slot = len(*h)
	*h = append(*h, w)
}

func (h *versionHeap) Pop() any {
	last := len(*h) - 1
	w := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	w.slot = -1
	return w
}

func (ws *waiters) add(w *waiter) {
	if w.list == nil {
		heap.Push(&ws.versions, w)
		return
	}
	w.slot = len(ws.lists)
	ws.lists = append(ws.lists, w)
}

func (ws *waiters) remove(w *waiter) {
	switch {
	case w.slot < 0:
	case w.list == nil:
		heap.Remove(&ws.versions, w.slot)
	default:
		last := len(ws.lists) - 1
		ws.lists[w.slot] = ws.lists[last]
		ws.lists[w.slot].slot = w.slot
		ws.lists[last] = nil
		ws.lists = ws.lists[:last]
		w.slot = -1
	}
}

// await waits for w.
func (t *table) await(ctx context.Context, w *waiter) error {
	w.done, w.slot = make(chan struct{}), -1
	t.mu.Lock()
	if w.failed = t.failed; w.failed == nil && !w.over(t) {
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
	case w.failed != nil: // also if another run has begun meanwhile
		return w.failed
	case !t.hasRun:
		return fmt.Errorf("%w; nothing runs the store: %s", context.Cause(ctx), runIt)
	}
	if last := cmp.Or(t.status.Err, t.last); last != nil {
		return fmt.Errorf("%w; the last error was: %w", context.Cause(ctx), last)
	}
	return context.Cause(ctx)
}

// awaitForm waits until the objects have a form. The objects of the first list have its form as soon as it begins.
func (t *table) awaitForm(ctx context.Context, form uint64) error {
	err := t.await(ctx, &waiter{list: func() bool { return t.form >= form }})
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// awaitAll waits until cond, which concerns a complete list, is true.
func (t *table) awaitAll(ctx context.Context, cond func() bool) error {
	w := &waiter{list: cond}
	switch err := t.await(ctx, w); {
	case err == nil, w.failed != nil: // permanently: the error is that of the run
		return err
	default:
		return fmt.Errorf("wait for all %s: %w", t.resource, err)
	}
}

// wakeVersions wakes the waiters for versions that the table has observed. The caller holds t.mu.
func (t *table) wakeVersions() {
	h := &t.waiters.versions
	for len(*h) > 0 && (t.failed != nil || (*h)[0].over(t)) {
		w := heap.Pop(h).(*waiter)
		w.failed = t.failed
		close(w.done)
	}
}

// wake wakes the waiters whose wait is over, and all of them after a permanent failure. The caller holds t.mu.
func (t *table) wake() {
	t.wakeVersions()
	for _, w := range slices.Backward(t.waiters.lists) { // so that remove moves only waiters that were visited
		if t.failed != nil || w.over(t) {
			t.waiters.remove(w)
			w.failed = t.failed
			close(w.done)
		}
	}
}
