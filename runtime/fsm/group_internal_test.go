// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fsm

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/machine"
	"github.com/kube-go/sdk/runtime/internal/fakeapi"
)

// A calf is born when its label is "born", and fails when its label is "ill".
type (
	unborn     struct{ Name string }
	calf       struct{ Weight int }
	fromUnborn interface{ fromUnborn() }

	breed     struct{}
	fromBreed interface{ fromBreed() }
)

func (calf) fromUnborn() {}
func (end) fromBreed()   {}

func (s unborn) Step(c *Ctx[animal], to To[fromUnborn]) Result[fromUnborn] {
	switch c.Obj.Labels[s.Name] {
	case "ill":
		return to.Retry(errLabel("it is ill"))
	case "born":
		return to.Go(calf{Weight: 10 * len(s.Name)})
	}
	return to.Stay("not yet", time.Duration(len(s.Name))*time.Minute)
}

func (calf) Step(_ *Ctx[animal], to To[Terminal]) Result[Terminal] { return Done(to) }

func (breed) Step(*Ctx[animal], To[fromBreed]) Result[fromBreed] { panic("it is replaced") }

// herd is a machine that has calves, by the names in the annotation.
func herd(t *testing.T, o *Options) *Machine[animal] {
	t.Helper()
	m := New[animal](fakeapi.New().Client(), "example.com/herd", o)
	Add(m, breed{})
	Add(m, end{})
	calves := NewGroup(m, "Calf", unborn{})
	Add(calves, calf{})
	if err := m.Check(); err != nil {
		t.Fatal(err)
	}
	m.states[0].step = func(_ any, c *Ctx[animal]) outcome {
		starts := map[string]unborn{}
		for name := range strings.FieldsSeq(c.Obj.Annotations["calves"]) {
			starts[name] = unborn{name}
		}
		var to To[fromBreed]
		children := calves.Run(c, starts)
		if wait, result := Join(to, children); wait {
			return result.outcome
		}
		for name, s := range Ended[calf](children) {
			c.Obj.Status.Weight += s.Weight
			if starts[name].Name != name {
				t.Errorf("%s has ended and was not started", name)
			}
		}
		return to.Go(end{}).outcome
	}
	return m
}

// TestChildrenRunInParallel checks that children have a position and a condition each, and that their parent waits for
// all of them.
func TestChildrenRunInParallel(t *testing.T) {
	for _, durable := range []bool{false, true} {
		t.Run(fmt.Sprintf("durable=%t", durable), func(t *testing.T) {
			m, obj := herd(t, &Options{Durable: durable}), new(animal)
			obj.Annotations = map[string]string{"calves": "a bb ccc"}
			obj.Labels = map[string]string{"bb": "born"}
			w := m.pass(t, obj, noon)
			if action, err := w.action(); err != nil || action.String() != "requeue after 1m0s" {
				t.Errorf("the pass returns %v, %v", action, err)
			}
			wantConditions(t, obj, "breed=False/Waiting: a: not yet; ccc: not yet", "end=Unknown/NotReached",
				"Ready=False/Waiting: breed: a: not yet; ccc: not yet", "Calf.a=False/Waiting: unborn: not yet",
				"Calf.bb=True/Completed", "Calf.ccc=False/Waiting: unborn: not yet")
			if p := obj.Status.FSM.Children; p["Calf.bb"].State != "calf" || p["Calf.a"].State != "unborn" {
				t.Errorf("the positions are %+v", p)
			}

			obj.Labels["a"] = "ill"
			if _, err := m.pass(t, obj, noon.Add(time.Minute)).action(); err == nil || err.Error() != "state breed: a: state unborn: it is ill" {
				t.Errorf("the error is %v", err)
			}
			if since := obj.Status.FSM.Children["Calf.ccc"].Since; !since.Time.Equal(noon) {
				t.Errorf("a child that stays has entered its state at %v", since)
			}
			wantConditions(t, obj, "breed=False/Failed: a: state unborn: it is ill", "end=Unknown/NotReached",
				"Ready=False/Failed: breed: a: state unborn: it is ill", "Calf.a=False/Failed: unborn: it is ill",
				"Calf.bb=True/Completed", "Calf.ccc=False/Waiting: unborn: not yet")

			obj.Annotations["calves"] = "a bb"
			obj.Labels["a"], obj.Labels["bb"] = "born", "not any more"
			m.pass(t, obj, noon.Add(2*time.Minute))
			if durable {
				if obj.Status.Weight != 30 || obj.Status.FSM.State != "end" || obj.Status.FSM.Children != nil {
					t.Errorf("the status is %+v, %+v", obj.Status, obj.Status.FSM)
				}
				wantConditions(t, obj, "breed=True/Completed", "end=True/Completed", "Ready=True/Completed")
			} else {
				wantConditions(t, obj, "breed=False/Waiting: bb: not yet", "end=Unknown/NotReached",
					"Ready=False/Waiting: breed: bb: not yet", "Calf.a=True/Completed", "Calf.bb=False/Waiting: unborn: not yet")
			}
		})
	}
}

