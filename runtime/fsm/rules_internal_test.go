// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fsm

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/machine"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/inventory"
)

// storedAt returns the position of a durable machine in a state since noon.
func storedAt(state string) *machine.Position {
	return &machine.Position{
		State: state, Since: metav1.NewMicroTime(noon), Generation: 1, Visits: map[string]int32{"start": 1, state: 3},
		History: []machine.Past{{State: "earlier", Since: metav1.NewMicroTime(noon.Add(-time.Hour))}},
	}
}

// pastOf returns the states of the history, the newest first.
func pastOf(obj *animal) string {
	var all []string
	for _, past := range obj.Status.FSM.History {
		all = append(all, past.State)
	}
	return strings.Join(all, " ")
}

// TestTheNextPassIsInTime checks that a state which stays is looked at again at its deadline, and when it becomes
// stuck, also without a delay of its own.
func TestTheNextPassIsInTime(t *testing.T) {
	for _, tc := range []struct {
		name                        string
		delay, deadline, stuck, age time.Duration
		want                        time.Duration
		late                        bool // OnDeadline is called
		silent                      bool // the state stays without a reason
		fails                       bool // the state fails
	}{
		{name: "no limit", want: 0},
		{name: "no reason", delay: time.Minute, want: time.Minute, silent: true},
		{name: "its delay", delay: time.Minute, deadline: time.Hour, stuck: time.Hour, want: time.Minute},
		{name: "the deadline without a delay", deadline: time.Hour, age: time.Minute, want: 59 * time.Minute},
		{name: "the deadline before the delay", delay: 2 * time.Hour, deadline: time.Hour, want: time.Hour},
		{name: "stuck before the deadline", deadline: time.Hour, stuck: time.Minute, want: time.Minute},
		{name: "stuck already", delay: time.Hour, stuck: time.Minute, age: 2 * time.Minute, want: time.Hour},
		{name: "no deadline", delay: time.Hour, age: 1000 * time.Hour, want: time.Hour},
		{name: "a failure without a deadline", fails: true, want: 0},
		{name: "a failure before the deadline", fails: true, deadline: time.Hour, age: time.Minute, want: 59 * time.Minute},
		{name: "a failure before it is stuck", fails: true, deadline: time.Hour, stuck: time.Minute, want: time.Minute},
		{name: "before it was entered", deadline: time.Hour, age: -time.Minute, want: time.Hour},
		{name: "long before", deadline: math.MaxInt64, stuck: math.MaxInt64, age: -time.Minute, want: math.MaxInt64},
		{name: "a negative deadline", delay: time.Minute, deadline: -time.Hour, want: time.Second, late: true},
		{name: "the most negative deadline", deadline: math.MinInt64, age: time.Hour, want: time.Second, late: true},
		{name: "after the deadline", delay: time.Minute, deadline: time.Hour, age: time.Hour, want: time.Second, late: true},
	} {
		m, obj := newMachine(t, &Options{Durable: true, StuckAfter: tc.stuck}), new(animal)
		obj.Generation, obj.Status.FSM, obj.Status.Weight = 1, storedAt("rest"), int(tc.deadline)
		late, rest := false, m.states[m.find("rest")]
		reason := "here"
		if tc.silent {
			reason = ""
		}
		rest.step = func(any, *Ctx[animal]) outcome {
			if tc.fails {
				return outcome{how: fails, err: errLabel("no food")}
			}
			return outcome{how: stays, reason: reason, delay: tc.delay}
		}
		rest.onDeadline = func(any, *Ctx[animal]) outcome {
			late = true
			return outcome{how: stays, reason: "late", delay: time.Second}
		}
		rest.deadline = func(_ any, c *Ctx[animal]) time.Duration { return time.Duration(c.Obj.Status.Weight) }
		if w := m.pass(t, obj, noon.Add(tc.age)); w.end.delay != tc.want || late != tc.late {
			t.Errorf("%s: the next pass is in %v, OnDeadline was called: %t; want %v, %t", tc.name, w.end.delay, late, tc.want, tc.late)
		}
	}
}

