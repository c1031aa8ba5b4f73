// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"weak"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
)

func TestChangesWhileASubscriptionLoadsAreDeliveredOnce(t *testing.T) {
	table, change := filled(t)
	refOf := func(i int) core.ObjectRef { return core.ObjectRef{Namespace: "prod", Name: strconv.Itoa(i)} }
	s := table.subscribeIn(20, subscription{})
	got := map[core.ObjectRef]Change{}
	receive := func(most int) {
		for range most {
			c, ok, _ := table.next(s)
			if !ok {
				return
			}
			if _, again := got[c.Ref]; again || got[core.ObjectRef{}].Type == core.Bookmark {
				t.Errorf("%s of %s follows an earlier change of it, or the Bookmark", c.Type, c.Ref)
			}
			got[c.Ref] = c
		}
	}
	receive(100)
	var later []int // objects that were not delivered
	for i := range objects {
		if _, ok := got[refOf(i)]; !ok {
			later = append(later, i)
		}
	}
	change(later[0], "second")
	table.drop(refOf(later[1]), "1001")
	table.drop(refOf(later[2]), "1002")
	change(later[2], "again")
	change(objects, "new")
	_ = table.endList("1004", 1) // a list that ends meanwhile is not the end of the existing objects
	receive(2 * 4)
	for _, ref := range []core.ObjectRef{refOf(later[0]), refOf(later[1]), refOf(later[2]), refOf(objects)} {
		if _, ok := got[ref]; !ok {
			t.Errorf("the change of %s is not among the next ones, want that changes and existing objects take turns", ref)
		}
	}
	receive(2 * objects)

	if len(got) != objects+2 || got[core.ObjectRef{}].Type != core.Bookmark {
		t.Errorf("%d changes, want one of each object and the Bookmark", len(got))
	}
	for ref, c := range got {
		gone := ref == refOf(later[1])
		again := ref == refOf(later[2]) // its first state was not delivered
		switch {
		case c.Type == core.Bookmark:
		case gone && (c.Type != core.Deleted || !c.Old.Exists() || c.New.Exists()):
			t.Errorf("got %s of %s, want its deletion with the last state", c.Type, ref)
		case !gone && !again && (c.Type != core.Added || c.Old.Exists() || !c.New.Exists()):
			t.Errorf("got %s of %s, want its first state", c.Type, ref)
		case !gone && !again && c.Initial != (ref != refOf(objects)):
			t.Errorf("initial is %t for %s", c.Initial, ref)
		}
	}
}

// TestSubscriptionFollowsTheTableWhileItLoads changes a table at random while a subscriber receives its changes, and
// compares them with what the subscriber has received before.
func TestSubscriptionFollowsTheTableWhileItLoads(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 3))
		m := &replica{
			t: t, seed: seed, table: newTable(core.Resource{}),
			all: map[core.ObjectRef]string{}, changes: map[core.ObjectRef]int{}, states: map[core.ObjectRef][]string{},
		}
		m.table.beginList(0)
		for i := range r.IntN(12) {
			m.put(i, "")
		}
		listed := r.IntN(3) > 0
		end := func() {
			listed = true
			if err := m.table.endList(m.next(), 0); err != nil {
				t.Fatal(err)
			}
		}
		if listed {
			end()
		}
		m.waits = m.table.refs()
		for ref, states := range m.states {
			m.states[ref] = states[len(states)-1:] // the subscriber receives nothing of the others
		}
		m.sub = m.table.subscribeIn(1+r.IntN(4), subscription{keeps: true})
		for range r.IntN(60) {
			switch i := r.IntN(12); r.IntN(6) {
			case 0, 1:
				m.put(i, m.next())
			case 2:
				ref := core.ObjectRef{Namespace: "prod", Name: strconv.Itoa(i)}
				if m.table.objects["prod"][ref.Name] != nil {
					m.changes[ref]++
				}
				m.table.drop(ref, m.next())
				m.received(ref) // the deletion may follow the Bookmark
			default:
				m.receive()
			}
		}
		if !listed {
			for ref := range m.table.objects["prod"] { // the list has all of them
				i, _ := strconv.Atoi(ref)
				m.put(i, "")
			}
			end()
		}
		for m.receive() {
		}
		if len(m.waits) > 0 || !m.synced {
			t.Errorf("seed %d: not received: %v; the Bookmark: %t", seed, m.waits, m.synced)
		}
		for _, ref := range m.table.refs() {
			if want := string(m.table.stateOf(ref).Packed().Bytes()); m.all[ref] != want {
				t.Errorf("seed %d: %s is %q, want %q", seed, ref, m.all[ref], want)
			}
			delete(m.all, ref)
		}
		if len(m.all) > 0 {
			t.Errorf("seed %d: no deletion of %v was received", seed, m.all)
		}
	}
}

// replica has the objects of a subscriber.
type replica struct {
	t       *testing.T
	seed    uint64
	table   *table
	version int
	sub     *subscription
	all     map[core.ObjectRef]string
	changes map[core.ObjectRef]int      // since the last change of the object that the subscriber received
	states  map[core.ObjectRef][]string // the states since then, and the one then
	waits   []core.ObjectRef            // the existing objects that the Bookmark must follow
	synced  bool
}

// next returns the next version.
func (m *replica) next() string {
	m.version++
	return strconv.Itoa(m.version)
}

