// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fsm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/machine"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/events"
	"github.com/kube-go/sdk/runtime/internal/fakeapi"
	"github.com/kube-go/sdk/runtime/inventory"
)

// finalizing is a transport to a fake server that adds what the server lacks: finalizers and dry runs.
type finalizing struct {
	server   *fakeapi.Server
	posted   []string // the methods and paths of creates and deletes
	requests atomic.Int64
}

// RoundTrip responds to a request.
func (f *finalizing) RoundTrip(r *http.Request) (*http.Response, error) {
	f.requests.Add(1)
	switch {
	case r.URL.Query().Get("dryRun") != "":
		return f.plan(r)
	case r.Method == http.MethodDelete:
		if obj := f.get(r); len(obj.Finalizers) > 0 {
			return f.merge(r, map[string]any{"deletionTimestamp": time.Now().UTC().Format(time.RFC3339)})
		}
	case r.Header.Get("Content-Type") == "application/json-patch+json":
		return f.swap(r)
	}
	resp, err := f.server.RoundTrip(r)
	if err == nil && (resp.StatusCode == http.StatusCreated || r.Method == http.MethodDelete) {
		f.posted = append(f.posted, r.Method+" "+r.URL.Path)
	}
	return resp, err
}

// send sends another request for the same object.
func (f *finalizing) send(r *http.Request, method string, body any) (*http.Response, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	other := r.Clone(r.Context())
	other.Method, other.URL.RawQuery = method, ""
	other.Header.Set("Content-Type", "application/merge-patch+json")
	other.Body = io.NopCloser(bytes.NewReader(data))
	return f.server.RoundTrip(other)
}

func (f *finalizing) merge(r *http.Request, metadata map[string]any) (*http.Response, error) {
	return f.send(r, http.MethodPatch, map[string]any{"metadata": metadata})
}

// get returns the metadata of the object of a request.
func (f *finalizing) get(r *http.Request) (obj metav1.PartialObjectMetadata) {
	if resp, err := f.send(r, http.MethodGet, nil); err == nil {
		defer resp.Body.Close()
		_ = json.NewDecoder(resp.Body).Decode(&obj)
	}
	return obj
}

// swap responds to a patch that replaces the finalizers.
func (f *finalizing) swap(r *http.Request) (*http.Response, error) {
	var ops []struct {
		Op, Path string
		Value    any
	}
	if err := json.NewDecoder(r.Body).Decode(&ops); err != nil {
		return nil, err
	}
	obj := f.get(r)
	var now any
	for i, name := range obj.Finalizers {
		if i == 0 {
			now = []any{}
		}
		now = append(now.([]any), name)
	}
	last := ops[len(ops)-1]
	for _, op := range ops {
		if op.Op == "test" && op.Path == last.Path && !reflect.DeepEqual(op.Value, now) {
			return f.send(r, http.MethodPatch, map[string]any{"metadata": map[string]any{"resourceVersion": "conflict"}})
		}
	}
	resp, err := f.merge(r, map[string]any{"finalizers": last.Value})
	if err == nil && last.Op == "remove" && obj.DeletionTimestamp != nil {
		_, err = f.send(r, http.MethodDelete, nil)
	}
	return resp, err
}

// plan responds to a dry run of an apply.
func (f *finalizing) plan(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	body = bytes.Replace(body, []byte(`"metadata":{`), []byte(`"metadata":{"uid":"planned",`), 1)
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(body)),
	}, err
}

// coffin is a secret that is deleted only when its finalizer is removed.
func coffin() *corev1.Secret {
	s := secret("coffin")
	s.Finalizers = []string{"example.com/grave"}
	return s
}

// declares makes a step declare the objects.
func declares(step handler[animal], objects ...core.Object) handler[animal] {
	return func(v any, c *Ctx[animal]) outcome {
		for _, obj := range objects {
			c.Apply(inventory.Declaration{Object: obj})
		}
		return step(v, c)
	}
}

