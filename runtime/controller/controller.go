// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"time"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/applier"
	"github.com/kube-go/sdk/runtime/reflector"
)

// Reconcile changes the cluster to the state that obj specifies. It may change obj, which is a copy.
type Reconcile[K any] func(ctx context.Context, obj *K) (Action, error)

// Options are the options of [New]. The zero value of a field is its default.
type Options struct {
	// Concurrency is the maximum number of objects that are reconciled at the same time. Default: two per CPU, and at
	// least 8.
	Concurrency int

	// Retry sets the back-off: the delays after failed runs, and after runs that request another one without a delay,
	// see [RequeueAfter]. Default: 5 ms, doubling up to 1000 s.
	Retry *applier.Backoff

	// SyncTimeout is the maximum time that the first run in a cluster waits for all views of the reconciled kind, and then
	// again for the other sources. It waits for one of these views without a limit. Default: 30 s.
	SyncTimeout time.Duration

	// RunTimeout is the maximum time of a run, and of a call of a function of [Secondary.Map]: then its context ends,
	// with a cause that names RunTimeout. A run or a call that has not returned 10 s later is stuck: it is logged once,
	// with the stack of its goroutine. Default: no limit; a run or a call that takes 10 minutes is logged once as a
	// warning, with its stack.
	RunTimeout time.Duration

	// StopTimeout is the maximum time that runs may continue after the context of Run has ended; then their contexts end,
	// too. Run waits 10 s more for the runs to return, logs those that do not, and returns an error that names them.
	// Default: 30 s.
	StopTimeout time.Duration

	// HoldTimeout is the maximum time that an object is held back after a run that wrote objects, until the caches have
	// observed the writes. Default: 5 s. If it is negative, objects are not held back.
	HoldTimeout time.Duration

	// IgnoreOwnWrites suppresses runs of an object for changes that consist only of writes by the object's own runs. The
	// reconcile must then do everything in one run, or return [RequeueAfter]: it can't rely on another run for the object
	// that it has just created. A change that may contain a write of anybody else causes a run. Therefore only these
	// writes are ignored: creations, deletions, and updates, merge patches and applies that name the resource version of
	// the object that they change, except for the removal of a last finalizer. Writes of objects that [Secondary.Map]
	// maps are never ignored. Default: false.
	IgnoreOwnWrites bool

	// Debounce is the quiet time of an object: it runs when no other change that concerns it has followed for this time,
	// so that a burst of changes causes one run. Retries and [RequeueAfter] are not delayed. Default: 0.
	Debounce time.Duration

	// MaxDebounce is the maximum time for which successive changes delay a run. Default: ten times Debounce.
	MaxDebounce time.Duration

	// RecordChanges keeps the old and the new state of each changed object until its runs have ended, for
	// [Cause.ChangedFields]. Default: false.
	RecordChanges bool

	// Name names the controller in each log record. Default: the kind in lower case, as in controller-runtime.
	Name string

	// Logger logs failed runs and panics as errors, and late sources and caches as warnings. A panic of its handler is
	// not recovered. Default: [slog.Default]. To log nothing, use slog.New(slog.DiscardHandler).
	Logger *slog.Logger

	// OnResult is called after each run, in the goroutine of the run. A panic of OnResult is logged with its stack, and
	// does not affect the result of the run or its retry. Default: none.
	OnResult func(Result)

	// OnGone is called after an object was deleted, or a change has removed it from the selection of the reconciled views,
	// for example to remove it from a metric. No run of the object is active meanwhile. It is not called for an object
	// that was deleted while Run was not active, or that another object of the same name has replaced: for work that must
	// not be missed, use package finalizer. A panic of OnGone is logged with its stack. Default: none.
	OnGone func(context.Context, Key)
}

func (o *Options) withDefaults() Options {
	var d Options
	if o != nil {
		d = *o
	}
	if d.Concurrency == 0 {
		d.Concurrency = defaultConcurrency()
	}
	if d.SyncTimeout == 0 {
		d.SyncTimeout = 30 * time.Second
	}
	if d.StopTimeout == 0 {
		d.StopTimeout = 30 * time.Second
	}
	if d.HoldTimeout == 0 {
		d.HoldTimeout = 5 * time.Second
	}
	if d.Logger == nil {
		d.Logger = slog.Default()
	}
	if d.Retry != nil {
		d.Retry = new(*d.Retry)
	}
	return d
}

