// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fsm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/machine"
	"github.com/kube-go/sdk/runtime/inventory"
)

// pruneDelay is the time after which a pass looks again whether deleted objects are gone. Usually an event is earlier.
const pruneDelay = 5 * time.Second

// Apply declares objects that should exist while the machine is in this state or has passed it, see package inventory.
// They are applied after the Step, even if it stays, but not if it fails. While objects of a lower wave are not ready,
// the machine stays in the state. If one of them has failed, as a Job does, the state is retried with that error until
// the object is repaired, also if the Step stays:
//
//	func (s Provision) Step(c *fsm.Ctx[v1.Database], to fsm.To[fromProvision]) fsm.Result[fromProvision] {
//		c.Apply(inventory.Declaration{Object: statefulSet(c.Obj)})
//		…
//	}
//
// The machine uses server-side apply with its name as the field manager. It sends nothing for an object that has all
// declared values, and repairs fields that others have changed. The inventory in the status names the objects before
// they are created, so a crash at any point loses none. An object with declared objects has a finalizer: they are
// deleted before it, also those in other namespaces.
//
// An object that a Step declared and that the same Step does not declare in a later pass is deleted when the machine
// has ended or is idle. So are the objects of states that the machine does not reach any more. A pass that calls
// OnDeadline or OnSpecChange instead of a Step keeps the objects of the state, unless that method declares objects.
func (c *Ctx[K]) Apply(objects ...inventory.Declaration) {
	c.walk.declared = append(c.walk.declared, objects...)
}

// Delete deletes objects that a Step has declared, after the Step. The machine stays in the state until they are gone.
// It must be durable if an earlier state has declared them, since its passes would otherwise declare them again.
// Only the kinds, namespaces and names of the objects matter; objects that were not declared are ignored.
func (c *Ctx[K]) Delete(objects ...core.Object) {
	c.walk.deleted = append(c.walk.deleted, objects...)
}

// outputs reads, applies and deletes objects.
type outputs interface {
	Get(ctx context.Context, obj core.Object) (exists bool, err error)
	Apply(ctx context.Context, objects ...inventory.Declaration) (waiting string, err error)
	Delete(ctx context.Context, objects ...core.Object) (waiting string, err error)
}

// lazyOutputs begins the pass of the inventory when that is needed: not for a machine that has no outputs.
type lazyOutputs struct {
	items []machine.Item // before the pass begins
	begin func([]machine.Item) *inventory.Pass
	pass  *inventory.Pass // or nil
}

func (o *lazyOutputs) begun() *inventory.Pass {
	if o.pass == nil {
		o.pass = o.begin(o.items)
	}
	return o.pass
}

// Get implements outputs.
func (o *lazyOutputs) Get(ctx context.Context, obj core.Object) (exists bool, err error) {
	return o.begun().Get(ctx, obj)
}

// Apply implements outputs.
func (o *lazyOutputs) Apply(ctx context.Context, objects ...inventory.Declaration) (waiting string, err error) {
	return o.begun().Apply(ctx, objects...)
}

// Delete implements outputs.
func (o *lazyOutputs) Delete(ctx context.Context, objects ...core.Object) (waiting string, err error) {
	return o.begun().Delete(ctx, objects...)
}

// Prune deletes what was not declared, see [inventory.Pass.Prune].
func (o *lazyOutputs) Prune(ctx context.Context, keep func(machine.Item) bool) (waiting string, err error) {
	if o.pass == nil && len(o.items) == 0 {
		return "", nil
	}
	return o.begun().Prune(ctx, keep)
}

// Items returns a copy of the inventory to store.
func (o *lazyOutputs) Items() []machine.Item {
	if o.pass == nil {
		return slices.Clone(o.items)
	}
	return o.pass.Items()
}

// Declared reports whether the pass has declared the object of an item.
func (o *lazyOutputs) Declared(item machine.Item) bool { return o.pass != nil && o.pass.Declared(item) }