// TestADeletionEndsAlthoughItsStatesDeclareObjects checks that the states of a deletion are not repeated while what
// they have declared is being deleted: they would create it again, forever.
func TestADeletionEndsAlthoughItsStatesDeclareObjects(t *testing.T) {
	for _, durable := range []bool{false, true} {
		s := newStore(t, "example.com/animal")
		f := &finalizing{server: s.server}
		m := New[animal](fakeapi.ClientOf(f), "example.com/animal", &Options{Durable: durable})
		Add(m, end{})
		OnDelete(m, bury{})
		OnDelete(m, buried{})
		steps := 0
		m.states[1].step = declares(m.states[1].step, coffin())
		last := declares(m.states[2].step, secret("flowers"))
		m.states[2].step = func(v any, c *Ctx[animal]) outcome {
			steps++
			return last(v, c)
		}
		got := s.pass(t, m, func(a *animal) { a.DeletionTimestamp = new(metav1.NewTime(noon)) })
		if got += " then " + s.pass(t, m, func(a *animal) { a.Generation++ }); got != "coffin then coffin" {
			t.Errorf("durable %t: the secrets are %s, want only the one that waits", durable, got)
		}
		obj, err := s.animals.Get(t.Context(), "ox", nil)
		if err != nil {
			t.Fatal(err)
		}
		wantConditions(t, obj, "bury=True/Completed", "buried=True/Completed",
			"Ready=False/Deleting: Secret meadow/coffin is being deleted")
		s.server.Delete(s.secrets.Resource(), core.ObjectRef{Namespace: "meadow", Name: "coffin"})
		if got := s.pass(t, m, func(*animal) {}); got != "" {
			t.Errorf("durable %t: the secrets %s exist again", durable, got)
		}
		if obj, err := s.animals.GetOrNil(t.Context(), "ox", nil); obj != nil || err != nil {
			t.Errorf("durable %t: the object is %+v, %v", durable, obj, err)
		}
		if steps != 1 {
			t.Errorf("durable %t: the last state was called %d times", durable, steps)
		}
	}
}

// TestThePlanOfADeletionDeletesWhatItDeclares checks that a plan has the same creates and deletes as the pass.
func TestThePlanOfADeletionDeletesWhatItDeclares(t *testing.T) {
	s := newStore(t, "example.com/animal")
	f := &finalizing{server: s.server}
	m := New[animal](fakeapi.ClientOf(f), "example.com/animal", nil)
	Add(m, end{})
	OnDelete(m, bury{})
	OnDelete(m, buried{})
	m.states[0].step = declares(m.states[0].step, secret("hay"))
	m.states[2].step = declares(m.states[2].step, secret("flowers"))
	if got := s.pass(t, m, func(*animal) {}); got != "hay" {
		t.Fatalf("the secrets are %s", got)
	}
	obj, err := s.animals.Get(t.Context(), "ox", nil)
	if err != nil {
		t.Fatal(err)
	}
	obj.DeletionTimestamp = new(metav1.NewTime(noon))
	p, err := m.Plan(t.Context(), obj)
	if err != nil {
		t.Fatal(err)
	}
	var plan []string
	for _, a := range p.Actions {
		plan = append(plan, a.Verb+" "+a.Item.Name)
	}
	if want := []string{"create flowers", "delete hay", "delete flowers"}; !slices.Equal(plan, want) || !p.Done {
		t.Errorf("the plan is %q, done: %t (%s, %v), want %q", plan, p.Done, p.Reason, p.Err, want)
	}
	f.posted = nil
	s.pass(t, m, func(a *animal) { a.DeletionTimestamp = obj.DeletionTimestamp })
	const secrets = " /api/v1/namespaces/meadow/secrets/"
	want := []string{"PATCH" + secrets + "flowers", "DELETE" + secrets + "hay", "DELETE" + secrets + "flowers"}
	if !slices.Equal(f.posted, want) {
		t.Errorf("the pass has sent %q, want %q", f.posted, want)
	}
}

