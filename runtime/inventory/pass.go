// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/discovery"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/machine"
)

// Pass is one pass over an owner. It is not safe for concurrent use.
type Pass struct {
	applier *Applier
	owner   owner
	invalid error // of the applier and the owner
	world   world
	plan    *plan // the world of a plan, or nil
	record  func(context.Context, []machine.Item) error

	items    []machine.Item
	declared map[key]*declared
	order    []*declared  // in the order of the declarations
	deleted  map[key]bool // by Delete
	failed   bool         // an Apply has failed or waits
	recorded bool         // record has stored an inventory
}

func (a *Applier) begin(obj core.Object, items []machine.Item) *Pass {
	o, err := a.ownerOf(obj)
	return &Pass{
		applier: a, owner: o, invalid: errors.Join(a.invalid, err), items: slices.Clone(items),
		declared: make(map[key]*declared), deleted: make(map[key]bool),
	}
}

// Items returns the inventory to store: the objects that exist or that a crash may leave behind. Its order is that of
// the stored inventory, then that of the declarations.
func (p *Pass) Items() []machine.Item { return slices.Clone(p.items) }

// Declared reports whether the pass has declared the object of an item.
func (p *Pass) Declared(item machine.Item) bool { return p.declared[keyOf(&item)] != nil }

// Apply applies the objects that do not have all declared values, in the order of their waves, and returns what it
// waits for, such as "Deployment prod/web is not ready: 1 of 3 replicas are available", or "". It can be called several
// times in one pass: each call adds declarations. All declarations are checked before the first is applied. If some
// objects of a wave can't be applied, the others are.
//
// Errors: an invalid declaration; an existing object that belongs to somebody else; the error of record; an error of
// the server; an object of a lower wave that will not become ready unless somebody repairs it, such as a failed Job,
// which a controller retries. If the first apply of an object would change the value of another field manager, the
// error is [core.ErrConflict], as it is for an object that was deleted or created again during the pass.
func (p *Pass) Apply(ctx context.Context, declarations ...Declaration) (waiting string, err error) {
	defer func() { p.failed = p.failed || err != nil || waiting != "" }()
	if p.invalid != nil {
		return "", p.invalid
	}
	list, err := p.declare(ctx, declarations)
	if err != nil {
		return "", err
	}
	slices.SortStableFunc(list, func(a, b *declared) int { return cmp.Compare(a.Wave, b.Wave) })
	for wave := range chunks(list, func(d *declared) int32 { return d.Wave }) {
		if waiting, err = p.unready(ctx, wave[0].Wave); waiting != "" || err != nil {
			return waiting, err
		}
		if waiting, err = p.applyWave(ctx, wave, list); waiting != "" || err != nil {
			return waiting, err
		}
	}
	return "", nil
}

// chunks yields the consecutive elements of a sorted list that have the same wave.
func chunks[T any](list []T, wave func(T) int32) func(yield func([]T) bool) {
	return func(yield func([]T) bool) {
		for start, i := 0, 1; i <= len(list); i++ {
			if i < len(list) && wave(list[i]) == wave(list[start]) {
				continue
			}
			if !yield(list[start:i]) {
				return
			}
			start = i
		}
	}
}

// applyWave applies the objects of a wave. All has the declarations of all waves of the call.
func (p *Pass) applyWave(ctx context.Context, wave, all []*declared) (waiting string, err error) {
	var errs, waits collected
	actions := make([]action, len(wave))
	for i, d := range wave {
		if d.reached {
			continue
		}
		actions[i], err = p.decide(ctx, d)
		errs.add(err)
		a := actions[i]
		// Also before a known object is created again, since record finds out whether the owner has changed or is gone.
		if (a == create || a == apply) && p.find(d.target.key) < 0 || a == create && !p.recorded {
			if err := p.intend(ctx, all); err != nil {
				return "", fmt.Errorf("store the inventory before %v is applied: %w", d.target.key, err)
			}
		}
	}
	for i, d := range wave {
		switch a := actions[i]; {
		case d.reached, a == refuse:
		case a == await:
			waits.add(fmt.Errorf("%v is being deleted", d.target.key))
		case a == keep:
			p.confirm(d)
			d.reached = true
		default:
			err := p.write(ctx, d, a)
			errs.add(err)
			d.reached = err == nil
		}
	}
	if err := errs.err(); err != nil {
		return "", err
	}
	return waits.text(), nil
}

