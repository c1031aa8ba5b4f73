// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fsm

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/runtime/internal/fakeapi"
)

// token is the value of every state of a random machine: the machine finds the next state by its index instead of its
// type, see randomMachine.
type token struct{ Entered int }

// scripted is a random machine whose states return what the test has decided.
type scripted struct {
	*Machine[animal]
	next func(at int) outcome // the result of the state with this index
	seen []int                // the states that were called in this pass

	restarted []bool // whether each of them has returned Restart
}

// randomMachine returns a machine with random transitions. The types of its states are arrays of different lengths.
func randomMachine(r *rand.Rand, o *Options) *scripted {
	s := &scripted{Machine: New[animal](fakeapi.New().Client(), "example.com/random", o)}
	n := 2 + r.IntN(5)
	for i := range n {
		st := &state[animal]{
			name: fmt.Sprint("S", i), typ: reflect.ArrayOf(i, reflect.TypeFor[token]()), deletes: i >= n-1-r.IntN(2) && i > 0,
		}
		st.step = func(any, *Ctx[animal]) outcome {
			out := s.next(i)
			s.seen, s.restarted = append(s.seen, i), append(s.restarted, out.how == restarts)
			return out
		}
		s.states = append(s.states, st)
	}
	for _, from := range s.states {
		for to, target := range s.states {
			if target.deletes == from.deletes && r.IntN(2) == 0 {
				from.targets = append(from.targets, to)
			}
		}
		from.steps.taken = make([]atomic.Uint64, len(from.targets))
	}
	s.built.Do(func() { s.graph, s.version = graphOf(s.Machine), "1" })
	return s
}

// outcome returns a random result of a state.
func (s *scripted) outcome(r *rand.Rand, at int) outcome {
	switch targets := s.states[at].targets; {
	case r.IntN(20) == 0:
		return outcome{how: restarts}
	case r.IntN(10) == 0:
		return outcome{how: fails, err: errLabel("failed")}
	case len(targets) > 0 && r.IntN(3) > 0:
		return outcome{how: goes, next: reflect.Zero(s.states[targets[r.IntN(len(targets))]].typ).Interface()}
	case r.IntN(3) == 0:
		return outcome{how: ends}
	case r.IntN(3) == 0:
		return outcome{how: ends, failed: true, reason: "has failed"}
	}
	return outcome{how: stays, reason: "waits", idle: r.IntN(2) == 0}
}

// TestRandomMachines checks what holds for each pass of each machine, whatever its states return.
func TestRandomMachines(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 1))
		o, visits := &Options{Durable: r.IntN(2) == 0, History: r.IntN(4) - 1}, 1+r.IntN(2)
		m, obj, now := randomMachine(r, o), new(animal), noon
		m.visits = visits
		for range 30 {
			now = now.Add(time.Second)
			if r.IntN(10) == 0 {
				obj.Generation++
			}
			if r.IntN(30) == 0 && obj.DeletionTimestamp == nil && m.deletes() {
				obj.DeletionTimestamp = new(metav1.NewTime(now))
			}
			results := map[int]outcome{} // the same state returns the same in a pass
			m.next = func(at int) outcome {
				if _, ok := results[at]; !ok {
					results[at] = m.outcome(r, at)
				}
				return results[at]
			}
			if !checkPass(t, m, obj, now) {
				t.Fatalf("seed %d", seed)
			}
		}
	}
}

