// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fsm

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/machine"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/events"
	"github.com/kube-go/sdk/runtime/internal/fakeapi"
	"github.com/kube-go/sdk/runtime/inventory"
)

// declareSecrets makes a step declare the secrets that an annotation of the object names.
func declareSecrets(step handler[animal], annotation string) handler[animal] {
	return func(v any, c *Ctx[animal]) outcome {
		for name := range strings.FieldsSeq(c.Obj.Annotations[annotation]) {
			c.Apply(inventory.Declaration{Object: secret(name)})
		}
		return step(v, c)
	}
}

// store is a server with secrets and one animal, which already has the finalizer: the fake server can't add it.
type store struct {
	server  *fakeapi.Server
	animals *client.API[animal]
	secrets *client.API[corev1.Secret]
}

func newStore(t *testing.T, name string) *store {
	t.Helper()
	animals, err := core.ResourceOf[animal]()
	if err != nil {
		t.Fatal(err)
	}
	secrets, err := core.ResourceOf[corev1.Secret]()
	if err != nil {
		t.Fatal(err)
	}
	server := fakeapi.New(animals, secrets)
	server.Put(animals, &animal{ObjectMeta: metav1.ObjectMeta{
		Namespace: "meadow", Name: "ox", UID: "1", Generation: 1, Finalizers: []string{name},
	}})
	c := server.Client()
	return &store{server, client.Namespaced[animal](c, "meadow"), client.Namespaced[corev1.Secret](c, "meadow")}
}

