// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fsm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/machine"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/internal/excerpt"
)

const (
	readyType     = "Ready"     // the type of the condition that summarizes the others
	suspendedType = "Suspended" // the type of the condition that only suspended objects have
	stalledType   = "Stalled"   // the type of the condition of objects that have failed; Options.Conditions may have it, too

	reasonWaiting   = "Waiting"
	reasonIdle      = "Idle"
	reasonCompleted = "Completed"
	reasonStuck     = "Stuck"
	reasonFailed    = "Failed"
	reasonDeleting  = "Deleting"
)

// maxMessage is the maximum length of the message of a condition, in bytes. See
// https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/condition/; servers count characters.
const maxMessage = 32768

func shorten(message string) string { return excerpt.Of(message, maxMessage) }

// fields locates the status in a kind's struct.
type fields struct {
	status  []int   // of the kind
	machine []int   // the machine.Status in the status
	flat    bool    // an assignment copies the status, except for the machine.Status
	copier  *copier // of the status, or nil
}

// fieldsOf finds the fields of a kind.
func fieldsOf(kind reflect.Type) (fields, error) {
	statusType := reflect.TypeFor[machine.Status]()
	for _, f := range reflect.VisibleFields(kind) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "status" {
			continue
		}
		if f.Type.Kind() != reflect.Struct {
			return fields{}, fmt.Errorf("%v: the field %s is not a struct", kind, f.Name)
		}
		found := fields{status: f.Index, flat: isFlat(f.Type), copier: copierOf(f.Type)}
		if f.Type == statusType {
			return found, nil
		}
		var err error
		if found.machine, err = embedded(f.Type); err != nil {
			return fields{}, fmt.Errorf("%v: the status %v %w", kind, f.Type, err)
		}
		if found.machine == nil {
			return fields{}, fmt.Errorf("%v: the status %v does not embed machine.Status: embed the Status of "+
				"github.com/kube-go/sdk/core/machine with the tag `json:\",inline\"`", kind, f.Type)
		}
		return found, nil
	}
	return fields{}, fmt.Errorf("%v has no field status", kind)
}

// embedded returns the index of the machine.Status that a struct embeds inline, or nil. No other field may have the
// name of one of its fields in JSON: only one of both would be encoded, or none.
func embedded(t reflect.Type) (index []int, err error) {
	statusType := reflect.TypeFor[machine.Status]()
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		inline := f.Anonymous && name == ""
		switch {
		case f.Type == statusType && f.Anonymous && !inline:
			return nil, fmt.Errorf("embeds machine.Status as the field %q: use the tag `json:\",inline\"`", name)
		case f.Type == statusType && inline:
			index = f.Index
		case inline && f.Type.Kind() == reflect.Struct:
			inner, err := embedded(f.Type)
			if err != nil {
				return nil, err
			}
			if inner != nil {
				index = append(slices.Clone(f.Index), inner...)
			}
		case slices.Contains(reserved(), name):
			return nil, fmt.Errorf("has the field %s with the JSON name %q, which is one of machine.Status: remove it, and use "+
				"that of machine.Status, or give it another name", f.Name, name)
		}
	}
	return index, nil
}

// reserved returns the JSON names of the fields of a machine.Status.
func reserved() []string {
	var names []string
	for f := range reflect.TypeFor[machine.Status]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// isFlat reports whether an assignment copies a value of a type, apart from a machine.Status and locations of times.
func isFlat(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Struct:
		if t == reflect.TypeFor[machine.Status]() || t == reflect.TypeFor[time.Time]() {
			return true
		}
		for field := range t.Fields() {
			if !isFlat(field.Type) {
				return false
			}
		}
		return true
	case reflect.Array:
		return isFlat(t.Elem())
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Interface, reflect.Chan, reflect.Func, reflect.UnsafePointer:
		return false
	default:
		return true
	}
}

// copier copies structs with their generated method DeepCopyInto. It is safe for concurrent use.
//
// It has the method of a value, because a program that calls MethodByName of a reflect.Type keeps all exported methods
// of all of its types. MethodByName of a reflect.Value with a constant name does not have this effect.
type copier struct{ bound sync.Pool }

// bound is a value with its method DeepCopyInto.
type bound struct{ value, deepCopyInto reflect.Value }

func boundOf(t reflect.Type) *bound {
	v := reflect.New(t)
	return &bound{v.Elem(), v.MethodByName("DeepCopyInto")}
}

// copierOf returns a copier of a struct with the method, or nil. An embedded struct may have it, too.
func copierOf(t reflect.Type) *copier {
	method := boundOf(t).deepCopyInto
	if !method.IsValid() || method.Type() != reflect.FuncOf([]reflect.Type{reflect.PointerTo(t)}, nil, false) {
		return nil
	}
	return &copier{sync.Pool{New: func() any { return boundOf(t) }}}
}

