// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/applier"
	"github.com/kube-go/sdk/runtime/cache"
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

	// SyncTimeout is the maximum time that the first run waits for the secondary sources. Default: 30 s.
	SyncTimeout time.Duration

	// StopTimeout is the maximum time that runs may continue after the context of Run has ended. Default: 30 s.
	StopTimeout time.Duration

	// HoldTimeout is the maximum time that an object is held back after a run that wrote objects, until the caches have
	// observed the writes. Default: 5 s. If it is negative, objects are not held back.
	HoldTimeout time.Duration

	// Name names the controller in each log record. Default: the kind in lower case, as in controller-runtime.
	Name string

	// Logger logs failed runs and panics as errors, and late sources and caches as warnings. A panic of its handler is
	// not recovered. Default: [slog.Default]. To log nothing, use slog.New(slog.DiscardHandler).
	Logger *slog.Logger

	// OnResult is called after each run, in the goroutine of the run. A panic of OnResult is logged with its stack, and
	// does not affect the result of the run or its retry. Default: none.
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
	if d.HoldTimeout == 0 {
		d.HoldTimeout = 5 * time.Second
	}
	if d.Logger == nil {
		d.Logger = slog.Default()
	}
	return d
}

// applier returns the options of the applier.
func (o *Options) applier() *applier.Options {
	a := &applier.Options{HoldTimeout: o.HoldTimeout}
	if o.Retry != nil {
		a.Backoff = *o.Retry
	}
	return a
}

// Controller reconciles the objects of one kind. Create one with [New].
type Controller[K any] struct {
	view    *cache.View[K]
	sources []*source // the primary source first
	opts    Options

	applier atomic.Pointer[applier.Applier[core.ObjectRef]] // of the current Run, or nil
}

// New returns a controller of the objects of p. It does nothing until Run is called.
func New[K any](p Primary[K], o *Options) *Controller[K] {
	opts := o.withDefaults()
	name := cmp.Or(opts.Name, strings.ToLower(p.view.Resource().Kind))
	opts.Logger = opts.Logger.With("controller", name)
	return &Controller[K]{view: p.view, sources: []*source{{feed: p.view, refs: itself}}, opts: opts}
}

// Owns reconciles an object when an object changes whose controlling owner it is, see core.ControllerRef.
func (c *Controller[K]) Owns(s Owned) *Controller[K] {
	return c.add(&source{feed: s.feed(), refs: eachState(controllerOf(c.view.Resource()))})
}

// Watches reconciles objects when other objects change that concern them.
func (c *Controller[K]) Watches(t Trigger) *Controller[K] {
	return c.add(&source{feed: t.source.feed, refs: t.source.refs})
}

func (c *Controller[K]) add(s *source) *Controller[K] {
	s.number = len(c.sources)
	c.sources = append(c.sources, s)
	return c
}

// Stats is a snapshot of a controller's statistics.
type Stats struct {
	// Applier is the state of the applier of the current Run: the objects that wait, run or are held back.
	Applier applier.Stats
}

// Stats returns the current statistics of the controller.
func (c *Controller[K]) Stats() Stats {
	if a := c.applier.Load(); a != nil {
		return Stats{Applier: a.Stats()}
	}
	return Stats{}
}

// SourceHealth is the state of one source of a controller. Each source has its own watch and back-off.
type SourceHealth struct {
	Resource core.Resource

	// Ready is true once the source has delivered the existing objects.
	Ready bool

	// Err is the error of the source's last request, or nil if data has arrived since; see [cache.View.Health].
	Err error
}

// Health returns the state of the sources: the primary one first, the others in the order in which they were added.
func (c *Controller[K]) Health() []SourceHealth {
	health := make([]SourceHealth, len(c.sources))
	for i, s := range c.sources {
		health[i] = SourceHealth{Resource: s.feed.Resource(), Ready: s.ready(), Err: s.feed.Health()}
	}
	return health
}
