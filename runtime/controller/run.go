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
	"github.com/kube-go/sdk/runtime/applier"
)

// errRunning reports a mistake of the caller.
var errRunning = errors.New("controller: Run was called while it was running")

// Run runs the reconcile for every object, and again for each object that a change concerns, until the context ends.
// When all of its runs and watches have ended, it returns the context's cause, or the error of an invalid source. It
// may be called again afterwards; the runs then begin when the caches are up to date. It panics if [Options.Retry] is
// invalid, see [applier.New].
func (c *Controller[K]) Run(ctx context.Context, reconcile Reconcile[K]) error {
	a := applier.New[core.ObjectRef](c.opts.applier())
	a.OnOverdue = c.reportOverdue
	if !c.applier.CompareAndSwap(nil, a) {
		return errRunning
	}
	defer c.applier.Store(nil)
	defer a.Close()

	// Workers take keys until ctx ends or a source fails permanently. The sources end after the workers' last run, so
	// that this run reads current objects.
	take, stopTaking := context.WithCancelCause(ctx)
	defer stopTaking(nil)
	feeds, stopFeeds := context.WithCancel(context.WithoutCancel(ctx))
	var sources sync.WaitGroup
	for _, s := range c.sources {
		sources.Go(func() {
			err := errGoexit // overwritten if run returns
			defer func() { stopTaking(fmt.Errorf("source %s: %w", s.feed.Resource(), err)) }()
			err = s.run(feeds, a, c.opts.Logger)
		})
	}
	c.sync(take)
	c.work(take, a, reconcile)
	stopFeeds()
	sources.Wait()
	return context.Cause(take)
}

// sync waits until every source has delivered its existing objects, or ctx ends. It waits for the primary source
// without a time limit.
func (c *Controller[K]) sync(ctx context.Context) {
	for !c.await(ctx, c.sources[:1]) { // it has logged that it is late
	}
	c.await(ctx, c.sources[1:])
}

// await waits for sources, for at most [Options.SyncTimeout], and logs the late ones. It reports whether all are ready.
func (c *Controller[K]) await(ctx context.Context, sources []*source) bool {
	wait, cancel := context.WithTimeout(ctx, c.opts.SyncTimeout)
	defer cancel()
	all := true
	for _, s := range sources {
		err := s.feed.Ready(wait)
		if err == nil {
			continue
		}
		<-wait.Done() // if the source is invalid, ctx ends
		if ctx.Err() != nil {
			return true
		}
		all = false
		c.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "source is late",
			slog.String("source", s.feed.Resource().String()), slog.Any("err", err))
	}
	return all
}

// work runs the workers until take ends and all runs have finished.
func (c *Controller[K]) work(take context.Context, a *applier.Applier[core.ObjectRef], reconcile Reconcile[K]) {
	running, stop := context.WithCancelCause(context.WithoutCancel(take))
	defer stop(nil)
	var wg sync.WaitGroup
	for range c.opts.Concurrency {
		w := &worker[K]{
			applier:   a,
			get:       c.view.Store().Get,
			reconcile: reconcile,
			logger:    c.opts.Logger,
			kind:      c.view.Resource().Kind,
			report:    c.report,
			restart:   wg.Go,
		}
		if c.opts.HoldTimeout > 0 {
			w.writes.sources = c.sources
		}
		wg.Go(func() { w.run(take, running) })
	}
	<-take.Done()
	a.Close()
	late := time.AfterFunc(c.opts.StopTimeout, func() { stop(context.Cause(take)) })
	defer late.Stop()
	wg.Wait()
}

// report logs a failed run, and calls OnResult for every run. It logs a panic of OnResult, and a call of
// runtime.Goexit; they do not change the result of the run.
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
	defer func() { // also if OnResult ends the goroutine
		if err != nil {
			c.opts.Logger.LogAttrs(ctx, slog.LevelError, "OnResult", describe(c.view.Resource(), r.Ref, err)...)
		}
	}()
	try(&err, func() { c.opts.OnResult(r) })
}

// describe returns the attributes of a log record for an error of one object.
func describe(res core.Resource, ref core.ObjectRef, err error) []slog.Attr {
	attrs := []slog.Attr{slog.String("kind", res.Kind), slog.String("object", ref.String()), slog.Any("err", err)}
	if p, ok := errors.AsType[*PanicError](err); ok {
		attrs = append(attrs, slog.String("stack", string(p.Stack)))
	}
	return attrs
}