// output applies what the current state has declared, and returns the result of the step: the same one, or one that
// waits or fails.
func (w *walk[K]) output(ctx context.Context, out outcome) outcome {
	if out.failed && (w.deletes || w.parent != nil && w.parent.deletes) {
		out = outcome{how: fails, err: errors.New(out.reason), event: out.event}
	}
	part := w.part(w.current())
	declared, deleted := w.declared, w.deleted
	w.declared, w.deleted = nil, nil
	if out.text = out.reason; out.how == fails && out.err != nil {
		out.text = out.err.Error()
	}
	if out.how == fails || out.how == unset {
		return out
	}
	var waits []string
	if len(declared) > 0 {
		for of := w; of != nil; of = of.parent {
			of.applied = true
		}
		for i := range declared {
			declared[i].Part = part
		}
		waiting, err := w.outputs.Apply(ctx, declared...)
		w.partial = w.partial || err != nil || waiting != ""
		if err != nil {
			return outcome{how: fails, err: err}
		}
		waits = append(waits, waiting)
	}
	if len(deleted) > 0 {
		waiting, err := w.outputs.Delete(ctx, deleted...)
		if err != nil {
			return w.undeletable(err)
		}
		waits = append(waits, waiting)
	}
	w.note(part, len(declared) > 0)
	waiting := strings.Trim(strings.Join(waits, "; "), "; ")
	switch {
	case waiting == "":
		return out
	case out.how == stays:
		if out.idle || out.reason == "" {
			out.reason, out.text = waiting, ""
		} else {
			out.reason += "; " + waiting
		}
		out.idle, out.delay = false, sooner(out.delay, pruneDelay)
		return out
	}
	w.repeats, w.received = true, nil
	return outcome{how: stays, reason: waiting, delay: pruneDelay}
}

// note records whether a pass has called the Step of a part, so that its other objects are not needed any more. If
// another method was due, this is known only if it has declared objects: it may have called Step.
func (w *walk[K]) note(part string, declared bool) {
	switch evaded := w.evaded && !declared; {
	case !evaded && w.stepped != nil:
		w.stepped[part] = true
	case evaded && w.stepped == nil:
		if w.evading == nil {
			w.evading = make(map[string]bool)
		}
		w.evading[part] = true
	}
}

// undeletable returns the result of a step that can't delete an object. If an earlier state of this pass has declared
// the object, the next pass of a durable machine does not repeat that state.
func (w *walk[K]) undeletable(err error) outcome {
	earlier := -1 // the current state is not one
	for _, v := range w.visited {
		earlier += int(v.times)
	}
	switch {
	case !errors.Is(err, inventory.ErrDeclared) || earlier == 0:
		return outcome{how: fails, err: err}
	case !w.machine.opts.Durable:
		return outcome{how: fails, err: fmt.Errorf("%w: each pass repeats the state that declares it; set Options.Durable", err)}
	}
	w.again, w.repeats, w.received = true, true, nil
	return outcome{how: stays, reason: continues}
}

// part returns the name of a state in the inventory: "STATE", or "STATE/GROUP.CHILD/STATE" for that of a child.
func (w *walk[K]) part(state string) string {
	if w.parent == nil {
		return state
	}
	return w.parent.partOfChild(w.name, state)
}

// partOfChild returns the name of a state of a child machine in the inventory.
func (w *walk[K]) partOfChild(typ, state string) string { return w.current() + "/" + typ + "/" + state }

// pruner is a pass of an inventory.
type pruner interface {
	Prune(ctx context.Context, keep func(machine.Item) bool) (waiting string, err error)
}

// prune deletes what the machine does not declare any more, at the end of a walk that is done. It returns what it waits
// for. The objects of states whose Step was not due are kept. In a durable machine, these are also those that the
// machine has passed and that this pass did not repeat. It deletes nothing if a child machine that the machine has not
// waited for has failed to apply its objects, or waits for them.
func (w *walk[K]) prune(ctx context.Context, out pruner) (waiting string, err error) {
	switch {
	case w.deletes:
		return out.Prune(ctx, nil)
	case w.partial:
		return "not all objects are applied", nil
	case !w.machine.opts.Durable && w.evading == nil:
		return out.Prune(ctx, nil)
	}
	return out.Prune(ctx, w.keeps)
}

// keeps reports whether an item was declared by a state that this pass did not repeat and that still counts.
func (w *walk[K]) keeps(item machine.Item) bool {
	state, part := w.partOf(item)
	switch {
	case !w.machine.opts.Durable:
		return w.evading[state] || w.evading[part]
	case w.stepped[part] || w.position.Visits[state] == 0:
		return false
	case part != state && w.stepped[state]:
		return w.lived[part]
	}
	return true
}

// partOf returns the part of an item, and the state of the machine that it begins with, under their current names.
func (w *walk[K]) partOf(item machine.Item) (state, part string) {
	parts := strings.Split(item.Part, "/")
	parts[0] = w.machine.renamed(parts[0])
	if len(parts) == 3 {
		parts[2] = w.machine.renamed(parts[2])
	}
	return parts[0], strings.Join(parts, "/")
}

// abandon removes the part of the items whose states this pass has repeated without declaring them. The states may not
// be repeated again before the machine is done, and their other objects are kept then.
func (w *walk[K]) abandon(items []machine.Item, declared func(machine.Item) bool) []machine.Item {
	if !w.machine.opts.Durable || w.deletes {
		return items
	}
	for i, item := range items {
		state, part := w.partOf(item)
		if (w.stepped[part] || w.stepped[state]) && !declared(item) && !w.keeps(item) {
			items[i].Part = ""
		}
	}
	return items
}
