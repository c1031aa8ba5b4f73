// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fsm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/machine"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/events"
	"github.com/kube-go/sdk/runtime/internal/fakeapi"
	"github.com/kube-go/sdk/runtime/inventory"
)

// farm is a server with one animal and a machine for it.
type farm struct {
	*Machine[animal]
	server  *fakeapi.Server
	animals *client.API[animal]
	events  *client.API[eventsv1.Event]
}

// newFarm returns a farm whose machine has no states for deletions, because the fake server has no finalizers.
func newFarm(t *testing.T, o Options) *farm {
	t.Helper()
	animals, err := core.ResourceOf[animal]()
	if err != nil {
		t.Fatal(err)
	}
	eventKind, err := core.ResourceOf[eventsv1.Event]()
	if err != nil {
		t.Fatal(err)
	}
	maps, err := core.ResourceOf[corev1.ConfigMap]()
	if err != nil {
		t.Fatal(err)
	}
	server := fakeapi.New(animals, eventKind, maps)
	c := server.Client()
	o.Events = events.NewRecorder(c, &events.Options{Controller: "farm"})
	m := New[animal](c, "example.com/animal", &o)
	Add(m, start{})
	Add(m, work{})
	Add(m, rest{})
	Add(m, end{})
	m.repeatable()
	f := &farm{
		m, server, client.Namespaced[animal](c, "meadow"), client.Namespaced[eventsv1.Event](c, "meadow"),
	}
	obj := &animal{ObjectMeta: metav1.ObjectMeta{Namespace: "meadow", Name: "ox", UID: "1"}}
	server.Put(animals, obj)
	return f
}

// change changes the animal.
func (f *farm) change(t *testing.T, change func(*animal)) {
	t.Helper()
	obj := f.get(t)
	change(obj)
	f.server.Put(f.api.Resource(), obj)
}

func (f *farm) get(t *testing.T) *animal {
	t.Helper()
	obj, err := f.animals.Get(t.Context(), "ox", nil)
	if err != nil {
		t.Fatal(err)
	}
	return obj
}

// record runs the recorder of the machine until the returned function is called.
func (f *farm) record(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- f.opts.Events.Run(ctx) }()
	return func() {
		cancel()
		<-ended //nolint:errcheck // the cause of the context
	}
}

// reconcile makes a pass, and returns what was written: the animal, or nil.
func (f *farm) reconcile(t *testing.T) (written *animal, action controller.Action, err error) {
	t.Helper()
	before := f.get(t)
	action, err = f.Reconcile(t.Context(), f.get(t))
	if after := f.get(t); after.ResourceVersion != before.ResourceVersion {
		written = after
	}
	return written, action, err
}

// TestAMachineRefusesObjectsOfAnotherServer engages a second cluster with an object of the same name, and then uses a
// machine for each cluster.
func TestAMachineRefusesObjectsOfAnotherServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		home := newFarm(t, Options{})
		animals := home.api.Resource()
		server := fakeapi.New(animals)
		c, err := client.New(t.Context(), &client.Options{
			Config: &config.Config{Server: "https://eu.test"}, Transport: server,
		})
		if err != nil {
			t.Fatal(err)
		}
		version := server.Put(animals, &animal{ObjectMeta: metav1.ObjectMeta{Namespace: "meadow", Name: "ox"}})
		abroad := New[animal](c, home.name, nil)
		Add(abroad, end{})

		// run runs a controller of both clusters, and returns the errors of its runs.
		run := func(reconcile controller.Reconcile[animal]) map[string]error {
			results := make(chan controller.Result, 10)
			ctl := controller.New(controller.For[animal](cache.New(home.server.Client(), nil)), &controller.Options{
				Logger: slog.New(slog.DiscardHandler), OnResult: func(r controller.Result) { results <- r },
			})
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 2)
			go func() { ended <- ctl.Run(ctx, reconcile) }()
			go func() { ended <- ctl.Engage(ctx, cache.New(c, &cache.Options{Cluster: "eu"})) }()
			<-time.After(time.Minute)
			stop()
			for range 2 {
				<-ended //nolint:errcheck // the cause of the context
			}
			close(results)
			errs := make(map[string]error)
			for r := range results {
				errs[r.Key.String()] = errors.Join(errs[r.Key.String()], r.Err)
			}
			return errs
		}
		of := func() *animal {
			t.Helper()
			obj, err := client.Namespaced[animal](c, "meadow").Get(t.Context(), "ox", nil)
			if err != nil {
				t.Fatal(err)
			}
			return obj
		}

		errs := run(home.Reconcile)
		const want = "the object eu:meadow/ox is on the server https://eu.test, and the client of the machine is for " +
			"https://cluster.test: create one machine for each cluster"
		if err := errs["eu:meadow/ox"]; err == nil || !strings.Contains(err.Error(), want) || !core.IsTerminal(err) {
			t.Errorf("the error of the other cluster is %v, want a terminal one with %q", err, want)
		}
		if err := errs["meadow/ox"]; err != nil || home.get(t).Status.FSM == nil {
			t.Errorf("the pass of the own cluster returns %v", err)
		}
		if obj := of(); obj.ResourceVersion != version {
			t.Errorf("the object of the other cluster was changed: %+v", obj)
		}

		errs = run(func(ctx context.Context, obj *animal) (controller.Action, error) {
			if run, _ := controller.RunOf(ctx); run.Key.Cluster == "eu" {
				return abroad.Reconcile(ctx, obj)
			}
			return home.Reconcile(ctx, obj)
		})
		for key, err := range errs {
			if err != nil {
				t.Errorf("the pass of %s with a machine for each cluster returns %v", key, err)
			}
		}
		if obj := of(); obj.Status.FSM == nil || obj.Status.FSM.State != "end" {
			t.Errorf("the object of the other cluster has the status %+v", obj.Status)
		}
	})
}

