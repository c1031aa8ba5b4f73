// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/queue"
)

// errRunning is a mistake of the caller.
var errRunning = errors.New("controller: Run was called while it was running")

// Run runs the reconcile for every object, and again for each that something has changed about, until the context ends.
// It returns when all that it began has ended: the context's cause, or why a source can't work. It may be called again
// afterwards; it then begins when what the cache has was brought up to date. It panics if [Options.Retry] is
// not valid, see [queue.New].
func (c *Controller[K]) Run(ctx context.Context, reconcile Reconcile[K]) error {
	q := queue.New[core.ObjectRef](c.opts.Retry)
	if !c.queue.CompareAndSwap(nil, q) {
		return errRunning
	}
	defer c.queue.Store(nil)
	defer q.Close()

	// Work is taken until ctx ends or a source can't go on. The sources outlive the workers' last run, so that what it
	// reads is not stale for long.
	take, stopTaking := context.WithCancelCause(ctx)
	defer stopTaking(nil)
	feeds, stopFeeds := context.WithCancel(context.WithoutCancel(ctx))
	var sources sync.WaitGroup
	for _, s := range c.sources {
		sources.Go(func() {
			err := errGoexit // unless run returns
			defer func() { stopTaking(fmt.Errorf("source %s: %w", s.feed.Resource(), err)) }()
			err = s.run(feeds, q, c.opts.Logger)
		})
	}
	c.sync(take)
	c.work(take, q, reconcile)
	stopFeeds()
	sources.Wait()
	return context.Cause(take)
}

// sync waits until every source has delivered what was there, or ctx ends. Only the primary one is waited for however
// long it takes.
func (c *Controller[K]) sync(ctx context.Context) {
	for !c.await(ctx, c.sources[:1]) { // it has told that it is late
	}
	c.await(ctx, c.sources[1:])
}

// await waits for sources, [Options.SyncTimeout] at most, and tells which are late. It reports whether none is.
func (c *Controller[K]) await(ctx context.Context, sources []source) bool {
	wait, cancel := context.WithTimeout(ctx, c.opts.SyncTimeout)
	defer cancel()
	all := true
	for _, s := range sources {
		err := s.feed.Ready(wait)
		if err == nil {
			continue
		}
		<-wait.Done() // when the source can't work at all, ctx ends
		if ctx.Err() != nil {
			return true
		}
		all = false
		c.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "source is late",
			slog.String("source", s.feed.Resource().String()), slog.Any("err", err))
	}
	return all
}

// work runs the workers until take ends and all have finished.
func (c *Controller[K]) work(take context.Context, q *queue.Queue[core.ObjectRef], reconcile Reconcile[K]) {
	running, stop := context.WithCancelCause(context.WithoutCancel(take))
	defer stop(nil)
	var wg sync.WaitGroup
	for range c.opts.Concurrency {
		w := &worker[K]{
			queue:     q,
			get:       c.view.Store().Get,
			reconcile: reconcile,
			report:    c.report,
			restart:   wg.Go,
			hold: func(key core.ObjectRef, list []write) { // in a goroutine of its own; there is at most one for each key
				c.holds.held.Add(1)
				wg.Go(func() {
					defer q.Done(key)
					defer c.holds.held.Add(-1)
					c.awaitSeen(take, list)
				})
			},
		}
		if c.opts.HoldTimeout > 0 {
			w.writes.sources = c.sources
		}
		wg.Go(func() { w.run(take, running) })
	}
	<-take.Done()
	q.Close()
	late := time.AfterFunc(c.opts.StopTimeout, func() { stop(context.Cause(take)) })
	defer late.Stop()
	wg.Wait()
}

// report logs a run that failed, and passes every run to OnResult. A panic of OnResult, and a call of runtime.Goexit, is
// logged: the run is over, and its outcome stands.
func (c *Controller[K]) report(ctx context.Context, r Result) {
	if r.Err != nil {
		attrs := append(describe(c.view.Resource(), r.Ref, r.Err),
			slog.Int("failures", r.Failures), slog.Duration("retryIn", r.RetryIn))
		c.opts.Logger.LogAttrs(ctx, slog.LevelError, "reconcile", attrs...)
	}
	if c.opts.OnResult == nil {
		return
	}
	var err error
	defer func() { // also when OnResult ends the goroutine
		if err != nil {
			c.opts.Logger.LogAttrs(ctx, slog.LevelError, "OnResult", describe(c.view.Resource(), r.Ref, err)...)
		}
	}()
	try(&err, func() { c.opts.OnResult(r) })
}

// describe returns the attributes of a log record for an error that concerns one object.
func describe(res core.Resource, ref core.ObjectRef, err error) []slog.Attr {
	attrs := []slog.Attr{slog.String("kind", res.Kind), slog.String("object", ref.String()), slog.Any("err", err)}
	if p, ok := errors.AsType[*PanicError](err); ok {
		attrs = append(attrs, slog.String("stack", string(p.Stack)))
	}
	return attrs
}