// copy copies the struct that from points to into the one that to points to.
func (c *copier) copy(from, to any) {
	b := c.bound.Get().(*bound)
	b.value.Set(reflect.ValueOf(from).Elem())
	b.deepCopyInto.Call([]reflect.Value{reflect.ValueOf(to)})
	b.value.SetZero()
	c.bound.Put(b)
}

// of returns the whole status of an object, and the machine's part of it.
func (f fields) of(obj any) (status any, own *machine.Status) {
	v := reflect.ValueOf(obj).Elem().FieldByIndex(f.status)
	return v.Addr().Interface(), f.part(v)
}

// own returns the machine's part of the status of an object.
func (f fields) own(obj any) *machine.Status {
	return f.part(reflect.ValueOf(obj).Elem().FieldByIndex(f.status))
}

// part returns the machine's part of a status.
func (f fields) part(status reflect.Value) *machine.Status {
	if len(f.machine) > 0 {
		status = status.FieldByIndex(f.machine)
	}
	return status.Addr().Interface().(*machine.Status)
}

// foreign returns an error if another machine has stored the position of an object. Both would write the same fields,
// and delete what the other declares.
func (m *Machine[K]) foreign(own *machine.Status) error {
	if own.FSM == nil {
		return nil
	}
	name, _, ok := strings.Cut(own.FSM.Version, "@")
	if ok && name != m.name && strings.Contains(name, "/") {
		return fmt.Errorf("machine %s: the object belongs to the machine %s: use one machine for all objects of a kind, and "+
			"keep its name", m.name, name)
	}
	return nil
}

// dated returns the stored position of an object, without zero times: the machine would write them as null, which the
// server refuses. A machine does not store such a position.
func dated(p *machine.Position, obj core.Object) *machine.Position {
	past := func(past machine.Past) bool { return past.Since.IsZero() }
	if p == nil {
		return nil
	}
	valid := !p.Since.IsZero() && !slices.ContainsFunc(p.History, past)
	for _, child := range p.Children {
		valid = valid && !child.Since.IsZero()
	}
	if valid {
		return p
	}
	p = p.DeepCopy()
	created := metav1.NewMicroTime(obj.GetCreationTimestamp().Time)
	if p.Since.IsZero() {
		p.Since = created
	}
	for name, child := range p.Children {
		if child.Since.IsZero() {
			child.Since = created
			p.Children[name] = child
		}
	}
	p.History = slices.DeleteFunc(p.History, past)
	return p
}

// merge returns the conditions with those of the machine replaced, or old itself if that changes nothing. Owned reports
// which types are the machine's: those that are not wanted any more are removed.
func merge(old, wanted []metav1.Condition, owned func(typ string) bool, now metav1.Time) []metav1.Condition {
	var merged []metav1.Condition // nil as long as nothing has changed
	change := func(unchanged int) {
		if merged == nil {
			merged = append(make([]metav1.Condition, 0, max(len(old), len(wanted))), old[:unchanged]...)
		}
	}
	for i := range old {
		next := old[i]
		if w := find(wanted, next.Type); w != nil {
			next = follow(&old[i], *w, now)
		} else if owned(next.Type) {
			change(i)
			continue
		}
		if next != old[i] {
			change(i)
		}
		if merged != nil {
			merged = append(merged, next)
		}
	}
	for _, c := range wanted {
		if find(old, c.Type) == nil {
			c.LastTransitionTime = now
			change(len(old))
			merged = append(merged, c)
		}
	}
	if merged == nil {
		return old
	}
	return merged
}

// find returns the condition of a type, or nil.
func find(all []metav1.Condition, typ string) *metav1.Condition {
	for i := range all {
		if all[i].Type == typ {
			return &all[i]
		}
	}
	return nil
}

// follow returns a condition as it follows the last one of its type.
func follow(last *metav1.Condition, next metav1.Condition, now metav1.Time) metav1.Condition {
	next.LastTransitionTime = last.LastTransitionTime
	if next.Status != last.Status || last.LastTransitionTime.IsZero() {
		next.LastTransitionTime = now
	}
	return next
}

// owns reports whether the machine writes conditions of a type.
func (m *Machine[K]) owns(typ string) bool {
	_, renamed := m.opts.Renamed[typ]
	group, _, child := strings.Cut(typ, ".")
	if child && slices.ContainsFunc(m.groups, func(c *chart[K]) bool { return c.group == group }) {
		return true
	}
	switch typ {
	case readyType, suspendedType, stalledType:
		return true
	}
	return renamed || m.find(typ) >= 0 || slices.Contains(m.opts.Conditions, typ)
}

