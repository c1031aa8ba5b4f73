// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fsm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/machine"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/events"
	"github.com/kube-go/sdk/runtime/inventory"
)

// pass is one pass of a machine over an object. It reads no clock, and sends no requests except with outputs.
type pass[K any] struct {
	machine    *Machine[K]
	now        time.Time
	generation int64
	ctx        context.Context //nolint:containedctx // of the pass, for its logger
	again      bool            // another pass must follow, since this one may not enter a state again

	events   []announced[K]
	sent     mailbox        // the values for the object that no step has received and left
	consumed mailbox        // those that steps have received that are not repeated
	asked    []reflect.Type // the types that steps have asked for that the next pass repeats

	outputs outputs
	partial bool            // an Apply has failed or waits, so that not all outputs are declared
	left    bool            // the pass has begun again after it has applied objects, which may not be needed any more
	stepped map[string]bool // the parts whose outputs this pass has applied; nil if the machine is not durable
	evading map[string]bool // the parts whose Step was not due and that have declared nothing; nil if it is durable
	lived   map[string]bool // the parts of the kept child machines, also those of states that they have passed

	extra    []metav1.Condition // of SetCondition
	children []metav1.Condition // of child machines
	invalid  error              // a call of a method of Ctx with wrong arguments
}

// walk is the way of a machine, or of a child machine, through its states in a pass.
type walk[K any] struct {
	*pass[K]

	chart   *chart[K]
	parent  *walk[K] // of a child machine, or nil
	name    string   // of a child machine
	deletes bool
	first   any // the value of the initial state

	stored   *machine.Position        // at the beginning, or nil
	position machine.Position         // now
	brood    map[string]machine.Child // the positions of child machines at the beginning of the step
	ran      map[string]bool          // the groups that the state has run

	at      int        // the index of the current state
	value   any        // of the current state
	visited []visited  // by the index of the state
	few     [8]visited // the memory of visited if there are not more states

	received mailbox                 // by the current step; if the machine is not durable, by all steps
	took     mailbox                 // by earlier steps, and by the steps of child machines
	declared []inventory.Declaration // by the current step
	deleted  []core.Object           // by the current step

	applied bool    // a step of this walk or of a child machine has declared objects
	late    bool    // the last step was OnDeadline
	evaded  bool    // the last step was OnDeadline or OnSpecChange
	repeats bool    // the last step is repeated although it has not failed
	end     outcome // how the walk ended: stays, fails or ends
}

// visited describes the visits of a pass to a state.
type visited struct {
	times  int32 // how often it was entered
	passed bool  // it was left since the initial state
}

// walk calls the steps of a pass, and applies what they declare.
func (m *Machine[K]) walk(
	c *Ctx[K], stored *machine.Position, sent mailbox, generation int64, deletes bool, now time.Time, out outputs,
) *walk[K] {
	both := &struct { // one allocation
		walk walk[K]
		pass pass[K]
	}{
		walk[K]{chart: &m.chart, deletes: deletes, stored: stored},
		pass[K]{
			machine: m, now: now, generation: generation, ctx: c.Context, sent: sent, outputs: out,
		},
	}
	w := &both.walk
	w.pass = &both.pass
	if m.opts.Durable {
		w.stepped = make(map[string]bool)
	}
	w.first = reflect.Zero(w.chart.states[w.chart.initial(deletes)].typ).Interface()
	w.run(c)
	w.position.Version = m.version
	if w.invalid != nil {
		w.refuse(w.invalid)
	}
	return w
}

func (p *pass[K]) logger() *slog.Logger { return controller.Logger(p.ctx) }

// current returns the name of the current state, or of the last one at the end.
func (w *walk[K]) current() string { return w.chart.states[w.at].name }

// run calls the steps.
func (w *walk[K]) run(c *Ctx[K]) {
	c.walk = w
	if n := len(w.chart.states); n <= len(w.few) {
		w.visited = w.few[:n] // saves an allocation
	} else {
		w.visited = make([]visited, n)
	}
	specChanged := w.begin(c)
	for w.end.how == unset {
		if specChanged && w.chart.states[w.at].onSpecChange == nil {
			w.restart()
			specChanged = false
		}
		w.visited[w.at].times++
		if int(w.visited[w.at].times) > w.machine.visits {
			w.exceed()
			break
		}
		w.call(c, specChanged)
		specChanged = specChanged && (w.late || w.end.how == fails || w.repeats) // OnSpecChange has not done its work
	}
	w.retain(c)
	w.finish(specChanged)
}