// TestAStalePassLosesNoInventory checks that a pass for an old state of the object, which does not have the finalizer
// yet, does not replace the inventory of a later one: nothing would ever delete those objects.
func TestAStalePassLosesNoInventory(t *testing.T) {
	s := newStore(t, "example.com/other")
	f := &finalizing{server: s.server}
	m := New[animal](fakeapi.ClientOf(f), "example.com/animal", nil)
	Add(m, end{})
	m.states[0].step = declareSecrets(m.states[0].step, "start")
	stale, err := s.animals.Get(t.Context(), "ox", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.pass(t, m, func(a *animal) { a.Annotations = map[string]string{"start": "far"} }); got != "far" {
		t.Fatalf("the secrets are %s", got)
	}
	stale.Annotations = map[string]string{"start": "near"}
	if _, err := m.Reconcile(t.Context(), stale); !errors.Is(err, core.ErrConflict) {
		t.Errorf("a stale pass: %v, want a conflict", err)
	}
	obj, err := s.animals.Get(t.Context(), "ox", nil)
	if err != nil {
		t.Fatal(err)
	}
	if items := obj.Status.Inventory; len(items) != 1 || items[0].Name != "far" {
		t.Errorf("the inventory is %+v", items)
	}
}

// TestAStalePassDoesNotEndADeletion checks that a pass for an old state of a deleted object does not remove the
// finalizer: a later pass may have declared objects that the old state does not have.
func TestAStalePassDoesNotEndADeletion(t *testing.T) {
	s := newStore(t, "example.com/animal")
	f := &finalizing{server: s.server}
	m := New[animal](fakeapi.ClientOf(f), "example.com/animal", nil)
	Add(m, end{})
	OnDelete(m, bury{})
	OnDelete(m, buried{})
	rain, step := true, m.states[1].step
	m.states[1].step = func(v any, c *Ctx[animal]) outcome {
		if rain {
			c.Apply(inventory.Declaration{Object: secret("tent")})
			return outcome{how: stays, reason: "it rains"}
		}
		return step(v, c)
	}
	stale, err := s.animals.Get(t.Context(), "ox", nil)
	if err != nil {
		t.Fatal(err)
	}
	stale.DeletionTimestamp = new(metav1.NewTime(noon))
	stale.ResourceVersion = s.server.Put(s.animals.Resource(), stale)
	if got := s.pass(t, m, func(*animal) {}); got != "tent" {
		t.Fatalf("the secrets are %s", got)
	}
	rain = false
	if _, err := m.Reconcile(t.Context(), stale); !errors.Is(err, core.ErrConflict) {
		t.Errorf("a stale pass returns %v, want a conflict", err)
	}
	obj, err := s.animals.GetOrNil(t.Context(), "ox", nil)
	if err != nil || obj == nil || len(obj.Status.Inventory) != 1 {
		t.Fatalf("after a stale pass, the object is %+v, %v", obj, err)
	}
	if got := s.pass(t, m, func(*animal) {}); got != "" {
		t.Errorf("after the deletion, the secrets are %s", got)
	}
	if obj, err := s.animals.GetOrNil(t.Context(), "ox", nil); obj != nil || err != nil {
		t.Errorf("after the deletion, the object is %+v, %v", obj, err)
	}
}

// TestTheEventsOfADeletionAreNotRepeated checks a pass that can't remove the finalizer.
func TestTheEventsOfADeletionAreNotRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		farm := newFarm(t, Options{})
		defer farm.record(t)()
		m := New[animal](farm.server.Client(), "example.com/animal", &Options{Events: farm.opts.Events})
		Add(m, end{})
		OnDelete(m, buried{})
		m.states[1].step = func(any, *Ctx[animal]) outcome {
			return Done(To[Terminal]{}).Event(events.Event{Reason: "Buried"}).outcome
		}
		farm.change(t, func(obj *animal) {
			obj.Finalizers, obj.DeletionTimestamp = []string{m.name}, new(metav1.NewTime(noon))
		})
		for range 3 {
			if _, err := m.Reconcile(t.Context(), farm.get(t)); err == nil { // the fake server can't change finalizers
				t.Error("the pass has succeeded")
			}
			time.Sleep(time.Minute)
			farm.wantEvents(t, "Buried")
		}
	})
}

// TestADeletionThatWaitsTooLongIsStuck checks the condition, the event and the position of an object whose declared
// objects remain, for a machine with and without states for deletions.
func TestADeletionThatWaitsTooLongIsStuck(t *testing.T) {
	for _, states := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			farm := newFarm(t, Options{})
			f := &finalizing{server: farm.server}
			recorder := events.NewRecorder(fakeapi.ClientOf(f), &events.Options{Controller: "farm"})
			m := New[animal](fakeapi.ClientOf(f), "example.com/animal", &Options{StuckAfter: time.Hour, Events: recorder})
			Add(m, end{})
			if states {
				OnDelete(m, buried{})
			}
			hay := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
				Namespace: "meadow", Name: "hay", Finalizers: []string{"example.com/grave"},
				OwnerReferences: []metav1.OwnerReference{{
					APIVersion: "example.com/v1", Kind: "Animal", Name: "ox", UID: farm.get(t).UID, Controller: new(true),
				}},
			}}
			maps := client.Namespaced[corev1.ConfigMap](farm.server.Client(), "meadow")
			if _, err := maps.Create(t.Context(), hay, nil); err != nil {
				t.Fatal(err)
			}
			// It needs no discovery then.
			if _, err := m.applier.Begin(farm.get(t), nil, createsNothing).Get(t.Context(), hay); err != nil {
				t.Fatal(err)
			}
			farm.change(t, func(obj *animal) {
				obj.Finalizers, obj.DeletionTimestamp = []string{m.name}, new(metav1.Now())
				obj.Status.Inventory = []machine.Item{{Version: "v1", Kind: "ConfigMap", Namespace: "meadow", Name: "hay"}}
			})
			farm.Machine = m
			defer farm.record(t)()
			defer farm.run(t, cache.New(farm.server.Client(), nil))()
			look := func() (reason string, position Position) {
				for p := range m.Positions() {
					position = p
				}
				for _, c := range farm.get(t).Status.Conditions {
					if c.Type == readyType {
						reason = c.Reason
					}
				}
				return reason, position
			}
			time.Sleep(time.Minute)
			if reason, p := look(); reason != reasonDeleting || p.Stuck || !p.Deleting {
				t.Errorf("after a minute, Ready has the reason %s, and the position is %+v", reason, p)
			}
			time.Sleep(time.Hour)
			if reason, p := look(); reason != reasonStuck || !p.Stuck || !strings.Contains(p.Reason, "hay is being deleted") {
				t.Errorf("after an hour, Ready has the reason %s, and the position is %+v", reason, p)
			}
			list, err := farm.events.List(t.Context(), nil)
			if err != nil || len(list.Items) != 1 || list.Items[0].Reason != reasonStuck {
				t.Errorf("the events are %+v, %v", list, err)
			}
		})
	}
}

