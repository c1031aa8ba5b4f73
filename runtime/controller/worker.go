// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/applier"
	"github.com/kube-go/sdk/runtime/reflector"
)

// Result describes one run of a reconcile, and its result.
type Result struct {
	Run

	Action Action // the action that it returned, if Err is nil
	Err    error  // the error of a failed run

	// Failures is the number of consecutive runs of this object, including this one, that the back-off counts: runs
	// that failed, and runs that requested another one as soon as the back-off allows, see [RequeueAfter]. It is 0 if Err
	// is nil. After a terminal error, the next run begins again with 1 if it fails, since the back-off has ended.
	Failures int

	// RetryIn is the delay of the back-off until the next run, if this run failed or requested a run as soon as the
	// back-off allows. It is 0 if the error is terminal, and after all other runs.
	RetryIn time.Duration

	Took time.Duration
}

// worker runs reconciles until the applier is closed. A worker of a mapping only has the fields that a run needs.
type worker struct {
	applier   *applier.Applier[Key, *event]
	read      func(Key) (object reflector.State, server string, err error)
	reconcile func(context.Context, reflector.State) (Action, error)
	timeout   time.Duration // of a run, or 0
	stuck     func(*run)    // reports a run that does not return after the timeout
	logger    *slog.Logger
	kind      string
	maps      core.Resource // of the changed objects, if it calls a function of Map
	report    func(context.Context, Result)
	describes bool                            // report needs the causes of successful runs, too
	session   *session                        // nil for a worker of a mapping
	leave     func(w *worker, over bool) bool // see pool.leave
	gone      *goneKeys
	onGone    func(context.Context, Key) // see Options.OnGone
	trackers  *trackers
	left      func(Key) // see session.left
	ownership ownership // nil without Runner.Shard
	tally     *tally    // counts the runs; may be nil
	failing   *failing  // remembers failed runs; may be nil

	started   time.Time    // of the goroutine
	begun     time.Time    // of the last run
	yielded   time.Time    // see yield
	goroutine atomic.Int64 // see goroutineID
	current   atomic.Pointer[run]
	moves     func() // ends the ownership of the current run, and forgets the object if it moves; may be nil
}

// run takes keys until take ends or the worker leaves. A run that has begun continues until running ends, which may be
// later.
func (w *worker) run(take, running context.Context) {
	w.started = time.Now()
	w.goroutine.Store(goroutineID())
	ctx := client.WithWriteObserver(running, w.observe)
	over := false
	defer func() {
		if !over { // the reconcile or OnResult has ended the goroutine
			go w.run(take, running)
		}
	}()
	for {
		item, err := w.applier.Get(take)
		if err == nil {
			w.one(ctx, item)
			w.yield()
		}
		if w.leave(w, err != nil) {
			over = true
			return
		}
	}
}

// slice is how long a worker that always has work runs before others get a turn. The scheduler of Go would interrupt it
// only after 10 ms: with many busy workers, a change would wait for several times that in each goroutine on its way.
const slice = time.Millisecond

// yield lets other goroutines run, such as those that receive changes, unless they had a turn recently.
func (w *worker) yield() {
	if w.begun.Sub(w.yielded) < slice {
		return
	}
	runtime.Gosched()
	w.yielded = w.now()
}

// now returns the current time. It reads only the monotonic clock, which is half the cost of time.Now.
func (w *worker) now() time.Time { return w.started.Add(time.Since(w.started)) }

// one runs one key. It reads the object when the run begins, so that the run has the newest state. A run fails without
// a retry if the key is invalid for the kind.
func (w *worker) one(ctx context.Context, item applier.Item[Key, *event]) {
	if isOwn(item) {
		w.applier.Skip(item.Key)
		return
	}
	object, server, err := w.read(item.Key)
	exists := object.Exists()
	uid, gone := w.gone.take(item.Key, object)
	if !exists && err == nil {
		w.forget(item.Key)
	}
	if !exists && !gone && err == nil {
		w.applier.Done(item.Key)
		return
	}
	w.begun = w.now()
	r := &run{Context: ctx, worker: w, item: item, begun: w.begun, server: server}
	if w.ownership != nil && err == nil { // an invalid key has no owner
		if exists {
			head, _ := object.Head()
			uid = head.UID
		}
		end, ok := w.ownership.begin(r, uid)
		if !ok {
			w.forget(item.Key)
			w.applier.Done(item.Key)
			return
		}
		w.moves = func() {
			if end(); !w.ownership.owns(item.Key.Cluster, object) {
				w.forget(item.Key)
			}
		}
	}
	if w.timeout > 0 {
		defer w.limit(r)()
	}
	w.current.Store(r) // the context does not change any more
	if exists || err != nil {
		w.reconciled(ctx, r, object, err)
	} else {
		w.notify(r)
	}
}

// reconciled calls the reconcile, unless err is not nil, and ends the run.
func (w *worker) reconciled(ctx context.Context, r *run, object reflector.State, err error) {
	result := Result{Run: Run{Key: r.item.Key}, Err: core.Terminal(err)}
	defer func() { // also if the reconcile ends the goroutine
		defer w.current.Store(nil) // not before, since OnResult may be stuck
		if w.describes || w.tally != nil {
			result.Took = time.Since(r.begun)
		}
		if w.trackers.any() {
			w.left(r.item.Key)
		}
		w.finish(ctx, r, result)
	}()
	if err == nil {
		try(&result.Err, func() { result.Action, result.Err = w.reconcile(r, object) })
	}
	result.Err = r.explain(result.Err)
}