// TestAChangeOfTheSpecIsNotLost checks that OnSpecChange is called until it has done its work.
func TestAChangeOfTheSpecIsNotLost(t *testing.T) {
	plough := outcome{how: goes, next: work{"plough"}}
	for name, tc := range map[string]struct {
		result outcome
		out    fakeOutputs
		again  bool
	}{
		"stays":           {result: outcome{how: stays, reason: "here"}},
		"stays and waits": {result: outcome{how: stays, reason: "here"}, out: fakeOutputs{waiting: "for a secret"}},
		"goes":            {result: plough},
		"goes and waits":  {result: plough, out: fakeOutputs{waiting: "for a secret"}, again: true},
		"fails":           {result: outcome{how: fails, err: errLabel("ill")}, again: true},
		"can't apply":     {result: plough, out: fakeOutputs{err: errLabel("refused")}, again: true},
	} {
		m, obj := newMachine(t, &Options{Durable: true}), new(animal)
		obj.Generation, obj.Labels = 2, map[string]string{"wait": "rain"}
		calls := 0
		m.states[m.find("rest")].onSpecChange = func(_ any, c *Ctx[animal]) outcome {
			calls++
			c.Apply(inventory.Declaration{Object: secret("a")})
			return tc.result
		}
		out := tc.out
		w := m.walk(&Ctx[animal]{Context: t.Context(), Obj: obj}, storedAt("rest"), nil, 2, false, noon, &out)
		if again := w.position.Generation == 1; calls != 1 || again != tc.again {
			t.Errorf("%s: OnSpecChange was called %d times, and is called again: %t, want %t", name, calls, again, tc.again)
		}
		if w.position.State == "rest" && w.position.Visits["rest"] != 3 {
			t.Errorf("%s: the position is %+v, want that before the pass", name, w.position)
		}
	}
}

// TestADeadlineThatIsOverPrecedesAChangeOfTheSpec checks that a change of the spec does not replace OnDeadline, and
// that the change is not lost: the state after OnDeadline reacts to it.
func TestADeadlineThatIsOverPrecedesAChangeOfTheSpec(t *testing.T) {
	leaves, stay := outcome{how: goes, next: work{"late"}}, outcome{how: stays, reason: "late"}
	for name, tc := range map[string]struct {
		late    outcome // the result of OnDeadline
		reacts  bool    // the state work has OnSpecChange
		calls   string
		state   string
		pending bool // the next pass reacts to the change
	}{
		"goes":                              {leaves, true, "OnDeadline work.OnSpecChange", "work", false},
		"goes to a state without a method":  {leaves, false, "OnDeadline start", "start", false},
		"goes back to the initial state":    {outcome{how: restarts}, false, "OnDeadline start", "start", false},
		"stays":                             {stay, true, "OnDeadline", "rest", true},
		"stays, without a method elsewhere": {stay, false, "OnDeadline", "rest", true},
		"fails":                             {outcome{how: fails, err: errLabel("ill")}, true, "OnDeadline", "rest", true},
	} {
		m, obj := newMachine(t, &Options{Durable: true}), new(animal)
		var calls []string
		method := func(name string, out outcome) handler[animal] {
			return func(any, *Ctx[animal]) outcome {
				calls = append(calls, name)
				return out
			}
		}
		here := outcome{how: stays, reason: "here"}
		m.states[0].step = method("start", here)
		m.states[1].step = method("work", here)
		if tc.reacts {
			m.states[1].onSpecChange = method("work.OnSpecChange", here)
		}
		m.states[2].onSpecChange = method("rest.OnSpecChange", here)
		m.states[2].onDeadline = method("OnDeadline", tc.late)
		obj.Generation, obj.Status.FSM = 2, storedAt("rest")
		m.pass(t, obj, noon.Add(2*time.Hour))
		p := obj.Status.FSM
		if got := strings.Join(calls, " "); got != tc.calls || p.State != tc.state || (p.Generation == 1) != tc.pending {
			t.Errorf("%s: the pass has called %s, and the position is %+v", name, got, p)
		}
	}
}