// put creates or changes an object.
func (m *replica) put(i int, observed string) {
	m.t.Helper()
	version, ref := m.next(), core.ObjectRef{Namespace: "prod", Name: strconv.Itoa(i)}
	uid := types.UID(version)
	if m.table.objects["prod"][ref.Name] != nil {
		head, err := m.table.stateOf(ref).Head()
		if err != nil {
			m.t.Fatal(err)
		}
		uid = head.UID
	}
	data := fmt.Appendf(nil, `{"metadata":{"namespace":"prod","name":"%d","uid":"%s","resourceVersion":"%s"}}`, i, uid, version)
	head := wire.Head{Ref: ref, UID: uid, ResourceVersion: version}
	if err := m.table.put(head, wire.NewPacked(wire.JSON, data), observed, 0, false); err != nil {
		m.t.Fatal(err)
	}
	m.changes[ref]++
	m.states[ref] = append(m.states[ref], string(data))
}

// received records that the Bookmark need not wait for an object.
func (m *replica) received(ref core.ObjectRef) {
	m.waits = slices.DeleteFunc(m.waits, func(waiting core.ObjectRef) bool { return waiting == ref })
}

// receive receives a change, and reports whether there was one.
func (m *replica) receive() bool {
	m.t.Helper()
	c, ok, err := m.table.next(m.sub)
	if err != nil {
		m.t.Fatal(err)
	}
	if !ok {
		return false
	}
	m.received(c.Ref)
	text := func(s State) string {
		if !s.Exists() {
			return ""
		}
		return string(s.Packed().Bytes())
	}
	old, known := m.all[c.Ref]
	before, _ := c.Old.Head()
	after, _ := c.New.Head()
	switch {
	case c.Type == core.Bookmark:
		if m.synced || len(m.waits) > 0 {
			m.t.Errorf("seed %d: the Bookmark came again, or before %v", m.seed, m.waits)
		}
		m.synced = true
		return true
	case known && c.Merged != (c.Type == core.Modified && m.changes[c.Ref] > 1):
		m.t.Errorf("seed %d: %s of %s is merged: %t, want of %d changes", m.seed, c.Type, c.Ref, c.Merged, m.changes[c.Ref])
	case known && text(c.Old) != old:
		m.t.Errorf("seed %d: %s of %s has the old state %q, want %q", m.seed, c.Type, c.Ref, text(c.Old), old)
	case !known && c.Type == core.Modified && before.UID == after.UID:
		m.t.Errorf("seed %d: %s is modified, but was not received", m.seed, c.Ref)
	case known == (c.Type == core.Added):
		if c.Type != core.Deleted && before.UID == after.UID {
			m.t.Errorf("seed %d: got %s of %s, known: %t", m.seed, c.Type, c.Ref, known)
		}
	}
	m.checkBetween(c.Ref, c.Between, text(c.Old), text(c.New), text)
	m.changes[c.Ref] = 0
	if delete(m.all, c.Ref); c.New.Exists() {
		m.all[c.Ref] = text(c.New)
	}
	return true
}

// checkBetween checks that a change has the newest states that the object had between two states.
func (m *replica) checkBetween(ref core.ObjectRef, between []State, before, after string, text func(State) string) {
	m.t.Helper()
	want := slices.DeleteFunc(m.states[ref], func(s string) bool { return s == before || s == after })
	want = want[max(len(want)-maxBetween, 0):]
	var got []string
	for _, s := range between {
		got = append(got, text(s))
	}
	if !slices.Equal(got, want) {
		m.t.Errorf("seed %d: the states of %s between are %q, want %q", m.seed, ref, got, want)
	}
	if m.states[ref] = nil; after != "" {
		m.states[ref] = []string{after}
	}
}

// An object can leave a selection and return. The subscriber has received no state of it, so it is not modified.
func TestObjectThatReturnsBeforeItsDeliveryIsAdded(t *testing.T) {
	for _, live := range []bool{true, false} {
		table, change := filled(t)
		ref := core.ObjectRef{Namespace: "prod", Name: "0"}
		if live {
			table.drop(ref, "1001")
		}
		sub := table.subscribe(subscription{})
		change(0, "second")
		table.drop(ref, "1002")
		change(0, "third")

		found := false
		for c, ok, _ := table.next(sub); ok; c, ok, _ = table.next(sub) {
			if c.Ref != ref {
				continue
			}
			found = true
			if c.Type != core.Added || c.Old.Exists() || !c.New.Exists() || c.Initial == live {
				t.Errorf("got %s, old state: %t, initial: %t, want that it is added", c.Type, c.Old.Exists(), c.Initial)
			}
		}
		if !found {
			t.Error("no change was delivered")
		}
	}
}

// The name in the table shares its memory with the bytes of the object, which a key of a subscriber must not keep.
func TestRefOfAChangeKeepsNoStateAlive(t *testing.T) {
	for _, followed := range []bool{false, true} {
		table := newTable(core.Resource{})
		var change Change
		sub := table.subscribe(subscription{})
		receive := func() {
			if c, ok, _ := table.next(sub); ok && !followed {
				change = c
			}
		}
		if follow := func(c Change) { change = c }; followed {
			table.followers.all[&follow] = struct{}{}
		}
		ref := core.ObjectRef{Namespace: "prod", Name: "a"}
		_ = table.put(wire.Head{Ref: ref}, wire.NewPacked(wire.JSON, []byte(`{"metadata":{"name":"a"}}`)), "1", 0, false)
		receive()
		kept, state := change.Ref, weak.Make(&change.New.kept.Bytes()[0])
		table.drop(ref, "2")
		receive()
		change = Change{}
		runtime.GC()
		if state.Value() != nil {
			t.Errorf("the ref %s keeps the deleted object, followed: %t", kept, followed)
		}
		runtime.KeepAlive(kept)
	}
}
