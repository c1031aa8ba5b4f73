// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"log/slog"
	"runtime"
	"sync/atomic"
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

	// Retry sets the back-off: the delays after failed runs, and after runs that ask for another one at once, see
	// [RequeueAfter]. Default: 5 ms, doubling up to 1000 s.
	Retry *queue.Options

	// SyncTimeout is how long the first run waits for sources other than the primary one. Default: 30 s.
	SyncTimeout time.Duration

	// StopTimeout is how long runs may go on after the context of Run has ended. Default: 30 s.
	StopTimeout time.Duration

	// HoldTimeout is how long an object is held back after a run that has written something, until the caches have seen
	// what was written. Default: 5 s. A negative one means that objects are not held back.
	HoldTimeout time.Duration

	// Logger gets failed runs and panics at error level, and sources and caches that are late at warning level.
	// A panic of its handler is not contained. Default: none.
	Logger *slog.Logger

	// OnResult is called after each run, in the goroutine of the run. A panic of OnResult is logged with its stack, and
	// changes nothing about the run: its outcome stands, and it is retried only if it has failed itself. Default: none.
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
		d.Logger = slog.New(slog.DiscardHandler)
	}
	return d
}

// Controller reconciles the objects of one kind. Make one with [New].
type Controller[K any] struct {
	view    *cache.View[K]
	sources []source // the primary one first
	opts    Options

	queue atomic.Pointer[queue.Queue[core.ObjectRef]] // of the Run under way, or nil
	holds holds
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
	c.sources = append(c.sources, source{feed: s.feed(), refs: eachState(controllerOf(c.view.Resource()))})
	return c
}

// Watches has objects reconciled when others change that concern them.
func (c *Controller[K]) Watches(t Trigger) *Controller[K] {
	c.sources = append(c.sources, t.source)
	return c
}

// Stats describes a controller at one moment.
type Stats struct {
	// Queue is the state of the queue of the Run under way. Objects that are held back count as running.
	Queue queue.Stats

	// Held is how many objects are held back until the caches have seen what their last run has written.
	Held int

	// Overdue is how many times so far a cache had not seen a write when [Options.HoldTimeout] was over.
	Overdue uint64
}

// Stats describes the controller as it is now.
func (c *Controller[K]) Stats() Stats {
	s := Stats{Held: int(c.holds.held.Load()), Overdue: c.holds.overdue.Load()}
	if q := c.queue.Load(); q != nil {
		s.Queue = q.Stats()
	}
	return s
}

// SourceHealth is how one source of a controller does. Each has a watch and a back-off of its own.
type SourceHealth struct {
	Resource core.Resource

	// Ready is true once the source has delivered what was there.
	Ready bool

	// Err is the trouble that the source is in, nil when there is none, see [cache.View.Health].
	Err error
}

// Health returns how the sources do, the primary one first and the others in the order in which they were added.
func (c *Controller[K]) Health() []SourceHealth {
	health := make([]SourceHealth, len(c.sources))
	for i, s := range c.sources {
		health[i] = SourceHealth{Resource: s.feed.Resource(), Ready: s.ready(), Err: s.feed.Health()}
	}
	return health
}