// pass changes the animal and makes a pass. It returns the names of the secrets.
func (s *store) pass(t *testing.T, m *Machine[animal], change func(*animal)) string {
	t.Helper()
	obj, err := s.animals.Get(t.Context(), "ox", nil)
	if err != nil {
		t.Fatal(err)
	}
	change(obj)
	s.server.Put(s.animals.Resource(), obj)
	if obj, err = s.animals.Get(t.Context(), "ox", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Reconcile(t.Context(), obj); err != nil && !strings.Contains(err.Error(), "state work: ") {
		t.Fatal(err)
	}
	list, err := s.secrets.List(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, one := range list.Items {
		names = append(names, one.Name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// TestLeftoversAreDeletedAlsoAfterAWait checks that a durable machine deletes what a step does not declare any more,
// also if the pass that has called the step stays in, or fails in, a later state.
func TestLeftoversAreDeletedAlsoAfterAWait(t *testing.T) {
	for _, label := range []string{"wait", "fail"} {
		s := newStore(t, "example.com/animal")
		m := New[animal](s.server.Client(), "example.com/animal", &Options{Durable: true})
		Add(m, start{})
		Add(m, work{})
		Add(m, rest{})
		Add(m, end{})
		m.states[0].step = declareSecrets(m.states[0].step, "start")
		m.states[3].step = declareSecrets(m.states[3].step, "end")
		check := func(what, want string, change func(*animal)) {
			t.Helper()
			if got := s.pass(t, m, change); got != want {
				t.Errorf("%s: %s: the secrets are %q, want %q", label, what, got, want)
			}
		}
		check("first", "a b z", func(a *animal) { a.Annotations = map[string]string{"start": "a b", "end": "z"} })
		check("while it does not end", "a b c z", func(a *animal) {
			a.Annotations["start"], a.Generation = "b c", 2
			a.Labels = map[string]string{label: "no food"}
		})
		check("once more", "a b c z", func(*animal) {})
		check("at the end", "b c z", func(a *animal) { a.Labels = nil })
		check("steady", "b c z", func(*animal) {})
	}
}

// TestOutputsOfChildrenAreKept checks that a durable machine keeps what children have declared in states that they have
// passed, and deletes that of children that do not run any more.
func TestOutputsOfChildrenAreKept(t *testing.T) {
	s := newStore(t, "example.com/herd")
	m := herd(t, &Options{Durable: true})
	m.applier = inventory.New(s.server.Client(), "example.com/herd", nil)
	m.api = client.ClusterWide[animal](s.server.Client())
	first := m.groups[0].states[0].step
	m.groups[0].states[0].step = func(v any, c *Ctx[animal]) outcome {
		c.Apply(inventory.Declaration{Object: secret("bed-of-" + v.(unborn).Name)})
		return first(v, c)
	}
	for i, tc := range []struct {
		calves, born, want string
	}{
		{"a b c", "", "bed-of-a bed-of-b bed-of-c"},
		{"a b c", "a", "bed-of-a bed-of-b bed-of-c"},
		{"a b", "a", "bed-of-a bed-of-b bed-of-c"}, // it is deleted at the end
		{"a b", "a b", "bed-of-a bed-of-b"},
		{"a b", "a b", "bed-of-a bed-of-b"},
	} {
		got := s.pass(t, m, func(a *animal) {
			a.Annotations, a.Labels = map[string]string{"calves": tc.calves}, map[string]string{}
			for name := range strings.FieldsSeq(tc.born) {
				a.Labels[name] = "born"
			}
		})
		if got != tc.want {
			t.Errorf("pass %d: the secrets are %q, want %q", i, got, tc.want)
		}
	}
}

// TestObjectsOfKeptChildrenAreKept checks that an OnSpecChange that declares objects and keeps the children also keeps
// what these have declared in states that they have passed.
func TestObjectsOfKeptChildrenAreKept(t *testing.T) {
	s := newStore(t, "example.com/herd")
	m := herd(t, &Options{Durable: true})
	m.applier = inventory.New(s.server.Client(), "example.com/herd", nil)
	m.api = client.ClusterWide[animal](s.server.Client())
	m.states[0].step = declareSecrets(m.states[0].step, "work")
	m.states[0].onSpecChange = func(_ any, c *Ctx[animal]) outcome {
		c.Apply(inventory.Declaration{Object: secret("straw")})
		return outcome{how: stays, idle: true, reason: "it grazes"}
	}
	birth := m.groups[0].states[0].step
	m.groups[0].states[0].step = func(v any, c *Ctx[animal]) outcome {
		c.Apply(inventory.Declaration{Object: secret("bed-of-" + v.(unborn).Name)})
		return birth(v, c)
	}
	for i, want := range []string{"bed-of-a bed-of-b hay", "bed-of-a bed-of-b straw"} {
		got := s.pass(t, m, func(a *animal) {
			a.Annotations, a.Labels = map[string]string{"calves": "a b", "work": "hay"}, map[string]string{"a": "born"}
			a.Generation = int64(i + 1)
		})
		if got != want {
			t.Errorf("pass %d: the secrets are %q, want %q", i, got, want)
		}
	}
}

// TestAnEndDoesNotWaitForChildren checks a machine that ends although the objects of a child are not applied: it counts
// as ended, and leftovers are deleted when the child does not wait any more.
func TestAnEndDoesNotWaitForChildren(t *testing.T) {
	for _, foreign := range []bool{false, true} { // whether an apply fails, or waits
		s := newStore(t, "example.com/herd")
		f := &finalizing{server: s.server}
		m := herd(t, nil)
		m.applier = inventory.New(fakeapi.ClientOf(f), "example.com/herd", nil)
		m.api = client.ClusterWide[animal](fakeapi.ClientOf(f))
		calves := &Group[animal, unborn]{m.groups[0]}
		m.states[0].step = func(_ any, c *Ctx[animal]) outcome {
			if c.Obj.Labels["old"] != "" {
				c.Apply(inventory.Declaration{Object: secret("old")})
			}
			calves.Run(c, map[string]unborn{"a": {"a"}})
			return outcome{how: goes, next: end{}}
		}
		m.states[1].step = loses
		ready := func(*unstructured.Unstructured) error { return nil }
		m.groups[0].states[0].step = func(_ any, c *Ctx[animal]) outcome {
			c.Apply(inventory.Declaration{Object: secret("bed"), Ready: ready},
				inventory.Declaration{Object: secret("hay"), Wave: 1})
			return outcome{how: stays, reason: "it sleeps"}
		}
		label := func(labels map[string]string) func(*animal) { return func(a *animal) { a.Labels = labels } }
		if got := s.pass(t, m, label(map[string]string{"old": "yes"})); got != "bed hay old" {
			t.Errorf("the secrets are %s", got)
		}
		bed, err := s.secrets.Get(t.Context(), "bed", nil)
		if err != nil {
			t.Fatal(err)
		}
		if own := bed.DeepCopy(); foreign {
			bed.OwnerReferences[0].UID = "2"
			s.server.Put(s.secrets.Resource(), bed)
			bed = own
		} else {
			ready = func(*unstructured.Unstructured) error { return errLabel("it is not made") }
		}
		lost := label(map[string]string{"loses": "no meadow"})
		if got := s.pass(t, m, lost); got != "bed hay old" {
			t.Errorf("while the child waits, the secrets are %s", got)
		}
		obj, err := s.animals.Get(t.Context(), "ox", nil)
		if err != nil {
			t.Fatal(err)
		}
		if c := meta.FindStatusCondition(obj.Status.Conditions, stalledType); c == nil || c.Message != "end: no meadow" {
			t.Errorf("while the child waits, the conditions are %q", conditionsOf(obj))
		}
		if p, err := m.Plan(t.Context(), obj); err != nil || !p.Failed || p.Err != nil || len(p.Actions) > 0 {
			t.Errorf("the plan is %+v, %v", p, err)
		}
		if action, err := m.Reconcile(t.Context(), obj); err != nil || action != controller.RequeueAfter(0) {
			t.Errorf("while the child waits, the pass returns %v, %v", action, err)
		}
		ready = func(*unstructured.Unstructured) error { return nil }
		s.server.Put(s.secrets.Resource(), bed)
		if got := s.pass(t, m, lost); got != "bed hay" {
			t.Errorf("at last, the secrets are %s", got)
		}
	}
}

// TestAMachineThatBecomesDurableKeepsItsObjects checks that the first pass after the change repeats the states that the
// object has passed: their visits were not stored.
func TestAMachineThatBecomesDurableKeepsItsObjects(t *testing.T) {
	s := newStore(t, "example.com/animal")
	for i, durable := range []bool{false, true, true, false, true} {
		m := New[animal](s.server.Client(), "example.com/animal", &Options{Durable: durable})
		Add(m, start{})
		Add(m, work{})
		Add(m, rest{})
		Add(m, end{})
		m.repeatable()
		m.states[0].step = declareSecrets(m.states[0].step, "start")
		last := m.states[3].step
		m.states[3].step = func(v any, c *Ctx[animal]) outcome {
			if _, err := c.Get(secret("database")); err != nil { // it needs no discovery then
				t.Error(err)
			}
			return last(v, c)
		}
		got := s.pass(t, m, func(a *animal) { a.Annotations = map[string]string{"start": "database"} })
		if got != "database" {
			t.Errorf("after pass %d, durable=%t, the secrets are %q, want database", i, durable, got)
		}
	}
}

// TestThePlanOfAChangeNeedsItsGeneration checks the plan of a changed spec of a durable machine. An annotation stands
// for the spec.
func TestThePlanOfAChangeNeedsItsGeneration(t *testing.T) {
	s := newStore(t, "example.com/animal")
	m := New[animal](fakeapi.ClientOf(&finalizing{server: s.server}), "example.com/animal", &Options{Durable: true})
	Add(m, start{})
	Add(m, work{})
	Add(m, rest{})
	Add(m, end{})
	m.states[0].step = declareSecrets(m.states[0].step, "start")
	s.pass(t, m, func(a *animal) { a.Annotations = map[string]string{"start": "hay"} })
	obj, err := s.animals.Get(t.Context(), "ox", nil)
	if err != nil {
		t.Fatal(err)
	}
	obj.Annotations["start"] = "hay straw"
	for i, want := range []int{0, 1} {
		obj.Generation += int64(i)
		if p, err := m.Plan(t.Context(), obj); err != nil || len(p.Actions) != want {
			t.Errorf("the plan is %+v, %v, want %d actions", p, err, want)
		}
	}
}

// TestObjectsOfAStateOutliveItsOtherMethods checks that OnDeadline and OnSpecChange, which declare nothing, do not make
// the machine delete what Step has declared, and that what Step does not declare any more is deleted if they call it.
func TestObjectsOfAStateOutliveItsOtherMethods(t *testing.T) {
	late := func(fail bool) func(m *Machine[animal]) {
		return func(m *Machine[animal]) {
			at := m.states[1]
			at.deadline = func(_ any, c *Ctx[animal]) time.Duration { return time.Duration(3-2*c.Obj.Generation) * time.Hour }
			at.onDeadline = func(any, *Ctx[animal]) outcome {
				if fail {
					return outcome{how: goes, next: end{}}
				}
				return outcome{how: stays, idle: true, reason: "it is late"}
			}
			m.states[3].step = loses
		}
	}
	for name, tc := range map[string]struct {
		durable bool
		change  func(m *Machine[animal])
		want    string
	}{
		"OnDeadline goes":                     {durable: true, change: late(true), want: "bed hay"},
		"OnDeadline goes, not durable":        {change: late(true), want: "bed hay"},
		"OnDeadline is idle, not durable":     {change: late(false), want: "bed hay"},
		"OnSpecChange is idle":                {durable: true, want: "bed hay", change: onSpecChange(nil)},
		"OnSpecChange calls Step":             {durable: true, want: "hay", change: onSpecChange([]string{"hay"})},
		"OnSpecChange declares other objects": {durable: true, want: "straw", change: onSpecChange([]string{"straw"})},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, "example.com/animal")
			m := New[animal](s.server.Client(), "example.com/animal", &Options{Durable: tc.durable})
			Add(m, start{})
			Add(m, work{})
			Add(m, rest{})
			Add(m, end{})
			m.repeatable()
			m.states[1].step = declareSecrets(func(any, *Ctx[animal]) outcome {
				return outcome{how: stays, reason: "it grazes"}
			}, "work")
			tc.change(m)
			for i, want := range []string{"bed hay", tc.want} {
				got := s.pass(t, m, func(a *animal) {
					a.Annotations, a.Labels = map[string]string{"work": "bed hay"}, map[string]string{"loses": "it is late"}
					a.Generation = int64(i + 1)
				})
				if got != want {
					t.Errorf("pass %d: the secrets are %q, want %q", i, got, want)
				}
			}
		})
	}
}

// onSpecChange makes the state work idle after a change of the spec, with a method that declares secrets.
func onSpecChange(secrets []string) func(m *Machine[animal]) {
	return func(m *Machine[animal]) {
		m.states[1].onSpecChange = func(_ any, c *Ctx[animal]) outcome {
			for _, name := range secrets {
				c.Apply(inventory.Declaration{Object: secret(name)})
			}
			return outcome{how: stays, idle: true, reason: "it grazes"}
		}
	}
}

// TestObjectsFromBeforeARestartAreDeleted checks that a pass follows one that has declared objects, has then begun
// again at the initial state, and has come to its end without them.
func TestObjectsFromBeforeARestartAreDeleted(t *testing.T) {
	s := newStore(t, "example.com/animal")
	m := New[animal](s.server.Client(), "example.com/animal", &Options{Durable: true})
	Add(m, start{})
	Add(m, work{})
	Add(m, rest{})
	Add(m, end{})
	fed := false
	m.states[1].step = func(any, *Ctx[animal]) outcome {
		if fed {
			return outcome{how: goes, next: end{}}
		}
		return outcome{how: goes, next: rest{}}
	}
	m.states[2].step = func(_ any, c *Ctx[animal]) outcome {
		c.Apply(inventory.Declaration{Object: secret("hay")})
		if fed {
			return outcome{how: restarts}
		}
		return outcome{how: stays, reason: "it is hungry"}
	}
	if got := s.pass(t, m, func(*animal) {}); got != "hay" {
		t.Errorf("the secrets are %q, want hay", got)
	}
	fed = true
	obj, err := s.animals.Get(t.Context(), "ox", nil)
	if err != nil {
		t.Fatal(err)
	}
	if action, err := m.Reconcile(t.Context(), obj); err != nil || action != controller.RequeueAfter(0) {
		t.Errorf("the pass with the restart returns %v, %v", action, err)
	}
	if got := s.pass(t, m, func(*animal) {}); got != "" {
		t.Errorf("after the next pass, the secrets are %q", got)
	}
	if obj, err = s.animals.Get(t.Context(), "ox", nil); err != nil {
		t.Fatal(err)
	}
	if action, err := m.Reconcile(t.Context(), obj); err != nil || action != controller.AwaitChange() {
		t.Errorf("a pass without a restart returns %v, %v", action, err)
	}
}

// TestStoredStateCountsAsEntered checks that the object has been in the stored state at least once, whatever the stored
// visits say: otherwise the pass after the next one would delete what that state has declared.
func TestStoredStateCountsAsEntered(t *testing.T) {
	for _, visits := range []map[string]int32{{"start": 1}, {"work": 0}, {"work": math.MinInt32}} {
		m, obj := newMachine(t, &Options{Durable: true}), new(animal)
		obj.Status.FSM = &machine.Position{State: "work", Since: metav1.NewMicroTime(noon), Visits: visits}
		w := m.pass(t, obj, noon)
		if got := w.position.Visits["work"]; got != 1 {
			t.Errorf("with the stored visits %v, work has %d visits, want 1", visits, got)
		}
	}
}

// TestRenamedStatesStayPassed checks that a state that the object has passed under an earlier name counts as passed,
// and keeps its outputs, and that those of removed states do not.
func TestRenamedStatesStayPassed(t *testing.T) {
	m, obj := newMachine(t, &Options{Durable: true, Renamed: map[string]string{"begin": "start", "gone": ""}}), new(animal)
	obj.Status.FSM = &machine.Position{
		State: "end", Since: metav1.NewMicroTime(noon), Visits: map[string]int32{"begin": 1, "work": 2, "gone": 1, "lost": 1, "end": 1},
	}
	for _, typ := range []string{"begin", "gone", "lost", "Ready"} {
		obj.Status.Conditions = append(obj.Status.Conditions, metav1.Condition{Type: typ, Status: "True", Reason: "Completed"})
	}
	w := m.pass(t, obj, noon)
	if want := map[string]int32{"start": 1, "work": 2, "end": 1}; !maps.Equal(obj.Status.FSM.Visits, want) {
		t.Errorf("the visits are %v, want %v", obj.Status.FSM.Visits, want)
	}
	for part, want := range map[string]bool{"begin": true, "start": true, "work": true, "gone": false, "lost": false, "end": false} {
		if got := w.keeps(machine.Item{Part: part}); got != want {
			t.Errorf("%q: keeps is %t, want %t", part, got, want)
		}
	}
	got := map[string]metav1.ConditionStatus{}
	for _, c := range obj.Status.Conditions {
		if m.owns(c.Type) {
			got[c.Type] = c.Status
		}
	}
	want := map[string]metav1.ConditionStatus{"start": "True", "work": "True", "rest": "Unknown", "end": "True", "Ready": "True"}
	if !maps.Equal(got, want) {
		t.Errorf("the conditions are %v, want %v", got, want)
	}
}

// TestARenamedStateIsNotEnteredAgain checks that an object stays in its state under the new name: the time, the
// history, the events and the children are those of the same state.
func TestARenamedStateIsNotEnteredAgain(t *testing.T) {
	for _, durable := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := newFarm(t, Options{Durable: durable, Renamed: map[string]string{"begin": "start", "toil": "work"}})
			defer f.record(t)()
			f.states[0].step = func(any, *Ctx[animal]) outcome {
				return outcome{how: goes, next: work{"dig"}, event: &events.Event{Reason: "Started"}}
			}
			f.states[1].step = func(any, *Ctx[animal]) outcome {
				return outcome{how: stays, reason: "it rains", event: &events.Event{Reason: "Wet"}}
			}
			f.change(t, func(obj *animal) {
				obj.Generation, obj.Status.FSM = 1, storedAt("toil")
				obj.Status.FSM.Data = &runtime.RawExtension{Raw: []byte(`{"Job":"dig"}`)}
				obj.Status.Conditions = []metav1.Condition{
					{Type: "begin", Status: metav1.ConditionTrue, Reason: reasonCompleted},
					{Type: "toil", Status: metav1.ConditionFalse, Reason: "Waiting", Message: "it rains"},
				}
			})
			obj, _, err := f.reconcile(t)
			if err != nil {
				t.Fatal(err)
			}
			if p := obj.Status.FSM; p.State != "work" || !p.Since.Time.Equal(noon) || pastOf(obj) != "earlier" {
				t.Errorf("durable=%t: the position is %+v, want that of the same state", durable, p)
			}
			f.wantEvents(t)
		})

		m, obj := herd(t, &Options{Durable: durable, Renamed: map[string]string{"raise": "breed"}}), new(animal)
		m.states[0].step = func(any, *Ctx[animal]) outcome { return outcome{how: fails, err: errLabel("flood")} }
		obj.Status.FSM = storedAt("raise")
		obj.Status.FSM.Generation = 0
		obj.Status.FSM.Children = map[string]machine.Child{"Calf.a": {State: "unborn", Since: metav1.NewMicroTime(noon)}}
		if m.pass(t, obj, noon); obj.Status.FSM.Children["Calf.a"].State != "unborn" {
			t.Errorf("durable=%t: the children are %+v", durable, obj.Status.FSM.Children)
		}
	}
}

