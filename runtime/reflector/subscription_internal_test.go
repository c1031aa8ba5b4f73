// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"runtime"
	"slices"
	"strconv"
	"testing"
	"weak"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
)

func TestChangesWhileASubscriptionLoadsAreDeliveredOnce(t *testing.T) {
	table, change := filled(t)
	refOf := func(i int) core.ObjectRef { return core.ObjectRef{Namespace: "prod", Name: strconv.Itoa(i)} }
	s, refs := table.beginLoad(nil), table.refs()
	slices.SortFunc(refs, func(a, b core.ObjectRef) int {
		x, _ := strconv.Atoi(a.Name)
		y, _ := strconv.Atoi(b.Name)
		return x - y
	})
	change(200, "second")
	table.drop(refOf(201), "1001")
	table.drop(refOf(202), "1002")
	change(202, "again")
	table.load(s, refs[:100])
	change(0, "second")
	table.drop(refOf(1), "1003")
	change(objects, "new")
	_ = table.endList("1004", 1) // a list that ends meanwhile is not the end of the existing objects
	table.load(s, refs[100:])
	table.endLoad(s)

	got := map[core.ObjectRef]Change{}
	number, last := 0, 0 // of the last one that has changed
	for c, ok, _ := table.next(s); ok; c, ok, _ = table.next(s) {
		if _, again := got[c.Ref]; again || got[core.ObjectRef{}].Type == core.Bookmark {
			t.Errorf("%s of %s follows an earlier change of it, or the Bookmark", c.Type, c.Ref)
		}
		got[c.Ref] = c
		number++
		if i, _ := strconv.Atoi(c.Ref.Name); c.Ref.Name != "" && (i < 2 || i == objects || i >= 200 && i <= 202) {
			last = number
		}
	}
	if last > 2*6 {
		t.Errorf("the last changed object is number %d, want that they take turns with the others", last)
	}
	if len(got) != objects+2 || got[core.ObjectRef{}].Type != core.Bookmark {
		t.Errorf("%d changes, want one of each object and the Bookmark", len(got))
	}
	for ref, c := range got {
		gone := ref == refOf(1) || ref == refOf(201)
		again := ref == refOf(202) // its first state was not delivered
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

// The name in the table shares its memory with the bytes of the object, which a key of a subscriber must not keep.
func TestRefOfAChangeKeepsNoStateAlive(t *testing.T) {
	for _, followed := range []bool{false, true} {
		table := newTable(core.Resource{})
		var change Change
		sub := table.subscribe(nil)
		receive := func() {
			if c, ok, _ := table.next(sub); ok && !followed {
				change = c
			}
		}
		if follow := func(c Change) { change = c }; followed {
			table.followers.all[&follow] = struct{}{}
		}
		ref := core.ObjectRef{Namespace: "prod", Name: "a"}
		_ = table.put(wire.Head{Ref: ref}, wire.NewPacked(wire.JSON, []byte(`{"metadata":{"name":"a"}}`)), "1", 0)
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
