// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/internal/terms"
)

// Runner is a controller with its reconcile, such as for package manager. Create one with [Controller.With].
type Runner struct {
	monitor
	run func(context.Context) error
}

// With returns the controller with its reconcile.
func (c *Controller[K]) With(reconcile Reconcile[K]) *Runner {
	return &Runner{c.monitor, func(ctx context.Context) error { return c.Run(ctx, reconcile) }}
}

// Run runs the reconcile, see [Controller.Run].
func (r *Runner) Run(ctx context.Context) error { return r.run(ctx) }

// Standby keeps the objects of all sources synced until ctx ends, and returns the cause, or the error of an invalid
// source. It reconciles nothing. A Run that begins meanwhile has the objects immediately. Engaged clusters are not
// among the sources.
func (r *Runner) Standby(ctx context.Context) error {
	if r.engine.invalid != nil {
		return r.engine.invalid
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var (
		wg    sync.WaitGroup
		feeds []feed
	)
	for _, src := range r.engine.sources {
		for _, in := range src.inputs {
			if !slices.Contains(feeds, in.feed) {
				feeds = append(feeds, in.feed)
			}
		}
	}
	for _, f := range feeds {
		wg.Go(func() {
			err := errGoexit // overwritten if Run returns
			defer func() { stop(fmt.Errorf("source %s: %w", f.Resource(), err)) }()
			err = f.Run(ctx)
		})
	}
	<-ctx.Done()
	wg.Wait()
	return context.Cause(ctx)
}

// Ready waits until Run would begin runs at once, see [Options.SyncTimeout]. If the sources are in several clusters, it
// waits for one of them without a limit, and then for the others for at most SyncTimeout. It logs late sources.
// Something must run the sources meanwhile, such as Standby. Engaged clusters are not waited for. It returns the cause
// of ctx, or the error of an invalid source.
func (r *Runner) Ready(ctx context.Context) error {
	e := r.engine
	members, err := e.members()
	if err := errors.Join(e.invalid, err); err != nil {
		return err
	}
	waits := make([]func(context.Context) error, len(members))
	for i, m := range members {
		waits[i] = func(ctx context.Context) error { return m.sync(ctx, &e.opts) }
	}
	return terms.Await(ctx, e.opts.SyncTimeout, waits...)
}

// SyncTimeout returns [Options.SyncTimeout], or its default.
func (r *Runner) SyncTimeout() time.Duration { return r.engine.opts.SyncTimeout }

// Shard makes the controller reconcile only the objects that this replica of the program owns. The others are watched,
// and not reconciled, or not even watched if the view of the reconciled kind has [cache.Selection] Sharded. If objects
// are divided by namespace, the views of other sources may be sharded, too, unless a change in one namespace concerns
// an object in another one. Run returns an error that names the option if they are sharded without this division. When
// the shard changes, objects that are new in it run, with the cause [CauseResharded], and the context of a run of an
// object that has to move ends after [Options.StopTimeout]; a run that ignores that is logged as stuck.
// [Options.OnGone] is called in one replica, and not if the object changes its owner meanwhile. Call Shard before Run;
// package manager does.
func (r *Runner) Shard(s Shards) {
	e := r.engine
	e.shard = func(current *session) ownership { return newSharded(current, s) }
	members, _ := e.members() // Run returns the error
	for _, m := range members {
		_, err := divide(m, s)
		e.wrong(err)
	}
}

// Name returns the name of the controller, see [Options.Name].
func (r *Runner) Name() string { return r.engine.name }

// Caches returns the caches of the views of the sources, including those of engaged clusters, each once.
func (r *Runner) Caches() []*cache.Cache { return r.engine.caches() }

// Owners returns the owners of the trackers that this controller has had, see [Track], such as the state machines of
// package fsm that its reconcile uses. It does not return an owner for which only runs of clusters that have left have
// called Track; see [Totals].
func (r *Runner) Owners() []any { return r.engine.owners.list() }

func (e *engine) caches() (all []*cache.Cache) {
	add := func(f feed) {
		if !slices.Contains(all, f.Cache()) {
			all = append(all, f.Cache())
		}
	}
	for _, src := range e.sources {
		for _, in := range src.inputs {
			add(in.feed)
		}
	}
	if s := e.current(); s != nil {
		for _, f := range s.roster.Load().feeds() {
			add(f.feed)
		}
	}
	return all
}

// owners are the owners of the trackers of all sessions. A nil *owners keeps none.
type owners struct {
	mu  sync.Mutex // guards all
	all []any
}

func (o *owners) add(owner any, t Tracker) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if totals, ok := t.(Totals); ok {
		o.all = totals.Resume(o.all)
	} else if !slices.Contains(o.all, owner) {
		o.all = append(o.all, owner)
	}
}

// remove removes the owner of a tracker that is not used any more.
func (o *owners) remove(owner any, t Tracker) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if totals, ok := t.(Totals); ok {
		o.all = totals.Retire(o.all)
	} else {
		o.all = slices.DeleteFunc(o.all, func(other any) bool { return other == owner })
	}
}

func (o *owners) list() []any {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.all)
}
