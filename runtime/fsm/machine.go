// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fsm

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/events"
	"github.com/kube-go/sdk/runtime/finalizer"
	"github.com/kube-go/sdk/runtime/inventory"
)

// Options are the options of [New]. Nil means the defaults.
type Options struct {
	// Durable makes each pass begin at the stored state instead of the initial one, see [State]. Default: false.
	Durable bool

	// Renamed has the new names of states by their old ones, and "" for a removed state, also for the states of groups. A
	// pass whose stored state was removed begins at the initial one. So does a pass whose stored state is unknown and has
	// no entry; it logs a warning. Objects that a removed state has declared are deleted when the machine is done.
	// Default: none.
	Renamed map[string]string

	// History is the number of previous states to keep in the status. Default: 5. Negative: none.
	History int

	// Conditions are the types of the conditions that the machine has besides those of its states and Ready, for
	// [Ctx.SetCondition]. Stalled may be one of them, for states that wait for a user; [Failed] replaces it. Default:
	// none.
	Conditions []string

	// Env has the values that the steps need besides the object, such as clients of other systems and stores; see [Env].
	// The steps of different objects use it at the same time. Default: nil.
	Env any

	// Views are the caches that hold objects that states declare, such as those of the controller's sources: the machine
	// reads the objects from them. It reads other objects, and fields that a view lacks, from the server; see
	// [inventory.Options]. Default: none.
	Views []inventory.View

	// StuckAfter is the time after which a state in which the object stays, or fails, counts as stuck: the reason of the
	// conditions is then Stuck, and Events gets a warning. Default: never.
	StuckAfter time.Duration

	// Events receives the events of [Result.Event], and those of stuck and suspended objects. The program must run it.
	// Default: none.
	Events *events.Recorder

	// OnStep is called around each step, for metrics and traces, in the goroutine of the pass. Default: nothing.
	OnStep StepHook
}

// StepHook is called before each step with its context and the name of the state. The step gets the returned context,
// and the returned function is called after the step. Neither may be nil.
type StepHook func(ctx context.Context, state string) (context.Context, func(Stepped))

// Stepped is how a step has ended.
type Stepped struct {
	Next   string // the name of the next state, if it was [To.Go] or [To.Restart]
	Done   bool   // it was [Done]
	Failed bool   // it was [Failed]
	Reason string // of [To.Stay] or [Failed]
	Err    error  // of [To.Retry], or of an invalid result
}

func (o *Options) withDefaults() Options {
	var d Options
	if o != nil {
		d = *o
	}
	if d.History == 0 {
		d.History = 5
	}
	d.History = max(d.History, 0)
	return d
}

// Machine is a finite state machine for the objects of a kind. Create one with [New], and add its states with [Add],
// [OnDelete] and [NewGroup] in one goroutine before it is used. Its methods are safe for concurrent use.
//
// # A pass
//
// Each run of the controller is one pass. The machine calls Step of one state after the other until a state stays,
// ends or fails. A Step observes what exists and acts on it; it must not wait, since the pass ends with [To.Stay], and
// a change or the end of the delay begins the next one. So no goroutine belongs to an object, and a restart of the
// program loses nothing.
//
// A pass begins at the initial state, so all steps before the last one are repeated and must be idempotent. With
// [Options.Durable], it begins at the stored state, see [State].
//
// A pass enters each state at most once. A durable machine that would enter one again ends the pass in that state and
// continues after the back-off of the controller. Without Durable the pass fails, since each pass would repeat the
// cycle.
//
// # The kind
//
// The kind embeds [machine.Status] in its status, inline:
//
//	type DatabaseStatus struct {
//		machine.Status `json:",inline"`
//
//		Endpoint string `json:"endpoint,omitempty"`
//	}
//
// No other field of the status is named conditions, fsm or inventory in JSON.
//
// A Step may change the other fields of c.Obj.Status. At the end of the pass, the machine writes the status once, by
// server-side apply with its name as the field manager, and only if it has changed. The machine owns the whole status,
// except conditions of other types: it also replaces and removes what a plain reconcile has written before. So the
// objects of a kind have one machine, whose name never changes, and other controllers do not write the status. A pass
// for an object of another machine is an error.
//
// # Clusters
//
// A machine works in the cluster of its client. A pass for an object of a cluster with a name, see [controller.Key], is
// an error if the object comes from another server than that of the client. A program that reconciles objects in
// several clusters creates a machine for each, with the same name and states, and calls Reconcile of the one for the
// cluster of the run, see [controller.RunOf]:
//
//	err := ctl.Run(ctx, func(ctx context.Context, db *v1.Database) (controller.Action, error) {
//		run, _ := controller.RunOf(ctx)
//		m, ok := machines[run.Key.Cluster]
//		if !ok { // the cluster has left
//			return controller.AwaitChange(), nil
//		}
//		return m.Reconcile(ctx, db)
//	})
//
// When a cluster has left, the controller does not keep its machine, and only its counters stay in the metrics.
//
// # Conditions
//
// Each state has a condition of its name: True if it is over, since the pass has left it or it has ended or is idle;
// False while the object is in it, since it stays or its pass has failed; and Unknown with the reason NotReached
// otherwise. Ready is True if the last state is done or idle: [To.Idle] is for states that wait for their next task,
// such as the next backup. An object that has ended with [Failed] also has the condition Stalled, which is True; tools
// that wait for objects treat it as a final failure. The lastTransitionTime of a condition changes only with its
// status. While an object is being deleted, it has the conditions of the states of [OnDelete] instead, and Ready is
// False.
type Machine[K any] struct {
	chart[K]

	name    string
	server  string // of the client
	opts    Options
	api     *client.API[K]
	object  func(*K) core.Object
	fields  fields
	groups  []*chart[K]
	visits  int // how often a pass may enter a state: maxVisits, or more in tests
	signals *signals
	applier *inventory.Applier
	tables  tables

	scratches sync.Pool // of *scratch[K]

	addFinalizer    func(context.Context, *K) (*K, error)
	removeFinalizer func(context.Context, *K) error

	built   sync.Once // guards the fields below
	graph   *Graph
	version string // the name, and the version of the graph
	invalid error  // all mistakes, or nil
}