// TestAFailingOnSpecChangeDoesNotSuspendTheDeadline checks the passes after a change of the spec that OnSpecChange
// can't handle.
func TestAFailingOnSpecChangeDoesNotSuspendTheDeadline(t *testing.T) {
	for name, tc := range map[string]struct {
		result outcome
		out    fakeOutputs
	}{
		"fails":             {result: outcome{how: fails, err: errLabel("no food")}},
		"fails permanently": {result: outcome{how: fails, err: core.Terminal(errLabel("no food"))}},
		"goes and waits":    {result: outcome{how: goes, next: work{"plough"}}, out: fakeOutputs{waiting: "for a secret"}},
	} {
		m, obj := newMachine(t, &Options{Durable: true}), new(animal)
		at, late := m.states[m.find("rest")], 0
		at.onSpecChange = func(_ any, c *Ctx[animal]) outcome {
			c.Apply(inventory.Declaration{Object: secret("a")})
			return tc.result
		}
		at.onDeadline = func(any, *Ctx[animal]) outcome {
			late++
			return outcome{how: stays, reason: "late"}
		}
		obj.Generation, obj.Status.FSM = 2, storedAt("rest")
		for _, age := range []time.Duration{0, 59 * time.Minute, time.Hour} {
			out := tc.out
			c := &Ctx[animal]{Context: t.Context(), Obj: obj}
			w := m.walk(c, obj.Status.FSM, nil, 2, false, noon.Add(age), &out)
			obj.Status.FSM = &w.position
			if want := age / time.Hour; late != int(want) {
				t.Errorf("%s: after %v, OnDeadline was called %d times, want %d", name, age, late, want)
			}
		}
	}
}

// TestTheDeadlineAfterAStepIsThatOfTheNewStatus checks that a pass follows a step whose changes have put an end to the
// time in its state.
func TestTheDeadlineAfterAStepIsThatOfTheNewStatus(t *testing.T) {
	m, obj := newMachine(t, &Options{Durable: true}), new(animal)
	at := m.states[m.find("rest")]
	at.deadline = func(_ any, c *Ctx[animal]) time.Duration { return time.Duration(3-c.Obj.Status.Weight) * time.Hour }
	at.step = func(_ any, c *Ctx[animal]) outcome {
		c.Obj.Status.Weight = 2
		return outcome{how: stays, reason: "here"}
	}
	obj.Generation, obj.Status.FSM = 1, storedAt("rest")
	if action, err := m.pass(t, obj, noon.Add(2*time.Hour)).action(); err != nil || action != controller.RequeueAfter(0) {
		t.Errorf("the pass returns %v, %v", action, err)
	}
}

// TestANegativeDelayIsTheShortest checks that the time until a moment that has passed does not mean no limit.
func TestANegativeDelayIsTheShortest(t *testing.T) {
	for name, step := range map[string]func(to To[fromWork]) Result[fromWork]{
		"Stay": func(to To[fromWork]) Result[fromWork] { return to.Stay("here", -time.Minute) },
		"Idle": func(to To[fromWork]) Result[fromWork] { return to.Idle("here", -time.Minute) },
		"Join": func(to To[fromWork]) Result[fromWork] {
			return joined(to, to.Stay("there", -time.Minute), to.Stay("there", time.Hour))
		},
		"Join last": func(to To[fromWork]) Result[fromWork] {
			return joined(to, to.Stay("there", time.Hour), to.Stay("there", -time.Minute))
		},
	} {
		m := newMachine(t, &Options{StuckAfter: time.Hour})
		m.states[m.find("work")].step = func(any, *Ctx[animal]) outcome { return step(To[fromWork]{}).outcome }
		action, err := m.pass(t, new(animal), noon).action()
		if err != nil || action != controller.RequeueAfter(0) {
			t.Errorf("%s: the pass returns %v, %v, want a run after the back-off", name, action, err)
		}
	}
}

