// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// Metrics are the numbers of a controller for monitoring. The numbers of runs and the histograms count since the
// controller was created; those of Stats since the current Run began.
type Metrics struct {
	Name  string // see [Options.Name]
	Stats Stats

	// Workers is the maximum number of concurrent runs, see [Controller.Resize].
	Workers int

	// Unfinished is the sum of the ages of the current runs.
	Unfinished time.Duration

	// The numbers of runs by result. RequeuedNow is the number of runs that have requested another one as soon as the
	// back-off allows, RequeuedLater that of others with [RequeueAfter], and Succeeded that of other successful runs.
	Succeeded, RequeuedNow, RequeuedLater, Failed uint64

	// The numbers of some failed runs: with a [Terminal] error, with a panic, and after [Options.RunTimeout].
	Terminal, Panics, Timeouts uint64

	Waited Histogram // how long objects have waited for a worker
	Took   Histogram // how long runs took
}

// Histogram is the distribution of durations.
type Histogram struct {
	Number uint64        // of the durations
	Sum    time.Duration // of the durations

	// Buckets has the numbers of the durations that are not longer than a limit, in the order of the limits.
	Buckets []Bucket
}

// Bucket is the number of durations up to a limit.
type Bucket struct {
	Limit  time.Duration
	Number uint64
}

// Metrics returns the current numbers and durations of runs. Package metrics makes metrics of them, which a
// manager serves; package contrib/prometheus has a collector.
func (c *Controller[K]) Metrics() Metrics { return c.engine.metrics() }

func (e *engine) metrics() Metrics {
	sum := e.tallies.sum()
	m := Metrics{
		Name: e.name, Stats: e.stats(),
		RequeuedNow: sum.requeuedNow, RequeuedLater: sum.requeuedLater, Failed: sum.failed,
		Terminal: sum.terminal, Panics: sum.panics, Timeouts: sum.timeouts,
		Waited: sum.waited.histogram(), Took: sum.took.histogram(),
	}
	m.Succeeded = m.Took.Number - m.RequeuedNow - m.RequeuedLater - m.Failed
	for _, r := range e.runHealth() {
		if r.Source.Kind == "" {
			m.Unfinished += r.Age
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	m.Workers = e.size
	return m
}

// limits returns the limits of the buckets, in ascending order.
func limits() [buckets]time.Duration {
	const us, ms, s = time.Microsecond, time.Millisecond, time.Second
	return [buckets]time.Duration{
		shortest, 100 * us, ms, 5 * ms, 10 * ms, 25 * ms, 50 * ms, 100 * ms, 250 * ms, 500 * ms,
		s, 5 * s / 2, 5 * s, 10 * s, 30 * s, 60 * s, 300 * s, 1000 * s,
	}
}

const (
	buckets  = 18 // the number of the limits
	shortest = 10 * time.Microsecond
)

// tally is the numbers of some workers: there are several, so that workers rarely wait for each other. A nil *tally
// counts nothing.
type tally struct {
	mu sync.Mutex // guards the fields below
	tallied
}

type tallied struct {
	requeuedNow, requeuedLater, failed uint64
	terminal, panics, timeouts         uint64
	waited, took                       durations
}

// durations is a histogram that is not cumulative. The last number is of durations above all limits.
type durations struct {
	sum     time.Duration
	numbers [buckets + 1]uint64
}

func (d *durations) add(v time.Duration) {
	d.sum += v
	if v <= shortest { // as most are
		d.numbers[0]++
		return
	}
	i := 0
	for _, limit := range limits() {
		if v <= limit {
			break
		}
		i++
	}
	d.numbers[i]++
}

func (d *durations) histogram() Histogram {
	h := Histogram{Sum: d.sum, Buckets: make([]Bucket, buckets)}
	for i, limit := range limits() {
		h.Number += d.numbers[i]
		h.Buckets[i] = Bucket{limit, h.Number}
	}
	h.Number += d.numbers[buckets]
	return h
}

// count counts a run.
func (t *tally) count(r *Result, waited time.Duration) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waited.add(waited)
	t.took.add(r.Took)
	switch {
	case r.Err != nil:
		t.failed++
		if IsTerminal(r.Err) {
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
	for to, from := range map[*durations]*durations{&t.waited: &o.waited, &t.took: &o.took} {
		to.sum += from.sum
		for i, n := range from.numbers {
			to.numbers[i] += n
		}
	}
}

// tallies are the numbers of all workers that a controller has ever had.
type tallies struct {
	shards [8]tally
	next   atomic.Uint32
}

// shard returns a tally for a worker, which few other workers have.
func (a *tallies) shard() *tally { return &a.shards[a.next.Add(1)%uint32(len(a.shards))] }

// sum returns the numbers of all workers.
func (a *tallies) sum() (sum tallied) {
	for i := range a.shards {
		t := &a.shards[i]
		t.mu.Lock()
		sum.merge(&t.tallied)
		t.mu.Unlock()
	}
	return sum
}