// maxVisits is how often one pass may enter a state, so that a cycle does not keep a worker busy.
const maxVisits = 1

const (
	maxName       = 128        // the maximum length of a field manager
	longestSuffix = ".suspend" // of the names of annotations that begin with that of a machine
)

// New returns a machine without states. The name must be qualified by a domain, such as "example.com/database", and
// unique among the machines and controllers of the kind: it is the field manager of the machine's writes, and its
// finalizer. It has at most 128 characters, and at most 55 after the slash.
func New[K any, P core.ObjectPtr[K]](c *client.Client, name string, o *Options) *Machine[K] {
	d := o.withDefaults()
	m := &Machine[K]{
		name:    name,
		server:  c.Server(),
		opts:    d,
		visits:  maxVisits,
		signals: newSignals(),
		applier: inventory.New(c, name, &inventory.Options{Views: d.Views}),
		object:  func(obj *K) core.Object { return P(obj) },
	}
	m.tables.gone, m.tables.resume, m.tables.retire = m.signals.forget, m.resume, m.retire
	m.addFinalizer = func(ctx context.Context, obj *K) (*K, error) {
		return finalizer.Add[K, P](ctx, m.api, name, obj)
	}
	m.removeFinalizer = func(ctx context.Context, obj *K) error {
		return finalizer.Remove[K, P](ctx, m.api, name, obj)
	}
	if c == nil {
		m.wrong("the client is nil: pass one of client.New")
	} else {
		m.api = client.ClusterWide[K, P](c)
	}
	switch {
	case !strings.Contains(name, "/") || len(validation.IsQualifiedName(name)) > 0:
		m.wrong("the name %q is not qualified by a domain, such as example.com/database", name)
	case len(name) > maxName || len(validation.IsQualifiedName(name+longestSuffix)) > 0:
		m.wrong("the name %q is too long: use one of at most %d characters, with at most %d after the slash",
			name, maxName, validation.LabelValueMaxLength-len(longestSuffix))
	}
	var err error
	if m.fields, err = fieldsOf(reflect.TypeFor[K]()); err != nil {
		m.wrong("%w", err)
	}
	return m
}

// chart is the states of a machine, or of a group of child machines.
type chart[K any] struct {
	group    string  // the name of the group, or empty
	problems []error // mistakes that were found while the chart was built
	states   []*state[K]
}

// charted returns the states of the machine.
func (m *Machine[K]) charted() *chart[K] { return &m.chart }

func (m *chart[K]) wrong(format string, args ...any) {
	m.problems = append(m.problems, fmt.Errorf(format, args...))
}

// Check returns the mistakes in the machine, or nil for a machine that can run: states that can't be reached, states
// without a next state, states of a deletion from which no terminal state can be reached, methods that would never be
// called, fields of the states of a durable machine that can't be read again, and types that do not fit. A state that
// may follow but was never added is only found if no other state may follow; fsmtest.Registered finds it in the source.
func (m *Machine[K]) Check() error {
	m.built.Do(m.build)
	return m.invalid
}

// Graph returns the states and transitions of the machine.
func (m *Machine[K]) Graph() *Graph {
	m.built.Do(m.build)
	return m.graph
}

