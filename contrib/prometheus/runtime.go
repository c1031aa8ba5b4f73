// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kubeprometheus

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/fsm"
)

// RuntimeOptions are the options of [NewRuntime].
type RuntimeOptions struct {
	// Labels are constant labels of each series.
	Labels map[string]string
}

// Runtime has the metrics of controllers, caches and state machines. It is a prometheus.Collector, and reads their
// current numbers when it is collected. Create one with [NewRuntime].
type Runtime struct {
	descs descs

	mu          sync.Mutex // guards the fields below
	controllers []Controller
	caches      []*cache.Cache
	machines    []Machine
}

// Controller is a [controller.Controller] of any kind.
type Controller interface {
	Metrics() controller.Metrics
	Health() []controller.SourceHealth
}

// Machine is an [fsm.Machine] of any kind.
type Machine interface{ Overview() *fsm.Overview }

// NewRuntime returns metrics without controllers, caches and machines. The caller registers them.
func NewRuntime(o *RuntimeOptions) *Runtime {
	if o == nil {
		o = &RuntimeOptions{}
	}
	return &Runtime{descs: newDescs(o.Labels)}
}

// AddController adds a controller. It returns an error if another one has the same name, see [controller.Options].
func (r *Runtime) AddController(c Controller) error {
	name := c.Metrics().Name
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, other := range r.controllers {
		if other.Metrics().Name == name {
			return fmt.Errorf("two controllers are named %q: set controller.Options.Name", name)
		}
	}
	r.controllers = append(r.controllers, c)
	return nil
}

// AddCache adds a cache until the returned function is called. The numbers of several caches of a cluster are added.
func (r *Runtime) AddCache(c *cache.Cache) (remove func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.caches, c) {
		r.caches = append(r.caches, c)
	}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.caches = slices.DeleteFunc(r.caches, func(o *cache.Cache) bool { return o == c })
	}
}

// AddMachine adds a state machine. The numbers of several machines with the same name are added, such as those of a
// machine for each cluster.
func (r *Runtime) AddMachine(m Machine) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.machines = append(r.machines, m)
}

// Describe sends the descriptions of the metrics to a registry.
func (r *Runtime) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range r.descs.all() {
		ch <- d
	}
}

// Collect sends the metrics to a registry.
func (r *Runtime) Collect(ch chan<- prometheus.Metric) {
	r.mu.Lock()
	controllers, caches, machines := slices.Clone(r.controllers), slices.Clone(r.caches), slices.Clone(r.machines)
	r.mu.Unlock()
	s := sender{ch: ch, descs: &r.descs}
	for _, c := range controllers {
		s.controller(c)
	}
	s.watches(caches, time.Now())
	s.machines(machines)
}

// sender sends metrics to a registry.
type sender struct {
	ch    chan<- prometheus.Metric
	descs *descs
}

func (s *sender) gauge(d *prometheus.Desc, value float64, labels ...string) {
	s.ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
}

func (s *sender) counter(d *prometheus.Desc, value uint64, labels ...string) {
	s.ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(value), labels...)
}

func (s *sender) histogram(d *prometheus.Desc, h controller.Histogram, labels ...string) {
	buckets := make(map[float64]uint64, len(h.Buckets))
	for _, b := range h.Buckets {
		buckets[b.Limit.Seconds()] = b.Number
	}
	s.ch <- prometheus.MustNewConstHistogram(d, h.Number, h.Sum.Seconds(), buckets, labels...)
}