// notify calls OnGone.
func (w *worker) notify(r *run) {
	var err error
	defer w.release(r)
	defer func() { // also if OnGone ends the goroutine
		w.current.Store(nil)
		if err != nil {
			attrs := append(describe(w.kind, r.item.Key, err), runOf(r.item).causeAttrs()...)
			w.logger.LogAttrs(r, slog.LevelError, "OnGone", attrs...)
		}
	}()
	try(&err, func() { w.onGone(r, r.item.Key) })
}

// limit ends the context of a run after the timeout, and reports the run if it does not return then.
func (w *worker) limit(r *run) (stop func()) {
	ctx, cancel := context.WithTimeoutCause(r.Context, w.timeout, &timeoutError{r, w.timeout})
	r.Context = ctx
	late := time.AfterFunc(max(w.timeout, w.timeout+stuckAfter), func() { w.stuck(r) }) // the sum may overflow
	return func() {
		late.Stop()
		cancel()
	}
}

// finish schedules the key's next run, reports this one and releases the key, even if the report panics.
func (w *worker) finish(ctx context.Context, ended *run, r Result) {
	defer w.release(ended)
	item := ended.item
	switch {
	case r.Err != nil:
		r.Action = Action{}
		r.Failures = item.Failures + 1
		if !core.IsTerminal(r.Err) {
			atLeast, _ := core.RetryAfter(r.Err)
			r.RetryIn = w.applier.Retry(item.Key, item.Priority, &event{what: CauseRetry}, atLeast)
		}
		if timed, ok := errors.AsType[*timedError](r.Err); ok {
			w.applier.AddAfter(item.Key, item.Priority, &event{what: CauseRequeue}, timed.within)
		}
	case r.Action.requeueAfter == asBackoffAllows:
		r.RetryIn = w.applier.Retry(item.Key, item.Priority, &event{what: CauseRequeue}, 0)
	case r.Action.requeueAfter > 0:
		w.applier.AddAfter(item.Key, item.Priority, &event{what: CauseRequeue}, r.Action.requeueAfter)
	}
	if r.Err != nil || w.describes {
		r.Run = runOf(item)
	}
	w.failing.note(&r, item.Failures+1)
	w.tally.count(&r, item.Waited)
	w.report(ctx, r)
}

// release ends a run. The applier holds its key until the sources have observed the writes of the run.
func (w *worker) release(r *run) {
	r.recordWrites()
	if w.moves != nil {
		w.moves()
		w.moves = nil
	}
	w.applier.Done(r.item.Key)
}

// forget forgets an object that does not exist, or that another replica owns. No run of it is active.
func (w *worker) forget(key Key) {
	w.applier.Cancel(key)
	w.trackers.gone(key)
	w.failing.remove(key)
}

// pool is the workers of a session. Each has one goroutine.
type pool struct {
	surplus atomic.Bool // there are more workers than there should be; stored with mu held

	mu      sync.Mutex     // guards the fields below
	size    int            // the number of workers that there should be
	add     func() *worker // starts a worker; nil before start
	workers []*worker
	stopped bool          // no worker is added
	idle    chan struct{} // closed when the pool has stopped and no worker is left
	after   func()        // called then, without the lock; may be nil
}

func newPool() *pool { return &pool{idle: make(chan struct{})} }

// start starts the workers.
func (p *pool) start(add func() *worker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.add = add
	p.fill()
}

// resize sets the number of workers. Surplus ones leave after their next run.
func (p *pool) resize(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.size = n
	p.fill()
}

func (p *pool) fill() {
	for p.add != nil && !p.stopped && len(p.workers) < p.size {
		p.workers = append(p.workers, p.add())
	}
	p.surplus.Store(len(p.workers) > p.size)
}

// leave removes a worker if it is over or if there are more workers than there should be, and reports whether it did.
func (p *pool) leave(w *worker, over bool) bool {
	if !over && !p.surplus.Load() {
		return false
	}
	left, after := p.remove(w, over)
	if after != nil {
		after()
	}
	return left
}

func (p *pool) remove(w *worker, over bool) (left bool, after func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !over && len(p.workers) <= p.size {
		return false, nil
	}
	p.workers = slices.DeleteFunc(p.workers, func(o *worker) bool { return o == w })
	p.surplus.Store(len(p.workers) > p.size)
	if !p.stopped || len(p.workers) > 0 {
		return true, nil
	}
	close(p.idle)
	return true, p.after
}

// stop returns a channel that is closed when no worker is left.
func (p *pool) stop() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
	if len(p.workers) == 0 {
		close(p.idle)
	}
	return p.idle
}

// whenIdle calls f when no worker of the stopped pool is left: now, or in the goroutine of the last worker.
func (p *pool) whenIdle(f func()) {
	if !p.defers(f) {
		f()
	}
}

// defers makes the last worker call f. It returns false if no worker is left.
func (p *pool) defers(f func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.after = f
	return len(p.workers) > 0
}

// runs returns the current runs, in no order.
func (p *pool) runs() (all []*run) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range p.workers {
		if r := w.current.Load(); r != nil {
			all = append(all, r)
		}
	}
	return all
}

// compare orders runs by their beginning.
func (r *run) compare(other *run) int { return r.begun.Compare(other.begun) }

// oldest returns the age and the key of the oldest run, or zero values.
func (p *pool) oldest() (time.Duration, Key) {
	if all := p.runs(); len(all) > 0 {
		first := slices.MinFunc(all, (*run).compare)
		return time.Since(first.begun), first.item.Key
	}
	return 0, Key{}
}
