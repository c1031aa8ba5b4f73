// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fsm

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/inventory"
)

// finished is a signal.
type finished struct{ ID int }

// TestSignals checks that a signal starts a pass, and is received once, also if a pass fails in between.
func TestSignals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFarm(t, Options{})
		key := controller.Key{Ref: core.ObjectRef{Namespace: "meadow", Name: "ox"}}
		var got []string
		fail := false
		f.states[0].step = func(_ any, c *Ctx[animal]) outcome {
			if _, ok := Received[string](c); ok {
				t.Error("a signal of another type was received")
			}
			if s, ok := Received[finished](c); ok {
				got = append(got, fmt.Sprint(s.ID))
			} else {
				got = append(got, "-")
			}
			if fail {
				return outcome{how: fails, err: errLabel("failed")}
			}
			return outcome{how: stays, reason: "waits"}
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		ctl := controller.New(controller.For[animal](cache.New(f.server.Client(), nil)), nil).Watches(controller.On(f.Signals))
		go func() { ended <- ctl.Run(ctx, f.Reconcile) }()
		defer func() {
			stop()
			<-ended //nolint:errcheck // the cause of the context
		}()
		want := func(all string) {
			t.Helper()
			synctest.Wait()
			if fmt.Sprint(got) != all {
				t.Errorf("the passes have received %v, want %s", got, all)
			}
			got = nil
		}
		want("[-]")
		Send(f.Machine, key, finished{1})
		want("[1]")
		fail = true
		Send(f.Machine, key, finished{2})
		synctest.Wait()
		fail = false
		Send(f.Machine, key, finished{3})
		synctest.Wait()
		if last := got[len(got)-1]; got[0] != "2" || len(f.signals.values) != 0 || last != "-" && last != "3" {
			t.Errorf("the passes have received %v, and %d signals are left", got, len(f.signals.values))
		}
	})
}

// TestASignalWakesOnlyAStateThatWaitsForIt checks that a value starts a pass if the last Step has asked for its type,
// and is kept for a later state otherwise.
func TestASignalWakesOnlyAStateThatWaitsForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFarm(t, Options{Durable: true})
		key := controller.Key{Ref: core.ObjectRef{Namespace: "meadow", Name: "ox"}}
		var log []string
		f.states[0].step = func(_ any, c *Ctx[animal]) outcome {
			log = append(log, "start")
			if c.Obj.Labels["go"] == "" {
				return outcome{how: stays, reason: "waits for a label"}
			}
			return outcome{how: goes, next: work{}}
		}
		f.states[1].step = func(_ any, c *Ctx[animal]) outcome {
			s, ok := Received[finished](c)
			log = append(log, fmt.Sprint("work ", s.ID, ok))
			return outcome{how: stays, reason: "waits for a signal"}
		}
		ctl := controller.New(controller.For[animal](cache.New(f.server.Client(), nil)), nil).Watches(controller.On(f.Signals))
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- ctl.Run(ctx, f.Reconcile) }()
		defer func() {
			stop()
			<-ended //nolint:errcheck // the cause of the context
		}()
		for _, step := range []struct {
			what string
			do   func()
			want string
		}{
			{"the first pass", func() {}, "[start]"},
			{"a value that no state waits for yet", func() { Send(f.Machine, key, finished{1}) }, "[]"},
			{"the next state", func() {
				f.change(t, func(a *animal) { a.Labels = map[string]string{"go": "yes"} })
			}, "[start work 1 true]"},
			{"another type", func() { Send(f.Machine, key, "finished") }, "[]"},
			{"the type that the state waits for", func() { Send(f.Machine, key, finished{2}) }, "[work 2 true]"},
			{"a deleted object", func() { f.server.Delete(f.api.Resource(), key.Ref) }, "[]"},
		} {
			step.do()
			synctest.Wait()
			if got := fmt.Sprint(log); got != step.want {
				t.Errorf("%s: the steps are %s, want %s", step.what, got, step.want)
			}
			log = nil
		}
		if len(f.signals.values) != 0 {
			t.Errorf("values of the deleted object are kept: %v", f.signals.values)
		}
	})
}

// TestASignalThatIsSentDuringAPassIsNotMissed checks that a value starts another pass if the state of the pass waits
// for it, although the state was not known when the value was sent.
func TestASignalThatIsSentDuringAPassIsNotMissed(t *testing.T) {
	s := newSignals()
	key, typ := controller.Key{}, reflect.TypeFor[finished]()
	s.put(key, typ, finished{1})
	box, last := s.of(key)
	if s.done(key, nil, []reflect.Type{typ}, last) {
		t.Error("the pass had the value")
	}
	s.put(key, typ, finished{2})
	if !s.done(key, box, []reflect.Type{typ}, last) {
		t.Error("the value that was sent during the pass is missed")
	}
	if s.done(key, box, []reflect.Type{reflect.TypeFor[string]()}, last) {
		t.Error("the state does not wait for this type")
	}
}

