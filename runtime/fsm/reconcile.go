// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fsm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/machine"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/events"
	"github.com/kube-go/sdk/runtime/internal/origin"
	"github.com/kube-go/sdk/runtime/inventory"
)

// Reconcile is one pass of the machine for an object. Pass it to [controller.Controller.Run].
//
// A controller makes one pass of an object at a time. If passes of two programs overlap, such as those of an old and a
// new leader, the server rejects the write of the one that has read the older state: it fails with [core.ErrConflict],
// and the next one begins with the newer state.
//
// Permissions: the verbs get and patch for the kind, patch for its status, and those of package inventory for the kinds
// that states declare.
//
// Errors: the error of the last Step; an error of the server if the status or the finalizer can't be written; a
// [core.Terminal] error of [Machine.Check], for an object of another machine, or for one of a cluster with a name
// and another server than that of the machine's client.
func (m *Machine[K]) Reconcile(ctx context.Context, obj *K) (controller.Action, error) {
	if err := m.Check(); err != nil {
		return controller.Action{}, core.Terminal(err)
	}
	own := m.fields.own(obj)
	if err := m.foreign(own); err != nil {
		return controller.Action{}, core.Terminal(err)
	}
	deletes := m.object(obj).GetDeletionTimestamp() != nil
	track, key := m.track(ctx, obj)
	if err := m.elsewhere(ctx, key); err != nil {
		return controller.Action{}, core.Terminal(err)
	}
	now := time.Now()
	obj, err := m.finalize(ctx, obj, deletes, now)
	if obj == nil && err == nil {
		track.Gone(key)
	}
	if obj == nil || err != nil {
		return controller.Action{}, err
	}
	own = m.fields.own(obj)
	own.FSM = dated(own.FSM, m.object(obj))
	memory := m.borrow()
	defer m.giveBack(memory)
	before, err := m.before(obj, memory)
	if err != nil {
		return controller.Action{}, core.Terminal(fmt.Errorf("the status can't be read: %w", err))
	}
	if halted, action, err := m.suspended(ctx, obj, now, before); halted {
		properties := suspended
		if deletes {
			properties |= deleting
		}
		track.put(key, m.entryOf(own, suspendedType, properties))
		return action, err
	}
	if deletes && (!m.deletes() || own.FSM != nil && own.FSM.Deleted) {
		return m.clear(ctx, obj, before, now)
	}
	stored := m.fields.own(before)
	memory.reconcile = reconcile[K]{
		machine: m, obj: obj, before: before, own: own, old: stored.Conditions, memory: memory, now: now, deletes: deletes,
		track: track, key: key,
	}
	return memory.reconcile.pass(ctx)
}

// elsewhere returns an error if the object of the run is in a cluster with a name, and on another server than that of
// the machine's client. A client does not know the name of its cluster.
func (m *Machine[K]) elsewhere(ctx context.Context, key controller.Key) error {
	server := origin.Of(ctx)
	if key.Cluster == "" || server == "" || server == m.server {
		return nil
	}
	return fmt.Errorf("machine %s: the object %s is on the server %s, and the client of the machine is for %s: create one "+
		"machine for each cluster, and choose it by the Key.Cluster of controller.RunOf", m.name, key, server, m.server)
}

// reconcile is a Reconcile that calls steps.
type reconcile[K any] struct {
	machine     *Machine[K]
	obj, before *K                 // the object, and as it was at the beginning
	own         *machine.Status    // of obj
	old         []metav1.Condition // of before
	memory      *scratch[K]
	now         time.Time
	deletes     bool // the object is being deleted

	track *positions // or nil
	key   controller.Key
}

