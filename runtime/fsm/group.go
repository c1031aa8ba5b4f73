// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fsm

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/machine"
)

// Group is a set of child machines of the same states, which one state of a machine runs in parallel, such as one
// machine for each replica of a database. Create one with [NewGroup], and add its other states with [Add]. S is the
// initial state. Run is safe for concurrent use by the passes of different objects.
type Group[K, S any] struct{ chart *chart[K] }

func (g *Group[K, S]) charted() *chart[K] { return g.chart }

// NewGroup adds a group to a machine. The name, such as Replica, is the prefix of the types of the children's
// conditions. initial is any value of the initial state's type.
func NewGroup[S State[K, E], K, E any](m *Machine[K], name string, initial S) *Group[K, S] {
	g := &Group[K, S]{&chart[K]{group: name}}
	switch {
	case len(validation.IsQualifiedName(name)) > 0 || strings.ContainsAny(name, "./"):
		m.wrong("the name %q of a group can't begin the types of conditions: use letters, digits and hyphens, such as "+
			"Replica", name)
	case slices.ContainsFunc(m.groups, func(c *chart[K]) bool { return c.group == name }):
		m.wrong("the group %s is added twice: give each group of the machine a name of its own", name)
	}
	m.groups = append(m.groups, g.chart)
	register(g.chart, initial, false)
	return g
}

// Run makes a pass of each child. The keys of children are their names; the values are their initial states. A child of
// a durable machine continues at its stored state. Each child has a condition, such as Replica.db-0, as long as the
// state runs it.
//
// Call Run in the Step of one state only, and once. A child that has left the children is forgotten. If the
// Step neither calls Run nor fails, all children are forgotten. OnDeadline and OnSpecChange need not call Run: if they
// stay or fail, the children are kept. A name that the condition of a child can't have is an error of [Join] and of the
// pass.
func (g *Group[K, S]) Run(c *Ctx[K], children map[string]S) *Children {
	parent := c.walk
	all := &Children{ended: make(map[string]any)}
	if parent.ran == nil {
		parent.ran = make(map[string]bool)
	}
	parent.ran[g.chart.group] = true
	for _, name := range slices.Sorted(maps.Keys(children)) {
		typ := g.chart.group + "." + name
		if len(validation.IsQualifiedName(typ)) > 0 || strings.Contains(name, "/") || parent.chart.group != "" {
			parent.invalid = fmt.Errorf("child %q of the group %s: want a name that a condition may have, of at most %d "+
				"characters, and no children of children", name, g.chart.group, 62-len(g.chart.group))
			all.errs = append(all.errs, parent.invalid)
			continue
		}
		w := &walk[K]{pass: parent.pass, chart: g.chart, parent: parent, name: typ, first: children[name]}
		if stored, ok := parent.brood[typ]; ok {
			w.stored = &machine.Position{
				State: stored.State, Data: stored.Data, Since: stored.Since, Generation: stored.Generation, Visits: stored.Visits,
			}
		}
		w.run(&Ctx[K]{Context: c.Context, Obj: c.Obj, planned: c.planned})
		all.add(name, w.end, w.value, w.current())
		p := w.position
		parent.keep(typ, machine.Child{
			State: p.State, Data: p.Data, Since: p.Since, Generation: p.Generation, Visits: p.Visits,
		})
		status, reason, message := w.summary()
		if w.end.failed {
			status = metav1.ConditionFalse
		}
		again := func(c metav1.Condition) bool { return c.Type == typ } // the pass has entered the state before
		cond := w.condition(typ, status, reason, w.located(message))
		parent.children = append(slices.DeleteFunc(parent.children, again), cond)
	}
	return all
}

// Children is the result of [Group.Run]. It is not changed after that, so it is safe for concurrent use.
type Children struct {
	ended   map[string]any // the terminal states by name
	waiting []string       // why others stay
	delay   time.Duration  // when the first child that is not done continues, or 0
	soon    bool           // a child continues as soon as the back-off allows
	errs    []error
	failed  []error // of those that have ended with Failed
}

func (c *Children) add(name string, end outcome, value any, state string) {
	switch end.how {
	case ends:
		c.ended[name] = value
		if end.failed {
			c.failed = append(c.failed, fmt.Errorf("%s: state %s: %s", name, state, end.reason))
		}
	case fails:
		c.errs = append(c.errs, fmt.Errorf("%s: state %s: %w", name, state, end.err))
	default:
		c.waiting = append(c.waiting, name+": "+end.reason)
	}
	c.delay, c.soon = sooner(c.delay, end.delay), c.soon || end.soon
}

// maxReasons is the number of waiting children that the reason of a [Join] has.
const maxReasons = 3

// Join reports whether a state must wait for its children, and if so returns its result: [To.Retry] with the errors of
// children whose pass has failed, otherwise [To.Stay].
//
// When all children have ended, and some of them with [Failed], Join returns [To.Retry] with their reasons, as a
// [core.Terminal] error. A state that handles the failure of a child calls [Ended] before Join, or its child
// ends with [Done] in a state of its own.
//
//	children := replicas.Run(c, starts)
//	if wait, result := fsm.Join(to, children); wait {
//		return result
//	}
func Join[E any](to To[E], c *Children) (wait bool, result Result[E]) {
	switch {
	case len(c.errs) > 0:
		errs := slices.Clone(c.errs)
		if slices.ContainsFunc(errs, func(err error) bool { return !core.IsTerminal(err) }) {
			for i, err := range errs {
				errs[i] = retried(err)
			}
		}
		return true, Result[E]{outcome{how: fails, err: errors.Join(errs...), delay: c.delay, soon: c.soon}}
	case len(c.waiting) == 0 && len(c.failed) > 0:
		return true, to.Retry(core.Terminal(errors.Join(c.failed...)))
	case len(c.waiting) == 0:
		return false, result
	}
	reason := strings.Join(c.waiting[:min(len(c.waiting), maxReasons)], "; ")
	if more := len(c.waiting) - maxReasons; more > 0 {
		reason += fmt.Sprintf("; and %d more", more)
	}
	return true, Result[E]{outcome{how: stays, reason: reason, delay: c.delay, soon: c.soon}}
}

// Ended yields the names and the states of the children that have ended, also with [Failed], in a state of type T, in
// the order of their names. The fields of a terminal state are the result of a child.
func Ended[T any](c *Children) iter.Seq2[string, T] {
	return func(yield func(string, T) bool) {
		for _, name := range slices.Sorted(maps.Keys(c.ended)) {
			if state, ok := c.ended[name].(T); ok && !yield(name, state) {
				return
			}
		}
	}
}