// TestASignalIsReceivedOnceAlsoIfALaterStateIsRepeated checks which values a pass removes: those that a state of a
// durable machine has received before it was left, also if the next state has to be repeated, and not those of a
// repeated state.
func TestASignalIsReceivedOnceAlsoIfALaterStateIsRepeated(t *testing.T) {
	typ := reflect.TypeFor[finished]()
	for _, tc := range []struct {
		name    string
		durable bool
		in      int     // the state that receives
		next    outcome // of the second state
		out     fakeOutputs
		want    bool // the value is removed
	}{
		{"a later state waits for its objects", true, 0, outcome{how: goes, next: end{}}, fakeOutputs{waiting: "w"}, true},
		{"a later state fails", true, 0, outcome{how: fails, err: errLabel("e")}, fakeOutputs{}, true},
		{"the state waits for its objects", true, 1, outcome{how: goes, next: end{}}, fakeOutputs{waiting: "w"}, false},
		{"the state fails", true, 1, outcome{how: fails, err: errLabel("e")}, fakeOutputs{}, false},
		{"the state stays", true, 1, outcome{how: stays}, fakeOutputs{}, true},
		{"the pass is repeated", false, 0, outcome{how: goes, next: end{}}, fakeOutputs{waiting: "w"}, false},
		{"a later state stays", false, 0, outcome{how: stays}, fakeOutputs{}, true},
	} {
		m := newMachine(t, &Options{Durable: tc.durable})
		steps := []outcome{{how: goes, next: work{}}, tc.next}
		for i, out := range steps {
			m.states[i].step = func(_ any, c *Ctx[animal]) outcome {
				if _, ok := Received[finished](c); ok != (i == tc.in) && i >= tc.in {
					t.Errorf("%s: state %d has received the value: %t", tc.name, i, ok)
				}
				if i == 1 {
					c.Apply(inventory.Declaration{Object: secret("a")})
				}
				return out
			}
			if i < tc.in {
				m.states[i].step = func(any, *Ctx[animal]) outcome { return out }
			}
		}
		c, sent := &Ctx[animal]{Context: t.Context(), Obj: new(animal)}, mailbox{typ: {1, finished{1}}}
		w := m.walk(c, nil, sent, 1, false, noon, &tc.out)
		if _, got := w.consumed[typ]; got != tc.want {
			t.Errorf("%s: the value is removed: %t, want %t", tc.name, got, tc.want)
		}
	}
}

// TestASignalOfChildrenIsReceivedOnce checks that each child receives a value once, and that neither their parent nor
// the state after it receives it again.
func TestASignalOfChildrenIsReceivedOnce(t *testing.T) {
	typ := reflect.TypeFor[finished]()
	for _, durable := range []bool{false, true} {
		for _, stay := range []bool{false, true} { // whether the children do not end
			m, obj := herd(t, &Options{Durable: durable}), new(animal)
			obj.Annotations = map[string]string{"calves": "a bb"}
			obj.Labels = map[string]string{"a": "born", "bb": "born"}
			var got []string
			receives := func(s *state[animal], before bool, next handler[animal]) {
				s.step = func(v any, c *Ctx[animal]) (out outcome) {
					if !before {
						out = next(v, c)
					}
					if _, ok := Received[finished](c); ok {
						got = append(got, strings.TrimSpace(s.name+" "+c.Child()))
					}
					if before {
						out = next(v, c)
					}
					return out
				}
			}
			receives(m.groups[0].states[0], true, m.groups[0].states[0].step)
			receives(m.groups[0].states[1], true, func(any, *Ctx[animal]) outcome {
				if stay {
					return outcome{how: stays, reason: "it grows"}
				}
				return outcome{how: ends}
			})
			receives(m.states[0], false, m.states[0].step)
			receives(m.states[1], true, m.states[1].step)
			c, sent := &Ctx[animal]{Context: t.Context(), Obj: obj}, mailbox{typ: {1, finished{1}}}
			w := m.walk(c, nil, sent, 1, false, noon, nil)
			if want := []string{"unborn a", "unborn bb"}; !slices.Equal(got, want) {
				t.Errorf("durable %t, the children stay %t: the value is received by %q, want %q", durable, stay, got, want)
			}
			if _, ok := w.consumed[typ]; !ok {
				t.Errorf("durable %t, the children stay %t: the value is not removed", durable, stay)
			}
		}
	}
}

// TestSignalsAreBounded checks that signals that nobody receives do not grow without limit, and do not stop later ones.
func TestSignalsAreBounded(t *testing.T) {
	m := newMachine(t, nil)
	key := controller.Key{}
	for i := range maxSignals + 10 {
		key.Ref.Name = fmt.Sprint(i)
		Send(m, key, finished{i})
		Send(m, key, i)
	}
	if n, w := len(m.signals.values), len(m.signals.waiting); n != maxSignals || w != maxSignals {
		t.Errorf("%d signals, %d waiting keys, want %d", n, w, maxSignals)
	}
	if box, _ := m.signals.of(key); len(box) != 2 {
		t.Errorf("the last object has the signals %v", box)
	}
}