// joined returns the result of a state whose children have the given results.
func joined[E, C any](to To[E], results ...Result[C]) Result[E] {
	c := &Children{ended: map[string]any{}}
	for _, r := range results {
		c.add("child", r.outcome, nil, "work")
	}
	_, result := Join(to, c)
	return result
}

// TestRestartForgetsTheVisits checks where a pass begins again, and what it keeps.
func TestRestartForgetsTheVisits(t *testing.T) {
	m, obj := newMachine(t, &Options{Durable: true}), new(animal)
	m.visits = 2
	obj.Generation, obj.Status.FSM = 1, storedAt("work")
	again := false
	m.states[m.find("work")].step = func(any, *Ctx[animal]) outcome {
		if again {
			return outcome{how: stays, reason: "here"}
		}
		again = true
		return outcome{how: restarts}
	}
	m.pass(t, obj, noon.Add(time.Minute))
	p := obj.Status.FSM
	if want := map[string]int32{"start": 1, "work": 1}; !maps.Equal(p.Visits, want) || p.State != "work" {
		t.Errorf("after Restart, the position is %+v, want the visits %v", p, want)
	}
	if got := pastOf(obj); got != "start work earlier" {
		t.Errorf("after Restart, the history is %s", got)
	}

	obj.Generation, obj.Status.FSM = 2, storedAt("work") // a changed spec begins at the initial state, too
	m.pass(t, obj, noon.Add(time.Minute))
	if got := pastOf(obj); got != "start work earlier" {
		t.Errorf("after a change of the spec, the history is %s", got)
	}
}

// TestConditionsOfFormerStatesGo checks that the condition of a renamed state is removed, and that a condition without
// a time gets one.
func TestConditionsOfFormerStatesGo(t *testing.T) {
	m, obj := newMachine(t, &Options{Renamed: map[string]string{"toil": "work", "gone": ""}}), new(animal)
	obj.Status.Conditions = []metav1.Condition{
		{Type: "toil", Status: metav1.ConditionTrue},
		{Type: "gone", Status: metav1.ConditionTrue},
		{Type: "Ready", Status: metav1.ConditionTrue},
		{Type: "Foreign", Status: metav1.ConditionTrue},
	}
	m.pass(t, obj, noon)
	wantConditions(t, obj, "Ready=True/Completed", "Foreign=True/", "start=True/Completed", "work=True/Completed",
		"rest=Unknown/NotReached", "end=True/Completed")
	if got := obj.Status.Conditions[0].LastTransitionTime; !got.Time.Equal(noon) {
		t.Errorf("the time of Ready is %v", got)
	}
}

// TestMessagesHaveALimit checks that a long reason to stay is cut between two characters.
func TestMessagesHaveALimit(t *testing.T) {
	m, obj := newMachine(t, nil), new(animal)
	obj.Labels = map[string]string{"wait": "?" + strings.Repeat("ä", maxMessage)}
	m.pass(t, obj, noon)
	for _, typ := range []string{"Ready", "work"} {
		c := meta.FindStatusCondition(obj.Status.Conditions, typ)
		if c == nil || len(c.Message) != maxMessage || !strings.HasSuffix(c.Message, "ä…") {
			t.Errorf("the condition %s does not exist, or its message has another length or end", typ)
		}
	}
}

// TestPlanNamesItsStates checks what a plan has of a pass that writes only the status.
func TestPlanNamesItsStates(t *testing.T) {
	f := newFarm(t, Options{})
	before := f.get(t)
	p, err := f.Plan(t.Context(), f.get(t))
	if err != nil || !slices.Equal(p.States, []string{"start", "work", "end"}) || !p.Done || p.Err != nil {
		t.Errorf("the plan is %+v, %v", p, err)
	}
	f.change(t, func(obj *animal) { obj.Labels = map[string]string{"wait": "rain"} })
	p, err = f.Plan(t.Context(), f.get(t))
	if err != nil || p.Done || p.Reason != "rain for dig" {
		t.Errorf("the plan is %+v, %v", p, err)
	}
	if after := f.get(t); after.Status.FSM != nil || len(after.Status.Conditions) != len(before.Status.Conditions) {
		t.Errorf("the plan has written %+v", after.Status)
	}
}