// build computes the transitions, and finds the mistakes.
func (m *Machine[K]) build() {
	m.link()
	for _, g := range m.groups {
		g.link()
	}
	m.graph = graphOf(m)
	m.version = m.name + "@" + m.graph.version()
	problems := slices.Concat(m.problems, m.graph.problems())
	for old, renamed := range m.opts.Renamed {
		switch {
		case m.has(old):
			problems = append(problems, fmt.Errorf("Options.Renamed has the state %s, which exists", old))
		case renamed != "" && !m.has(renamed):
			problems = append(problems, fmt.Errorf("Options.Renamed has %s for %s, which is not a state", renamed, old))
		}
	}
	for _, c := range append([]*chart[K]{&m.chart}, m.groups...) {
		for _, s := range c.states {
			field, typ := s.unreadable()
			switch {
			case m.opts.Durable && typ != nil:
				problems = append(problems, fmt.Errorf("state %s: its field %s has the interface type %v, whose values can't be "+
					"read again from the status with the same type: use a concrete type, such as string instead of error, or one "+
					"with the method UnmarshalJSON", c.qualified(s), field, typ))
			case !m.opts.Durable && (s.verify != nil || s.onSpecChange != nil):
				problems = append(problems, fmt.Errorf("state %s has the method Verify or OnSpecChange, which only a durable "+
					"machine calls: set Options.Durable, or remove the method", c.qualified(s)))
			}
		}
	}
	for _, typ := range m.opts.Conditions {
		switch {
		case typ == readyType || typ == suspendedType || m.find(typ) >= 0:
			problems = append(problems, fmt.Errorf("Options.Conditions has %q, which the machine writes itself", typ))
		case len(validation.IsQualifiedName(typ)) > 0:
			problems = append(problems, fmt.Errorf("Options.Conditions has %q, which is not a qualified name", typ))
		}
	}
	if len(problems) > 0 {
		m.invalid = fmt.Errorf("machine %s: %w", m.name, errors.Join(problems...))
	}
}

// has reports whether the machine or one of its groups has a state.
func (m *Machine[K]) has(name string) bool {
	return m.find(name) >= 0 || slices.ContainsFunc(m.groups, func(g *chart[K]) bool { return g.find(name) >= 0 })
}

// renamed returns the current name of a state, or "" if it was removed.
func (m *Machine[K]) renamed(name string) string {
	if now, ok := m.opts.Renamed[name]; ok {
		return now
	}
	return name
}

// link computes the transitions.
func (m *chart[K]) link() {
	for _, s := range m.states {
		for i, target := range m.states {
			if target.deletes == s.deletes && !s.isTerminal() && target.typ.Implements(s.edges) {
				s.targets = append(s.targets, i)
			}
		}
		s.steps.taken = make([]atomic.Uint64, len(s.targets))
	}
}

// find returns the index of a state, or -1.
func (m *chart[K]) find(name string) int {
	for i, s := range m.states {
		if s.name == name {
			return i
		}
	}
	return -1
}

// initial returns the index of the first state, of a deletion or otherwise. There is one.
func (m *chart[K]) initial(deletes bool) int {
	for i, s := range m.states {
		if s.deletes == deletes {
			return i
		}
	}
	return -1
}

// deletes reports whether the machine has states for deletions.
func (m *chart[K]) deletes() bool { return m.initial(true) >= 0 }

// Ctx is the context of a Step, with the object. It is not safe for concurrent use, and not valid after the Step has
// returned: a goroutine that the Step starts must not use it.
type Ctx[K any] struct {
	context.Context //nolint:containedctx // it is a context

	// Obj is a copy of the object as it was at the beginning of the pass, with the changes that the pass has made to its
	// status.
	Obj *K

	walk    *walk[K]
	planned *Plan // that is being made, or nil
}

// Planning reports whether the pass is a [Machine.Plan]. A step that changes anything other than its outputs and the
// status must not do so then.
func (c *Ctx[K]) Planning() bool { return c.planned != nil }

// Get reads an object into obj, which has a kind and a name, and reports whether the object exists. It is read from
// [Options.Views] or from the server; in a plan, it is as the plan would write it. An object without a namespace is in
// that of c.Obj. Get reads what earlier steps of the pass have declared, but not what the same Step declares.
func (c *Ctx[K]) Get(obj core.Object) (exists bool, err error) { return c.walk.outputs.Get(c, obj) }

// Env returns [Options].Env, which must be a T.
func Env[T, K any](c *Ctx[K]) T { return c.walk.machine.opts.Env.(T) }

// SetCondition sets a condition of the object besides those of the machine, for this pass; its time and generation are
// set by the machine. The type must be listed in [Options.Conditions]: otherwise the pass fails, and the next one
// repeats its steps. A listed condition that a pass does not set is removed.
func (c *Ctx[K]) SetCondition(cond metav1.Condition) {
	w := c.walk
	if !slices.Contains(w.machine.opts.Conditions, cond.Type) {
		w.invalid = fmt.Errorf("SetCondition was called with the type %q, which Options.Conditions does not list", cond.Type)
		return
	}
	cond.ObservedGeneration, cond.Message = w.generation, shorten(cond.Message)
	w.extra = append(slices.DeleteFunc(w.extra, func(old metav1.Condition) bool { return old.Type == cond.Type }), cond)
}

// Child returns the name of the child machine that makes the step, see [Group.Run], or "" in a state of the machine
// itself.
func (c *Ctx[K]) Child() string {
	_, name, _ := strings.Cut(c.walk.name, ".")
	return name
}

// Since returns when the machine entered the current state.
func (c *Ctx[K]) Since() time.Time { return c.walk.position.Since.Time }

// Visits returns how often the machine has entered the current state since the initial state, including this time. It
// is 1 if the machine is not durable.
func (c *Ctx[K]) Visits() int { return max(1, int(c.walk.position.Visits[c.walk.position.State])) }