// TestAMachineDoesNotStartItself checks that the writes of a machine start no passes: a failure with another text each
// time, a cycle and a wait with another reason each time take place as often as the back-off allows, and a change of
// somebody else starts a pass.
func TestAMachineDoesNotStartItself(t *testing.T) {
	for _, tc := range []struct {
		name        string
		least, most int               // passes in an hour
		step        func(int) outcome // the result of the second state, for each time
		leftover    bool              // there is a declared object that can't be deleted
	}{
		{"errors with a request ID", 10, 25, func(n int) outcome {
			return outcome{how: fails, err: errLabel("request " + strings.Repeat("ab", n) + " has failed")}
		}, false},
		{"errors with a counter", 10, 25, func(n int) outcome {
			return outcome{how: fails, err: errLabel(fmt.Sprintf("attempt %d has failed", n))}
		}, false},
		{"a cycle", 10, 25, func(int) outcome { return outcome{how: goes, next: rest{}} }, false},
		{"reasons that differ", 1, 1, func(n int) outcome {
			return outcome{how: stays, reason: strings.Repeat("x", n)}
		}, false},
		{"a failing child beside one with a negative delay", 10, 25, func(int) outcome {
			return joined(To[fromWork]{}, To[fromUnborn]{}.Retry(errLabel("it is ill")),
				To[fromUnborn]{}.Stay("there", -time.Minute)).outcome
		}, false},
		{"a failing child beside one with a delay in nanoseconds", 10, 25, func(int) outcome {
			return joined(To[fromWork]{}, To[fromUnborn]{}.Retry(errLabel("it is ill")),
				To[fromUnborn]{}.Stay("there", 30)).outcome
		}, false},
		{"a final failure of a child beside one with a negative delay", 10, 25, func(int) outcome {
			return joined(To[fromWork]{}, To[fromUnborn]{}.Retry(core.Terminal(errLabel("it is dead"))),
				To[fromUnborn]{}.Stay("there", -time.Minute)).outcome
		}, false},
		{"an idle state with a negative delay, and a failing delete", 10, 25, func(int) outcome {
			return To[fromWork]{}.Idle("until the morning", -time.Minute).outcome
		}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, passes := newFarm(t, Options{Durable: true}), 0
				if tc.leftover { // its kind can't be looked up
					f.change(t, func(obj *animal) {
						obj.Status.Inventory = []machine.Item{{Version: "v1", Kind: "Secret", Name: "hay"}}
					})
				}
				f.states[1].step = func(any, *Ctx[animal]) outcome {
					passes++
					return tc.step(passes)
				}
				defer f.run(t, cache.New(f.server.Client(), nil))()
				time.Sleep(time.Hour)
				synctest.Wait()
				if passes < tc.least || passes > tc.most {
					t.Errorf("an hour has %d passes, want %d to %d", passes, tc.least, tc.most)
				}
				before := passes
				f.change(t, func(obj *animal) { obj.Labels = map[string]string{"rest": "yes"} })
				time.Sleep(time.Millisecond)
				synctest.Wait()
				if passes == before {
					t.Error("a change of others starts no pass")
				}
			})
		})
	}
}