// pass calls the steps, and stores what they lead to.
func (r *reconcile[K]) pass(ctx context.Context) (controller.Action, error) {
	m := r.machine
	both := &struct { // one allocation
		ctx Ctx[K]
		out lazyOutputs
	}{Ctx[K]{Context: ctx, Obj: r.obj}, lazyOutputs{items: r.own.Inventory, begin: r.begin}}
	out := &both.out
	sent, last := m.signals.of(r.key)
	w := r.walk(&both.ctx, sent, out)
	action := r.prune(ctx, w, out)
	// The end of a deletion is stored first, which fails if the pass has read an old state of the object: a later pass may
	// have declared objects since then.
	w.position.Deleted = w.settled() && r.deletes
	if exists, err := r.store(ctx, w, out); err != nil || !exists {
		return controller.AwaitChange(), err
	}
	r.end(w, w.asked...)
	r.receive(w, last)
	switch {
	case w.position.Deleted:
		before, err := m.before(r.obj, r.memory)
		if err != nil {
			return controller.Action{}, err
		}
		return m.clear(ctx, r.obj, before, r.now)
	case w.end.how == ends:
		return action, nil
	}
	return w.action()
}

// begin begins the pass of the inventory.
func (r *reconcile[K]) begin(items []machine.Item) *inventory.Pass {
	return r.machine.applier.Begin(r.machine.object(r.obj), items, r.record)
}

// record stores the inventory before objects are created.
func (r *reconcile[K]) record(ctx context.Context, items []machine.Item) error {
	m := r.machine
	err := m.record(ctx, r.before, items)
	m.object(r.obj).SetResourceVersion(m.object(r.before).GetResourceVersion())
	return err
}

// walk calls the steps. The pass fails if a step has changed the conditions of others. Those of the machine stay, so
// that a step may replace the whole status.
func (r *reconcile[K]) walk(c *Ctx[K], sent mailbox, out *lazyOutputs) *walk[K] {
	m := r.machine
	w := m.walk(c, r.own.FSM, sent, m.object(r.obj).GetGeneration(), r.deletes, r.now, out)
	if !slices.Equal(r.old, r.own.Conditions) {
		if !m.sameForeign(r.old, r.own.Conditions) {
			w.refuse(errors.New("a Step has changed c.Obj.Status.Conditions: use SetCondition"))
		}
		r.own.Conditions = slices.Clone(r.old)
	}
	return w
}

// prune deletes the objects that an object that is ready does not declare any more. It returns the action of a pass
// that is done. A deleted object keeps its objects until the pass is stored, see clear.
func (r *reconcile[K]) prune(ctx context.Context, w *walk[K], out *lazyOutputs) controller.Action {
	if !w.settled() || r.deletes {
		return controller.AwaitChange()
	}
	waiting, err := w.prune(ctx, out)
	switch {
	case err != nil:
		w.fail(err)
	case w.partial: // the pass repeats what may have failed
		w.end.soon = true
		return controller.RequeueAfter(0)
	case waiting != "":
		w.end.delay = sooner(w.end.delay, pruneDelay)
		return controller.RequeueAfter(pruneDelay)
	case w.left: // the next pass declares only what is still needed
		w.end.soon = true
		return controller.RequeueAfter(0)
	}
	return controller.AwaitChange()
}

// store writes the status after the pass, if it has changed. It reports whether the object still exists.
func (r *reconcile[K]) store(ctx context.Context, w *walk[K], out *lazyOutputs) (exists bool, err error) {
	r.own.Inventory = w.abandon(out.Items(), out.Declared)
	r.own.FSM = &w.position
	r.memory.own = w.conditions(r.memory.own)
	exists, err = r.machine.store(ctx, r.obj, r.memory.own, r.now, r.before)
	switch {
	case err != nil:
		r.track.put(r.key, w.unstored(err), w.asked...)
		return exists, errors.Join(retried(w.end.err), fmt.Errorf("state %s: %w", w.current(), err))
	case !exists:
		r.track.Gone(r.key)
	}
	return exists, nil
}

// retried returns an error that is joined with one that a retry may resolve: of a terminal error only the text.
func retried(err error) error {
	if core.IsTerminal(err) {
		return errors.New(err.Error())
	}
	return err
}

// end records the events and the position of a pass that is complete, and the types of the values that it waits for.
func (r *reconcile[K]) end(w *walk[K], waits ...reflect.Type) {
	r.machine.announce(r.obj, w, r.old)
	r.track.put(r.key, w.entry(), waits...)
}

