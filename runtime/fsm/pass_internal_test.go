// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fsm

import (
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kube-go/sdk/core/machine"
	"github.com/kube-go/sdk/runtime/events"
	"github.com/kube-go/sdk/runtime/internal/fakeapi"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// conditionsOf returns the conditions of an object as "Type=Status/Reason: message".
func conditionsOf(obj *animal) []string {
	var all []string
	for _, c := range obj.Status.Conditions {
		text := c.Type + "=" + string(c.Status) + "/" + c.Reason
		if c.Message != "" {
			text += ": " + c.Message
		}
		all = append(all, text)
	}
	return all
}

func wantConditions(t *testing.T, obj *animal, want ...string) {
	t.Helper()
	if got := conditionsOf(obj); !slices.Equal(got, want) {
		t.Errorf("the conditions are\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// TestPass checks where the passes of one object lead, and what they write.
func TestPass(t *testing.T) {
	t.Run("until the end", func(t *testing.T) {
		m, obj := newMachine(t, nil), new(animal)
		w := m.pass(t, obj, noon)
		if w.end.how != ends || obj.Status.FSM.State != "end" || obj.Status.FSM.Data != nil || obj.Status.FSM.Visits != nil {
			t.Errorf("the pass ended with %+v at %+v", w.end, obj.Status.FSM)
		}
		wantConditions(t, obj, "start=True/Completed", "work=True/Completed", "rest=Unknown/NotReached", "end=True/Completed",
			"Ready=True/Completed")
	})
	t.Run("waiting", func(t *testing.T) {
		m, obj := newMachine(t, nil), new(animal)
		obj.Labels = map[string]string{"wait": "rain"}
		w := m.pass(t, obj, noon)
		if w.end.how != stays || w.end.delay != time.Minute || obj.Status.FSM.State != "work" {
			t.Errorf("the pass ended with %+v at %+v", w.end, obj.Status.FSM)
		}
		wantConditions(t, obj, "start=True/Completed", "work=False/Waiting: rain for dig", "rest=Unknown/NotReached",
			"end=Unknown/NotReached", "Ready=False/Waiting: work: rain for dig")
	})
	t.Run("failing", func(t *testing.T) {
		m, obj := newMachine(t, nil), new(animal)
		obj.Labels = map[string]string{"fail": "hard rock"}
		if _, err := m.pass(t, obj, noon).action(); err == nil || err.Error() != "state work: hard rock" {
			t.Errorf("the error is %v", err)
		}
		wantConditions(t, obj, "start=True/Completed", "work=False/Failed: hard rock", "rest=Unknown/NotReached",
			"end=Unknown/NotReached", "Ready=False/Failed: work: hard rock")
	})
	t.Run("deletion", func(t *testing.T) {
		m, obj := newMachine(t, &Options{Durable: true}), new(animal)
		obj.Labels = map[string]string{"wait": "rain"}
		m.pass(t, obj, noon)
		obj.DeletionTimestamp = new(metav1.NewTime(noon))
		obj.Generation++
		if w := m.pass(t, obj, noon); w.end.how != ends {
			t.Errorf("the pass ended with %+v", w.end)
		}
		wantConditions(t, obj, "Ready=False/Deleting", "bury=True/Completed", "buried=True/Completed")
	})
}

// TestAPassBeginsAtTheStoredState checks all cases of the beginning of a pass.
func TestAPassBeginsAtTheStoredState(t *testing.T) {
	at := func(state, data string) *machine.Position {
		p := &machine.Position{
			State: state, Since: metav1.NewMicroTime(noon), Generation: 1, Visits: map[string]int32{state: 1},
		}
		if data != "" {
			p.Data = &runtime.RawExtension{Raw: []byte(data)}
		}
		return p
	}
	durable := &Options{Durable: true, Renamed: map[string]string{"toil": "work", "gone": ""}}
	for name, tc := range map[string]struct {
		options    *Options
		stored     *machine.Position
		generation int64
		labels     string
		want       string // the message of Ready, or the history, the newest first
	}{
		"first pass":     {options: durable, want: "work: rain for dig < start"},
		"not durable":    {stored: at("work", `{"Job":"saw"}`), want: "work: rain for dig"},
		"stored data":    {options: durable, stored: at("work", `{"Job":"saw"}`), want: "work: rain for saw"},
		"no stored data": {options: durable, stored: at("work", ""), want: "work: rain for "},
		"not durable before": {
			options: durable, stored: &machine.Position{State: "rest", Since: metav1.NewMicroTime(noon), Generation: 1},
			want: "work: rain for dig < start < rest",
		},
		"unknown fields":          {options: durable, stored: at("work", `{"Job":"saw","Old":1}`), want: "work: rain for saw"},
		"renamed":                 {options: durable, stored: at("toil", `{"Job":"saw"}`), want: "work: rain for saw"},
		"removed":                 {options: durable, stored: at("gone", ""), want: "work: rain for dig < start < gone"},
		"unknown":                 {options: durable, stored: at("lost", ""), want: "work: rain for dig < start < lost"},
		"of the deletion":         {options: durable, stored: at("bury", ""), want: "work: rain for dig < start < bury"},
		"data of another type":    {options: durable, stored: at("work", `[]`), want: "work: rain for dig < start < work"},
		"refused by Verify":       {options: durable, stored: at("work", `{"Job":"saw"}`), labels: "refuse", want: "work: rain for dig < start < work"},
		"changed spec":            {options: durable, stored: at("work", `{"Job":"saw"}`), generation: 2, want: "work: rain for dig < start < work"},
		"changed spec, OnSpec":    {options: durable, stored: at("rest", ""), generation: 2, want: "rest: changed"},
		"not yet at the deadline": {options: durable, stored: at("rest", ""), want: "work: rain for plough < rest"},
		"at the deadline": {
			options: durable,
			stored: &machine.Position{
				State: "rest", Since: metav1.NewMicroTime(noon.Add(-time.Hour)), Generation: 1, Visits: map[string]int32{"rest": 1},
			},
			want: "work: rain for late < rest",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, obj := newMachine(t, tc.options), new(animal)
			obj.Generation = max(1, tc.generation)
			obj.Labels = map[string]string{"wait": "rain"}
			if tc.labels != "" {
				obj.Labels[tc.labels] = "no"
			}
			obj.Status.FSM = tc.stored
			m.pass(t, obj, noon)
			ready := obj.Status.Conditions[len(obj.Status.Conditions)-1]
			var got strings.Builder
			got.WriteString(ready.Message)
			for _, past := range obj.Status.FSM.History {
				got.WriteString(" < " + past.State)
			}
			if got.String() != tc.want {
				t.Errorf("the pass led to %q, want %q", got.String(), tc.want)
			}
		})
	}
}

// TestACycleIsBounded checks that a pass enters a state only as often as the machine allows.
func TestACycleIsBounded(t *testing.T) {
	obj := new(animal)
	obj.Labels = map[string]string{"rest": "yes"}
	_, err := newMachine(t, nil).pass(t, obj, noon).action()
	if err == nil || !strings.Contains(err.Error(), "entered state work 2 times") {
		t.Errorf("a cycle of a machine that is not durable: %v", err)
	}

	m := newMachine(t, &Options{Durable: true})
	m.visits = 3
	obj.Status.FSM = nil
	w := m.pass(t, obj, noon)
	if action, err := w.action(); err != nil || action.String() != "requeue after back-off" {
		t.Errorf("a cycle of a durable machine: %v, %v", action, err)
	}
	want := map[string]int32{"start": 1, "work": 4, "rest": 3}
	if got := obj.Status.FSM.Visits; !maps.Equal(got, want) {
		t.Errorf("the visits are %v, want %v", got, want)
	}
	obj.Labels = nil
	m.pass(t, obj, noon)
	if obj.Status.FSM.State != "end" {
		t.Errorf("the next pass led to %+v, want end", obj.Status.FSM)
	}
}

// TestWrongResults checks the errors of results that the compiler accepts.
func TestWrongResults(t *testing.T) {
	m := newMachine(t, nil)
	for want, out := range map[string]outcome{
		"Go was called with nil":                      {how: goes},
		"pointer *fsm.work: pass the struct":          {how: goes, next: &work{}},
		"Go was called with fsm.rest, which is not":   {how: goes, next: rest{}},
		"Step has returned the zero Result":           {},
		"Retry was called with nil":                   {how: fails},
		"Go was called with string, which is not add": {how: goes, next: "work"},
	} {
		m.states[0].step = func(any, *Ctx[animal]) outcome { return out }
		obj := new(animal)
		if _, err := m.pass(t, obj, noon).action(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %q", err, want)
		}
		if !strings.Contains(obj.Status.Conditions[0].Message, want) {
			t.Errorf("the condition is %+v, want %q", obj.Status.Conditions[0], want)
		}
	}
}

// TestOwnConditions checks SetCondition.
func TestOwnConditions(t *testing.T) {
	m := newMachine(t, &Options{Conditions: []string{"BackedUp"}})
	backup := func(typ string) func(any, *Ctx[animal]) outcome {
		return func(_ any, c *Ctx[animal]) outcome {
			c.SetCondition(metav1.Condition{Type: typ, Status: metav1.ConditionFalse, Reason: "Running"})
			c.SetCondition(metav1.Condition{Type: typ, Status: metav1.ConditionTrue, Reason: "Finished", Message: "at noon"})
			return outcome{how: stays, reason: "here"}
		}
	}
	m.states[0].step = backup("BackedUp")
	obj := new(animal)
	obj.Status.Conditions = []metav1.Condition{{Type: "Foreign", Status: metav1.ConditionTrue, Reason: "Other"}}
	m.pass(t, obj, noon)
	wantConditions(t, obj, "Foreign=True/Other", "start=False/Waiting: here", "work=Unknown/NotReached",
		"rest=Unknown/NotReached", "end=Unknown/NotReached", "Ready=False/Waiting: start: here", "BackedUp=True/Finished: at noon")

	m.states[0].step = func(any, *Ctx[animal]) outcome { return outcome{how: stays, reason: "here"} }
	m.pass(t, obj, noon)
	if slices.ContainsFunc(obj.Status.Conditions, func(c metav1.Condition) bool { return c.Type == "BackedUp" }) {
		t.Error("a condition that the pass has not set is still there")
	}

	m.states[0].step = backup("Foreign")
	if w := m.pass(t, obj, noon); w.end.how != fails || !strings.Contains(w.end.err.Error(), "Options.Conditions does not list") {
		t.Errorf("a condition that is not listed: %+v", w.end)
	}
}

// TestAWrongConditionFailsEachPass checks that a durable machine repeats the step that sets a condition that is not
// listed, or that changes a condition of others.
func TestAWrongConditionFailsEachPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for want, wrong := range map[string]func(c *Ctx[animal]){
			"which Options.Conditions does not list": func(c *Ctx[animal]) {
				c.SetCondition(metav1.Condition{Type: "BackedUp", Status: "True", Reason: "Done"})
			},
			"a Step has changed c.Obj.Status.Conditions": func(c *Ctx[animal]) {
				foreign := metav1.Condition{Type: "Foreign", Status: "True", Reason: "Done"}
				c.Obj.Status.Conditions = append(c.Obj.Status.Conditions, foreign)
			},
		} {
			for _, durable := range []bool{false, true} {
				f := newFarm(t, Options{Durable: durable})
				stop, wait := f.record(t), true
				f.states[0].step = func(_ any, c *Ctx[animal]) outcome {
					if wait {
						return outcome{how: stays, reason: "it rains"}
					}
					wrong(c)
					return outcome{how: goes, next: work{"dig"}, event: &events.Event{Reason: "Started"}}
				}
				if _, _, err := f.reconcile(t); err != nil {
					t.Error(err)
				}
				before := f.get(t).Status.FSM
				wait = false
				for range 3 {
					_, _, err := f.reconcile(t)
					after := f.get(t).Status.FSM
					if err == nil || !strings.Contains(err.Error(), want) || durable && !reflect.DeepEqual(before, after) {
						t.Errorf("durable=%t: the pass returns %v, and its position is %+v, want %q", durable, err, after, want)
					}
				}
				if stop(); durable {
					f.wantEvents(t)
				}
			}
		}
	})
}