// TestChildrenOutliveAFailureOfTheirParent checks that a step that fails before it runs its children does not make them
// begin again.
func TestChildrenOutliveAFailureOfTheirParent(t *testing.T) {
	for _, durable := range []bool{false, true} {
		m, obj := herd(t, &Options{Durable: durable}), new(animal)
		obj.Annotations = map[string]string{"calves": "a bb"}
		obj.Labels = map[string]string{"bb": "born"}
		run, flood := m.states[0].step, false
		m.states[0].step = func(v any, c *Ctx[animal]) outcome {
			if flood {
				return outcome{how: fails, err: errLabel("flood")}
			}
			return run(v, c)
		}
		m.pass(t, obj, noon)
		before := obj.Status.FSM.Children
		flood = true
		m.pass(t, obj, noon)
		wantConditions(t, obj, "breed=False/Failed: flood", "end=Unknown/NotReached", "Ready=False/Failed: breed: flood",
			"Calf.a=False/Waiting: unborn: not yet", "Calf.bb=True/Completed")
		if after := obj.Status.FSM.Children; !reflect.DeepEqual(after, before) {
			t.Errorf("the positions of the children were %+v and are %+v", before, after)
		}
		obj.Generation++ // a durable machine begins again
		m.pass(t, obj, noon)
		if after := obj.Status.FSM.Children; (after == nil) != durable {
			t.Errorf("after a change of the spec, the positions are %+v", after)
		}
	}
}

// TestChildrenOutliveTheOtherMethodsOfTheirParent checks that OnDeadline and OnSpecChange, which stay without running the
// children, do not make them begin again.
func TestChildrenOutliveTheOtherMethodsOfTheirParent(t *testing.T) {
	stay := func(any, *Ctx[animal]) outcome { return outcome{how: stays, reason: "it grazes"} }
	for name, tc := range map[string]struct {
		durable bool
		then    time.Duration
		change  func(breed *state[animal], obj *animal)
	}{
		"OnDeadline":              {true, time.Hour, func(s *state[animal], _ *animal) { s.onDeadline = stay }},
		"OnDeadline, not durable": {false, time.Hour, func(s *state[animal], _ *animal) { s.onDeadline = stay }},
		"OnSpecChange": {true, time.Minute, func(s *state[animal], obj *animal) {
			s.onDeadline, s.onSpecChange = stay, stay
			obj.Generation++
		}},
	} {
		t.Run(name, func(t *testing.T) {
			m, obj := herd(t, &Options{Durable: tc.durable}), new(animal)
			m.states[0].deadline = func(any, *Ctx[animal]) time.Duration { return time.Hour }
			obj.Annotations = map[string]string{"calves": "a bb"}
			obj.Labels = map[string]string{"bb": "born"}
			m.pass(t, obj, noon)
			before := obj.Status.FSM.Children
			tc.change(m.states[0], obj)
			m.pass(t, obj, noon.Add(tc.then))
			wantConditions(t, obj, "breed=False/Waiting: it grazes", "end=Unknown/NotReached",
				"Ready=False/Waiting: breed: it grazes", "Calf.a=False/Waiting: unborn: not yet", "Calf.bb=True/Completed")
			if after := obj.Status.FSM.Children; len(before) != 2 || !reflect.DeepEqual(after, before) {
				t.Errorf("the positions of the children were %+v and are %+v", before, after)
			}
		})
	}
}