// receive removes the values that the steps have received. If a later one than the last has been sent, a pass follows.
func (r *reconcile[K]) receive(w *walk[K], last uint64) {
	consumed := w.consumed
	if w.end.how == fails && !r.machine.opts.Durable {
		consumed = nil // the next pass repeats the steps
	}
	if signals := r.machine.signals; signals.done(r.key, consumed, w.asked, last) {
		signals.wake(r.key)
	}
}

// clear deletes the declared objects of a deleted object, and then removes the finalizer. It calls no Step: the machine
// has no states for deletions, or they are done. Otherwise they would declare their own objects again.
func (m *Machine[K]) clear(ctx context.Context, obj, before *K, now time.Time) (controller.Action, error) {
	own := m.fields.own(obj)
	out := m.applier.Begin(m.object(obj), own.Inventory, createsNothing)
	waiting, failed := out.Prune(ctx, nil)
	if failed == nil && waiting == "" {
		return controller.AwaitChange(), m.removeFinalizer(ctx, obj)
	}
	own.Inventory = out.Items()
	since := m.object(obj).GetDeletionTimestamp().Time
	if own.FSM != nil && own.FSM.Deleted {
		since = own.FSM.Since.Time
	}
	ready := metav1.Condition{
		Type: readyType, Status: metav1.ConditionFalse, Reason: reasonDeleting, Message: shorten(waiting),
		ObservedGeneration: m.object(obj).GetGeneration(),
	}
	if failed != nil {
		ready.Message = shorten(failed.Error())
	}
	age := now.Sub(since)
	if after := m.opts.StuckAfter; after > 0 && age >= after {
		ready.Reason = reasonStuck
	}
	var was string // the reason before
	wanted := []metav1.Condition{ready}
	for _, c := range own.Conditions {
		switch {
		case c.Type == readyType:
			was = c.Reason
		case m.owns(c.Type) && c.Type != suspendedType && c.Type != stalledType:
			wanted = append(wanted, c)
		}
	}
	_, err := m.store(ctx, obj, wanted, now, before)
	track, key := m.track(ctx, obj)
	e := m.entryOf(own, readyType, deleting)
	e.how, e.since = stays, since.UnixNano()
	if failed != nil {
		e.how = fails
	}
	track.put(key, e)
	if err == nil && ready.Reason == reasonStuck && was != reasonStuck {
		m.event(obj, events.Event{
			Type: events.Warning, Reason: reasonStuck,
			Note: fmt.Sprintf("deleting for %s: %s", age.Round(time.Second), ready.Message),
		})
	}
	if err != nil || failed != nil {
		return controller.Action{}, controller.RetryWithin(errors.Join(failed, err), sooner(0, m.opts.StuckAfter-age))
	}
	return controller.RequeueAfter(pruneDelay), nil
}

// createsNothing is the record function of passes that only prune.
func createsNothing(context.Context, []machine.Item) error {
	return errors.New("a pass that only prunes declares an object")
}

// record stores the inventory before objects are created. The object has a finalizer from then on, so that they are
// deleted before it. Before is the object at the beginning of the pass.
func (m *Machine[K]) record(ctx context.Context, before *K, items []machine.Item) error {
	obj, err := m.addFinalizer(ctx, before)
	switch {
	case err != nil:
		return err
	case obj != nil:
		// The finalizer was added to the newest state of the object, which the pass may not have read.
		if !m.same(obj, before) || m.object(obj).GetGeneration() != m.object(before).GetGeneration() {
			return fmt.Errorf("the object has changed since the pass read it: %w", core.ErrConflict)
		}
		m.object(before).SetResourceVersion(m.object(obj).GetResourceVersion())
		m.object(before).SetFinalizers(m.object(obj).GetFinalizers())
	case m.object(before).GetDeletionTimestamp() == nil:
		return errors.New("the object is being deleted")
	}
	status, own := m.fields.of(before)
	own.Inventory = items
	data, err := json.Marshal(status)
	if err != nil {
		return err
	}
	exists, err := m.write(ctx, before, data, data)
	if err == nil && !exists {
		err = errors.New("the object has been deleted")
	}
	return err
}

