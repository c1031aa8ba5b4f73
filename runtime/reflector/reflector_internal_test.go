// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"errors"
	"testing"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
)

func TestTableReleasesNamespacesWaitersAndSubscriptions(t *testing.T) {
	table := newTable(core.Resource{})
	ref := core.ObjectRef{Namespace: "prod", Name: "a"}
	_ = table.put(wire.Head{Ref: ref}, wire.NewPacked(wire.JSON, []byte(`{}`)), "1", 0, false)
	table.drop(ref, "2")
	if n := len(table.objects); n != 0 {
		t.Errorf("%d namespaces are left after the last object", n)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, w := range []*waiter{{list: func() bool { return false }}, {version: 100}} {
		if err := table.await(ctx, w); !errors.Is(err, context.Canceled) {
			t.Errorf("await() = %v", err)
		}
	}
	if n := len(table.waiters.lists) + len(table.waiters.versions); n != 0 {
		t.Errorf("%d waiters are left after their context has ended", n)
	}

	ctx, cancel = context.WithCancel(t.Context())
	subscribing := table.changes(ctx, 0)
	cancel()
	for _, err := range subscribing {
		if err != context.Canceled {
			t.Errorf("Subscribe() yields %v", err)
		}
		if n := len(table.subscriptions); n != 1 {
			t.Errorf("%d subscriptions within the loop", n)
		}
	}
	if n := len(table.subscriptions); n != 0 {
		t.Errorf("%d subscriptions are left after the loop", n)
	}
}

func TestQueueOfABurstIsReleased(t *testing.T) {
	table := newTable(core.Resource{})
	s := table.subscribe(subscription{})
	for i := range 100 {
		ref := core.ObjectRef{Name: string(rune('a' + i))}
		_ = table.put(wire.Head{Ref: ref}, wire.NewPacked(wire.JSON, []byte(`{}`)), "1", 0, false)
	}
	for range 100 {
		if _, ok, err := table.next(s); !ok || err != nil {
			t.Fatalf("next() = %v, %v", ok, err)
		}
	}
	if _, ok, _ := table.next(s); ok || s.queue != nil || s.byRef != nil {
		t.Errorf("the queue has capacity %d and %d objects, want both released", cap(s.queue), len(s.byRef))
	}
}

func TestUnchangedMeansSameObjectAtSameVersion(t *testing.T) {
	old := wire.NewPacked(wire.JSON, []byte(`{"metadata":{"name":"a","uid":"1","resourceVersion":"7"}}`))
	unversioned := wire.NewPacked(wire.JSON, []byte(`{"metadata":{"name":"a","uid":"1"}}`))
	tests := []struct {
		name string
		old  wire.Packed
		now  wire.Head
		want bool
	}{
		{"the same", old, wire.Head{UID: "1", ResourceVersion: "7"}, true},
		{"another version", old, wire.Head{UID: "1", ResourceVersion: "8"}, false},
		{"another object", old, wire.Head{UID: "2", ResourceVersion: "7"}, false},
		{"no version", unversioned, wire.Head{UID: "1"}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := unchanged(test.old, test.now); got != test.want {
				t.Errorf("unchanged(%s, %+v) = %v", test.old.Bytes(), test.now, got)
			}
		})
	}
}
