// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"runtime/debug"
	"time"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/queue"
)

// Result is one run of a reconcile.
type Result struct {
	Ref      core.ObjectRef
	Action   Action        // what it asked for, when Err is nil
	Err      error         // why it failed
	Failures int           // how many runs of this key have failed in a row, this one included
	RetryIn  time.Duration // after how long it is tried again, when it failed and the error is not terminal
	Took     time.Duration
}

// worker runs reconciles until the queue has no more.
type worker[K any] struct {
	queue     *queue.Queue[core.ObjectRef]
	get       func(core.ObjectRef) (*K, error)
	reconcile Reconcile[K]
	report    func(context.Context, Result)
}

// run takes keys until take ends. A run that has begun goes on under work, which may last longer.
func (w *worker[K]) run(take, work context.Context) {
	for {
		item, err := w.queue.Get(take)
		if err != nil {
			return
		}
		w.one(work, item)
		w.queue.Done(item.Key)
	}
}

// one runs one key and schedules its next run. The object is read from the store when the run begins, so that the run
// sees the newest state. Without an object there is nothing to do: whatever must be done before an object goes is a
// finalizer's task.
func (w *worker[K]) one(ctx context.Context, item queue.Item[core.ObjectRef]) {
	start := time.Now()
	obj, err := w.get(item.Key)
	if errors.Is(err, core.ErrNotFound) {
		return
	}
	r := Result{Ref: item.Key, Err: err}
	if err == nil {
		r.Action, r.Err = w.call(ctx, obj)
	}
	r.Took = time.Since(start)
	switch {
	case r.Err == nil:
		if d := r.Action.requeueAfter; d > 0 {
			w.queue.AddAfter(item.Key, queue.Normal, d)
		}
	case IsTerminal(r.Err):
		r.Failures = item.Failures + 1
	default:
		r.Failures = item.Failures + 1
		atLeast, _ := core.RetryAfter(r.Err)
		r.RetryIn = w.queue.Retry(item.Key, queue.Normal, atLeast)
	}
	w.report(ctx, r)
}

// call runs the reconcile and makes a panic in it an error.
func (w *worker[K]) call(ctx context.Context, obj *K) (a Action, err error) {
	defer func() {
		if v := recover(); v != nil {
			a, err = Action{}, &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return w.reconcile(ctx, obj)
}