// retain keeps the child machines of a state that the pass has not left and that has not run them: its step has failed
// before it did, or OnDeadline or OnSpecChange has stayed.
func (w *walk[K]) retain(c *Ctx[K]) {
	if w.stored == nil || w.stored.State != w.position.State || w.end.how != fails && (w.end.how != stays || !w.evaded) {
		return
	}
	own := w.machine.fields.own(c.Obj)
	for _, typ := range slices.Sorted(maps.Keys(w.brood)) {
		group, _, _ := strings.Cut(typ, ".")
		if w.ran[group] || !slices.ContainsFunc(w.machine.groups, func(g *chart[K]) bool { return g.group == group }) {
			continue
		}
		w.keep(typ, w.brood[typ])
		for _, cond := range own.Conditions {
			if cond.Type == typ {
				w.children = append(w.children, cond)
			}
		}
	}
}

// keep sets the position of a child machine.
func (w *walk[K]) keep(typ string, child machine.Child) {
	if w.position.Children == nil {
		w.position.Children = make(map[string]machine.Child)
	}
	w.position.Children[typ] = child
	if w.lived == nil {
		w.lived = make(map[string]bool)
	}
	for state := range child.Visits {
		w.lived[w.partOfChild(typ, w.machine.renamed(state))] = true
	}
}

// begin gives the stored state its current name, and sets the first state of the pass. It reports whether the object's
// spec has changed since the stored state was entered.
func (w *walk[K]) begin(c *Ctx[K]) (specChanged bool) {
	if w.stored != nil {
		w.brood = w.stored.Children
		if name := w.machine.renamed(w.stored.State); name != w.stored.State && w.chart.find(name) >= 0 {
			now := *w.stored
			now.State, w.stored = name, &now
		}
	}
	if !w.machine.opts.Durable || w.stored == nil || w.stored.State == "" {
		w.restart()
		return false
	}
	at := w.storedState()
	if at < 0 {
		w.restart()
		return false
	}
	s := w.chart.states[at]
	value, err := s.decode(w.stored.Data)
	if len(w.stored.Visits) == 0 { // it does not say which states have declared objects, and has no fields of the state
		err = errors.New("the machine was not durable when it stored the state")
	}
	if err == nil && s.verify != nil {
		w.resume(at, value)
		err = s.verify(value, c)
	}
	if err != nil {
		w.logger().Warn("the stored state is not used", "state", s.name, "err", err)
		w.restart()
		return false
	}
	w.resume(at, value)
	return w.stored.Generation != w.generation
}

// storedState returns the index of the stored state, or -1 if the pass begins elsewhere.
func (w *walk[K]) storedState() int {
	name := w.stored.State
	_, declared := w.machine.opts.Renamed[name]
	at := w.chart.find(name)
	switch {
	case at < 0 && !declared:
		w.logger().Warn("the stored state is unknown; the object begins at the initial state. Declare it in Options.Renamed",
			"state", name)
	case at >= 0 && w.chart.states[at].deletes != w.deletes:
		return -1
	}
	return at
}

// resume enters the stored state again.
func (w *walk[K]) resume(at int, value any) {
	w.at, w.value = at, value
	w.stored.DeepCopyInto(&w.position)
	w.position.State, w.position.Children = w.chart.states[at].name, nil
	w.position.Visits = nil
	for old, visits := range w.stored.Visits {
		if name := w.machine.renamed(old); w.chart.find(name) >= 0 {
			w.visit(name, visits)
		}
	}
	if name := w.position.State; w.position.Visits[name] <= 0 { // somebody else has written the position
		delete(w.position.Visits, name)
		w.visit(name, 1)
	}
}

// visit adds to how often a state was entered.
func (w *walk[K]) visit(name string, times int32) {
	if w.position.Visits == nil {
		w.position.Visits = make(map[string]int32)
	}
	w.position.Visits[name] += times
}

// restart enters the initial state.
func (w *walk[K]) restart() {
	w.left = w.left || w.applied
	w.position.Visits = nil
	for i := range w.visited {
		w.visited[i].passed = false
	}
	w.enter(w.chart.initial(w.deletes), w.first)
}

