// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"slices"
	"strconv"
	"testing"

	"github.com/kube-go/sdk/core"
)

func TestChangesWhileASubscriptionLoadsAreDeliveredOnce(t *testing.T) {
	table, change := filled(t)
	refOf := func(i int) core.ObjectRef { return core.ObjectRef{Namespace: "prod", Name: strconv.Itoa(i)} }
	s, refs := table.beginLoad(), table.refs()
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
	for c, ok, _ := table.next(s); ok; c, ok, _ = table.next(s) {
		if _, again := got[c.Ref]; again || got[core.ObjectRef{}].Type == core.Bookmark {
			t.Errorf("%s of %s follows an earlier change of it, or the Bookmark", c.Type, c.Ref)
		}
		got[c.Ref] = c
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
		case !gone && !again && (c.Type != core.Added || !c.Initial || c.Old.Exists() || !c.New.Exists()):
			t.Errorf("got %s of %s, initial %t, want an existing object", c.Type, ref, c.Initial)
		}
	}
}