// TestASteadyPassWritesNothing checks that a pass writes the status once, and only if it has changed.
func TestASteadyPassWritesNothing(t *testing.T) {
	f := newFarm(t, Options{})
	f.change(t, func(a *animal) { a.Labels = map[string]string{"wait": "rain"} })
	written, action, err := f.reconcile(t)
	if err != nil || action != controller.RequeueAfter(time.Minute) || written == nil || written.Status.FSM.State != "work" {
		t.Fatalf("the first pass has written %+v, %v, %v", written, action, err)
	}
	if written, _, err := f.reconcile(t); written != nil || err != nil {
		t.Errorf("the same pass has written %+v, %v", written, err)
	}
	f.change(t, func(a *animal) {
		a.Labels = nil
		a.Status.Conditions = append(a.Status.Conditions, metav1.Condition{Type: "Foreign", Status: "True", Reason: "Other"})
	})
	if written, _, err := f.reconcile(t); err != nil || written == nil || written.Status.FSM.State != "end" {
		t.Errorf("the next pass has written %+v, %v", written, err)
	}
}

// TestAStepMayReplaceTheStatus checks that the conditions of the machine keep their times then.
func TestAStepMayReplaceTheStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFarm(t, Options{})
		f.states[1].step = func(_ any, c *Ctx[animal]) outcome {
			c.Obj.Status = animal{}.Status
			c.Obj.Status.Weight = 7
			return outcome{how: stays, reason: "grazing"}
		}
		if written, _, err := f.reconcile(t); err != nil || written.Status.Weight != 7 || written.Status.FSM.State != "work" {
			t.Fatalf("the first pass has written %+v, %v", written, err)
		}
		time.Sleep(time.Minute)
		if written, _, err := f.reconcile(t); written != nil || err != nil {
			t.Errorf("the same pass has written %+v, %v", written, err)
		}
	})
}

// ledger is a state whose fields are not in the order in which servers store them.
type (
	ledger     struct{ Total, Count int }
	fromLedger interface{ fromLedger() }
)

func (end) fromLedger() {}

func (ledger) Step(_ *Ctx[animal], to To[fromLedger]) Result[fromLedger] {
	return to.Stay("counting", time.Minute)
}