// enter enters a state. The steps of a machine that is not durable are repeated by each pass, so only a different last
// state counts as entered.
func (w *walk[K]) enter(at int, value any) {
	w.at, w.value = at, value
	name, p := w.chart.states[at].name, &w.position
	if w.machine.opts.Durable && w.parent == nil {
		w.asked = nil
	}
	if !w.machine.opts.Durable {
		p.State, p.Since = name, metav1.NewMicroTime(w.now)
		if w.stored != nil && w.stored.State == name {
			p.Since = w.stored.Since
			w.repeat()
		}
		return
	}
	if p.State == "" && w.stored != nil {
		p.State, p.Since, p.History = w.stored.State, w.stored.Since, w.stored.History
	}
	w.leave(*p)
	if w.chart.group == "" {
		w.brood, p.Children, w.children = nil, nil, nil
	}
	p.State, p.Since = name, metav1.NewMicroTime(w.now)
	w.visit(name, 1)
}

// leave adds a state to the history.
func (w *walk[K]) leave(p machine.Position) {
	if p.State == "" {
		return
	}
	history := append([]machine.Past{{State: p.State, Since: p.Since}}, p.History...)
	w.position.History = history[:min(len(history), w.machine.opts.History)]
}

// announced is the event of a step.
type announced[K any] struct {
	walk     *walk[K]
	state    string
	how      how
	idle     bool   // of stays
	failed   bool   // of ends
	text     string // of the step in the message of the condition; empty if the message does not have it
	event    events.Event
	repeated bool // the last pass has left the state, too; only for a child machine that is not durable
}

// repeat marks the events of the walk so far: it enters the stored state, so the last pass had them, too.
func (w *walk[K]) repeat() {
	for i := range w.events {
		if w.events[i].walk == w {
			w.events[i].repeated = true
		}
	}
}

// entered reports whether the pass has entered its last state.
func (w *walk[K]) entered() bool {
	return w.stored == nil || w.stored.State != w.position.State || !w.stored.Since.Equal(&w.position.Since)
}

// call calls the method of the current state that is due, and the hook.
func (w *walk[K]) call(c *Ctx[K], specChanged bool) {
	s, hook := w.chart.states[w.at], w.machine.opts.OnStep
	if c.planned != nil {
		c.planned.States = append(c.planned.States, w.chart.qualified(s))
		w.follow(c, s, w.output(c, w.due(c, specChanged)))
		return
	}
	if hook == nil {
		out := w.output(c, w.due(c, specChanged))
		w.follow(c, s, out)
		s.count(out, w)
		return
	}
	outer := c.Context
	defer func() { c.Context = outer }()
	ctx, stepped := hook(outer, w.chart.qualified(s))
	c.Context = ctx
	result := Stepped{Err: errors.New("the step has panicked")}
	defer func() { stepped(result) }()
	out := w.output(c, w.due(c, specChanged))
	w.follow(c, s, out)
	s.count(out, w)
	result = Stepped{Reason: out.reason, Done: w.end.done(), Failed: w.end.failed, Err: w.end.err}
	if w.end.how == unset {
		result.Next = w.chart.qualified(w.chart.states[w.at])
	}
}

// due calls the method of the current state that is due.
func (w *walk[K]) due(c *Ctx[K], specChanged bool) outcome {
	s := w.chart.states[w.at]
	left, limited := w.untilDeadline(c)
	w.late = limited && left <= 0
	w.evaded = w.late || specChanged
	switch {
	case w.late:
		return s.onDeadline(w.value, c)
	case specChanged:
		return s.onSpecChange(w.value, c)
	}
	return s.step(w.value, c)
}

// untilDeadline returns the time until the deadline of the current state, and whether it has one.
func (w *walk[K]) untilDeadline(c *Ctx[K]) (left time.Duration, limited bool) {
	s := w.chart.states[w.at]
	if s.onDeadline == nil {
		return 0, false
	}
	after := s.deadline(w.value, c)
	if after < 0 {
		return after, true
	}
	return after - w.age(), after > 0
}

// age returns how long the machine has been in the current state. It is not negative, although the clock of another
// replica may be ahead.
func (w *walk[K]) age() time.Duration { return max(0, w.now.Sub(w.position.Since.Time)) }

