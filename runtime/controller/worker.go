// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/applier"
)

// Result describes one run of a reconcile.
type Result struct {
	Ref    core.ObjectRef
	Action Action // the action that it returned, if Err is nil
	Err    error  // the error of a failed run

	// Failures is the number of consecutive runs of this object, including this one, that the back-off counts: runs
	// that failed, and runs that requested another one as soon as the back-off allows, see [RequeueAfter]. It is 0 if
	// Err is nil.
	Failures int

	// RetryIn is the delay of the back-off until the next run, if this run failed or requested a run as soon as the
	// back-off allows. It is 0 if the error is terminal, and after all other runs.
	RetryIn time.Duration

	Took time.Duration
}

// worker runs reconciles until the applier is closed.
type worker[K any] struct {
	applier   *applier.Applier[core.ObjectRef]
	get       func(core.ObjectRef) (*K, error)
	reconcile Reconcile[K]
	logger    *slog.Logger
	kind      string
	report    func(context.Context, Result)
	writes    writes
	restart   func(func()) // continues in another goroutine
}

// run takes keys until take ends. A run that has begun continues until running ends, which may be later.
func (w *worker[K]) run(take, running context.Context) {
	ctx := client.WithWriteObserver(running, w.writes.observe)
	over := false
	defer func() {
		if !over { // the reconcile or OnResult has ended the goroutine
			w.restart(func() { w.run(take, running) })
		}
	}()
	for {
		item, err := w.applier.Get(take)
		if err != nil {
			over = true
			return
		}
		w.one(ctx, item)
	}
}

// one runs one key. It reads the object from the store when the run begins, so that the run has the newest state. It
// does nothing if the object does not exist: work that precedes a deletion is the task of a finalizer. A run fails
// without a retry if the object can't be read, because it can't be decoded or because the key is invalid for the kind.
func (w *worker[K]) one(ctx context.Context, item applier.Item[core.ObjectRef]) {
	start := time.Now()
	r, missing := Result{Ref: item.Key}, false
	defer func() { // also if the reconcile ends the goroutine
		if missing {
			w.applier.Done(item.Key)
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
		run := &runContext{Context: ctx, logger: w.logger, kind: w.kind, ref: item.Key}
		try(&r.Err, func() { r.Action, r.Err = w.reconcile(run, obj) })
	}
}

// finish schedules the key's next run, reports this one and releases the key, even if the report panics.
func (w *worker[K]) finish(ctx context.Context, item applier.Item[core.ObjectRef], r Result) {
	defer w.release(item.Key)
	switch {
	case r.Err != nil:
		r.Action = Action{}
		r.Failures = item.Failures + 1
		if !IsTerminal(r.Err) {
			atLeast, _ := core.RetryAfter(r.Err)
			r.RetryIn = w.applier.Retry(item.Key, item.Priority, atLeast)
		}
	case r.Action.requeueAfter == asBackoffAllows:
		r.RetryIn = w.applier.Retry(item.Key, item.Priority, 0)
	case r.Action.requeueAfter > 0:
		w.applier.AddAfter(item.Key, applier.Normal, r.Action.requeueAfter)
	}
	w.report(ctx, r)
}

// release ends the key's run. The applier holds the key until the sources have observed the writes of the run.
func (w *worker[K]) release(key core.ObjectRef) {
	w.writes.record(key, w.applier)
	w.applier.Done(key)
}