// intend stores an inventory that has an item for each of the declarations.
func (p *Pass) intend(ctx context.Context, all []*declared) error {
	before := len(p.items)
	for _, d := range all {
		if p.find(d.target.key) < 0 {
			p.items = append(p.items, d.item())
		}
	}
	err := p.record(ctx, p.Items())
	if err != nil {
		p.items = p.items[:before]
	}
	p.recorded = err == nil
	return err
}

// find returns the index of an object's item, or -1.
func (p *Pass) find(k key) int {
	return slices.IndexFunc(p.items, func(item machine.Item) bool { return keyOf(&item) == k })
}

// item returns the item of an object, or the zero Item.
func (p *Pass) item(k key) machine.Item {
	if i := p.find(k); i >= 0 {
		return p.items[i]
	}
	return machine.Item{}
}

// decide reads the live state of a declared object and returns what to do about it.
func (p *Pass) decide(ctx context.Context, d *declared) (action, error) {
	live, err := p.read(ctx, &d.target, false)
	if err != nil {
		return refuse, err
	}
	item := p.item(d.target.key)
	known, ok := p.applier.memos.get(d.target.key)
	if ok && live != nil && known.sum == d.sum && item.UID == live.uid && item.Hash == d.hash {
		if live.state.Exists() && known.isAhead(live) { // the view is behind, or etcd was restored from a backup
			if live, err = p.read(ctx, &d.target, true); err != nil {
				return refuse, err
			}
		}
		if live != nil && known.isOf(live) {
			d.live = live
			return keep, nil
		}
	}
	d.live = live
	var now *state
	var who string
	if live != nil {
		if now, who, err = p.stateOf(live); err != nil {
			return refuse, fmt.Errorf("read %v: %w", d.target.key, err)
		}
		if item.Hash == d.hash && now.whose == ours && !now.deleting {
			if now.current, err = p.current(ctx, d, known); err != nil {
				return refuse, fmt.Errorf("read %v: %w", d.target.key, err)
			}
		}
	}
	a := decide(d, item, now)
	if a == refuse {
		return refuse, refusal(d, now, who)
	}
	return a, nil
}

// read reads the live state of a declared object.
func (p *Pass) read(ctx context.Context, t *target, fresh bool) (*object, error) {
	live, err := p.world.read(ctx, t, fresh)
	if _, gone := errors.AsType[*client.NotServedError](err); gone && p.refresh(ctx, t) == nil {
		live, err = p.world.read(ctx, t, fresh)
	}
	return live, err
}

// refresh looks up the resource of a declared object again: its kind may have been deleted and created with another
// plural.
func (p *Pass) refresh(ctx context.Context, t *target) error {
	if err := p.applier.forget(ctx, t.kind); err != nil {
		return err
	}
	res, err := p.applier.resource(ctx, t.gvk)
	if err != nil {
		return err
	}
	res.Group, res.Version = t.gvk.Group, t.gvk.Version
	if err := res.CheckRef(t.ref); err != nil {
		return err
	}
	t.resource = res
	return nil
}

// refusal returns the error for an object that belongs to somebody else.
func refusal(d *declared, live *state, who string) error {
	switch live.whose {
	case nobodys:
		return fmt.Errorf("%v exists and was not created by this controller: set Declaration.Adopt to take it over, "+
			"or use another name", d.target.key)
	case formers:
		return fmt.Errorf("%v belongs to %s with another UID: set Declaration.Adopt to take it over, or use another name",
			d.target.key, who)
	default:
		return fmt.Errorf("%v belongs to %s: use another name", d.target.key, who)
	}
}

// stateOf returns the state of an object, and the owner of an object of others.
func (p *Pass) stateOf(live *object) (*state, string, error) {
	meta, err := live.metadata()
	if err != nil {
		return nil, "", err
	}
	whose, who := p.owner.whose(meta)
	return &state{uid: live.uid, whose: whose, deleting: meta.GetDeletionTimestamp() != nil}, who, nil
}

// current reports whether the live object of a declaration has every declared value, or is as the server has returned
// it for the same declaration.
func (p *Pass) current(ctx context.Context, d *declared, known memo) (bool, error) {
	live, err := d.live.content(ctx, p.world, &d.target, fieldsOf(d.target.sample))
	if err != nil {
		return false, err
	}
	content, err := d.content(&p.owner)
	if err != nil {
		return false, err
	}
	shape, err := shapeOf(live, content)
	if err != nil {
		return false, err
	}
	if !covers(live, content) && (known.sum != d.sum || known.shape != shape) {
		return false, nil
	}
	p.memoize(d, shape)
	return true, nil
}