// sameForeign reports whether two lists have the same conditions of others.
func (m *Machine[K]) sameForeign(a, b []metav1.Condition) bool {
	next := func(all []metav1.Condition) []metav1.Condition {
		for len(all) > 0 && m.owns(all[0].Type) {
			all = all[1:]
		}
		return all
	}
	for a, b = next(a), next(b); len(a) > 0 && len(b) > 0; a, b = next(a[1:]), next(b[1:]) {
		if a[0] != b[0] {
			return false
		}
	}
	return len(a) == len(b)
}

// scratch is memory that one pass needs until it ends, and that later passes reuse. It saves about a kilobyte per pass.
type scratch[K any] struct {
	before      K
	stored, own []metav1.Condition // those before the pass, and those of the pass
	reconcile   reconcile[K]
}

func (m *Machine[K]) borrow() *scratch[K] {
	if s, ok := m.scratches.Get().(*scratch[K]); ok {
		return s
	}
	return new(scratch[K])
}

// giveBack ends the use of a scratch. It then refers to no object.
func (m *Machine[K]) giveBack(s *scratch[K]) {
	clear(s.stored[:cap(s.stored)])
	clear(s.own[:cap(s.own)])
	*s = scratch[K]{stored: s.stored[:0], own: s.own[:0]}
	m.scratches.Put(s)
}

// before returns an object as it is now, for a pass that changes only the status: a copy that shares the rest. Neither
// the machine nor a Step changes the position and the inventory in place. The copy may be in the scratch.
func (m *Machine[K]) before(obj *K, s *scratch[K]) (*K, error) {
	if !m.fields.flat && m.fields.copier == nil {
		return m.snapshot(obj)
	}
	c := &s.before
	*c = *obj
	from, _ := m.fields.of(obj)
	to, own := m.fields.of(c)
	if m.fields.flat {
		s.stored = append(s.stored[:0], own.Conditions...)
		own.Conditions = s.stored
	} else {
		m.fields.copier.copy(from, to)
	}
	return c, nil
}

// snapshot returns a copy of an object.
func (m *Machine[K]) snapshot(obj *K) (*K, error) {
	if o, ok := any(obj).(runtime.Object); ok { // the fast way, which most kinds have
		if c, ok := any(o.DeepCopyObject()).(*K); ok {
			return c, nil
		}
	}
	data, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	c := new(K)
	return c, json.Unmarshal(data, c)
}

// same reports whether an object has the same status as before.
func (m *Machine[K]) same(obj, before *K) bool {
	a, own := m.fields.of(obj)
	b, old := m.fields.of(before)
	if !slices.Equal(own.Conditions, old.Conditions) || !slices.Equal(own.Inventory, old.Inventory) ||
		!samePosition(own.FSM, old.FSM) {
		return false
	}
	now, was := *own, *old
	*own, *old = machine.Status{}, machine.Status{} // they are compared
	defer func() { *own, *old = now, was }()
	return reflect.DeepEqual(a, b)
}

// samePosition reports whether two positions are the same. Most have no maps and lists, and need no reflection.
func samePosition(a, b *machine.Position) bool {
	simple := func(p *machine.Position) bool {
		return p != nil && p.Data == nil && p.Visits == nil && p.Children == nil && p.History == nil
	}
	if !simple(a) || !simple(b) {
		return reflect.DeepEqual(a, b)
	}
	return a.State == b.State && a.Since == b.Since && a.Generation == b.Generation && a.Version == b.Version &&
		a.Deleted == b.Deleted
}

// store writes the status of an object with new conditions of the machine, if it is not the same as before. It reports
// whether there is still such an object.
func (m *Machine[K]) store(
	ctx context.Context, obj *K, wanted []metav1.Condition, now time.Time, before *K,
) (exists bool, err error) {
	status, own := m.fields.of(obj)
	own.Conditions = merge(own.Conditions, wanted, m.owns, metav1.NewTime(now))
	if m.same(obj, before) {
		return true, nil
	}
	after, err := json.Marshal(status)
	if err != nil {
		return true, fmt.Errorf("the status can't be written: %w", err)
	}
	old, _ := m.fields.of(before)
	stored, err := json.Marshal(old)
	if err == nil && bytes.Equal(stored, after) { // such as nil and an empty list
		return true, nil
	}
	return m.write(ctx, obj, stored, after)
}

