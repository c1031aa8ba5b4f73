// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fsm

import (
	"context"
	"time"

	"github.com/kube-go/sdk/runtime/inventory"
)

// Plan describes a pass that has not taken place.
type Plan struct {
	// States are the states whose steps the pass would call, in order; those of child machines have the name of their
	// group, as in a [Graph].
	States []string
	// Actions are the creates, changes and deletes of declared objects.
	Actions []inventory.Action
	// Done is whether the last state would be done.
	Done bool
	// Failed is whether the last state would end with [Failed].
	Failed bool
	// Reason is why the last state would stay, be idle or end with Failed, and Err why its pass would fail.
	Reason string
	Err    error
}

// Plan returns what the next pass of an object would do, and writes nothing: no declared objects, no status, no
// finalizer and no events. Objects that the plan would create or change count as ready, and [Ctx.Get] returns them to
// later steps, so a plan can go through several states. The object need not exist on the server. A suspension is
// ignored: the plan describes the pass after its end.
//
// A pass of a durable machine notices a change of the spec by the generation, which the server increases with each one.
// For the plan of a change that is not written yet, increase the generation of the object, too, or make a dry run of
// the write: its result has the new generation. Otherwise, the plan continues at the stored state as if nothing had
// changed.
//
// Effects of a Step other than those of [Ctx.Apply] and [Ctx.Delete] take place even in a plan; a step can detect a
// plan with [Ctx.Planning].
//
// Errors: those of [Machine.Check]; an object of another machine. The error of a step is part of the plan.
func (m *Machine[K]) Plan(ctx context.Context, obj *K) (*Plan, error) {
	if err := m.Check(); err != nil {
		return nil, err
	}
	obj, err := m.snapshot(obj)
	if err != nil {
		return nil, err
	}
	own := m.fields.own(obj)
	if err := m.foreign(own); err != nil {
		return nil, err
	}
	own.FSM = dated(own.FSM, m.object(obj))
	out := m.applier.Plan(m.object(obj), own.Inventory)
	deletes := m.object(obj).GetDeletionTimestamp() != nil
	p := new(Plan)
	if deletes && (!m.deletes() || own.FSM != nil && own.FSM.Deleted) {
		p.Reason, p.Err = out.Prune(ctx, nil)
		p.Actions, p.Done = out.Actions(), p.Reason == "" && p.Err == nil
		return p, nil
	}
	c := &Ctx[K]{Context: ctx, Obj: obj, planned: p}
	_, key := m.track(ctx, obj)
	sent, _ := m.signals.of(key)
	w := m.walk(c, own.FSM, sent, m.object(obj).GetGeneration(), deletes, time.Now(), out)
	if w.settled() {
		if deletes { // also what the states of the deletion have declared
			out = out.Next()
		}
		if waiting, err := w.prune(ctx, out); err != nil {
			w.fail(err)
		} else if waiting != "" && deletes {
			w.end = outcome{how: stays, reason: waiting}
		}
	}
	p.Actions, p.Done, p.Failed = out.Actions(), w.end.done(), w.end.failed
	p.Reason, p.Err = w.end.reason, w.end.err
	return p, nil
}