// memoize keeps the state of an object that has all declared values.
func (p *Pass) memoize(d *declared, shape sum) {
	if p.plan == nil {
		p.applier.memos.set(d.target.key, memo{
			sum: d.sum, hash: d.hash, uid: d.live.uid, version: d.live.version, shape: shape,
		})
	}
}

// confirm completes the item of an object that exists as declared.
func (p *Pass) confirm(d *declared) {
	item := d.item()
	item.UID, item.Hash = d.live.uid, d.hash
	if i := p.find(d.target.key); i >= 0 {
		p.items[i] = item
		return
	}
	p.items = append(p.items, item)
}

// write applies an object.
func (p *Pass) write(ctx context.Context, d *declared, a action) error {
	content, err := d.content(&p.owner)
	if err != nil {
		return fmt.Errorf("%v: %w", d.target.key, err)
	}
	var uid types.UID
	if a == apply {
		uid = d.live.uid
	}
	d.live, err = p.world.apply(ctx, &d.target, content, uid)
	if err != nil {
		p.applier.memos.remove(d.target.key)
		return err
	}
	shape, err := shapeOf(d.live.fields, content)
	if err != nil {
		return err
	}
	p.memoize(d, shape)
	d.changed = true
	p.confirm(d)
	return nil
}

// unready returns which objects of the waves below one are not ready, or "". If some never will be, that is an error.
func (p *Pass) unready(ctx context.Context, wave int32) (waiting string, err error) {
	var errs, waits collected
	for _, d := range p.order {
		if d.Wave >= wave {
			continue
		}
		why, err := p.unreadyOne(ctx, d)
		if err != nil {
			return "", fmt.Errorf("read %v: %w", d.target.key, err)
		}
		if why == nil {
			continue
		}
		why = fmt.Errorf("%v is not ready: %w", d.target.key, why)
		if core.IsTerminal(why) {
			errs.add(core.NotTerminal(why)) // the object may be repaired
		} else {
			waits.add(why)
		}
	}
	if err := errs.err(); err != nil {
		return "", err
	}
	return waits.text(), nil
}

// unreadyOne returns why an object is not ready, or nil.
func (p *Pass) unreadyOne(ctx context.Context, d *declared) (why, err error) {
	if !d.reached {
		return errors.New("it is not applied"), nil
	}
	if p.plan != nil && d.changed {
		return nil, nil
	}
	known, ok := p.applier.memos.get(d.target.key)
	ok = ok && d.Ready == nil && known.isOf(d.live)
	if ok && known.checked {
		return known.unready, nil
	}
	content, err := d.live.content(ctx, p.world, &d.target, nil) // the condition may read any field
	if err != nil {
		return nil, err
	}
	ok = ok && known.isOf(d.live) // which content may have read again
	u := &unstructured.Unstructured{Object: content}
	if d.Ready != nil {
		why = d.Ready(u)
	} else {
		why = isReady(d.target.sample, u)
	}
	if ok && p.plan == nil {
		known.checked, known.unready = true, why
		p.applier.memos.set(d.target.key, known)
	}
	return why, nil
}

// ErrDeclared is the error of [Pass.Delete] for an object that the same pass has declared.
var ErrDeclared = errors.New("is declared and deleted in the same pass")

// Delete deletes objects of the inventory, by UID, and returns what it waits for, such as "ConfigMap prod/web is being
// deleted", or "" when they are deleted. Objects that are not in the inventory are ignored. Only the kind, the
// namespace and the name of an object matter; the namespace defaults to that of the owner.
//
// Errors: [ErrDeclared] for an object that the pass has declared; an error of the server.
func (p *Pass) Delete(ctx context.Context, objects ...core.Object) (waiting string, err error) {
	if p.invalid != nil {
		return "", p.invalid
	}
	var errs, waits collected
	for i, obj := range objects {
		if isNil(obj) {
			return "", fmt.Errorf("object %d of %d is nil", i+1, len(objects))
		}
		t, err := p.target(ctx, obj, nil)
		if err != nil {
			return "", fmt.Errorf("object %d of %d%s: %w", i+1, len(objects), describe(obj), err)
		}
		if p.declared[t.key] != nil {
			return "", fmt.Errorf("%v %w", t.key, ErrDeclared)
		}
		p.deleted[t.key] = true
		if i := p.find(t.key); i >= 0 {
			why, err := p.remove(ctx, p.items[i])
			errs.add(err)
			waits.add(why)
		}
	}
	return waits.text(), errs.err()
}