// TestAChildHasOneCondition checks the children of a state that a pass enters twice: servers reject repeated
// conditions.
func TestAChildHasOneCondition(t *testing.T) {
	m, obj := herd(t, nil), new(animal)
	m.visits = 2
	obj.Annotations = map[string]string{"calves": "a"}
	once := m.states[0].step
	m.states[0].step = func(v any, c *Ctx[animal]) outcome {
		if out := once(v, c); c.walk.visited[c.walk.at].times == 2 {
			return out
		}
		return outcome{how: restarts}
	}
	m.pass(t, obj, noon)
	wantConditions(t, obj, "breed=False/Waiting: a: not yet", "end=Unknown/NotReached",
		"Ready=False/Waiting: breed: a: not yet", "Calf.a=False/Waiting: unborn: not yet")
}

// TestManyWaitingChildren checks that the reason of a Join is short.
func TestManyWaitingChildren(t *testing.T) {
	m, obj := herd(t, nil), new(animal)
	obj.Annotations = map[string]string{"calves": "a b c d e"}
	if w := m.pass(t, obj, noon); w.end.reason != "a: not yet; b: not yet; c: not yet; and 2 more" {
		t.Errorf("the reason is %q", w.end.reason)
	}
}

// TestAFailingChildDoesNotDelayTheOthers checks that a Join with an error keeps the time at which the next child
// continues.
func TestAFailingChildDoesNotDelayTheOthers(t *testing.T) {
	c := &Children{ended: map[string]any{}}
	c.add("a", outcome{how: fails, err: errLabel("ill"), delay: time.Hour}, nil, "calf")
	c.add("b", outcome{how: stays, reason: "sleeps", delay: 10 * time.Second}, nil, "calf")
	wait, result := Join(To[fromBreed]{}, c)
	if out := result.outcome; !wait || out.how != fails || out.delay != 10*time.Second {
		t.Errorf("Join = %t, %+v, want a failure with a delay of 10s", wait, out)
	}
}

// TestATerminalErrorOfAChildDoesNotEndTheOthers checks that a Join is retried as long as one of its children can be.
func TestATerminalErrorOfAChildDoesNotEndTheOthers(t *testing.T) {
	ill := outcome{how: fails, err: errLabel("ill")}
	dead := outcome{how: fails, err: core.Terminal(errLabel("dead"))}
	for _, tc := range []struct {
		a, b     outcome
		want     string
		terminal bool
	}{
		{ill, dead, "a: state calf: ill\nb: state calf: dead", false},
		{dead, ill, "a: state calf: dead\nb: state calf: ill", false},
		{dead, dead, "a: state calf: dead\nb: state calf: dead", true},
	} {
		c := &Children{ended: map[string]any{}}
		c.add("a", tc.a, nil, "calf")
		c.add("b", tc.b, nil, "calf")
		_, result := Join(To[fromBreed]{}, c)
		if err := result.outcome.err; err.Error() != tc.want || core.IsTerminal(err) != tc.terminal {
			t.Errorf("Join = %v, terminal: %t; want %s, %t", err, core.IsTerminal(err), tc.want, tc.terminal)
		}
	}
}