// TestStatesOfGroupsCanBeRenamed checks that a child continues at a state with a new name.
func TestStatesOfGroupsCanBeRenamed(t *testing.T) {
	m, obj := herd(t, &Options{Durable: true, Renamed: map[string]string{"cow": "calf"}}), new(animal)
	obj.Annotations = map[string]string{"calves": "a b"}
	obj.Status.FSM = &machine.Position{
		State: "breed", Since: metav1.NewMicroTime(noon), Visits: map[string]int32{"breed": 1},
		Children: map[string]machine.Child{"Calf.a": {State: "cow", Since: metav1.NewMicroTime(noon), Visits: map[string]int32{"unborn": 1, "cow": 1}}},
	}
	m.pass(t, obj, noon)
	child := obj.Status.FSM.Children["Calf.a"]
	if want := map[string]int32{"unborn": 1, "calf": 1}; child.State != "calf" || !maps.Equal(child.Visits, want) {
		t.Errorf("the child is %+v", child)
	}
}

// TestAnOutputCanBeDeletedByTheNextState checks that a durable machine deletes what an earlier state of the same pass
// has declared, without a failure, and that what a state itself declares is an error.
func TestAnOutputCanBeDeletedByTheNextState(t *testing.T) {
	for _, durable := range []bool{false, true} {
		s := newStore(t, "example.com/animal")
		m := New[animal](s.server.Client(), "example.com/animal", &Options{Durable: durable})
		Add(m, start{})
		Add(m, work{})
		Add(m, rest{})
		Add(m, end{})
		m.repeatable()
		m.states[0].step = declareSecrets(m.states[0].step, "start")
		next := m.states[1].step
		m.states[1].step = func(v any, c *Ctx[animal]) outcome {
			c.Delete(secret("job"))
			return next(v, c)
		}
		s.pass(t, m, func(a *animal) { a.Annotations = map[string]string{"start": "job other"} })
		first, err := s.animals.Get(t.Context(), "ox", nil)
		if err != nil {
			t.Fatal(err)
		}
		ready := first.Status.Conditions[len(first.Status.Conditions)-1]
		secrets := s.pass(t, m, func(*animal) {})
		last, err := s.animals.Get(t.Context(), "ox", nil)
		if err != nil {
			t.Fatal(err)
		}
		if durable {
			if ready.Reason != "Waiting" || ready.Message != "work: continues in the next pass" {
				t.Errorf("the first pass has written %+v", ready)
			}
			if secrets != "other" || last.Status.FSM.State != "end" {
				t.Errorf("the second pass has left the secrets %q, in the state %s", secrets, last.Status.FSM.State)
			}
		} else if ready.Reason != "Failed" || !strings.Contains(ready.Message, "job is declared and deleted in the same pass") ||
			!strings.Contains(ready.Message, "set Options.Durable") {
			t.Errorf("the first pass has written %+v", ready)
		}

		m.states[1].step = declareSecrets(m.states[1].step, "work")
		s.pass(t, m, func(a *animal) {
			a.Annotations = map[string]string{"work": "job"}
			a.Generation++
		})
		s.pass(t, m, func(*animal) {})
		if last, err = s.animals.Get(t.Context(), "ox", nil); err != nil {
			t.Fatal(err)
		}
		if c := last.Status.Conditions[1]; c.Reason != "Failed" || !strings.Contains(c.Message, "job is declared and deleted") {
			t.Errorf("durable=%t: a state that declares and deletes the same object: %+v", durable, c)
		}
	}
}