// Prune deletes the objects of the inventory that the pass has not declared, by UID, and returns what it waits for,
// such as "ConfigMap prod/web is being deleted", or "" when they are deleted. Objects of higher waves are deleted
// first; those of lower waves follow when they no longer exist. Call it after all declarations of the pass. Keep, if it
// is not nil, returns whether an item is kept although it was not declared.
//
// Errors: an error of the server; a call after an Apply that has failed or waits.
func (p *Pass) Prune(ctx context.Context, keep func(machine.Item) bool) (waiting string, err error) {
	switch {
	case p.invalid != nil:
		return "", p.invalid
	case p.failed:
		return "", errors.New("Prune was called in a pass whose Apply has failed or waits: end the pass instead")
	}
	stale := slices.DeleteFunc(p.Items(), func(item machine.Item) bool {
		return p.Declared(item) || keep != nil && keep(item)
	})
	slices.SortStableFunc(stale, func(a, b machine.Item) int { return cmp.Compare(b.Wave, a.Wave) })
	for wave := range chunks(stale, func(item machine.Item) int32 { return item.Wave }) {
		var errs, waits collected
		for _, item := range wave {
			why, err := p.remove(ctx, item)
			errs.add(err)
			waits.add(why)
		}
		if err := errs.err(); err != nil || len(waits) > 0 {
			return waits.text(), err
		}
	}
	return "", nil
}

// remove deletes the object of an item. It returns why it waits, or removes the item.
func (p *Pass) remove(ctx context.Context, item machine.Item) (why, err error) {
	k := keyOf(&item)
	t, live, a, err := p.findStale(ctx, item)
	if err == nil && a == remove && live.state.Exists() { // it is from a view: somebody may have taken the object over
		live, a, err = p.decideRemoval(ctx, t, item, true)
	}
	if err == nil && a == remove {
		err = p.world.delete(ctx, t, live.uid, item.Foreground)
		if err != nil && !errors.Is(err, core.ErrConflict) && !isNotFound(err) {
			return nil, err
		}
		failed := err
		if _, a, err = p.decideRemoval(ctx, t, item, true); err == nil && a == remove {
			err = failed // the object has not changed
			a = await
		}
	}
	switch {
	case err != nil:
		return nil, err
	case a == forget:
		p.forget(k)
		return nil, nil
	}
	return fmt.Errorf("%v is being deleted", k), nil
}

// findStale reads the object of an item. If the kind is not served as it was, it is looked up again.
func (p *Pass) findStale(ctx context.Context, item machine.Item) (*target, *object, action, error) {
	k := keyOf(&item)
	for again := false; ; again = true {
		res, err := p.applier.resource(ctx, k.kind.WithVersion(item.Version))
		if unknown, ok := errors.AsType[*discovery.UnknownResourceError](err); ok && len(unknown.Failed) == 0 {
			return nil, nil, forget, nil // its objects were deleted with the kind
		}
		if err != nil {
			return nil, nil, await, err
		}
		if k.ref.Name == "" || res.CheckRef(k.ref) != nil {
			return nil, nil, forget, nil // no pass has stored such an item
		}
		t := &target{key: k, gvk: res.GroupVersionKind(), resource: res}
		live, a, err := p.decideRemoval(ctx, t, item, false)
		if _, gone := errors.AsType[*client.NotServedError](err); !gone || again {
			return t, live, a, err
		}
		if err := p.applier.forget(ctx, k.kind); err != nil {
			return nil, nil, await, err
		}
	}
}

// decideRemoval reads an object and returns what to do about it.
func (p *Pass) decideRemoval(ctx context.Context, t *target, item machine.Item, fresh bool) (*object, action, error) {
	live, err := p.world.read(ctx, t, fresh)
	if err != nil || live == nil {
		return nil, decideRemoval(item, nil), err
	}
	now, _, err := p.stateOf(live)
	if err != nil {
		return nil, await, fmt.Errorf("read %v: %w", t.key, err)
	}
	return live, decideRemoval(item, now), nil
}

// forget removes an item.
func (p *Pass) forget(k key) {
	if i := p.find(k); i >= 0 {
		p.items = slices.Delete(p.items, i, i+1)
	}
	if p.plan == nil {
		p.applier.memos.remove(k)
	}
}

func isNotFound(err error) bool { return errors.Is(err, core.ErrNotFound) }

// collected are the errors of several objects, or what a pass waits for.
type collected []error

func (c *collected) add(err error) {
	if err != nil {
		*c = append(*c, err)
	}
}

func (c collected) err() error { return errors.Join(c...) }

// text returns the first one and the number of the others.
func (c collected) text() string {
	switch len(c) {
	case 0:
		return ""
	case 1:
		return c[0].Error()
	}
	return fmt.Sprintf("%v; and %d more", c[0], len(c)-1)
}