// checkPass makes a pass and checks it. Then it makes the same pass again, which must not change the status.
func checkPass(t *testing.T, m *scripted, obj *animal, now time.Time) bool {
	t.Helper()
	before := obj.Status.DeepCopy()
	m.seen, m.restarted = nil, nil
	w := m.pass(t, obj, now)
	own, ok := obj.Status, true
	must := func(holds bool, format string, args ...any) {
		if !holds {
			t.Errorf("%s: before %+v, after %+v, called %v", fmt.Sprintf(format, args...), before.FSM, own.FSM, m.seen)
			ok = false
		}
	}
	deletes := obj.DeletionTimestamp != nil
	at := m.find(own.FSM.State)
	must(at >= 0 && m.states[at].deletes == deletes, "the state is %s", own.FSM.State)
	must(own.FSM.Generation == obj.Generation, "the generation is %d", own.FSM.Generation)
	must(len(own.FSM.History) <= m.opts.History, "the history has %d states", len(own.FSM.History))

	// The pass begins where it must, and follows transitions only.
	first, resumed := m.initial(deletes), false
	if p := before.FSM; m.opts.Durable && p != nil && p.Generation == obj.Generation && m.states[m.find(p.State)].deletes == deletes {
		first, resumed = m.find(p.State), true
	}
	must(m.seen[0] == first, "the pass begins at S%d, want S%d", m.seen[0], first)
	entered := map[int]int{}
	for i, called := range m.seen {
		entered[called]++
		must(entered[called] <= m.visits, "S%d was entered %d times", called, entered[called])
		if i > 0 {
			last := m.seen[i-1]
			must(called == m.initial(deletes) || slices.Contains(m.states[last].targets, called), "S%d follows S%d", called, last)
		}
	}

	// Since is the time of entry.
	stayed := before.FSM != nil && before.FSM.State == own.FSM.State
	if m.opts.Durable {
		stayed = resumed && len(m.seen) == 1 && !w.again
	}
	if stayed {
		must(own.FSM.Since.Equal(&before.FSM.Since), "since is %v", own.FSM.Since)
	} else {
		must(own.FSM.Since.Time.Equal(now), "since is %v", own.FSM.Since)
	}

	checkConditions(m, w, before.Conditions, obj, now, must)
	checkOutcomes(m, w, obj, must)
	if w.end.how == ends || w.end.how == stays && !w.again {
		data, _ := json.Marshal(obj.Status)
		m.pass(t, obj, now.Add(time.Minute))
		again, _ := json.Marshal(obj.Status)
		must(string(data) == string(again), "the same pass writes %s after %s", again, data)
	}
	return ok
}

// checkConditions checks that each state has one condition, that only a failed object is stalled, and that the times
// change only with the status.
func checkConditions(
	m *scripted, w *walk[animal], before []metav1.Condition, obj *animal, now time.Time, must func(bool, string, ...any),
) {
	var want []string
	for _, s := range m.states {
		if s.deletes == (obj.DeletionTimestamp != nil) {
			want = append(want, s.name)
		}
	}
	if want = append(want, readyType); w.end.failed {
		want = append(want, stalledType)
	}
	var got []string
	for _, c := range obj.Status.Conditions {
		got = append(got, c.Type)
		must(c.ObservedGeneration == obj.Generation, "condition %s has the generation %d", c.Type, c.ObservedGeneration)
		i := slices.IndexFunc(before, func(old metav1.Condition) bool { return old.Type == c.Type })
		if i >= 0 && before[i].Status == c.Status {
			must(c.LastTransitionTime.Equal(&before[i].LastTransitionTime), "condition %s has the time %v", c.Type, c.LastTransitionTime)
		} else {
			must(c.LastTransitionTime.Time.Equal(now), "condition %s has the time %v", c.Type, c.LastTransitionTime)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	must(slices.Equal(want, got), "the conditions are %v, want %v", got, want)
}

// checkOutcomes checks the status and the reason of each condition: that of the last state is the outcome of the pass,
// the states that were left since the initial state are completed, and all others were not reached.
func checkOutcomes(m *scripted, w *walk[animal], obj *animal, must func(bool, string, ...any)) {
	deletes := obj.DeletionTimestamp != nil
	passed := map[string]bool{}
	if m.opts.Durable {
		for name := range obj.Status.FSM.Visits {
			passed[name] = true
		}
	} else { // all states after the last Restart
		for i, at := range m.seen {
			passed[m.states[at].name] = true
			if m.restarted[i] {
				clear(passed)
			}
		}
	}
	outcome := "False/Waiting"
	switch {
	case w.end.how == fails:
		outcome = "False/Failed"
	case w.end.failed:
		outcome = "True/Failed"
	case w.end.how == ends:
		outcome = "True/Completed"
	case w.end.idle:
		outcome = "True/Idle"
	}
	for _, c := range obj.Status.Conditions {
		want := "Unknown/NotReached"
		switch {
		case c.Type == readyType && deletes:
			want = "False/Deleting"
		case c.Type == readyType && w.end.failed:
			want = "False/Failed"
		case c.Type == stalledType:
			want = "True/Failed"
		case c.Type == readyType || c.Type == obj.Status.FSM.State:
			want = outcome
		case passed[c.Type]:
			want = "True/Completed"
		}
		got := string(c.Status) + "/" + c.Reason
		must(got == want, "condition %s is %s, want %s", c.Type, got, want)
	}
}