// TestASteadyPassOfADurableMachineSendsNothing checks that the order of the fields of a stored state does not matter.
func TestASteadyPassOfADurableMachineSendsNothing(t *testing.T) {
	farm := newFarm(t, Options{})
	s := &finalizing{server: farm.server}
	m := New[animal](fakeapi.ClientOf(s), "example.com/animal", &Options{Durable: true})
	Add(m, ledger{})
	Add(m, end{})
	for pass, want := range []int64{1, 0, 0} {
		before := s.requests.Load()
		if _, err := m.Reconcile(t.Context(), farm.get(t)); err != nil {
			t.Fatal(err)
		}
		if sent := s.requests.Load() - before; sent != want {
			t.Errorf("pass %d has sent %d requests, want %d", pass, sent, want)
		}
	}
	if data := farm.get(t).Status.FSM.Data.Raw; string(data) != `{"Count":0,"Total":0}` {
		t.Errorf("the server has stored %s, want sorted fields", data)
	}
}

// TestASuspendedObjectIsNotChanged checks when a suspension holds, and how it shows.
func TestASuspendedObjectIsNotChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFarm(t, Options{})
		f.api = client.ClusterWide[animal](fakeapi.ClientOf(&finalizing{server: f.server}))
		suspend := func(s machine.Suspension) {
			f.change(t, func(a *animal) {
				if err := machine.Suspend(a, f.name, s); err != nil {
					t.Fatal(err)
				}
			})
		}
		until := metav1.NewTime(time.Now().Add(time.Hour))
		suspend(machine.Suspension{Reason: "flood", By: "jane", Until: &until, WhenDeleted: machine.Wait})
		written, action, err := f.reconcile(t)
		if err != nil || action != controller.RequeueAfter(time.Hour) || written == nil {
			t.Fatalf("the pass has written %+v, %v, %v", written, action, err)
		}
		wantConditions(t, written, "Suspended=True/Suspended: by jane: flood, until "+until.UTC().Format(time.RFC3339))
		if written.Status.FSM != nil {
			t.Errorf("the position is %+v", written.Status.FSM)
		}
		if written, _, err := f.reconcile(t); written != nil || err != nil {
			t.Errorf("the same pass has written %+v, %v", written, err)
		}

		time.Sleep(time.Hour)
		written, _, err = f.reconcile(t)
		if err != nil || written == nil || written.Status.FSM.State != "end" ||
			slices.ContainsFunc(written.Status.Conditions, func(c metav1.Condition) bool { return c.Type == "Suspended" }) {
			t.Errorf("after the suspension, the pass has written %+v, %v", written, err)
		}

		f.change(t, func(a *animal) { a.Annotations = map[string]string{f.name + ".suspend": "true"} })
		written, _, err = f.reconcile(t)
		if err == nil || !core.IsTerminal(err) || !strings.Contains(err.Error(), "annotation example.com/animal.suspend") {
			t.Errorf("a suspension that can't be parsed: %v", err)
		}
		if written == nil || written.Status.FSM.State != "end" ||
			!slices.ContainsFunc(conditionsOf(written), func(c string) bool { return strings.HasPrefix(c, "Suspended=Unknown/Invalid") }) {
			t.Errorf("a suspension that can't be parsed: the pass has written %+v", written)
		}
	})
}

// TestDeletionOfASuspendedObject checks the two policies.
func TestDeletionOfASuspendedObject(t *testing.T) {
	for policy, want := range map[machine.DeletionPolicy]bool{machine.Wait: true, machine.Proceed: false} {
		f := newFarm(t, Options{})
		obj := f.get(t)
		obj.DeletionTimestamp = new(metav1.Now())
		if err := machine.Suspend(obj, f.name, machine.Suspension{Reason: "flood", By: "jane", WhenDeleted: policy}); err != nil {
			t.Fatal(err)
		}
		if halted, _, err := f.suspended(t.Context(), obj, time.Now(), f.get(t)); halted != want || err != nil {
			t.Errorf("%s: suspended is %t, %v", policy, halted, err)
		}
	}
}

