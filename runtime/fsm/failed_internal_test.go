// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fsm

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/events"
	"github.com/kube-go/sdk/runtime/internal/fakeapi"
	"github.com/kube-go/sdk/runtime/wait"
)

// loses makes the last state end with the label "loses", if the object has it.
func loses(_ any, c *Ctx[animal]) outcome {
	if why := c.Obj.Labels["loses"]; why != "" {
		return Failed(To[Terminal]{}, why).Event(events.Event{Type: events.Warning, Reason: "Lost"}).outcome
	}
	return Done(To[Terminal]{}).Event(events.Event{Reason: "Won"}).outcome
}

// TestAFailedObjectIsFinal checks that a wait for an object that has ended with Failed ends at once, that the object
// does not become stuck and is not written again, and that the next change of its spec begins again.
func TestAFailedObjectIsFinal(t *testing.T) {
	for _, durable := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := newFarm(t, Options{Durable: durable, StuckAfter: time.Minute})
			f.states[3].step = loses
			defer f.record(t)()
			f.change(t, func(a *animal) { a.Generation, a.Labels = 1, map[string]string{"loses": "no meadow"} })
			obj, action, err := f.reconcile(t)
			if err != nil || action != controller.AwaitChange() {
				t.Errorf("the pass returns %v, %v", action, err)
			}
			others := []string{"start=True/Completed", "work=True/Completed", "rest=Unknown/NotReached"}
			wantConditions(t, obj, append(others, "end=True/Failed: no meadow", "Ready=False/Failed: end: no meadow",
				"Stalled=True/Failed: end: no meadow")...)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err = wait.Await(ctx, f.animals, "ox", wait.Ready[animal], nil)
			if err == nil || ctx.Err() != nil || !strings.Contains(err.Error(), "end: no meadow") {
				t.Errorf("Await returns %v, context: %v", err, ctx.Err())
			}

			time.Sleep(time.Hour)
			if obj, action, err := f.reconcile(t); obj != nil || err != nil || action != controller.AwaitChange() {
				t.Errorf("an hour later, the pass has written %+v and returns %v, %v", obj, action, err)
			}
			f.wantEvents(t, "Lost")

			f.change(t, func(a *animal) { a.Generation, a.Labels = 2, map[string]string{"wait": "rain"} })
			obj, _, err = f.reconcile(t)
			if err != nil {
				t.Error(err)
			}
			wantConditions(t, obj, "start=True/Completed", "work=False/Waiting: rain for dig", "rest=Unknown/NotReached",
				"end=Unknown/NotReached", "Ready=False/Waiting: work: rain for dig")
			f.change(t, func(a *animal) { a.Labels = nil })
			obj, _, err = f.reconcile(t)
			if err != nil {
				t.Error(err)
			}
			wantConditions(t, obj, append(others, "end=True/Completed", "Ready=True/Completed")...)
			f.wantEvents(t, "Lost", "Won")
		})
	}
}

// TestEachEndHasItsEvent checks that a state that repeats its result has one event, and one that ends in another way
// has another one. A failure that is retried is not one that is final.
func TestEachEndHasItsEvent(t *testing.T) {
	for _, durable := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := newFarm(t, Options{Durable: durable})
			defer f.record(t)()
			f.states[3].step = func(v any, c *Ctx[animal]) outcome {
				if c.Obj.Labels["ill"] != "" {
					return outcome{how: fails, err: errLabel("code 1"), event: &events.Event{Reason: "Ill"}}
				}
				return loses(v, c)
			}
			for _, tc := range []struct{ label, value, events, message string }{
				{"ill", "yes", "Ill", "end: code 1"},
				{"loses", "code 1", "Ill,Lost", "end: code 1"},
				{"loses", "code 2", "Ill,Lost", "end: code 2"}, // the same, with another number
				{"wins", "yes", "Ill,Lost,Won", ""},
				{"loses", "code 3", "Ill,Lost again,Won", "end: code 3"},
				{"loses", "another way", "Ill,Lost again,Won", "end: another way"},
				{"ill", "yes", "Ill again,Lost again,Won", "end: code 1"},
			} {
				f.change(t, func(a *animal) { a.Labels = map[string]string{tc.label: tc.value} })
				for range 2 {
					if _, _, err := f.reconcile(t); (err != nil) != (tc.label == "ill") {
						t.Error(err)
					}
					f.wantEvents(t, strings.Split(tc.events, ",")...)
				}
				for _, c := range f.get(t).Status.Conditions {
					if c.Type == readyType && c.Message != tc.message {
						t.Errorf("after %s=%s, Ready is %+v", tc.label, tc.value, c)
					}
				}
			}
		})
	}
}