// suspension returns the suspension of an object, or nil if it has none or if it is over. One that can't be parsed is
// an error.
func (m *Machine[K]) suspension(obj *K, now time.Time) (*machine.Suspension, error) {
	s, err := machine.SuspensionOf(m.object(obj), m.name)
	if s != nil && s.Until != nil && !now.Before(s.Until.Time) {
		return nil, nil
	}
	return s, err
}

// suspended reports whether the object is suspended, and returns the result of its pass then.
func (m *Machine[K]) suspended(
	ctx context.Context, obj *K, now time.Time, before *K,
) (halted bool, action controller.Action, err error) {
	s, invalid := m.suspension(obj, now)
	deleted := m.object(obj).GetDeletionTimestamp() != nil
	if invalid == nil && (s == nil || deleted && s.WhenDeleted == machine.Proceed) {
		return false, action, nil
	}
	cond := metav1.Condition{Type: suspendedType, ObservedGeneration: m.object(obj).GetGeneration()}
	if invalid != nil {
		cond.Status, cond.Reason, cond.Message = metav1.ConditionUnknown, "Invalid", shorten(invalid.Error())
	} else {
		cond.Status, cond.Reason, cond.Message = metav1.ConditionTrue, "Suspended", "by "+s.By+": "+s.Reason
		if s.Until != nil {
			cond.Message += ", until " + s.Until.UTC().Format(time.RFC3339)
			action = controller.RequeueAfter(s.Until.Sub(now))
		}
		cond.Message = shorten(cond.Message)
	}
	own := m.fields.own(obj)
	others := slices.DeleteFunc(slices.Clone(own.Conditions), func(c metav1.Condition) bool {
		return c.Type == suspendedType || deleted && c.Type == readyType || !m.owns(c.Type)
	})
	if deleted {
		why := "suspended " + cond.Message
		if invalid != nil {
			why = "suspended: " + cond.Message
		}
		others = append(others, metav1.Condition{
			Type: readyType, Status: metav1.ConditionFalse, Reason: reasonDeleting,
			Message: shorten(why), ObservedGeneration: cond.ObservedGeneration,
		})
	}
	known := slices.ContainsFunc(own.Conditions, func(c metav1.Condition) bool {
		return c.Type == suspendedType && c.Status == cond.Status && c.Message == cond.Message
	})
	exists, err := m.store(ctx, obj, append(others, cond), now, before)
	switch {
	case err != nil:
		return true, controller.Action{}, errors.Join(invalid, err)
	case !exists:
		return true, controller.AwaitChange(), nil
	case !known:
		m.event(obj, events.Event{Type: events.Warning, Reason: suspendedType, Note: cond.Message})
	}
	return true, action, core.Terminal(invalid)
}

// announce records the events of a pass that was stored. Old has the conditions before the pass.
func (m *Machine[K]) announce(obj *K, w *walk[K], old []metav1.Condition) {
	before := func(typ string) (c metav1.Condition) {
		for _, c := range old {
			if m.renamed(c.Type) == typ {
				return c
			}
		}
		return c
	}
	for _, e := range w.events {
		typ, child, text, how := e.state, e.walk.parent != nil, e.text, e.how
		if (how == stays || how == ends) && e.walk.end.how == fails { // after the step, such as by a delete
			how, text = fails, ""
		}
		whole := text == "" // the condition does not have the text of the step
		if whole {
			text = e.walk.message()
		}
		if child { // it has one condition for all of its states
			typ, text = e.walk.name, e.walk.located(text)
		}
		was, entered, repeated := before(typ), e.walk.entered(), false
		same := beginsWith(was.Message, shorten(text))
		stuck := was.Reason == reasonStuck && same // otherwise it may have stayed and fail now, or the reverse
		same = same || whole
		switch how {
		case goes, restarts: // a durable machine does not repeat them
			repeated = !m.opts.Durable && (child && e.repeated || !child && was.Reason == reasonCompleted)
		case ends:
			failed := was.Reason == reasonFailed // with the status False if it was retried, or if it is that of a child
			if failed && was.Status != metav1.ConditionTrue {
				failed = child && same
			}
			repeated = !entered && (e.failed && failed && same || !e.failed && was.Reason == reasonCompleted)
		case stays:
			waits := was.Reason == reasonWaiting && same || stuck
			repeated = !entered && (e.idle && was.Reason == reasonIdle && same || !e.idle && waits)
		case fails:
			repeated = !entered && (was.Reason == reasonFailed && was.Status != metav1.ConditionTrue && same || stuck)
		case unset:
		}
		if !repeated {
			m.event(obj, e.event)
		}
	}
	if w.stuck() && before(w.current()).Reason != reasonStuck {
		m.event(obj, events.Event{
			Type: events.Warning, Reason: reasonStuck, Action: w.current(),
			Note: fmt.Sprintf("in state %s for %s: %s", w.current(), w.age().Round(time.Second), w.message()),
		})
	}
}