// check returns an error that names an invalid field and the remedy, or nil.
func (o *Options) check() error {
	for _, f := range [...]struct {
		name  string
		value time.Duration
	}{{"SyncTimeout", o.SyncTimeout}, {"RunTimeout", o.RunTimeout}, {"StopTimeout", o.StopTimeout}} {
		if f.value < 0 {
			return fmt.Errorf("controller: Options.%s: %v is negative; leave it zero for the default", f.name, f.value)
		}
	}
	if o.Concurrency < 0 {
		return fmt.Errorf("controller: Options.Concurrency: %d is negative; leave it zero for the default", o.Concurrency)
	}
	if err := o.applier().Validate(); err != nil {
		return fmt.Errorf("controller: %w", err)
	}
	return nil
}

func defaultConcurrency() int { return max(8, 2*runtime.GOMAXPROCS(0)) }

// applier returns the options of the applier.
func (o *Options) applier() *applier.Options {
	a := &applier.Options{HoldTimeout: o.HoldTimeout, Debounce: o.Debounce, MaxDebounce: o.MaxDebounce}
	if o.Retry != nil {
		a.Backoff = *o.Retry
	}
	return a
}

// Controller reconciles the objects of one kind. Create one with [New].
//
// # Guarantees
//
//   - A reconcile receives a copy of the newest state that the cache has when the run begins.
//   - Two runs of one object never overlap. Changes during a run start exactly one more run.
//   - Every object is reconciled once after the start, with a lower priority than changes in the meantime.
//   - Predicates, see [Primary.Where], only suppress modifications: every object still runs once after the start, and
//     deletions, replacements and the beginning of a deletion are never suppressed.
//   - A run sees the writes and deletes that the previous run made with its context, of the object and of objects of
//     the sources' kinds: the object is held back until the cache has observed them, for at most [Options.HoldTimeout].
//     If finalizers or a grace period delay a delete, it sees the deletion timestamp. A DeleteCollection, the evictions
//     and bindings of package client/pod, requests of client.Client.Do, the delete of an object that the cache has not
//     received yet, and writes by goroutines after the end of their run, are not waited for. Nor are new objects in a
//     view with a field selector, unless it selects only by metadata.name or metadata.namespace: only the server can
//     evaluate the other fields. Select such objects by a label, or apply them with names that every run computes in
//     the same way.
//   - If an object that a run has written disappears, the reconciled object runs again, even if the watch was
//     disconnected meanwhile and no event reports it.
//   - A change by a run of the object itself causes another run, unless [Options.IgnoreOwnWrites] is set or
//     [WithoutRun] was used.
//   - A failed run is retried with a delay that grows from 5 ms to 1000 s and is reset by a success, or after the
//     server's Retry-After if that is longer. A [core.Terminal] error is not retried. A run that requests another one
//     without a delay waits in the same way, see [RequeueAfter].
//   - A panic of the reconcile, or a call of runtime.Goexit, is an error of that run. A panic of [Options.OnResult] is
//     logged, and affects nothing else.
//   - A state of an object whose mapping fails, see [Secondary.Map], is mapped again with a delay that grows in the
//     same way. A slow function delays neither other sources nor changes: it maps initial objects last.
//   - No run begins before every source of the object's cluster has delivered its existing objects, or has taken longer
//     than [Options.SyncTimeout]: a forbidden kind or namespace does not block the others, and one cluster does not
//     block another. At least one view of the reconciled kind has delivered its objects. The objects of a late source
//     cause runs when it has delivered all of them.
type Controller[K any] struct{ monitor }

// New returns a controller of the objects of p. It does nothing until Run is called.
func New[K any](p Primary[K], o *Options) *Controller[K] {
	return &Controller[K]{monitor{newEngine(&source{inputs: p.inputs, filter: p.filter, kind: newObject[K], refs: itself}, o)}}
}

// newEngine returns an engine of the objects of a primary source.
func newEngine(primary *source, o *Options) *engine {
	opts, res := o.withDefaults(), primary.resource()
	name := cmp.Or(opts.Name, strings.ToLower(res.Kind))
	opts.Logger = opts.Logger.With("controller", name)
	e := &engine{opts: opts, name: name, resource: res, size: opts.Concurrency, tallies: newTallies()}
	e.add(primary)
	return e
}