// TestAFailureHasAReason checks that the error of Failed without a reason says so.
func TestAFailureHasAReason(t *testing.T) {
	m, obj := newMachine(t, nil), new(animal)
	m.states[3].step = func(any, *Ctx[animal]) outcome { return Failed(To[Terminal]{}, "").outcome }
	const want = "state end: Failed was called without a reason"
	if _, err := m.pass(t, obj, noon).action(); err == nil || err.Error() != want {
		t.Errorf("the error is %v, want %s", err, want)
	}
}

// TestADeletionDoesNotEndWithFailed checks that the finalizer stays, and that the step is retried.
func TestADeletionDoesNotEndWithFailed(t *testing.T) {
	m, obj := newMachine(t, nil), new(animal)
	m.states[5].step = func(any, *Ctx[animal]) outcome { return Failed(To[Terminal]{}, "the grave is full").outcome }
	obj.DeletionTimestamp = new(metav1.NewTime(noon))
	_, err := m.pass(t, obj, noon).action()
	if err == nil || err.Error() != "state buried: the grave is full" || core.IsTerminal(err) {
		t.Errorf("the error is %v, terminal: %t", err, core.IsTerminal(err))
	}
	wantConditions(t, obj, "bury=True/Completed", "buried=False/Failed: the grave is full",
		"Ready=False/Deleting: buried: the grave is full")
}

// TestADeletedObjectIsNotStalled checks that the condition ends with the failure, also if the machine has no states for
// deletions.
func TestADeletedObjectIsNotStalled(t *testing.T) {
	s := newStore(t, "example.com/animal")
	f := &finalizing{server: s.server}
	m := New[animal](fakeapi.ClientOf(f), "example.com/animal", nil)
	Add(m, end{})
	m.states[0].step = declares(loses, coffin())
	s.pass(t, m, func(a *animal) { a.Labels = map[string]string{"loses": "no meadow"} })
	obj, err := s.animals.Get(t.Context(), "ox", nil)
	if err != nil {
		t.Fatal(err)
	}
	wantConditions(t, obj, "end=True/Failed: no meadow", "Ready=False/Failed: end: no meadow",
		"Stalled=True/Failed: end: no meadow")
	s.pass(t, m, func(a *animal) { a.DeletionTimestamp = new(metav1.NewTime(noon)) })
	if obj, err = s.animals.Get(t.Context(), "ox", nil); err != nil {
		t.Fatal(err)
	}
	wantConditions(t, obj, "end=True/Failed: no meadow", "Ready=False/Deleting: Secret meadow/coffin is being deleted")
}

// TestFailedReplacesTheStalledOfAStep checks a machine that also sets the condition itself.
func TestFailedReplacesTheStalledOfAStep(t *testing.T) {
	m, obj := newMachine(t, &Options{Conditions: []string{stalledType}}), new(animal)
	step := m.states[1].step
	m.states[1].step = func(v any, c *Ctx[animal]) outcome {
		c.SetCondition(metav1.Condition{Type: stalledType, Status: metav1.ConditionTrue, Reason: "Mud", Message: "no boots"})
		return step(v, c)
	}
	m.states[3].step = loses
	for range 2 {
		obj.Labels = map[string]string{"wait": "rain"}
		m.pass(t, obj, noon)
		if got := conditionsOf(obj)[5]; got != "Stalled=True/Mud: no boots" {
			t.Errorf("the condition is %s", got)
		}
		obj.Labels = map[string]string{"loses": "no meadow"}
		m.pass(t, obj, noon)
		if got := conditionsOf(obj); len(got) != 6 || got[5] != "Stalled=True/Failed: end: no meadow" {
			t.Errorf("the conditions are %v", got)
		}
	}
}