// TestASuspensionKeepsADeletedObject checks that a suspended object that must not be deleted meanwhile has the
// finalizer, although the machine has no states for deletions and nothing is declared, until the suspension ends. A
// suspension that can't be parsed may be such a one.
func TestASuspensionKeepsADeletedObject(t *testing.T) {
	for value, want := range map[string]bool{
		`{"reason":"flood","by":"jane","whenDeleted":"Wait"}`:                                true,
		`{"reason":"flood","by":"jane","whenDeleted":"wait"}`:                                true,
		`{"reason":"flood","by":"jane","whenDeleted":"Proceed"}`:                             false,
		`{"reason":"flood","by":"jane","whenDeleted":"Wait","until":"2020-01-01T00:00:00Z"}`: false,
	} {
		f := newFarm(t, Options{})
		f.api = client.ClusterWide[animal](fakeapi.ClientOf(&finalizing{server: f.server}))
		if _, _, err := f.reconcile(t); err != nil { // the object is ready
			t.Error(err)
		}
		f.change(t, func(a *animal) { a.Annotations = map[string]string{f.name + ".suspend": value} })
		_, _, _ = f.reconcile(t) // the error of a suspension that can't be parsed has a test of its own
		if obj := f.get(t); slices.Contains(obj.Finalizers, f.name) != want {
			t.Errorf("%s: the finalizers are %q, want that of the machine: %t", value, obj.Finalizers, want)
		}
		if !want {
			continue
		}
		f.change(t, func(a *animal) { a.DeletionTimestamp = new(metav1.NewTime(noon)) })
		for range 2 {
			if _, _, _ = f.reconcile(t); !slices.Contains(f.get(t).Finalizers, f.name) {
				t.Errorf("%s: the deleted object has lost its finalizer", value)
			}
			ready := meta.FindStatusCondition(f.get(t).Status.Conditions, readyType)
			if ready == nil || ready.Status != metav1.ConditionFalse || ready.Reason != reasonDeleting ||
				!strings.HasPrefix(ready.Message, "suspended") {
				t.Errorf("%s: Ready of the deleted object is %+v", value, ready)
			}
		}
		f.change(t, func(a *animal) { a.Annotations = nil })
		if _, err := f.Reconcile(t.Context(), f.get(t)); err != nil {
			t.Errorf("%s: after the suspension, the pass returns %v", value, err)
		}
		if obj, err := f.animals.GetOrNil(t.Context(), "ox", nil); obj != nil || err != nil {
			t.Errorf("%s: after the suspension, the object is %+v, %v", value, obj, err)
		}
	}
}

// wantEvents checks the reasons of the recorded events.
func (f *farm) wantEvents(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	list, err := f.events.List(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range list.Items {
		text := e.Reason
		if e.Series != nil {
			text += " again"
		}
		got = append(got, text)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("the events are %v, want %v", got, want)
	}
}

// TestEventsAreNotRepeated checks which passes record the event of a step, and those of stuck and suspended objects.
func TestEventsAreNotRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFarm(t, Options{StuckAfter: time.Hour})
		defer f.record(t)()
		f.states[0].step = func(any, *Ctx[animal]) outcome {
			return outcome{how: goes, next: work{}, event: &events.Event{Reason: "Started"}}
		}
		f.states[1].step = func(_ any, c *Ctx[animal]) outcome {
			if c.Obj.Labels["wait"] == "" {
				return outcome{how: fails, err: errLabel("no food"), event: &events.Event{Reason: "Hungry"}}
			}
			return outcome{how: stays, reason: "it rains", event: &events.Event{Reason: "Wet"}}
		}
		pass := func(want ...string) {
			t.Helper()
			if _, _, err := f.reconcile(t); err != nil && !strings.Contains(err.Error(), "no food") {
				t.Error(err)
			}
			f.wantEvents(t, want...)
		}
		f.change(t, func(a *animal) { a.Labels = map[string]string{"wait": "rain"} })
		pass("Started", "Wet")
		pass("Started", "Wet")
		f.change(t, func(a *animal) { a.Labels = nil })
		pass("Hungry", "Started", "Wet")
		pass("Hungry", "Started", "Wet")
		time.Sleep(time.Hour)
		pass("Hungry", "Started", "Stuck", "Wet")
		pass("Hungry", "Started", "Stuck", "Wet")
		if c := f.get(t).Status.Conditions[1]; c.Reason != "Stuck" || c.Message != "no food" {
			t.Errorf("the condition is %+v", c)
		}
		f.change(t, func(a *animal) {
			if err := machine.Suspend(a, f.name, machine.Suspension{Reason: "r", By: "b", WhenDeleted: machine.Proceed}); err != nil {
				t.Fatal(err)
			}
		})
		pass("Hungry", "Started", "Stuck", "Suspended", "Wet")
		pass("Hungry", "Started", "Stuck", "Suspended", "Wet")
	})
}