// write writes the JSON of a status, unless the object has changed since it was read: a pass that has read an old state
// from a cache, such as that of a replica that has just become the leader, must not undo what a later pass has stored.
// Before is the JSON of the status before the pass. It reports whether there is still such an object, and sets its
// resource version. The write starts no pass: otherwise each failure with another text would be retried at once.
func (m *Machine[K]) write(ctx context.Context, obj *K, before, after []byte) (exists bool, err error) {
	ctx = controller.WithoutRun(ctx)
	var was, content map[string]any
	if err := errors.Join(wire.UnmarshalJSON(before, &was), wire.UnmarshalJSON(after, &content)); err != nil {
		return true, fmt.Errorf("the status can't be written: %w", err)
	}
	o, res := m.object(obj), m.api.Resource()
	objects := client.Dynamic(m.api.Client(), res)
	if ns := o.GetNamespace(); ns != "" {
		objects = objects.In(ns)
	}
	u := &unstructured.Unstructured{Object: map[string]any{"status": m.owned(content)}}
	u.SetGroupVersionKind(res.GroupVersionKind())
	u.SetName(o.GetName())
	u.SetNamespace(o.GetNamespace())
	u.SetUID(o.GetUID())
	u.SetResourceVersion(o.GetResourceVersion())
	stored, err := objects.Status().Apply(ctx, u, &request.ApplyOptions{FieldManager: m.name, Force: true})
	if err == nil {
		stored, err = m.remove(ctx, objects, stored, was, content)
	}
	switch {
	case err == nil:
		o.SetResourceVersion(stored.GetResourceVersion())
		return true, nil
	case !errors.Is(err, core.ErrNotFound):
		return true, err
	}
	// It was deleted during the pass, or the kind has no status.
	current, readErr := objects.GetOrNil(ctx, o.GetName(), nil)
	switch {
	case readErr != nil:
		return true, errors.Join(err, readErr)
	case current == nil || current.GetUID() != o.GetUID():
		return false, nil
	}
	return true, fmt.Errorf("the status can't be written: %s has no subresource status: %w", res, err)
}

// owned returns the fields of a status that the machine applies: all but the conditions of others.
func (m *Machine[K]) owned(status map[string]any) map[string]any {
	own := maps.Clone(status)
	list, _ := own["conditions"].([]any)
	list = slices.DeleteFunc(slices.Clone(list), func(c any) bool {
		typ, _ := c.(map[string]any)["type"].(string)
		return !m.owns(typ)
	})
	if delete(own, "conditions"); len(list) > 0 {
		own["conditions"] = list
	}
	return own
}

// remove removes the fields that a pass has removed from the status and that are still stored, because they have other
// managers, too, such as the program that wrote the status before the kind had a machine. It returns the stored object.
func (m *Machine[K]) remove(
	ctx context.Context, objects *client.API[unstructured.Unstructured], stored *unstructured.Unstructured,
	was, want map[string]any,
) (*unstructured.Unstructured, error) {
	status, _ := stored.Object["status"].(map[string]any)
	diff := removals(was, want, status)
	if len(diff) == 0 {
		return stored, nil
	}
	body := map[string]any{"status": diff, "metadata": map[string]any{
		"uid": stored.GetUID(), "resourceVersion": stored.GetResourceVersion(),
	}}
	return objects.Status().Patch(ctx, stored.GetName(), request.MergePatch(body), &request.PatchOptions{FieldManager: m.name})
}

// removals returns the JSON merge patch that removes the fields from a stored object that the object before has and the
// wanted one does not have. From a list with additional items, it removes these.
func removals(was, want, stored map[string]any) map[string]any {
	diff := make(map[string]any)
	for name, old := range was {
		now, kept := want[name]
		have, has := stored[name]
		if !has {
			continue
		}
		if !kept {
			diff[name] = nil
			continue
		}
		oldFields, _ := old.(map[string]any)
		fields, _ := now.(map[string]any)
		haveFields, _ := have.(map[string]any)
		if inner := removals(oldFields, fields, haveFields); len(inner) > 0 {
			diff[name] = inner
		}
		items, isList := now.([]any)
		if list, ok := have.([]any); ok && isList && len(list) > len(items) {
			diff[name] = remaining(list, items)
		}
	}
	return diff
}

// remaining returns the items of a stored list that are wanted. They keep their fields that the kind does not have, such
// as those of a newer version of it.
func remaining(stored, wanted []any) []any {
	list := slices.DeleteFunc(slices.Clone(stored), func(have any) bool {
		return !slices.ContainsFunc(wanted, func(want any) bool { return includes(have, want) })
	})
	if len(list) != len(wanted) { // the items can't be told apart
		return wanted
	}
	return list
}

// includes reports whether a stored value has all fields of a wanted one, with the same values.
func includes(stored, wanted any) bool {
	have, isStored := stored.(map[string]any)
	want, isWanted := wanted.(map[string]any)
	if !isStored || !isWanted {
		return reflect.DeepEqual(stored, wanted)
	}
	for name, value := range want {
		if in, ok := have[name]; !ok || !includes(in, value) {
			return false
		}
	}
	return true
}