// TestADeadlineHoldsWhileAStateFails checks that the back-off of failures, which is up to 1000 s, delays neither a
// deadline nor the condition of a stuck object.
func TestADeadlineHoldsWhileAStateFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFarm(t, Options{Durable: true, StuckAfter: 1100 * time.Second})
		f.states[1].step = func(any, *Ctx[animal]) outcome { return outcome{how: fails, err: errLabel("no food")} }
		f.states[1].deadline = func(any, *Ctx[animal]) time.Duration { return 1500 * time.Second }
		f.states[1].onDeadline = func(any, *Ctx[animal]) outcome { return outcome{how: goes, next: end{}} }
		defer f.run(t, cache.New(f.server.Client(), nil))()
		time.Sleep(1100*time.Second + time.Millisecond)
		synctest.Wait()
		if c := f.get(t).Status.Conditions[1]; c.Reason != reasonStuck {
			t.Errorf("after StuckAfter, the condition is %+v", c)
		}
		time.Sleep(400 * time.Second)
		synctest.Wait()
		if p := f.get(t).Status.FSM; p.State != "end" {
			t.Errorf("after the deadline, the position is %+v", p)
		}
	})
}

// TestAnIdleObjectIsNotStuck checks the metrics and the position of a machine that waits for its next task.
func TestAnIdleObjectIsNotStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFarm(t, Options{Durable: true, StuckAfter: time.Minute})
		f.change(t, func(obj *animal) { obj.Labels = map[string]string{"idle": "until the morning"} })
		defer f.run(t, cache.New(f.server.Client(), nil))()
		time.Sleep(30 * time.Minute)
		synctest.Wait()
		if s := f.Overview().States[1]; s.Objects != 1 || s.Stuck != 0 || s.Oldest != 0 {
			t.Errorf("the overview is %+v", s)
		}
		for p := range f.Positions() {
			if !p.Idle || p.Stuck || p.Done {
				t.Errorf("the position is %+v", p)
			}
		}
	})
}

// TestADeletionIsNoticedAtOnce checks that a deleted object needs no polling: a waiting machine sends no requests, its
// states of the deletion are called as soon as the object is deleted, and the finalizer of another machine stays.
func TestADeletionIsNoticedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, "example.com/other")
		f := &finalizing{server: s.server}
		m := New[animal](fakeapi.ClientOf(f), "example.com/animal", nil)
		Add(m, start{})
		Add(m, work{})
		Add(m, rest{})
		Add(m, end{})
		OnDelete(m, buried{})
		m.repeatable()
		m.states[0].step = func(any, *Ctx[animal]) outcome { return outcome{how: stays, reason: "waits"} }
		ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
		ended := make(chan error, 1)
		ctl := controller.New(controller.For[animal](cache.New(s.server.Client(), nil)), nil)
		go func() { ended <- ctl.Run(ctx, m.Reconcile) }()
		defer func() {
			cancel()
			<-ended //nolint:errcheck // the cause of the context
		}()
		synctest.Wait()
		before := f.requests.Load()
		time.Sleep(time.Hour)
		synctest.Wait()
		if after := f.requests.Load(); before == 0 || after != before {
			t.Errorf("the machine has sent %d requests, and then %d in an hour without a change", before, after-before)
		}
		deleted := time.Now()
		obj, err := s.animals.Get(t.Context(), "ox", nil)
		if err != nil {
			t.Fatal(err)
		}
		obj.DeletionTimestamp = new(metav1.Now())
		s.server.Put(s.animals.Resource(), obj)
		synctest.Wait()
		obj, err = s.animals.Get(t.Context(), "ox", nil)
		if err != nil || !slices.Equal(obj.Finalizers, []string{"example.com/other"}) {
			t.Errorf("%v after the deletion, the object is %+v, %v", time.Since(deleted), obj, err)
		}
	})
}

// TestEachGenerationIsCounted checks that the numbers of transitions and the calls of the hook include each generation.
func TestEachGenerationIsCounted(t *testing.T) {
	const generations = 12
	steps := 0
	m := newMachine(t, &Options{OnStep: func(ctx context.Context, _ string) (context.Context, func(Stepped)) {
		return ctx, func(Stepped) { steps++ }
	}})
	obj := new(animal)
	for range generations {
		obj.Generation++
		m.pass(t, obj, noon)
	}
	taken := m.Overview().Transitions[0]
	if taken.From != "start" || taken.Taken != generations || steps != 3*generations {
		t.Errorf("%+v, and %d steps, want %d transitions and three times as many steps", taken, steps, generations)
	}
}