// TestAFailureAfterTheStepDoesNotRepeatItsEvent has an object that can't be deleted when the object is idle or has
// ended.
func TestAFailureAfterTheStepDoesNotRepeatItsEvent(t *testing.T) {
	for name, result := range map[string]outcome{
		"idle":  {how: stays, idle: true, reason: "until the morning"},
		"ended": {how: goes, next: end{}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFarm(t, Options{Durable: true})
				defer f.record(t)()
				f.change(t, func(obj *animal) { // its kind can't be looked up
					obj.Status.Inventory = []machine.Item{{Version: "v1", Kind: "Secret", Name: "hay"}}
				})
				fed := &events.Event{Reason: "Fed"}
				f.states[1].step = func(any, *Ctx[animal]) outcome {
					if result.how == stays {
						result.event = fed
					}
					return result
				}
				f.states[3].step = func(any, *Ctx[animal]) outcome { return outcome{how: ends, event: fed} }
				for range 3 {
					if _, _, err := f.reconcile(t); err == nil {
						t.Error("the pass has not failed")
					}
					f.wantEvents(t, "Fed")
				}
			})
		})
	}
}

// TestTheEventOfAnotherResultIsRecorded checks that a state that returns another result than in the last pass, also one
// that is stuck, has the event of this result.
func TestTheEventOfAnotherResultIsRecorded(t *testing.T) {
	event := func(reason string) *events.Event { return &events.Event{Reason: reason} }
	wet := outcome{how: stays, reason: "it rains", event: event("Wet")}
	dry := outcome{how: stays, idle: true, reason: "the sun shines", event: event("Dry")}
	hungry := outcome{how: fails, err: errLabel("no food"), event: event("Hungry")}
	left := outcome{how: goes, next: end{}, event: event("Left")}
	for _, durable := range []bool{false, true} {
		for _, tc := range []struct {
			name  string
			after time.Duration // before each pass
			in    []outcome
			want  [][]string
		}{
			{"waits, is idle, waits", 0, []outcome{wet, dry, wet}, [][]string{{"Wet"}, {"Dry", "Wet"}, {"Dry", "Wet again"}}},
			{"is idle, goes", 0, []outcome{dry, left}, [][]string{{"Dry"}, {"Dry", "Left"}}},
			{"is idle, fails, is idle", 0, []outcome{dry, hungry, dry}, [][]string{
				{"Dry"}, {"Dry", "Hungry"}, {"Dry again", "Hungry"},
			}},
			{"is stuck: waits, fails, waits", 2 * time.Hour, []outcome{wet, hungry, wet}, [][]string{
				{"Stuck", "Wet"}, {"Hungry", "Stuck", "Wet"}, {"Hungry", "Stuck", "Wet", "Wet"},
			}},
		} {
			t.Run(fmt.Sprintf("%s, durable=%t", tc.name, durable), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := newFarm(t, Options{StuckAfter: time.Hour, Durable: durable})
					defer f.record(t)()
					var now outcome
					f.states[1].step = func(any, *Ctx[animal]) outcome { return now }
					for i, out := range tc.in {
						now = out
						for range 3 {
							time.Sleep(tc.after)
							if _, _, err := f.reconcile(t); (err != nil) != (out.how == fails) {
								t.Errorf("the pass returns %v", err)
							}
						}
						f.wantEvents(t, tc.want[i]...)
					}
				})
			})
		}
	}
}