func (s *sender) controller(c Controller) {
	d, m := s.descs, c.Metrics()
	queue := m.Stats.Applier

	s.counter(d.runs, m.Succeeded, m.Name, "success")
	s.counter(d.runs, m.Failed, m.Name, "error")
	s.counter(d.runs, m.RequeuedNow, m.Name, "requeue")
	s.counter(d.runs, m.RequeuedLater, m.Name, "requeue_after")
	s.counter(d.runErrors, m.Failed, m.Name)
	s.counter(d.runTerminal, m.Terminal, m.Name)
	s.counter(d.runPanics, m.Panics, m.Name)
	s.counter(d.runTimeouts, m.Timeouts, m.Name)
	s.histogram(d.runTime, m.Took, m.Name)
	s.gauge(d.maxRuns, float64(m.Workers), m.Name)
	s.gauge(d.activeRuns, float64(queue.Running), m.Name)

	s.gauge(d.queueDepth, float64(queue.Ready), m.Name, m.Name)
	s.counter(d.queueAdds, queue.Adds, m.Name, m.Name)
	s.counter(d.queueRetries, queue.Retries, m.Name, m.Name)
	s.histogram(d.queueWaited, m.Waited, m.Name, m.Name)
	s.histogram(d.queueWorked, m.Took, m.Name, m.Name)
	s.gauge(d.queueUnfinished, m.Unfinished.Seconds(), m.Name, m.Name)
	s.gauge(d.queueLongest, m.Stats.OldestRun.Seconds(), m.Name, m.Name)

	s.gauge(d.held, float64(queue.Held), m.Name)
	s.counter(d.overdue, queue.Overdue, m.Name)
	s.gauge(d.delayed, float64(queue.Delayed), m.Name)
	s.gauge(d.mapping, float64(m.Stats.Mapping), m.Name)
	s.gauge(d.oldestWait, queue.OldestWait.Seconds(), m.Name)

	ready, failing := map[place]int{}, map[place]int{}
	for _, h := range c.Health() {
		at := place{h.Cluster, h.Resource.String()}
		if ready[at] += 0; h.Ready {
			ready[at]++
		}
		if failing[at] += 0; h.Err != nil {
			failing[at]++
		}
	}
	for at := range ready {
		s.gauge(d.sourcesReady, float64(ready[at]), m.Name, at.cluster, at.resource)
		s.gauge(d.sourcesFailing, float64(failing[at]), m.Name, at.cluster, at.resource)
	}
}

// place is what the metrics of watches are about.
type place struct{ cluster, resource string }

// watches sends the metrics of all caches.
func (s *sender) watches(caches []*cache.Cache, now time.Time) {
	type sums struct {
		phases                   map[string]int
		objects, lists, failures int
		failing                  int
		age                      time.Duration
	}
	all := map[place]*sums{}
	for _, c := range caches {
		for _, w := range c.Watches() {
			at := place{c.Cluster(), w.Resource.String()}
			sum := all[at]
			if sum == nil {
				sum = &sums{phases: map[string]int{}}
				all[at] = sum
			}
			sum.objects += w.Objects
			sum.lists += w.Status.Lists
			if w.Err != nil {
				sum.failing++
			}
			if !w.Running || w.Status.Phase == 0 {
				sum.phases["Stopped"]++
				continue
			}
			sum.phases[w.Status.Phase.String()]++
			sum.failures = max(sum.failures, w.Status.Failures)
			if !w.Status.LastData.IsZero() {
				sum.age = max(sum.age, now.Sub(w.Status.LastData))
			}
		}
	}
	d := s.descs
	for at, sum := range all {
		for phase, n := range sum.phases {
			s.gauge(d.watches, float64(n), at.cluster, at.resource, phase)
		}
		s.gauge(d.watchObjects, float64(sum.objects), at.cluster, at.resource)
		s.counter(d.watchLists, uint64(sum.lists), at.cluster, at.resource)
		s.gauge(d.watchesFailing, float64(sum.failing), at.cluster, at.resource)
		s.gauge(d.watchFailures, float64(sum.failures), at.cluster, at.resource)
		s.gauge(d.watchAge, sum.age.Seconds(), at.cluster, at.resource)
	}
}

// machines sends the metrics of all machines.
func (s *sender) machines(machines []Machine) {
	states, transitions := map[[2]string]fsm.StateOverview{}, map[[3]string]uint64{}
	for _, m := range machines {
		o := m.Overview()
		for _, state := range o.States {
			at := [2]string{o.Name, state.Name}
			sum := states[at]
			sum.Objects += state.Objects
			sum.Failing += state.Failing
			sum.Stuck += state.Stuck
			sum.Suspended += state.Suspended
			sum.Oldest = max(sum.Oldest, state.Oldest)
			sum.Visits = max(sum.Visits, state.Visits)
			sum.Failures += state.Failures
			sum.Restarts += state.Restarts
			states[at] = sum
		}
		for _, t := range o.Transitions {
			transitions[[3]string{o.Name, t.From, t.To}] += t.Taken
		}
	}
	d := s.descs
	for at, state := range states {
		s.gauge(d.stateObjects, float64(state.Objects), at[0], at[1])
		s.gauge(d.stateFailing, float64(state.Failing), at[0], at[1])
		s.gauge(d.stateStuck, float64(state.Stuck), at[0], at[1])
		s.gauge(d.stateSuspended, float64(state.Suspended), at[0], at[1])
		s.gauge(d.stateOldest, state.Oldest.Seconds(), at[0], at[1])
		s.gauge(d.stateVisits, float64(state.Visits), at[0], at[1])
		s.counter(d.stateFailures, state.Failures, at[0], at[1])
		s.counter(d.stateRestarts, state.Restarts, at[0], at[1])
	}
	for at, n := range transitions {
		s.counter(d.transitions, n, at[0], at[1], at[2])
	}
}