// settled reports whether the machine has nothing to do: the object is ready, or has failed.
func (w *walk[K]) settled() bool { return w.end.how == ends || w.end.idle }

// done reports whether a walk has ended with success.
func (o *outcome) done() bool { return o.how == ends && !o.failed }

// stuck reports whether the object has stayed for too long.
func (w *walk[K]) stuck() bool {
	after := w.machine.opts.StuckAfter
	return after > 0 && !w.settled() && w.age() >= after
}

// sooner returns the delay, or the time until another pass must take place if that is earlier. A delay of 0 means no
// limit; an earlier time that is over does not count.
func sooner(delay, until time.Duration) time.Duration {
	if until > 0 && (delay == 0 || until < delay) {
		return until
	}
	return delay
}

// follow does what a step of the current state has returned.
func (w *walk[K]) follow(c *Ctx[K], s *state[K], out outcome) {
	defer w.settle()
	out.idle = out.idle && w.parent == nil && !w.deletes
	if out.event != nil {
		w.events = append(w.events, announced[K]{
			walk: w, state: s.name, how: out.how, idle: out.idle, failed: out.failed, text: out.text, event: *out.event,
		})
	}
	switch out.how {
	case goes:
		at, err := w.chart.target(s, out.next)
		if err != nil {
			w.fail(err)
			return
		}
		w.visited[w.at].passed = true
		w.enter(at, out.next)
	case restarts:
		w.restart()
	case stays:
		w.end = w.timed(c, out)
	case fails:
		if out.err == nil {
			out.err = errors.New("Retry was called with nil")
		}
		w.end = w.timed(c, out)
	case ends:
		w.end = out
	case unset:
		w.end = outcome{how: fails, err: errors.New("Step has returned the zero Result: return a result of to, such as to.Go")}
	}
}

// timed returns the result of a step that does not leave the state, with the time of the next pass. If the deadline is
// over after another method than OnDeadline has stayed, since Deadline depends on its changes, the next pass calls
// OnDeadline.
func (w *walk[K]) timed(c *Ctx[K], out outcome) outcome {
	if left, limited := w.untilDeadline(c); limited {
		out.delay = sooner(out.delay, left)
		out.soon = out.soon || left <= 0 && !w.late && out.how == stays
	}
	if after := w.machine.opts.StuckAfter; after > 0 && !out.idle {
		out.delay = sooner(out.delay, after-w.age())
	}
	return out
}

// target returns the index of the next state.
func (m *chart[K]) target(from *state[K], next any) (int, error) {
	if next == nil {
		return -1, errors.New("Go was called with nil")
	}
	typ := reflect.TypeOf(next)
	for _, at := range from.targets {
		if m.states[at].typ == typ {
			return at, nil
		}
	}
	if typ.Kind() == reflect.Pointer {
		return -1, fmt.Errorf("Go was called with the pointer %v: pass the struct", typ)
	}
	return -1, fmt.Errorf("Go was called with %v, which is not added to the machine", typ)
}

// continues is the reason of a pass that ends before its last state has done its work.
const continues = "continues in the next pass"

// exceed ends the pass at a state that it may not enter again.
func (w *walk[K]) exceed() {
	name := w.current()
	if !w.machine.opts.Durable {
		w.end = outcome{how: fails, err: fmt.Errorf("the pass has entered state %s %d times, and each pass would repeat that: "+
			"let a state stay, or set Options.Durable", name, w.visited[w.at].times)}
		return
	}
	w.end, w.again = outcome{how: stays, reason: continues}, true
}

// finish completes the position after the last step. If the spec is still a changed one, the next pass has to react to
// it.
func (w *walk[K]) finish(specChanged bool) {
	m, p := w.machine, &w.position
	if !specChanged {
		p.Generation = w.generation
	}
	if !m.opts.Durable {
		p.Visits, p.Data = nil, nil
		if w.stored != nil {
			p.History = w.stored.History
			if w.stored.State != p.State {
				w.position.History = w.stored.History
				w.leave(*w.stored)
			}
		}
		return
	}
	data, err := json.Marshal(w.value)
	switch {
	case err != nil:
		w.refuse(fmt.Errorf("it can't be stored: %w", err))
	case string(data) == "{}":
		p.Data = nil
	case w.stored != nil && w.stored.Data != nil && sameJSON(w.stored.Data.Raw, data):
		p.Data = w.stored.Data // servers sort the fields, so that its bytes may be others
	default:
		p.Data = &runtime.RawExtension{Raw: data}
	}
}

