// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/applier"
	"github.com/kube-go/sdk/runtime/histogram"
	"github.com/kube-go/sdk/runtime/internal/durations"
)

// Metrics are the numbers of a controller for monitoring. The numbers of runs and the histograms count since the
// controller was created.
type Metrics struct {
	Name string // see [Options.Name]

	// Applier is the state of the applier of the current Run: the objects that wait, run or are held back. Its Adds,
	// Retries and Overdue include those of all earlier Runs.
	Applier applier.Stats

	// Mapping is the number of changed objects that wait for a function of [Secondary.Map].
	Mapping int

	// Workers is the maximum number of concurrent runs, see [Controller.Resize].
	Workers int

	// OldestRun is the time since the oldest current run began, and OldestKey its object. OldestRun is 0 if nothing runs.
	OldestRun time.Duration
	OldestKey Key

	// Unfinished is the sum of the ages of the current runs.
	Unfinished time.Duration

	// The numbers of runs by result. RequeuedNow is the number of runs that have requested another one as soon as the
	// back-off allows, RequeuedLater that of others with [RequeueAfter], and Succeeded that of other successful runs.
	Succeeded, RequeuedNow, RequeuedLater, Failed uint64

	// The numbers of some failed runs: with a [core.Terminal] error, with a panic, and after [Options.RunTimeout].
	Terminal, Panics, Timeouts uint64

	Waited histogram.Histogram // how long objects have waited for a worker
	Took   histogram.Histogram // how long runs took
}

// Metrics returns the current numbers and durations of runs. Package metrics makes metrics of them, which a
// manager serves; package contrib/prometheus has a collector.
func (c monitor) Metrics() Metrics {
	e := c.engine
	sum := e.tallies.sum()
	m := Metrics{
		Name:        e.name,
		RequeuedNow: sum.requeuedNow, RequeuedLater: sum.requeuedLater, Failed: sum.failed,
		Terminal: sum.terminal, Panics: sum.panics, Timeouts: sum.timeouts,
		Waited: sum.waited.Histogram(), Took: sum.took.Histogram(),
	}
	m.Succeeded = m.Took.Count - m.RequeuedNow - m.RequeuedLater - m.Failed
	e.mu.Lock()
	current, former := e.session, e.former
	m.Workers = e.size
	e.mu.Unlock()
	if current != nil {
		m.Applier = current.applier.Stats()
		for _, stage := range current.stages {
			m.Mapping += stage.waiting()
		}
		m.OldestRun, m.OldestKey = current.pool.oldest()
	}
	m.Applier.Adds += former.adds
	m.Applier.Retries += former.retries
	m.Applier.Overdue += former.overdue
	for _, r := range e.runHealth() {
		if r.Source.Kind == "" {
			m.Unfinished += r.Age
		}
	}
	return m
}

// totals are the numbers of appliers that only grow.
type totals struct{ adds, retries, overdue uint64 }

// limits returns the limits of the buckets, in ascending order.
func limits() []time.Duration {
	const us, ms, s = time.Microsecond, time.Millisecond, time.Second
	return []time.Duration{
		10 * us, 100 * us, ms, 5 * ms, 10 * ms, 25 * ms, 50 * ms, 100 * ms, 250 * ms, 500 * ms,
		s, 5 * s / 2, 5 * s, 10 * s, 30 * s, 60 * s, 300 * s, 1000 * s,
	}
}

// tally is the numbers of some workers: there are several, so that workers rarely wait for each other. A nil *tally
// counts nothing.
type tally struct {
	mu sync.Mutex // guards the fields below
	tallied
}

type tallied struct {
	requeuedNow, requeuedLater, failed uint64
	terminal, panics, timeouts         uint64
	waited, took                       *durations.Counter
}

func newTallied(limits []time.Duration) tallied {
	return tallied{waited: durations.NewCounter(limits), took: durations.NewCounter(limits)}
}

// count counts a run.
func (t *tally) count(r *Result, waited time.Duration) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waited.Add(waited)
	t.took.Add(r.Took)
	switch {
	case r.Err != nil:
		t.failed++
		if core.IsTerminal(r.Err) {
			t.terminal++
		}
		if _, ok := errors.AsType[*PanicError](r.Err); ok {
			t.panics++
		}
		if _, ok := errors.AsType[*timeoutError](r.Err); ok {
			t.timeouts++
		}
	case r.Action.requeueAfter == asBackoffAllows:
		t.requeuedNow++
	case r.Action.requeueAfter > 0:
		t.requeuedLater++
	}
}

// merge adds the numbers of o.
func (t *tallied) merge(o *tallied) {
	t.requeuedNow += o.requeuedNow
	t.requeuedLater += o.requeuedLater
	t.failed += o.failed
	t.terminal += o.terminal
	t.panics += o.panics
	t.timeouts += o.timeouts
	t.waited.Merge(o.waited)
	t.took.Merge(o.took)
}

// tallies are the numbers of all workers that a controller has ever had.
type tallies struct {
	limits []time.Duration
	shards [8]tally
	next   atomic.Uint32
}

func newTallies() *tallies {
	a := &tallies{limits: limits()}
	for i := range a.shards {
		a.shards[i].tallied = newTallied(a.limits)
	}
	return a
}

// shard returns a tally for a worker, which few other workers have.
func (a *tallies) shard() *tally { return &a.shards[a.next.Add(1)%uint32(len(a.shards))] }

// sum returns the numbers of all workers.
func (a *tallies) sum() tallied {
	sum := newTallied(a.limits)
	for i := range a.shards {
		t := &a.shards[i]
		t.mu.Lock()
		sum.merge(&t.tallied)
		t.mu.Unlock()
	}
	return sum
}