// beginsWith reports whether the message of a condition is that of a step with the given text, or has it before what
// the state waits for or another error. Numbers and durations do not matter: a text with a counter would have an event
// for each pass.
func beginsWith(message, text string) bool {
	rest, ok := strings.CutPrefix(withoutNumbers(message), withoutNumbers(text))
	return ok && (rest == "" || strings.HasPrefix(rest, "; ") || strings.HasPrefix(rest, "\n"))
}

// withoutNumbers returns a text without numbers and durations, such as 2 and 1m30s.
func withoutNumbers(text string) string {
	var b strings.Builder
	digit := func(i int) bool { return i < len(text) && '0' <= text[i] && text[i] <= '9' }
	for i := 0; i < len(text); {
		if !digit(i) {
			b.WriteByte(text[i])
			i++
			continue
		}
		for digit(i) || i < len(text) && text[i] == '.' && digit(i+1) {
			i++
		}
		for _, unit := range []string{"ns", "us", "µs", "ms", "s", "m", "h"} {
			end := i + len(unit)
			if strings.HasPrefix(text[i:], unit) && (digit(end) || !letter(text[end:])) {
				i = end
				break
			}
		}
	}
	return b.String()
}

// letter reports whether a text begins with a letter.
func letter(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return unicode.IsLetter(r)
}

func (m *Machine[K]) event(obj *K, e events.Event) {
	if m.opts.Events != nil {
		m.opts.Events.Event(m.object(obj), e)
	}
}

// finalize ensures that the object has the finalizer if the machine has states for deletions, or if the object is
// suspended and must not be deleted meanwhile: that is, unless WhenDeleted is Proceed. It returns the object to
// reconcile, or nil if it needs no pass. A finalizer without need, such as that of an earlier version of the machine or
// of a program that was killed before it recorded what it declares, is removed only when the object is deleted.
func (m *Machine[K]) finalize(ctx context.Context, obj *K, deletes bool, now time.Time) (*K, error) {
	has := slices.Contains(m.object(obj).GetFinalizers(), m.name)
	own := m.fields.own(obj)
	s, invalid := m.suspension(obj, now)
	needs := m.deletes() || invalid != nil || s != nil && s.WhenDeleted == machine.Wait
	switch {
	case needs && !deletes:
		return m.addFinalizer(ctx, obj)
	case !deletes, has && (needs || len(own.Inventory) > 0):
		return obj, nil
	case has:
		return nil, m.removeFinalizer(ctx, obj)
	}
	return nil, nil
}

// action returns when the next pass must take place.
func (w *walk[K]) action() (controller.Action, error) {
	switch {
	case w.end.how == fails:
		err := w.end.err
		if w.again || w.end.soon {
			err = retried(err)
		}
		return controller.Action{}, controller.RetryWithin(fmt.Errorf("state %s: %w", w.current(), err), w.end.delay)
	case w.again || w.end.how == stays && w.end.soon:
		return controller.RequeueAfter(0), nil
	case w.end.how == stays && w.end.delay > 0:
		return controller.RequeueAfter(w.end.delay), nil
	}
	return controller.AwaitChange(), nil
}