// TestChildrenWithWrongNames checks the errors of names that conditions can't have: each pass has them, whether the
// state waits for its children or not.
func TestChildrenWithWrongNames(t *testing.T) {
	for _, durable := range []bool{false, true} {
		for _, name := range []string{"a_", strings.Repeat("a", 59), "a/b"} {
			for _, joins := range []bool{true, false} {
				m, obj := herd(t, &Options{Durable: durable}), new(animal)
				obj.Annotations = map[string]string{"calves": name}
				if run := m.states[0].step; !joins {
					m.states[0].step = func(v any, c *Ctx[animal]) outcome {
						run(v, c)
						return outcome{how: goes, next: end{}}
					}
				}
				for range 3 {
					_, err := m.pass(t, obj, noon).action()
					if err == nil || strings.Count(err.Error(), "of the group Calf: want a name") != 1 {
						t.Errorf("durable=%t, joins=%t, a child with the name %q: %v", durable, joins, name, err)
					}
				}
			}
		}
	}
	m, obj := New[animal](fakeapi.New().Client(), "example.com/herd", nil), new(animal)
	Add(m, breed{})
	Add(m, end{})
	calves := NewGroup(m, "calf", unborn{}) // calf.a/b would be a qualified name
	Add(calves, calf{})
	m.states[0].step = func(_ any, c *Ctx[animal]) outcome {
		_, result := Join(To[fromBreed]{}, calves.Run(c, map[string]unborn{"a/b": {}}))
		return result.outcome
	}
	if _, err := m.pass(t, obj, noon).action(); err == nil || !strings.Contains(err.Error(), `child "a/b" of the group calf`) {
		t.Errorf("a child with a slash in its name: %v", err)
	}
	for want, name := range map[string]string{
		`the name "a.b" of a group can't begin the types of conditions: use letters`: "a.b",
		`the name "" of a group can't begin the types of conditions`:                 "",
		"the group Calf is added twice: give each group":                             "Calf",
	} {
		m := herd(t, nil)
		again := New[animal](fakeapi.New().Client(), "example.com/herd", nil)
		Add(again, end{})
		again.groups = slices.Clone(m.groups)
		Add(NewGroup(again, name, unborn{}), calf{})
		if err := again.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %q", err, want)
		}
	}
}

// TestAChildOfAMachineThatBecomesDurableBeginsAgain checks a child whose visits were not stored.
func TestAChildOfAMachineThatBecomesDurableBeginsAgain(t *testing.T) {
	m, obj := herd(t, &Options{Durable: true}), new(animal)
	obj.Annotations = map[string]string{"calves": "a"}
	obj.Status.FSM = storedAt("breed")
	obj.Status.FSM.Generation = 0
	obj.Status.FSM.Children = map[string]machine.Child{"Calf.a": {State: "calf", Since: metav1.NewMicroTime(noon)}}
	m.pass(t, obj, noon)
	if child := obj.Status.FSM.Children["Calf.a"]; child.State != "unborn" {
		t.Errorf("the child is %+v, want the initial state", child)
	}
}

// TestTheGraphHasTheGroups checks the states of groups in the graph, and that Check examines them.
func TestTheGraphHasTheGroups(t *testing.T) {
	m := herd(t, nil)
	want := `stateDiagram-v2
    [*] --> breed
    breed --> end
    end --> [*]
    state "Calf" as part1 {
        state "Calf.unborn" as Calf_unborn
        [*] --> Calf_unborn
        Calf_unborn --> Calf_calf
        state "Calf.calf" as Calf_calf
        Calf_calf --> [*]
    }
`
	if got := m.Graph().Mermaid(); got != want {
		t.Errorf("Mermaid returns\n%s\nwant\n%s", got, want)
	}
	bad := New[animal](fakeapi.New().Client(), "example.com/herd", nil)
	Add(bad, end{})
	NewGroup(bad, "Calf", unborn{})
	if err := bad.Check(); err == nil || !strings.Contains(err.Error(), "state Calf.unborn is a dead end") {
		t.Errorf("the error is %v", err)
	}
}

// TestTheSameChildrenWriteNothing checks that a pass with children that stay changes nothing.
func TestTheSameChildrenWriteNothing(t *testing.T) {
	for _, durable := range []bool{false, true} {
		m, obj := herd(t, &Options{Durable: durable}), new(animal)
		obj.Annotations = map[string]string{"calves": "a bb"}
		obj.Labels = map[string]string{"bb": "born"}
		m.pass(t, obj, noon)
		before := obj.Status.DeepCopy()
		m.pass(t, obj, noon.Add(time.Minute))
		same := func(a, b metav1.Condition) bool { return a == b }
		if !slices.EqualFunc(before.Conditions, obj.Status.Conditions, same) ||
			!slices.Equal(slices.Sorted(maps.Keys(before.FSM.Children)), slices.Sorted(maps.Keys(obj.Status.FSM.Children))) {
			t.Errorf("the status was %+v, %+v and is %+v, %+v", before, before.FSM, obj.Status, obj.Status.FSM)
		}
	}
}