// refuse makes the pass fail, and the next pass of a durable machine begin where this one has begun: otherwise, that
// pass would not repeat the step that has made the mistake.
func (w *walk[K]) refuse(err error) {
	if w.machine.opts.Durable {
		p := machine.Position{Since: metav1.NewMicroTime(w.now)} // without a state: the initial one
		if w.stored != nil {
			w.stored.DeepCopyInto(&p)
		}
		p.Version = w.position.Version
		w.position, w.consumed = p, nil
		w.events = slices.DeleteFunc(w.events, func(e announced[K]) bool { return e.walk == w || e.walk.parent == w })
	}
	if !errors.Is(w.end.err, err) { // such as that of a child, which Join returns
		w.fail(err)
	}
}

// sameJSON reports whether two JSON texts have the same value.
func sameJSON(a, b []byte) bool {
	var x, y any
	return bytes.Equal(a, b) ||
		wire.UnmarshalJSON(a, &x) == nil && wire.UnmarshalJSON(b, &y) == nil && reflect.DeepEqual(x, y)
}

// fail makes the pass fail, also with the given error.
func (w *walk[K]) fail(err error) {
	w.end = outcome{how: fails, err: errors.Join(w.end.err, err), delay: w.end.delay, soon: w.end.soon}
}

// decode returns the value of a state that was stored.
func (s *state[K]) decode(data *runtime.RawExtension) (any, error) {
	v := reflect.New(s.typ)
	if data != nil && len(data.Raw) > 0 {
		if err := json.Unmarshal(data.Raw, v.Interface()); err != nil {
			return nil, err
		}
	}
	return v.Elem().Interface(), nil
}

// message returns why the pass has ended.
func (w *walk[K]) message() string {
	if w.end.how == fails {
		return w.end.err.Error()
	}
	return w.end.reason
}

// located returns a message with the name of the last state.
func (w *walk[K]) located(message string) string {
	if message == "" {
		return ""
	}
	return w.current() + ": " + message
}

// conditions returns the conditions of the machine after the pass, without their times. The list is in the memory of
// into, if it has room.
func (w *walk[K]) conditions(into []metav1.Condition) []metav1.Condition {
	all := slices.Grow(into[:0], len(w.chart.states)+2+len(w.children)+len(w.extra))
	status, reason, message := w.summary()
	for i, s := range w.chart.states {
		switch {
		case s.deletes != w.deletes:
		case i == w.at:
			all = append(all, w.condition(s.name, status, reason, message))
		case w.visited[i].passed || w.position.Visits[s.name] > 0:
			all = append(all, w.condition(s.name, metav1.ConditionTrue, reasonCompleted, ""))
		default:
			all = append(all, w.condition(s.name, metav1.ConditionUnknown, "NotReached", ""))
		}
	}
	message = w.located(message)
	switch {
	case w.deletes:
		status, reason = metav1.ConditionFalse, reasonDeleting
	case w.end.failed:
		status = metav1.ConditionFalse
	}
	all = append(append(all, w.condition(readyType, status, reason, message)), w.children...)
	for _, c := range w.extra {
		if c.Type != stalledType || !w.end.failed {
			all = append(all, c)
		}
	}
	if w.end.failed {
		all = append(all, w.condition(stalledType, metav1.ConditionTrue, reasonFailed, message))
	}
	return all
}

// condition returns a condition of the machine, without its time.
func (w *walk[K]) condition(typ string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{
		Type: typ, Status: status, Reason: reason, Message: shorten(message), ObservedGeneration: w.generation,
	}
}

// summary returns the condition of the last state.
func (w *walk[K]) summary() (status metav1.ConditionStatus, reason, message string) {
	status, reason = metav1.ConditionFalse, reasonWaiting
	switch w.end.how {
	case fails:
		reason = reasonFailed
	case ends:
		status, reason = metav1.ConditionTrue, reasonCompleted
		if w.end.failed {
			reason = reasonFailed
		}
	default:
		if w.end.idle {
			status, reason = metav1.ConditionTrue, reasonIdle
		}
	}
	if w.stuck() {
		reason = reasonStuck
	}
	return status, reason, w.message()
}