// Owns reconciles an object when an object that it controls changes, see core.ControllerRef. The owner is in the
// cluster of the changed object. Pass [Source] of a cache, or [SourceView] of a view: a view itself has no method source.
func (c *Controller[K]) Owns(s AnySecondary) *Controller[K] {
	src := s.source()
	src.refs = eachState(controllerOf(c.engine.resource))
	c.engine.extend(src)
	return c
}

// Watches reconciles objects when other objects that concern them change, see [Secondary.Map], or when a sequence
// contains their keys, see [On].
func (c *Controller[K]) Watches(t Trigger) *Controller[K] {
	if t.source == nil {
		c.engine.wrong(errNoTrigger)
		return c
	}
	c.engine.extend(t.source)
	return c
}

// Reads declares that the reconcile reads other objects: they are synced before the first run, and a run sees the
// writes of the previous one, as for the objects of other sources. Their changes cause no runs.
func (c *Controller[K]) Reads(s AnySecondary) *Controller[K] {
	src := s.source()
	if src.filter != nil {
		c.engine.wrong(fmt.Errorf("source %s: Where has no effect on Reads: leave it out", src.resource()))
	}
	src.refs = func(reflector.Change) ([]core.ObjectRef, error) { return nil, nil }
	c.engine.extend(src)
	return c
}

// Run runs the reconcile for every object, and again for each object that a change concerns, until the context ends.
// When all of its runs and watches have ended, it returns the context's cause, or the error of an invalid source or
// option. If runs do not return, the error also names their objects, see [Options.StopTimeout]. Run may be called again
// when all runs have returned; the new runs then begin when the caches are up to date.
func (c *Controller[K]) Run(ctx context.Context, reconcile Reconcile[K]) error {
	if reconcile == nil {
		return errNoReconcile
	}
	return c.engine.run(ctx, func(ctx context.Context, object reflector.State) (Action, error) {
		obj := new(K)
		if err := decode(object, any(obj).(core.Object), c.engine.resource); err != nil {
			return Action{}, core.Terminal(err)
		}
		return reconcile(ctx, obj)
	})
}

// RunPacked is [Controller.Run] with a reconcile that receives objects in their packed form, which stay valid and must
// not be changed. It is for programs that pass objects on, such as to another process, and don't need a *K.
func (c *Controller[K]) RunPacked(
	ctx context.Context, reconcile func(context.Context, wire.Packed) (Action, error),
) error {
	if reconcile == nil {
		return errNoReconcile
	}
	return c.engine.run(ctx, func(ctx context.Context, object reflector.State) (Action, error) {
		return reconcile(ctx, object.Packed())
	})
}

// ReconcileAll reconciles all objects again, with the priority of the initial ones: changes come first. It does nothing
// if Run is not active, which begins with all objects anyway.
func (c *Controller[K]) ReconcileAll() {
	if s := c.engine.current(); s != nil {
		s.reconcileAll()
	}
}

// Resize sets the maximum number of objects that are reconciled at the same time, like [Options.Concurrency]. If n is
// zero or negative, it is the default. Current runs continue.
func (c *Controller[K]) Resize(n int) { c.engine.resize(n) }

// monitor has the methods with which a [Controller] and its [Runner] report what the controller does.
type monitor struct{ engine *engine }

// SourceHealth is the state of one view of a controller's sources. Each view has its own watch and back-off.
type SourceHealth struct {
	Cluster  string // see [cache.Options.Cluster]
	Engaged  bool   // the cluster was added with [Controller.Engage]
	Resource core.Resource

	// Ready is true once the source has delivered the existing objects.
	Ready bool

	// Err is the error of the source's last request, or nil once the server has accepted a later one; see
	// [cache.View.Health].
	Err error
}

// Health returns the state of the sources: the views of the primary one first, the others in the order in which they
// were added, and then those of engaged clusters.
func (c monitor) Health() []SourceHealth { return c.engine.health() }

// Runs returns the state of the current runs and of the current calls of functions of [Secondary.Map], the oldest
// first.
func (c monitor) Runs() []RunHealth { return c.engine.runHealth() }
