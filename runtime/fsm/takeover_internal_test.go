// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fsm

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/machine"
	"github.com/kube-go/sdk/core/wire"
)

// TestAnObjectOfAnotherMachineIsNotChanged checks that two machines of a kind do not write the same status, and that
// none of them deletes what the other has declared.
func TestAnObjectOfAnotherMachineIsNotChanged(t *testing.T) {
	f := newFarm(t, Options{})
	if _, _, err := f.reconcile(t); err != nil {
		t.Fatal(err)
	}
	other := New[animal](f.server.Client(), "example.com/other", nil)
	Add(other, end{})
	before := f.get(t)
	const want = "machine example.com/other: the object belongs to the machine example.com/animal"
	if _, err := other.Reconcile(t.Context(), f.get(t)); !core.IsTerminal(err) || !strings.Contains(err.Error(), want) {
		t.Errorf("a pass of the other machine returns %v, want %q", err, want)
	}
	if _, err := other.Plan(t.Context(), f.get(t)); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a plan of the other machine returns %v, want %q", err, want)
	}
	if after := f.get(t); after.ResourceVersion != before.ResourceVersion {
		t.Errorf("the other machine has written %+v", after)
	}

	for _, version := range []string{"", "5f19e3c7", "@@"} { // not those of a machine
		f.change(t, func(obj *animal) { obj.Status.FSM.Version = version })
		if _, _, err := f.reconcile(t); err != nil {
			t.Error(err)
		}
	}
}

// TestRemovedFieldsOfOthersAreRemoved checks that a field which a step clears is removed, although it has another
// manager: to the fake server, all fields have one.
func TestRemovedFieldsOfOthersAreRemoved(t *testing.T) {
	f := newFarm(t, Options{})
	f.change(t, func(obj *animal) { obj.Status.Weight = 7 })
	f.states[0].step = func(_ any, c *Ctx[animal]) outcome {
		c.Obj.Status.Weight = 0
		return outcome{how: stays, reason: "starved"}
	}
	if written, _, err := f.reconcile(t); err != nil || written == nil || written.Status.Weight != 0 {
		t.Errorf("the pass has written %+v, %v", written, err)
	}
	if written, _, err := f.reconcile(t); written != nil || err != nil {
		t.Errorf("the next pass has written %+v, %v", written, err)
	}
}

// TestZeroTimesAreNotWritten checks that a position without times, which no machine stores, gets those of the object:
// the server refuses a null.
func TestZeroTimesAreNotWritten(t *testing.T) {
	f := newFarm(t, Options{Durable: true})
	now := metav1.NewMicroTime(noon)
	stored := &machine.Position{
		State: "work", Visits: map[string]int32{"work": 1}, History: []machine.Past{{State: "a", Since: now}, {State: "b"}},
		Children: map[string]machine.Child{"x": {}, "y": {Since: now}},
	}
	f.change(t, func(obj *animal) {
		obj.Generation, obj.CreationTimestamp, obj.Status.FSM = 1, metav1.NewTime(noon.Add(-time.Hour)), stored
	})
	if _, _, err := f.reconcile(t); err != nil {
		t.Fatal(err)
	}
	p := f.get(t).Status.FSM
	if len(p.History) == 0 || slices.ContainsFunc(p.History, func(past machine.Past) bool { return past.Since.IsZero() }) {
		t.Errorf("the history is %+v", p.History)
	}

	obj := &animal{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(noon.Add(-time.Hour))}}
	got := dated(stored, obj)
	if !got.Since.Time.Equal(noon.Add(-time.Hour)) || !got.Children["x"].Since.Time.Equal(got.Since.Time) ||
		!got.Children["y"].Since.Time.Equal(noon) || len(got.History) != 1 || got.History[0].State != "a" {
		t.Errorf("the position is %+v", got)
	}
	if !stored.Since.IsZero() || len(stored.History) != 2 {
		t.Errorf("the stored position has changed to %+v", stored)
	}
	if p := storedAt("work"); dated(p, obj) != p {
		t.Error("a valid position is copied")
	}
}

// TestRemovals checks which fields of a stored status are removed.
func TestRemovals(t *testing.T) {
	for _, tc := range []struct{ name, was, want, stored, diff string }{
		{"nothing is left", `{"a":1,"b":2}`, `{"a":1}`, `{"a":1}`, `{}`},
		{"a field is left", `{"a":1,"b":2}`, `{"a":1}`, `{"a":1,"b":2}`, `{"b":null}`},
		{"a field that the kind does not have", `{"a":1}`, `{"a":2}`, `{"a":2,"later":1}`, `{}`},
		{"a default of the server", `{}`, `{}`, `{"a":1}`, `{}`},
		{"a nested field", `{"m":{"x":1,"y":2}}`, `{"m":{"x":1}}`, `{"m":{"x":1,"y":2}}`, `{"m":{"y":null}}`},
		{"an item of a list", `{"l":[1,2]}`, `{"l":[1]}`, `{"l":[1,2]}`, `{"l":[1]}`},
		{
			"the other items keep unknown fields", `{"l":[{"k":"a"},{"k":"b","m":{"x":1}}]}`, `{"l":[{"k":"b","m":{"x":1}}]}`,
			`{"l":[{"k":"a"},{"k":"b","later":1,"m":{"later":2,"x":1}}]}`, `{"l":[{"k":"b","later":1,"m":{"later":2,"x":1}}]}`,
		},
		{"equal items", `{"l":[{"x":1},{"x":1}]}`, `{"l":[{"x":1}]}`, `{"l":[{"x":1},{"x":1,"y":2}]}`, `{"l":[{"x":1}]}`},
		{"a list", `{"l":[1,2]}`, `{}`, `{"l":[1,2]}`, `{"l":null}`},
		{"a changed list", `{"l":[1,2]}`, `{"l":[3]}`, `{"l":[3]}`, `{}`},
		{"an object instead of a list", `{"l":[1]}`, `{"l":{"x":1}}`, `{"l":{"x":1}}`, `{}`},
	} {
		var was, want, stored map[string]any
		for _, side := range []struct {
			text string
			into *map[string]any
		}{{tc.was, &was}, {tc.want, &want}, {tc.stored, &stored}} {
			if err := wire.UnmarshalJSON([]byte(side.text), side.into); err != nil {
				t.Fatal(err)
			}
		}
		diff, err := wire.MarshalJSON(removals(was, want, stored))
		if string(diff) != tc.diff || err != nil {
			t.Errorf("%s: the patch is %s, %v, want %s", tc.name, diff, err, tc.diff)
		}
	}
}