// TestAFailureIsVisible checks positions, the overview, plans and the hook.
func TestAFailureIsVisible(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var steps []Stepped
		f := newFarm(t, Options{StuckAfter: time.Minute, OnStep: func(
			ctx context.Context, state string,
		) (context.Context, func(Stepped)) {
			return ctx, func(s Stepped) {
				if state == "end" {
					steps = append(steps, s)
				}
			}
		}})
		f.states[3].step = loses
		ox := beast("ox loses=badly")
		f.server.Put(f.api.Resource(), ox)
		stop := f.run(t, cache.New(f.server.Client(), nil))
		defer stop()
		time.Sleep(time.Hour)
		synctest.Wait()
		for p := range f.Positions() {
			want := Position{Key: p.Key, State: "end", Since: p.Since, Visits: 1, Failed: true, Reason: "badly"}
			if p != want {
				t.Errorf("the position is %+v, want %+v", p, want)
			}
		}
		want := StateOverview{GraphState: GraphState{Name: "end", Terminal: true}, Objects: 1, Failed: 1, Visits: 1}
		if s := f.Overview().States[3]; s != want {
			t.Errorf("the overview is %+v, want %+v", s, want)
		}
		if len(steps) != 1 || steps[0] != (Stepped{Failed: true, Reason: "badly"}) {
			t.Errorf("the hook was called with %+v", steps)
		}
		plan, err := f.Plan(t.Context(), ox)
		if err != nil || plan.Done || !plan.Failed || plan.Reason != "badly" || plan.Err != nil {
			t.Errorf("the plan is %+v, %v", plan, err)
		}
	})
}

// TestAFailedChildFailsItsParent checks that a Join waits for the other children, and then fails without a retry. The
// event of the child is recorded once.
func TestAFailedChildFailsItsParent(t *testing.T) {
	for _, durable := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := newFarm(t, Options{})
			m := herd(t, &Options{Durable: durable, Events: f.opts.Events})
			m.api, f.Machine = f.api, m
			defer f.record(t)()
			f.groups[0].states[1].step = loses
			f.change(t, func(a *animal) {
				a.Annotations = map[string]string{"calves": "a bb"}
				a.Labels = map[string]string{"a": "born", "loses": "it is weak"}
			})
			for i := range 2 {
				obj, _, err := f.reconcile(t)
				if err != nil || (obj == nil) != (i > 0) {
					t.Errorf("the pass has written %v, %v", obj, err)
				}
				wantConditions(t, f.get(t), "breed=False/Waiting: bb: not yet", "end=Unknown/NotReached",
					"Ready=False/Waiting: breed: bb: not yet", "Calf.a=False/Failed: calf: it is weak",
					"Calf.bb=False/Waiting: unborn: not yet")
				f.wantEvents(t, "Lost")
			}
			f.change(t, func(a *animal) { a.Labels["bb"] = "born" })
			_, _, err := f.reconcile(t)
			const want = "a: state calf: it is weak\nbb: state calf: it is weak"
			if err == nil || err.Error() != "state breed: "+want || !core.IsTerminal(err) {
				t.Errorf("the error is %v, terminal: %t", err, core.IsTerminal(err))
			}
			wantConditions(t, f.get(t), "breed=False/Failed: "+want, "end=Unknown/NotReached", "Ready=False/Failed: breed: "+want,
				"Calf.a=False/Failed: calf: it is weak", "Calf.bb=False/Failed: calf: it is weak")
		})
	}
}

// TestAParentMayHandleAFailedChild checks that Ended yields the child, and that the failure of a child during a
// deletion is retried.
func TestAParentMayHandleAFailedChild(t *testing.T) {
	for _, deletes := range []bool{false, true} {
		m, obj := herd(t, nil), new(animal)
		m.groups[0].states[1].step = loses
		join := m.states[0].step
		m.states[0].step = func(v any, c *Ctx[animal]) outcome {
			c.walk.deletes = deletes
			return join(v, c)
		}
		obj.Annotations = map[string]string{"calves": "a"}
		obj.Labels = map[string]string{"a": "born", "loses": "it is weak"}
		_, err := m.pass(t, obj, noon).action()
		if err == nil || core.IsTerminal(err) == deletes {
			t.Errorf("deletes %t: the error is %v, terminal: %t", deletes, err, core.IsTerminal(err))
		}
	}
	c := &Children{ended: map[string]any{}}
	c.add("a", Failed(To[Terminal]{}, "it is weak").outcome, calf{Weight: 1}, "calf")
	c.add("b", Done(To[Terminal]{}).outcome, calf{Weight: 2}, "calf")
	var got []string
	for name, s := range Ended[calf](c) {
		got = append(got, fmt.Sprint(name, s.Weight))
	}
	if all := strings.Join(got, " "); all != "a1 b2" {
		t.Errorf("Ended yields %s", all)
	}
}
