// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fsm

import (
	"context"
	"iter"
	"slices"
	"sync/atomic"
	"time"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/machine"
	"github.com/kube-go/sdk/runtime/controller"
)

// Overview is the graph of a machine with the number of objects in each state, such as for a debug page or for metrics.
// Its JSON is meant for other programs.
type Overview struct {
	Name        string               `json:"name"`
	States      []StateOverview      `json:"states"`
	Transitions []TransitionOverview `json:"transitions"`
}

// StateOverview is a state of an [Overview].
type StateOverview struct {
	GraphState

	Objects   int           `json:"objects"`             // in the state; for a state of a [Group], child machines in it
	Failed    int           `json:"failed,omitempty"`    // those that have ended with [Failed]
	Failing   int           `json:"failing,omitempty"`   // those whose last pass has failed
	Stuck     int           `json:"stuck,omitempty"`     // those that have been in it for longer than [Options.StuckAfter]
	Suspended int           `json:"suspended,omitempty"` // those that are suspended
	Oldest    time.Duration `json:"oldest,omitempty"`    // the longest time in it of those that wait or are retried
	Visits    int           `json:"visits,omitempty"`    // the highest number of visits of one of them, see [Ctx.Visits]
	Failures  uint64        `json:"failures,omitempty"`  // the steps that have failed, since the program began
	Restarts  uint64        `json:"restarts,omitempty"`  // the steps that have returned [To.Restart]
}

// TransitionOverview is a transition of an [Overview].
type TransitionOverview struct {
	GraphTransition

	// Taken is how often the transition was taken since the program began. A machine that is not durable takes the same
	// ones in each pass.
	Taken uint64 `json:"taken"`
}

// Position is where an object is in a machine, as of its last pass.
type Position struct {
	Key controller.Key

	// State is the name of the state. It is empty for an object that was suspended before its first pass.
	State string

	Since  time.Time // when the object entered the state
	Visits int       // see [Ctx.Visits]

	// Reason is why the object stays or has failed, or why its pass has failed, at most 80 bytes of it. The conditions
	// have the whole text.
	Reason string

	Done      bool // the state is done, see [Done]
	Failed    bool // the object has ended with [Failed]
	Idle      bool // the state is idle, see [To.Idle]
	Failing   bool // the last pass has failed
	Stuck     bool // the object has been in the state for longer than [Options.StuckAfter]
	Suspended bool // see [machine.Suspension]
	Deleting  bool // the object is being deleted
}

// steps counts the results of the steps of a state.
type steps struct {
	taken            []atomic.Uint64 // by the index in targets
	failed, restarts atomic.Uint64
}

// count counts the result of a step, which the walk has followed.
func (s *state[K]) count(out outcome, w *walk[K]) {
	switch {
	case w.end.how == fails:
		s.steps.failed.Add(1)
	case out.how == restarts:
		s.steps.restarts.Add(1)
	case out.how == goes:
		if i := slices.Index(s.targets, w.at); i >= 0 {
			s.steps.taken[i].Add(1)
		}
	}
}

// Overview returns the current numbers of the machine. Objects are counted as in [Machine.Positions].
func (m *Machine[K]) Overview() *Overview {
	m.built.Do(m.build)
	now := time.Now()
	o := &Overview{Name: m.name, States: []StateOverview{}, Transitions: []TransitionOverview{}}
	first := make([]int, 1+len(m.groups)) // the index of the first state of each chart
	for i, c := range append([]*chart[K]{&m.chart}, m.groups...) {
		first[i] = len(o.States)
		for _, s := range c.states {
			o.States = append(o.States, StateOverview{
				GraphState: m.graph.States[len(o.States)],
				Failures:   s.steps.failed.Load(), Restarts: s.steps.restarts.Load(),
			})
			for i, target := range s.targets {
				o.Transitions = append(o.Transitions, TransitionOverview{
					GraphTransition{c.qualified(s), c.qualified(c.states[target])}, s.steps.taken[i].Load(),
				})
			}
		}
	}
	for _, p := range m.tables.list() {
		p.each(func(_ controller.Key, e *entry) {
			for _, child := range e.children {
				o.States[first[1+child.group]+int(child.state)].Objects += int(child.number)
			}
			if e.state >= 0 {
				o.States[e.state].add(e, m.opts.StuckAfter, now)
			}
		})
	}
	return o
}

// add counts an object.
func (s *StateOverview) add(e *entry, stuckAfter time.Duration, now time.Time) {
	s.Objects++
	s.Visits = max(s.Visits, int(e.visits))
	switch {
	case e.flags&suspended != 0:
		s.Suspended++
	case e.how == fails:
		s.Failing++
	case e.flags&failed != 0:
		s.Failed++
	}
	if e.stuck(stuckAfter, now) {
		s.Stuck++
	}
	if e.waits() {
		s.Oldest = max(s.Oldest, now.Sub(time.Unix(0, e.since)))
	}
}

// Positions yields the positions of all objects whose last pass was made by a controller that is running, in no order.
// Passes, which a controller makes of all objects after it has started, update them in memory, and deleted objects are
// removed. A process whose controller does not run, such as one that waits to become the leader, has none.
func (m *Machine[K]) Positions() iter.Seq[Position] {
	return func(yield func(Position) bool) {
		var part []keyed
		for _, p := range m.tables.list() {
			for i := range p.parts {
				part = p.copyOf(i, part)
				now := time.Now()
				for j := range part {
					if !yield(m.positionOf(&part[j], now)) {
						return
					}
				}
			}
		}
	}
}

func (m *Machine[K]) positionOf(e *keyed, now time.Time) Position {
	p := Position{
		Key: e.key, Since: time.Unix(0, e.since), Visits: int(e.visits), Reason: e.reason,
		Done: e.how == ends && e.flags&failed == 0, Failed: e.flags&failed != 0, Idle: e.flags&idle != 0,
		Failing: e.how == fails, Stuck: e.stuck(m.opts.StuckAfter, now),
		Suspended: e.flags&suspended != 0, Deleting: e.flags&deleting != 0,
	}
	if e.state >= 0 {
		p.State = m.states[e.state].name
	}
	return p
}

// track returns the key of the object of a pass, and the positions of the Run that makes the pass. They are nil if no
// controller of the object makes it: only a controller of the object knows when it is deleted.
func (m *Machine[K]) track(ctx context.Context, obj *K) (*positions, controller.Key) {
	ref := core.RefOf(m.object(obj))
	t, key := controller.Track(ctx, m, m.tables.begin)
	if p, ok := t.(*positions); ok && key.Ref == ref {
		return p, key
	}
	return nil, controller.Key{Cluster: key.Cluster, Ref: ref}
}

// entryOf returns the position of an object for which no step was called. The reason is that of a condition.
func (m *Machine[K]) entryOf(own *machine.Status, condition string, f flags) entry {
	e := entry{state: -1, flags: f}
	for _, c := range own.Conditions {
		if c.Type == condition {
			e.reason = c.Message
		}
	}
	if p := own.FSM; p != nil {
		state := m.renamed(p.State)
		e.state, e.since = int16(m.find(state)), p.Since.UnixNano()
		for name, visits := range p.Visits {
			if m.renamed(name) == state {
				e.visits += visits
			}
		}
		e.visits = max(1, e.visits)
		for name, child := range p.Children {
			e.children = m.countChild(e.children, name, child.State)
		}
	}
	return e
}
