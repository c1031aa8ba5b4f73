// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"time"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/queue"
)

// Result is one run of a reconcile.
type Result struct {
	Ref    core.ObjectRef
	Action Action // what it asked for, when Err is nil
	Err    error  // why it failed

	// Failures is how many runs of this object in a row the back-off counts, this one included: those that failed, and
	// those that asked for a run as soon as the back-off allows, see [RequeueAfter]. It is 0 when Err is nil.
	Failures int

	// RetryIn is the back-off: the delay until the object runs again because this run failed, or asked for a run as soon
	// as the back-off allows. It is 0 when the error is terminal, and when the run asked for anything else.
	RetryIn time.Duration

	Took time.Duration
}

// worker runs reconciles until the queue has no more.
type worker[K any] struct {
	queue     *queue.Queue[core.ObjectRef]
	get       func(core.ObjectRef) (*K, error)
	reconcile Reconcile[K]
	report    func(context.Context, Result)
	writes    writes
	restart   func(func())                  // goes on in another goroutine
	hold      func(core.ObjectRef, []write) // calls Done once the writes were seen
}

// run takes keys until take ends. A run that has begun goes on under running, which may last longer.
func (w *worker[K]) run(take, running context.Context) {
	ctx := client.WithWriteObserver(running, w.writes.observe)
	over := false
	defer func() {
		if !over { // the reconcile, or OnResult, has ended the goroutine
			w.restart(func() { w.run(take, running) })
		}
	}()
	for {
		item, err := w.queue.Get(take)
		if err != nil {
			over = true
			return
		}
		w.one(ctx, item)
	}
}

// one runs one key. The object is read from the store when the run begins, so that the run sees the newest state.
// Without an object there is nothing to do: whatever must be done before an object is deleted is a finalizer's task. An
// object that can't be read, because it can't be decoded or the key can't be one of the kind, fails without a retry.
func (w *worker[K]) one(ctx context.Context, item queue.Item[core.ObjectRef]) {
	start := time.Now()
	r, missing := Result{Ref: item.Key}, false
	defer func() { // also when the reconcile ends the goroutine
		if missing {
			w.queue.Done(item.Key)
			return
		}
		r.Took = time.Since(start)
		w.finish(ctx, item, r)
	}()
	var obj *K
	try(&r.Err, func() { obj, r.Err = w.get(item.Key) }) // decoding calls methods of K
	switch missing = errors.Is(r.Err, core.ErrNotFound); {
	case missing:
	case r.Err != nil:
		r.Err = Terminal(r.Err)
	default:
		try(&r.Err, func() { r.Action, r.Err = w.reconcile(ctx, obj) })
	}
}

// finish schedules the key's next run, reports this one and releases the key, whatever the report does.
func (w *worker[K]) finish(ctx context.Context, item queue.Item[core.ObjectRef], r Result) {
	defer w.release(item.Key)
	switch {
	case r.Err != nil:
		r.Action = Action{}
		r.Failures = item.Failures + 1
		if !IsTerminal(r.Err) {
			atLeast, _ := core.RetryAfter(r.Err)
			r.RetryIn = w.queue.Retry(item.Key, item.Priority, atLeast)
		}
	case r.Action.requeueAfter == asBackoffAllows:
		r.RetryIn = w.queue.Retry(item.Key, item.Priority, 0)
	case r.Action.requeueAfter > 0:
		w.queue.AddAfter(item.Key, queue.Normal, r.Action.requeueAfter)
	}
	w.report(ctx, r)
}

// release ends the key's run once the sources have seen what the run has written.
func (w *worker[K]) release(key core.ObjectRef) {
	if unseen := w.writes.unseen(); len(unseen) > 0 {
		w.hold(key, unseen)
	} else {
		w.queue.Done(key)
	}
}