// TestTheEventOfAnotherTextIsRecorded checks that a state that stays or fails for another reason has the event of this
// reason, unless only a number or a duration is another one, or what the state waits for besides.
func TestTheEventOfAnotherTextIsRecorded(t *testing.T) {
	results := map[string]func(text string) outcome{
		"stays":    func(text string) outcome { return To[fromWork]{}.Stay(text, 0).outcome },
		"is idle":  func(text string) outcome { return To[fromWork]{}.Idle(text, 0).outcome },
		"fails":    func(text string) outcome { return To[fromWork]{}.Retry(errLabel(text)).outcome },
		"is stuck": func(text string) outcome { return To[fromWork]{}.Stay(text, 0).outcome },
		"waits":    func(text string) outcome { return To[fromWork]{}.Stay(text, 0).outcome },
	}
	for _, tc := range []struct {
		texts []string
		want  []string // of the events
	}{
		{[]string{"Dumping", "Copying"}, []string{"Copying", "Dumping"}},
		{[]string{"Dump", "Dumping"}, []string{"Dump", "Dumping"}},
		{[]string{"Dumping", "Dump"}, []string{"Dump", "Dumping"}},
		{[]string{"1 of 3 after 30s", "2 of 3 after 1m30s"}, []string{"1 of 3 after 30s"}},
	} {
		for name, result := range results {
			t.Run(name+" "+tc.texts[1], func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					o := Options{Durable: true}
					if name == "is stuck" {
						o.StuckAfter = time.Nanosecond
					}
					f := newFarm(t, o)
					f.opts.StuckAfter = o.StuckAfter
					f.api = client.ClusterWide[animal](fakeapi.ClientOf(&finalizing{server: f.server}))
					f.applier = inventory.New(fakeapi.ClientOf(&finalizing{server: f.server}), f.name, nil)
					stop := f.record(t)
					var text string
					waits := 0
					f.states[1].step = func(_ any, c *Ctx[animal]) outcome {
						if name == "waits" {
							waits++
							c.Apply(inventory.Declaration{Object: hay("bale"), Ready: func(*unstructured.Unstructured) error {
								return errLabel(strings.Repeat("x", waits))
							}}, inventory.Declaration{Object: hay("stack"), Wave: 1})
						}
						out := result(text)
						out.event = &events.Event{Reason: strings.Map(func(r rune) rune {
							if r == ' ' {
								return '_'
							}
							return r
						}, text)}
						return out
					}
					for _, text = range tc.texts {
						for range 3 {
							time.Sleep(time.Second)
							_, _, _ = f.reconcile(t) // a failure is one of the results
						}
					}
					stop()
					var want []string
					for _, text := range tc.want {
						want = append(want, strings.ReplaceAll(text, " ", "_"))
					}
					if name == "is stuck" {
						want = append(want, reasonStuck)
					}
					f.wantEvents(t, want...)
				})
			})
		}
	}
}

// hay returns a config map to declare.
func hay(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// TestEventsOfAChildAreNotRepeated checks that each event of a child machine is recorded once, although its parent
// stays in one state.
func TestEventsOfAChildAreNotRepeated(t *testing.T) {
	for _, durable := range []bool{false, true} {
		t.Run(fmt.Sprintf("durable=%t", durable), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFarm(t, Options{})
				m := New[animal](f.server.Client(), "example.com/animal", &Options{Durable: durable, Events: f.opts.Events})
				Add(m, breed{})
				Add(m, end{})
				calves := NewGroup(m, "Calf", unborn{})
				Add(calves, calf{})
				m.states[0].step = func(_ any, c *Ctx[animal]) outcome {
					_, result := Join(To[fromBreed]{}, calves.Run(c, map[string]unborn{"a": {"a"}}))
					return result.outcome
				}
				before := calves.chart.states[0].step
				calves.chart.states[0].step = func(v any, c *Ctx[animal]) outcome {
					out := before(v, c)
					reason := map[how]string{goes: "Born", stays: "Awaited", fails: "Ill"}[out.how]
					out.event = &events.Event{Reason: reason}
					return out
				}
				calves.chart.states[1].step = func(any, *Ctx[animal]) outcome {
					return outcome{how: stays, reason: "it grows", event: &events.Event{Reason: "Grows"}}
				}
				f.Machine = m
				defer f.record(t)()
				for _, tc := range []struct {
					label string
					want  []string
				}{
					{"", []string{"Awaited"}},
					{"ill", []string{"Awaited", "Ill"}},
					{"born", []string{"Awaited", "Born", "Grows", "Ill"}},
				} {
					f.change(t, func(a *animal) { a.Labels = map[string]string{"a": tc.label} })
					for range 3 {
						if _, _, err := f.reconcile(t); (err != nil) != (tc.label == "ill") {
							t.Error(err)
						}
						f.wantEvents(t, tc.want...)
					}
				}
			})
		})
	}
}

