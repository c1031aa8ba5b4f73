// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fsm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/machine"
	"github.com/kube-go/sdk/core/request"
)

const (
	readyType     = "Ready"     // the type of the condition that summarizes the others
	suspendedType = "Suspended" // the type of the condition that only suspended objects have

	reasonStuck    = "Stuck"
	reasonFailed   = "Failed"
	reasonDeleting = "Deleting"
)

// maxMessage is the maximum length of the message of a condition, in bytes. See
// https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/condition/; servers count characters.
const maxMessage = 32768

func shorten(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessage], "")
}

// fields locates the status in a kind's struct.
type fields struct {
	status  []int         // of the kind
	machine []int         // the machine.Status in the status
	flat    bool          // an assignment copies the status, except for the machine.Status
	copy    reflect.Value // the method DeepCopyInto of the status, or the zero Value
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
		found := fields{status: f.Index, flat: isFlat(f.Type), copy: deepCopyInto(f.Type)}
		if f.Type == statusType {
			return found, nil
		}
		for _, inner := range reflect.VisibleFields(f.Type) {
			if inner.Anonymous && inner.Type == statusType {
				found.machine = inner.Index
				return found, nil
			}
		}
		return fields{}, fmt.Errorf("%v: the status %v does not embed machine.Status", kind, f.Type)
	}
	return fields{}, fmt.Errorf("%v has no field status", kind)
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

// deepCopyInto returns the generated method of a struct, or the zero Value. An embedded struct may have it, too.
func deepCopyInto(t reflect.Type) reflect.Value {
	ptr := reflect.PointerTo(t)
	method, ok := ptr.MethodByName("DeepCopyInto")
	if !ok || method.Type != reflect.FuncOf([]reflect.Type{ptr, ptr}, nil, false) {
		return reflect.Value{}
	}
	return method.Func
}

// of returns the whole status of an object, and the machine's part of it.
func (f fields) of(obj any) (status any, own *machine.Status) {
	v := reflect.ValueOf(obj).Elem().FieldByIndex(f.status)
	status = v.Addr().Interface()
	if len(f.machine) > 0 {
		v = v.FieldByIndex(f.machine)
	}
	return status, v.Addr().Interface().(*machine.Status)
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
	find := func(all []metav1.Condition, typ string) int {
		return slices.IndexFunc(all, func(c metav1.Condition) bool { return c.Type == typ })
	}
	for i, c := range old {
		next := c
		if at := find(wanted, c.Type); at >= 0 {
			next = follow(c, wanted[at], now)
		} else if owned(c.Type) {
			change(i)
			continue
		}
		if next != c {
			change(i)
		}
		if merged != nil {
			merged = append(merged, next)
		}
	}
	for _, c := range wanted {
		if find(old, c.Type) < 0 {
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

// follow returns a condition as it follows the last one of its type.
func follow(last, next metav1.Condition, now metav1.Time) metav1.Condition {
	next.LastTransitionTime = last.LastTransitionTime
	if next.Status != last.Status || last.LastTransitionTime.IsZero() {
		next.LastTransitionTime = now
	}
	fixed := next.Reason == last.Reason && (last.Reason == reasonFailed || last.Reason == reasonDeleting)
	if fixed && sameButDigits(next.Message, last.Message) {
		next.Message = last.Message
	}
	return next
}

// sameButDigits reports whether two error texts differ only in numbers, such as those of attempts and ports. Writing
// each of them would start the next pass immediately, without the back-off.
func sameButDigits(a, b string) bool {
	digits := func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}
	return strings.Map(digits, a) == strings.Map(digits, b)
}

// owns reports whether the machine writes conditions of a type.
func (m *Machine[K]) owns(typ string) bool {
	_, renamed := m.opts.Renamed[typ]
	group, _, child := strings.Cut(typ, ".")
	if child && slices.ContainsFunc(m.groups, func(c *chart[K]) bool { return c.group == group }) {
		return true
	}
	return typ == readyType || typ == suspendedType || renamed || m.find(typ) >= 0 || slices.Contains(m.opts.Conditions, typ)
}

// sameForeign reports whether two lists have the same conditions of others.
func (m *Machine[K]) sameForeign(a, b []metav1.Condition) bool {
	if slices.Equal(a, b) { // usually
		return true
	}
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

// before returns an object as it is now, for a pass that changes only the status: a copy that shares the rest. Neither
// the machine nor a Step changes the position and the inventory in place.
func (m *Machine[K]) before(obj *K) (*K, error) {
	if !m.fields.flat && !m.fields.copy.IsValid() {
		return m.snapshot(obj)
	}
	c := new(*obj)
	from, _ := m.fields.of(obj)
	to, own := m.fields.of(c)
	if m.fields.flat {
		own.Conditions = slices.Clone(own.Conditions)
	} else {
		m.fields.copy.Call([]reflect.Value{reflect.ValueOf(from), reflect.ValueOf(to)})
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
	return a.State == b.State && a.Since == b.Since && a.Generation == b.Generation && a.Version == b.Version
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
	if stored, err := json.Marshal(old); err == nil && bytes.Equal(stored, after) { // such as nil and an empty list
		return true, nil
	}
	return m.write(ctx, obj, after)
}

// write writes the JSON of a status, unless the object has changed since it was read: a pass that has read an old state
// from a cache, such as that of a replica that has just become the leader, must not undo what a later pass has stored.
// It reports whether there is still such an object, and sets its resource version.
func (m *Machine[K]) write(ctx context.Context, obj *K, status []byte) (exists bool, err error) {
	var content map[string]any
	if err := json.Unmarshal(status, &content); err != nil {
		return true, fmt.Errorf("the status can't be written: %w", err)
	}
	list, _ := content["conditions"].([]any)
	list = slices.DeleteFunc(list, func(c any) bool {
		typ, _ := c.(map[string]any)["type"].(string)
		return !m.owns(typ)
	})
	if delete(content, "conditions"); len(list) > 0 {
		content["conditions"] = list
	}
	o, res := m.object(obj), m.api.Resource()
	u := &unstructured.Unstructured{Object: map[string]any{"status": content}}
	u.SetGroupVersionKind(res.GroupVersionKind())
	u.SetName(o.GetName())
	u.SetNamespace(o.GetNamespace())
	u.SetUID(o.GetUID())
	u.SetResourceVersion(o.GetResourceVersion())
	objects := client.Dynamic(m.api.Client(), res)
	if ns := o.GetNamespace(); ns != "" {
		objects = objects.In(ns)
	}
	stored, err := objects.Status().Apply(ctx, u, &request.ApplyOptions{FieldManager: m.name, Force: true})
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