// TestAChildKnowsItsNameAndIsNeverIdle checks the context of the steps of child machines, and that Idle waits there.
func TestAChildKnowsItsNameAndIsNeverIdle(t *testing.T) {
	m, obj := herd(t, nil), new(animal)
	obj.Annotations = map[string]string{"calves": "ida ben.2"}
	var names []string
	m.groups[0].states[0].step = func(_ any, c *Ctx[animal]) outcome {
		names = append(names, c.Child())
		return outcome{how: stays, reason: "asleep", idle: true}
	}
	breed := m.states[0].step
	m.states[0].step = func(v any, c *Ctx[animal]) outcome {
		if c.Child() != "" {
			t.Errorf("the machine itself is the child %s", c.Child())
		}
		return breed(v, c)
	}
	m.pass(t, obj, noon)
	if !slices.Equal(names, []string{"ben.2", "ida"}) {
		t.Errorf("the children are %q", names)
	}
	for _, c := range obj.Status.Conditions {
		if strings.HasPrefix(c.Type, "Calf.") && (c.Status != metav1.ConditionFalse || c.Reason != "Waiting") {
			t.Errorf("the condition of a child that is idle is %+v", c)
		}
	}
}

// TestASignalIsKeptUntilAPassIsStored checks that a pass that fails does not lose a signal, and that one that is sent
// during a pass is left for the next one.
func TestASignalIsKeptUntilAPassIsStored(t *testing.T) {
	f := newFarm(t, Options{})
	_, key := f.track(t.Context(), f.get(t))
	Send(f.Machine, key, finished{1})
	var got []int
	f.states[0].step = func(_ any, c *Ctx[animal]) outcome {
		s, _ := Received[finished](c)
		got = append(got, s.ID)
		switch len(got) {
		case 1:
			return outcome{how: fails, err: errLabel("failed")}
		case 2:
			Send(f.Machine, key, finished{2})
		}
		return outcome{how: stays, reason: "here"}
	}
	for range 4 {
		if _, _, err := f.reconcile(t); err != nil && len(got) > 1 {
			t.Fatal(err)
		}
	}
	if want := []int{1, 1, 2, 0}; !slices.Equal(got, want) {
		t.Errorf("the passes have received %v, want %v", got, want)
	}
}

// TestAChildHasNoChildren checks the error of a group that a child machine runs.
func TestAChildHasNoChildren(t *testing.T) {
	m, obj := herd(t, nil), new(animal)
	obj.Annotations = map[string]string{"calves": "ida"}
	depth := 0
	m.groups[0].states[0].step = func(_ any, c *Ctx[animal]) outcome {
		if depth++; depth == 1 {
			(&Group[animal, unborn]{m.groups[0]}).Run(c, map[string]unborn{"x": {}})
		}
		return outcome{how: stays, reason: "here"}
	}
	w := m.pass(t, obj, noon)
	if w.end.how != fails || !strings.Contains(w.end.err.Error(), "no children of children") || depth != 1 {
		t.Errorf("the pass ended with %+v after %d steps of children", w.end, depth)
	}
}

// TestThePositionsOfALeftClusterGo checks that those of other clusters stay.
func TestThePositionsOfALeftClusterGo(t *testing.T) {
	p := newPositions(func(controller.Key) {}, func() {})
	for _, cluster := range []string{"east", "west"} {
		p.put(controller.Key{Cluster: cluster}, entry{})
	}
	p.Left("east")
	var left []string
	p.each(func(key controller.Key, _ *entry) { left = append(left, key.Cluster) })
	if !slices.Equal(left, []string{"west"}) {
		t.Errorf("there are positions of %v", left)
	}
}