// TestAStateThatCannotBeStoredFails checks that the next pass does not begin at a state whose fields JSON can't encode.
func TestAStateThatCannotBeStoredFails(t *testing.T) {
	for _, stored := range []*machine.Position{nil, {
		State: "start", Since: metav1.NewMicroTime(noon), Generation: 1, Visits: map[string]int32{"start": 1},
		Data: &runtime.RawExtension{Raw: []byte(`{"Old":1}`)},
	}} {
		m, obj := New[animal](fakeapi.New().Client(), "example.com/animal", &Options{Durable: true}), new(animal)
		Add(m, start{})
		Add(m, odd{})
		Add(m, end{})
		if err := m.Check(); err != nil {
			t.Fatal(err)
		}
		m.states[0].step = func(_ any, c *Ctx[animal]) outcome {
			return outcome{how: goes, next: odd{Ratio: math.NaN()}}
		}
		obj.Generation, obj.Status.FSM = 1, stored
		for range 2 {
			want := "state odd: it can't be stored: json: unsupported value: NaN"
			if _, err := m.pass(t, obj, noon).action(); err == nil || err.Error() != want {
				t.Errorf("the error is %v, want %q", err, want)
			}
			if stored != nil && !reflect.DeepEqual(obj.Status.FSM.Data, stored.Data) {
				t.Errorf("the position is %+v, want that before the pass", obj.Status.FSM)
			}
		}
	}
}

// odd is a state that can't be stored if it has no ratio.
type odd struct{ Ratio float64 }

func (odd) fromStart() {}
func (odd) fromOdd()   {}
func (end) fromOdd()   {}

type fromOdd interface{ fromOdd() }

func (s odd) Step(_ *Ctx[animal], to To[fromOdd]) Result[fromOdd] {
	if !math.IsNaN(s.Ratio) {
		return to.Go(end{})
	}
	return to.Stay("no ratio", 0)
}