// TestOnStepSeesEachStep checks what the hook receives, also for a step that panics.
func TestOnStepSeesEachStep(t *testing.T) {
	type key struct{}
	var got []string
	m := newMachine(t, &Options{OnStep: func(ctx context.Context, state string) (context.Context, func(Stepped)) {
		return context.WithValue(ctx, key{}, state), func(s Stepped) {
			text := state + ":" + s.Next + s.Reason
			if s.Done {
				text += "done"
			}
			if s.Err != nil {
				text += s.Err.Error()
			}
			got = append(got, text)
		}
	}})
	next := m.states[0].step
	m.states[0].step = func(v any, c *Ctx[animal]) outcome {
		if c.Value(key{}) != "start" {
			t.Error("the step does not have the context of the hook")
		}
		return next(v, c)
	}
	m.pass(t, new(animal), noon)
	waiting := new(animal)
	waiting.Labels = map[string]string{"wait": "rain"}
	m.pass(t, waiting, noon)
	failing := new(animal)
	failing.Labels = map[string]string{"fail": "broken"}
	m.pass(t, failing, noon)
	m.states[0].step = func(any, *Ctx[animal]) outcome { panic("oops") }
	func() {
		defer func() { _ = recover() }()
		m.pass(t, new(animal), noon)
	}()
	want := []string{
		"start:work", "work:end", "end:done", "start:work", "work:rain for dig", "start:work", "work:broken",
		"start:the step has panicked",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the hook has received %q, want %q", got, want)
	}
}

// TestAStatusThatCannotBeWrittenFailsTheRun checks that the error of the server is the error of the pass, together with
// that of the step.
func TestAStatusThatCannotBeWrittenFailsTheRun(t *testing.T) {
	f := newFarm(t, Options{})
	obj := f.get(t)
	gone := New[animal](fakeapi.New().Client(), f.name, nil)
	Add(gone, start{})
	Add(gone, work{})
	Add(gone, rest{})
	Add(gone, end{})
	gone.repeatable()
	if _, err := gone.Reconcile(t.Context(), obj); err == nil || !strings.Contains(err.Error(), "state end: apply animals") {
		t.Errorf("the error is %v", err)
	}
	obj.Labels = map[string]string{"fail": "hard rock"}
	_, err := gone.Reconcile(t.Context(), obj)
	if err == nil || !strings.Contains(err.Error(), "hard rock") || !strings.Contains(err.Error(), "apply animals") {
		t.Errorf("the error is %v", err)
	}
	gone.states[1].step = func(any, *Ctx[animal]) outcome {
		return outcome{how: fails, err: core.Terminal(errLabel("bedrock"))}
	}
	_, err = gone.Reconcile(t.Context(), obj)
	if err == nil || !strings.Contains(err.Error(), "bedrock") || core.IsTerminal(err) {
		t.Errorf("the error is %v, want one that is retried, so that the status is written", err)
	}
}

// TestAnIdleObjectIsReady checks that an idle state counts as done: the object is ready and never stuck, and objects
// that are not declared any more are deleted. Its delay holds.
func TestAnIdleObjectIsReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFarm(t, Options{StuckAfter: time.Minute, Durable: true})
		maps, err := core.ResourceOf[corev1.ConfigMap]()
		if err != nil {
			t.Fatal(err)
		}
		hay := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "meadow", Name: "hay"}}
		hay.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: "example.com/v1", Kind: "Animal", Name: "ox", UID: f.get(t).UID, Controller: new(true),
		}}
		f.server.Put(maps, hay)
		step := f.states[1].step
		f.states[1].step = func(value any, c *Ctx[animal]) outcome {
			if _, err := c.Get(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "hay"}}); err != nil { // it needs no discovery then
				t.Error(err)
			}
			return step(value, c)
		}
		f.change(t, func(obj *animal) {
			obj.Labels = map[string]string{"idle": "until the morning"}
			obj.Status.Inventory = []machine.Item{{Version: "v1", Kind: "ConfigMap", Namespace: "meadow", Name: "hay"}}
		})
		obj, action, err := f.reconcile(t)
		if err != nil || action != controller.RequeueAfter(time.Hour) {
			t.Errorf("the pass returns %v, %v", action, err)
		}
		wantConditions(t, obj, "start=True/Completed", "work=True/Idle: until the morning", "rest=Unknown/NotReached",
			"end=Unknown/NotReached", "Ready=True/Idle: work: until the morning")
		left, err := client.Namespaced[corev1.ConfigMap](f.server.Client(), "meadow").GetOrNil(t.Context(), "hay", nil)
		if left != nil || err != nil {
			t.Errorf("the object that is not declared is %v, %v", left, err)
		}
		time.Sleep(time.Hour)
		if obj, action, err := f.reconcile(t); obj != nil || err != nil || action != controller.RequeueAfter(time.Hour) {
			t.Errorf("an hour later, the pass has written %+v and returns %v, %v", obj, action, err)
		}
	})
}

