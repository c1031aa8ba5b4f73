// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/queue"
)

// Reconcile makes the world as obj asks. Obj is the reconcile's own.
type Reconcile[K any] func(ctx context.Context, obj *K) (Action, error)

// Options are the options of [New]. The zero value of a field is its default.
type Options struct {
	// Concurrency is how many objects are reconciled at the same time. Default: two for each CPU, 8 at least.
	Concurrency int

	// Retry sets the delays of failed runs. Default: 5 ms, doubling up to 1000 s.
	Retry *queue.Options

	// SyncTimeout is how long the first run waits for sources other than the primary one. Default: 30 s.
	SyncTimeout time.Duration

	// StopTimeout is how long runs may go on after the context of Run has ended. Default: 30 s.
	StopTimeout time.Duration

	// Logger gets what goes wrong: failed runs at error level, sources that are late at warning level. Default: none.
	Logger *slog.Logger

	// OnResult is called after each run, in the goroutine of the run. Default: none.
	OnResult func(Result)
}

func (o *Options) withDefaults() Options {
	var d Options
	if o != nil {
		d = *o
	}
	if d.Concurrency <= 0 {
		d.Concurrency = max(8, 2*runtime.GOMAXPROCS(0))
	}
	if d.SyncTimeout <= 0 {
		d.SyncTimeout = 30 * time.Second
	}
	if d.StopTimeout <= 0 {
		d.StopTimeout = 30 * time.Second
	}
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	return d
}

// Controller reconciles the objects of one kind. Make one with [New].
type Controller[K any] struct {
	view    *cache.View[K]
	sources []source
	opts    Options
}

// New returns a controller of the objects that p names. It does nothing until it is run.
func New[K any](p Primary[K], o *Options) *Controller[K] {
	return &Controller[K]{
		view:    p.view,
		sources: []source{{feed: p.view, refs: itself}},
		opts:    o.withDefaults(),
	}
}

// Owns has an object reconciled when an object that it is the controlling owner of changes, see core.ControllerRef.
func (c *Controller[K]) Owns(s Owned) *Controller[K] {
	c.sources = append(c.sources, source{feed: s.feed(), refs: controllerOf(c.view.Resource())})
	return c
}

// Watches has objects reconciled when others change that concern them.
func (c *Controller[K]) Watches(t Trigger) *Controller[K] {
	c.sources = append(c.sources, t.source)
	return c
}

// Run runs the reconcile for every object, and again for each that something has changed about, until the context ends.
// It returns when all that it began has ended: the context's cause, or why a source can't work.
func (c *Controller[K]) Run(ctx context.Context, reconcile Reconcile[K]) error {
	q := queue.New[core.ObjectRef](c.opts.Retry)
	defer q.Close()

	// Sources end with the context, or when one of them can't go on. They outlive the workers' last run, so that what
	// it reads is not stale for long.
	feeds, stopFeeds := context.WithCancelCause(context.WithoutCancel(ctx))
	take, stopTaking := context.WithCancelCause(ctx)
	defer stopTaking(nil)
	var sources sync.WaitGroup
	for _, s := range c.sources {
		sources.Go(func() {
			if err := s.run(feeds, q, c.opts.Logger); err != nil && feeds.Err() == nil {
				stopTaking(fmt.Errorf("source %s: %w", s.feed.Resource(), err))
			}
		})
	}
	err := c.synced(take)
	if err == nil {
		c.work(take, q, reconcile)
		err = context.Cause(take)
	}
	stopFeeds(err)
	sources.Wait()
	return err
}

// work runs the workers until take ends and all have finished.
func (c *Controller[K]) work(take context.Context, q *queue.Queue[core.ObjectRef], reconcile Reconcile[K]) {
	running, stop := context.WithCancelCause(context.WithoutCancel(take))
	defer stop(nil)
	w := worker[K]{queue: q, get: c.view.Store().Get, reconcile: reconcile, report: c.report}
	var workers sync.WaitGroup
	for range c.opts.Concurrency {
		workers.Go(func() { w.run(take, running) })
	}
	<-take.Done()
	q.Close()
	late := time.AfterFunc(c.opts.StopTimeout, func() { stop(context.Cause(take)) })
	defer late.Stop()
	workers.Wait()
}

// synced waits until every source has delivered what was there. Only the primary one is waited for however long it takes.
func (c *Controller[K]) synced(ctx context.Context) error {
	if err := c.view.Store().Ready(ctx); err != nil {
		return err
	}
	late := errors.New("source is late")
	wait, cancel := context.WithTimeoutCause(ctx, c.opts.SyncTimeout, late)
	defer cancel()
	for _, s := range c.sources {
		err := s.feed.Ready(wait)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			c.opts.Logger.WarnContext(ctx, "going on without a source that is not in sync", "source", s.feed.Resource().String())
		}
	}
	return nil
}

// report tells of one run.
func (c *Controller[K]) report(ctx context.Context, r Result) {
	if r.Err != nil {
		attrs := []slog.Attr{
			slog.String("kind", c.view.Resource().Kind),
			slog.String("object", r.Ref.String()),
			slog.Any("err", r.Err),
			slog.Int("failures", r.Failures),
			slog.Duration("retryIn", r.RetryIn),
		}
		if p, ok := errors.AsType[*PanicError](r.Err); ok {
			attrs = append(attrs, slog.String("stack", string(p.Stack)))
		}
		c.opts.Logger.LogAttrs(ctx, slog.LevelError, "reconcile", attrs...)
	}
	if c.opts.OnResult != nil {
		c.opts.OnResult(r)
	}
}
