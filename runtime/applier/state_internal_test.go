// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package applier

import (
	"fmt"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var testOptions = Options{Backoff: Backoff{InitialBackoff: 4 * time.Second, MaxBackoff: time.Hour}, HoldTimeout: 30 * time.Second}

// newTestState returns a state with a first retry delay of four seconds.
func newTestState() *state[string, string] {
	s := newState[string, string](testOptions, newBackoff(testOptions.Backoff))
	return &s
}

// describe returns the state of the key.
func describe(s *state[string, string], key string) string {
	e := s.entries.get(key)
	if e == nil {
		return "-"
	}
	text := [...]string{
		idle: "idle", waiting: "waiting ", running: "running ", runningAgain: "again ", held: "held ", heldAgain: "held again ",
	}[e.phase]
	if e.phase != idle {
		text += strconv.Itoa(int(e.priority))
	}
	x := e.extra
	if x == nil {
		return text
	}
	if x.wakeAt != never {
		text += fmt.Sprintf(", wake %d at %v", x.wakePriority, x.wakeAt)
	}
	if x.quietAt != never {
		text += fmt.Sprintf(", quiet %d at %v", x.quietPriority, x.quietAt)
	}
	if x.retryAt != never && x.covered {
		text += fmt.Sprintf(", covered retry %d at %v", x.retryPriority, x.retryAt)
	}
	if x.retryDue() != never {
		text += fmt.Sprintf(", retry %d at %v", x.retryPriority, x.retryAt)
	}
	return text
}

func TestEachStepInEachSituation(t *testing.T) {
	const k, at = "k", time.Second
	steps := []struct {
		name string
		do   func(s *state[string, string])
	}{
		{"add low", func(s *state[string, string]) { s.add(k, -5, "", at) }},
		{"add high", func(s *state[string, string]) { s.add(k, 5, "", at) }},
		{"add after 2s", func(s *state[string, string]) { s.addAfter(k, 5, "", 2*time.Second, at) }},
		{"add after 20s", func(s *state[string, string]) { s.addAfter(k, -5, "", 20*time.Second, at) }},
		{"retry", func(s *state[string, string]) { s.retry(k, 0, "", 0, at) }},
		{"retry after at least 30s", func(s *state[string, string]) { s.retry(k, 0, "", 30*time.Second, at) }},
		{"take", func(s *state[string, string]) { s.take(at) }},
		{"done", func(s *state[string, string]) { s.done(k, at) }},
		{"15s pass", func(s *state[string, string]) { s.advance(15 * time.Second) }},
		{"the source ends", func(s *state[string, string]) { s.forget(0, at) }},
		{"drain", func(s *state[string, string]) { s.drain() }},
		{"close", func(s *state[string, string]) { s.close() }},
	}
	situations := []struct {
		name  string
		setUp func(s *state[string, string])
		want  []string // in the order of steps
	}{
		{
			"unknown", func(*state[string, string]) {},
			[]string{
				"waiting -5", "waiting 5", "idle, wake 5 at 3s", "idle, wake -5 at 21s",
				"idle, retry 0 at 5s", "idle, retry 0 at 31s", "-", "-", "-", "-", "-", "-",
			},
		},
		{
			"delayed", func(s *state[string, string]) { s.addAfter(k, 0, "", 10*time.Second, 0) },
			[]string{
				"waiting -5, wake 0 at 10s", "waiting 5, wake 0 at 10s", "idle, wake 5 at 3s", "idle, wake 0 at 10s",
				"idle, wake 0 at 10s, retry 0 at 5s", "idle, wake 0 at 10s, retry 0 at 31s",
				"idle, wake 0 at 10s", "idle, wake 0 at 10s", "waiting 0", "idle, wake 0 at 10s", "-", "-",
			},
		},
		{
			"failed", func(s *state[string, string]) { s.add(k, 0, "", 0); s.take(0); s.retry(k, 0, "", 0, 0); s.done(k, 0) },
			[]string{
				"waiting -5, retry 0 at 4s", "waiting 5, retry 0 at 4s",
				"idle, wake 5 at 3s, retry 0 at 4s", "idle, wake -5 at 21s, retry 0 at 4s",
				"idle, retry 0 at 5s", "idle, retry 0 at 31s",
				"idle, retry 0 at 4s", "idle, retry 0 at 4s", "waiting 0", "idle, retry 0 at 4s", "-", "-",
			},
		},
		{
			"waiting", func(s *state[string, string]) { s.add(k, 0, "", 0) },
			[]string{
				"waiting 0", "waiting 5", "waiting 0, wake 5 at 3s", "waiting 0, wake -5 at 21s",
				"waiting 0, retry 0 at 5s", "waiting 0, retry 0 at 31s",
				"running 0", "waiting 0", "waiting 0", "waiting 0", "waiting 0", "-",
			},
		},
		{
			"waiting and delayed", func(s *state[string, string]) { s.add(k, 0, "", 0); s.addAfter(k, 2, "", 10*time.Second, 0) },
			[]string{
				"waiting 0, wake 2 at 10s", "waiting 5, wake 2 at 10s",
				"waiting 0, wake 5 at 3s", "waiting 0, wake 2 at 10s",
				"waiting 0, wake 2 at 10s, retry 0 at 5s", "waiting 0, wake 2 at 10s, retry 0 at 31s",
				"running 0, wake 2 at 10s", "waiting 0, wake 2 at 10s", "waiting 2", "waiting 0, wake 2 at 10s", "waiting 0", "-",
			},
		},
		{
			"running", func(s *state[string, string]) { s.add(k, 0, "", 0); s.take(0) },
			[]string{
				"again -5", "again 5", "running 0, wake 5 at 3s", "running 0, wake -5 at 21s",
				"running 0, retry 0 at 5s", "running 0, retry 0 at 31s",
				"running 0", "-", "running 0", "running 0", "running 0", "running 0",
			},
		},
		{
			"running and failed", func(s *state[string, string]) { s.add(k, 0, "", 0); s.take(0); s.retry(k, 0, "", 0, 0) },
			[]string{
				"again -5, retry 0 at 4s", "again 5, retry 0 at 4s",
				"running 0, wake 5 at 3s, retry 0 at 4s", "running 0, wake -5 at 21s, retry 0 at 4s",
				"running 0, retry 0 at 5s", "running 0, retry 0 at 31s",
				"running 0, retry 0 at 4s", "idle, retry 0 at 4s", "again 0", "running 0, retry 0 at 4s", "running 0", "running 0",
			},
		},
		{
			"running with a pending retry",
			func(s *state[string, string]) {
				s.add(k, 0, "", 0)
				s.take(0)
				s.retry(k, 0, "", 0, 0)
				s.add(k, 0, "", 0)
				s.done(k, 0)
				s.take(0)
			},
			[]string{
				"again -5, covered retry 0 at 4s", "again 5, covered retry 0 at 4s",
				"running 0, wake 5 at 3s, covered retry 0 at 4s", "running 0, wake -5 at 21s, covered retry 0 at 4s",
				"running 0, retry 0 at 5s", "running 0, retry 0 at 31s",
				"running 0, covered retry 0 at 4s", "-", "running 0, covered retry 0 at 4s",
				"running 0, covered retry 0 at 4s", "running 0", "running 0",
			},
		},
		{
			"running and added", func(s *state[string, string]) { s.add(k, 0, "", 0); s.take(0); s.add(k, 0, "", 0) },
			[]string{
				"again 0", "again 5", "again 0, wake 5 at 3s", "again 0, wake -5 at 21s",
				"again 0, retry 0 at 5s", "again 0, retry 0 at 31s",
				"again 0", "waiting 0", "again 0", "again 0", "again 0", "running 0",
			},
		},
		{
			"running and delayed", func(s *state[string, string]) { s.add(k, 0, "", 0); s.take(0); s.addAfter(k, 2, "", 10*time.Second, 0) },
			[]string{
				"again -5, wake 2 at 10s", "again 5, wake 2 at 10s", "running 0, wake 5 at 3s", "running 0, wake 2 at 10s",
				"running 0, wake 2 at 10s, retry 0 at 5s", "running 0, wake 2 at 10s, retry 0 at 31s",
				"running 0, wake 2 at 10s", "idle, wake 2 at 10s", "again 2", "running 0, wake 2 at 10s", "running 0", "running 0",
			},
		},
		{
			"held",
			func(s *state[string, string]) {
				s.add(k, 0, "", 0)
				s.take(0)
				s.wrote(k, Write{Version: 5})
				s.done(k, 0)
			},
			[]string{
				"held again -5", "held again 5", "held 0, wake 5 at 3s", "held 0, wake -5 at 21s",
				"held 0, retry 0 at 5s", "held 0, retry 0 at 31s",
				"held 0", "held 0", "held 0", "-", "-", "-",
			},
		},
		{
			"held and added",
			func(s *state[string, string]) {
				s.add(k, 0, "", 0)
				s.take(0)
				s.wrote(k, Write{UID: "u"})
				s.add(k, 0, "", 0)
				s.done(k, 0)
			},
			[]string{
				"held again 0", "held again 5", "held again 0, wake 5 at 3s", "held again 0, wake -5 at 21s",
				"held again 0, retry 0 at 5s", "held again 0, retry 0 at 31s",
				"held again 0", "held again 0", "held again 0", "waiting 0", "waiting 0", "-",
			},
		},
		{
			"debounced",
			func(s *state[string, string]) {
				s.quiet, s.maxQuiet = 2*time.Second, 5*time.Second
				s.add(k, 0, "", 0)
			},
			[]string{
				"idle, quiet 0 at 3s", "waiting 5, quiet 0 at 2s", "idle, wake 5 at 3s, quiet 0 at 2s",
				"idle, wake -5 at 21s, quiet 0 at 2s", "idle, quiet 0 at 2s, retry 0 at 5s",
				"idle, quiet 0 at 2s, retry 0 at 31s", "idle, quiet 0 at 2s", "idle, quiet 0 at 2s", "waiting 0",
				"idle, quiet 0 at 2s", "-", "-",
			},
		},
		{
			"debounced for long",
			func(s *state[string, string]) {
				s.quiet, s.maxQuiet = 2*time.Second, 2500*time.Millisecond
				s.add(k, 0, "", 0)
			},
			[]string{
				"idle, quiet 0 at 2.5s", "waiting 5, quiet 0 at 2s", "idle, wake 5 at 3s, quiet 0 at 2s",
				"idle, wake -5 at 21s, quiet 0 at 2s", "idle, quiet 0 at 2s, retry 0 at 5s",
				"idle, quiet 0 at 2s, retry 0 at 31s", "idle, quiet 0 at 2s", "idle, quiet 0 at 2s", "waiting 0",
				"idle, quiet 0 at 2s", "-", "-",
			},
		},
		{
			"debounced and waiting",
			func(s *state[string, string]) {
				s.quiet, s.maxQuiet = 2*time.Second, 5*time.Second
				s.add(k, 0, "", 0)
				s.add(k, 5, "", 0)
			},
			[]string{
				"waiting 5, quiet 0 at 2s", "waiting 5, quiet 0 at 2s", "waiting 5, wake 5 at 3s, quiet 0 at 2s",
				"waiting 5, wake -5 at 21s, quiet 0 at 2s", "waiting 5, quiet 0 at 2s, retry 0 at 5s",
				"waiting 5, quiet 0 at 2s, retry 0 at 31s", "running 5", "waiting 5, quiet 0 at 2s", "waiting 5",
				"waiting 5, quiet 0 at 2s", "waiting 5", "-",
			},
		},
		{
			"running and debounced",
			func(s *state[string, string]) {
				s.add(k, 0, "", 0)
				s.take(0)
				s.quiet, s.maxQuiet = 2*time.Second, 5*time.Second
				s.add(k, 0, "", 0)
			},
			[]string{
				"running 0, quiet 0 at 3s", "again 5, quiet 0 at 2s", "running 0, wake 5 at 3s, quiet 0 at 2s",
				"running 0, wake -5 at 21s, quiet 0 at 2s", "running 0, quiet 0 at 2s, retry 0 at 5s",
				"running 0, quiet 0 at 2s, retry 0 at 31s", "running 0, quiet 0 at 2s", "idle, quiet 0 at 2s",
				"again 0", "running 0, quiet 0 at 2s", "running 0", "running 0",
			},
		},
		{
			"held and debounced",
			func(s *state[string, string]) {
				s.add(k, 0, "", 0)
				s.take(0)
				s.wrote(k, Write{Version: 5})
				s.done(k, 0)
				s.quiet, s.maxQuiet = 2*time.Second, 5*time.Second
				s.add(k, 0, "", 0)
			},
			[]string{
				"held 0, quiet 0 at 3s", "held again 5, quiet 0 at 2s", "held 0, wake 5 at 3s, quiet 0 at 2s",
				"held 0, wake -5 at 21s, quiet 0 at 2s", "held 0, quiet 0 at 2s, retry 0 at 5s",
				"held 0, quiet 0 at 2s, retry 0 at 31s", "held 0, quiet 0 at 2s", "held 0, quiet 0 at 2s",
				"held again 0", "idle, quiet 0 at 2s", "-", "-",
			},
		},
		{
			"closed", func(s *state[string, string]) { s.close() },
			[]string{"-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-"},
		},
	}
	for _, situation := range situations {
		for i, step := range steps {
			t.Run(situation.name+", then "+step.name, func(t *testing.T) {
				s := newTestState()
				situation.setUp(s)
				step.do(s)
				if got := describe(s, k); got != situation.want[i] {
					t.Errorf("the key is %q, want %q", got, situation.want[i])
				}
				checkInvariants(t, s)
			})
		}
	}
}

func TestEachTurnGoesToTheRightKey(t *testing.T) {
	type added struct {
		key      string
		priority Priority
		at       time.Duration
	}
	tests := []struct {
		name string
		in   []added
		want []string // the order in which keys are taken two seconds after the start; keys age in one second
	}{
		{"nothing waits", nil, nil},
		{"one priority keeps its order", []added{{"a", 0, 0}, {"b", 0, 0}, {"c", 0, 0}}, []string{"a", "b", "c"}},
		{
			"the higher priority goes first",
			[]added{{"low", -1, 1500 * time.Millisecond}, {"high", 1, 1600 * time.Millisecond}},
			[]string{"high", "low"},
		},
		{
			"priorities span their whole range",
			[]added{
				{"lowest", math.MinInt8, 2 * time.Second},
				{"normal", 0, 2 * time.Second},
				{"highest", math.MaxInt8, 2 * time.Second},
			},
			[]string{"highest", "normal", "lowest"},
		},
		{
			"a raised key goes to the end of its new line",
			[]added{{"a", 0, 0}, {"b", 1, 0}, {"c", 1, 0}, {"a", 1, 0}},
			[]string{"b", "c", "a"},
		},
		{
			"a lower add does not lower a key",
			[]added{{"a", 1, 0}, {"b", 0, 0}, {"a", -1, 0}},
			[]string{"a", "b"},
		},
		{
			"an aged key gets the fourth turn",
			[]added{
				{"old", -1, 0},
				{"a", 0, 1500 * time.Millisecond},
				{"b", 0, 1500 * time.Millisecond},
				{"c", 0, 1500 * time.Millisecond},
				{"d", 0, 1500 * time.Millisecond},
			},
			[]string{"a", "b", "c", "old", "d"},
		},
		{
			"a flood of aged keys gets every fourth turn",
			[]added{
				{"old 1", -1, 0},
				{"old 2", -1, 0},
				{"a", 0, 1500 * time.Millisecond},
				{"b", 0, 1500 * time.Millisecond},
				{"c", 0, 1500 * time.Millisecond},
				{"d", 0, 1500 * time.Millisecond},
				{"e", 0, 1500 * time.Millisecond},
				{"f", 0, 1500 * time.Millisecond},
				{"g", 0, 1500 * time.Millisecond},
			},
			[]string{"a", "b", "c", "old 1", "d", "e", "f", "old 2", "g"},
		},
		{
			"the oldest aged key goes first",
			[]added{
				{"lowest", -2, 0},
				{"lower", -1, time.Millisecond},
				{"a", 0, 1500 * time.Millisecond},
				{"b", 0, 1500 * time.Millisecond},
				{"c", 0, 1500 * time.Millisecond},
				{"d", 0, 1500 * time.Millisecond},
			},
			[]string{"a", "b", "c", "lowest", "d", "lower"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newTestState()
			for _, a := range test.in {
				s.add(a.key, a.priority, "", a.at)
			}
			var got []string
			for item, ok := s.take(2 * time.Second); ok; item, ok = s.take(2 * time.Second) {
				got = append(got, item.Key)
				checkInvariants(t, s)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("turns (-want +got):\n%s", diff)
			}
		})
	}
}

func TestKeysThatAreDueAtTheSameTimeKeepTheirOrder(t *testing.T) {
	s := newTestState()
	for i := range 20 {
		s.addAfter(strconv.Itoa(i), 0, "", time.Minute, 0)
	}
	s.addAfter("first", 0, "", time.Second, 0)
	s.add("last", 0, "", time.Hour)

	want := []string{"first"}
	for i := range 20 {
		want = append(want, strconv.Itoa(i))
	}
	want = append(want, "last")
	for _, key := range want {
		if item, ok := s.take(time.Hour); !ok || item.Key != key {
			t.Fatalf("take() = %q, %v, want %q", item.Key, ok, key)
		}
	}
}

func TestLongestDelayDoesNotOverflow(t *testing.T) {
	s := newTestState()
	s.addAfter("k", 0, "", math.MaxInt64, time.Hour)
	s.advance(math.MaxInt64 / 2)
	if got, want := describe(s, "k"), fmt.Sprintf("idle, wake 0 at %v", never-1); got != want {
		t.Errorf("the key is %q, want %q", got, want)
	}
}

func TestUnusedKeysFreeTheirMemory(t *testing.T) {
	const n = 5000
	s := newTestState()
	for i := range n {
		key := strconv.Itoa(i)
		s.add(key, 0, "", 0)
		s.addAfter(key, 0, "", time.Minute, 0)
	}
	for now := time.Duration(0); now <= time.Minute; now += time.Minute {
		for item, ok := s.take(now); ok; item, ok = s.take(now) {
			s.retry(item.Key, 0, "", 0, now)
			s.done(item.Key, now)
		}
	}
	if got := s.stats(time.Minute); got.Delayed != n {
		t.Fatalf("%d keys are delayed, want %d", got.Delayed, n)
	}
	for item, ok := s.take(time.Hour); ok; item, ok = s.take(time.Hour) {
		s.done(item.Key, time.Hour)
	}
	checkInvariants(t, s)
	if got := s.entries.len + s.entries.numSpare; got > maxSpare {
		t.Errorf("%d entries are left, want at most %d", got, maxSpare)
	}
	if got := len(s.entries.buckets); got >= shrinkFrom {
		t.Errorf("the table has %d buckets, want it shrunk", got)
	}
	if got := cap(s.delays.heap); got >= shrinkFrom {
		t.Errorf("the heap has a capacity of %d delays, want it shrunk", got)
	}
}