// TestIdleIsStayInADeletion checks that a deletion does not end in an idle state.
func TestIdleIsStayInADeletion(t *testing.T) {
	m, obj := newMachine(t, nil), new(animal)
	obj.DeletionTimestamp, obj.Labels = new(metav1.NewTime(noon)), map[string]string{"idle": "yes"}
	m.pass(t, obj, noon)
	wantConditions(t, obj, "bury=False/Waiting: idle", "buried=Unknown/NotReached", "Ready=False/Deleting: bury: idle")
}

// TestADeletionIsStoredBeforeObjectsAreDeleted checks that a durable machine stores the end of a deletion before it
// deletes declared objects. A program that is killed in between would otherwise continue in a state that declares them
// again.
func TestADeletionIsStoredBeforeObjectsAreDeleted(t *testing.T) {
	f := newFarm(t, Options{})
	var sent []string
	c, err := client.New(t.Context(), &client.Options{
		Config: &config.Config{Server: "https://cluster.test"}, Transport: f.server,
		PerAttempt: []middleware.Func{func(next http.RoundTripper) http.RoundTripper {
			return middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
				if r.Method != http.MethodGet {
					sent = append(sent, r.Method+" "+r.URL.Path)
				}
				return next.RoundTrip(r)
			})
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	m := New[animal](c, "example.com/animal", &Options{Durable: true})
	Add(m, end{})
	OnDelete(m, bury{})
	OnDelete(m, buried{})
	hay := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "meadow", Name: "hay"}}
	hay.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "example.com/v1", Kind: "Animal", Name: "ox", UID: f.get(t).UID, Controller: new(true),
	}}
	if _, err := client.Namespaced[corev1.ConfigMap](f.server.Client(), "meadow").Create(t.Context(), hay, nil); err != nil {
		t.Fatal(err)
	}
	step := m.states[1].step
	m.states[1].step = func(value any, c *Ctx[animal]) outcome {
		if _, err := c.Get(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "hay"}}); err != nil { // it needs no discovery then
			t.Error(err)
		}
		return step(value, c)
	}
	f.change(t, func(obj *animal) {
		obj.Finalizers, obj.DeletionTimestamp = []string{"example.com/animal"}, new(metav1.NewTime(noon))
		obj.Status.Inventory = []machine.Item{{Version: "v1", Kind: "ConfigMap", Namespace: "meadow", Name: "hay"}}
	})
	_, err = m.Reconcile(t.Context(), f.get(t))
	const status, remove = "PATCH /apis/example.com/v1/namespaces/meadow/animals/ox/status", "DELETE /api/v1/namespaces/meadow/configmaps/hay"
	if len(sent) < 2 || sent[0] != status || sent[1] != remove {
		t.Errorf("the pass has sent %q, %v", sent, err)
	}
	if p := f.get(t).Status.FSM; p == nil || p.State != "buried" {
		t.Errorf("the stored position is %+v", p)
	}
}

// TestAStalePassOverwritesNothing checks that a pass for an old state of the object, such as that in the cache of a new
// leader, does not replace the status that a later pass has stored.
func TestAStalePassOverwritesNothing(t *testing.T) {
	f := newFarm(t, Options{Durable: true})
	stale := f.get(t)
	if _, err := f.Reconcile(t.Context(), f.get(t)); err != nil {
		t.Fatal(err)
	}
	want := f.get(t)
	if want.ResourceVersion == stale.ResourceVersion {
		t.Fatal("the pass has stored nothing")
	}
	f.change(t, func(obj *animal) { obj.Status.FSM.Visits = map[string]int32{"start": 7} })
	want = f.get(t)
	if _, err := f.Reconcile(t.Context(), stale); !errors.Is(err, core.ErrConflict) {
		t.Errorf("a stale pass: %v, want a conflict", err)
	}
	if diff := cmp.Diff(want, f.get(t)); diff != "" {
		t.Errorf("the object after a stale pass (-want +got):\n%s", diff)
	}
}
