// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"
)

// model is the simplest implementation of the queue: slices that are searched linearly. It keeps the waiting keys in
// the order in which they began to wait, and the delays in the order in which they were set.
type model struct {
	base, limit, aging time.Duration

	line   []*modelKey // the waiting keys
	delays []*modelKey // the delayed keys
	keys   map[string]*modelKey
	passed int
	closed bool

	adds, retries uint64
}

type modelKey struct {
	key                                 string
	waits, runs, again, failed          bool
	priority, wakePriority, retryWithPr Priority
	since                               time.Duration
	wake, retry                         *time.Duration
	failures, doubled                   int
}

func newModel(o Options) *model {
	return &model{base: o.InitialBackoff, limit: o.MaxBackoff, aging: o.Aging, keys: map[string]*modelKey{}}
}

func (k *modelKey) due() *time.Duration {
	if k.wake == nil || k.retry != nil && *k.retry < *k.wake {
		return k.retry
	}
	return k.wake
}

func (m *model) get(key string) *modelKey {
	if m.keys[key] == nil {
		m.keys[key] = &modelKey{key: key}
	}
	return m.keys[key]
}

// change changes the delays of k. If that moves k, it becomes the last of those that are due at the same time.
func (m *model) change(k *modelKey, change func()) {
	before := k.due()
	change()
	after := k.due()
	if before != nil && after != nil && *before == *after {
		return
	}
	m.delays = slices.DeleteFunc(m.delays, func(o *modelKey) bool { return o == k })
	if after != nil {
		m.delays = append(m.delays, k)
	}
}

func (m *model) want(k *modelKey, p Priority, since time.Duration) {
	fresh := !k.waits && !k.again
	raised := k.waits && p > k.priority
	if fresh || p > k.priority {
		k.priority = p
	}
	if fresh {
		k.since = since
		m.adds++
	}
	if k.runs {
		k.again = true
		return
	}
	k.waits = true
	if raised {
		m.line = slices.DeleteFunc(m.line, func(o *modelKey) bool { return o == k })
	}
	if fresh || raised {
		m.line = append(m.line, k)
	}
}

func (m *model) pass(now time.Duration) {
	for {
		var next *modelKey
		for _, k := range m.delays {
			if *k.due() <= now && (next == nil || *k.due() < *next.due()) {
				next = k
			}
		}
		if next == nil {
			return
		}
		due := *next.due()
		var priorities []Priority
		m.change(next, func() {
			if next.wake != nil && *next.wake == due {
				next.wake = nil
				priorities = append(priorities, next.wakePriority)
			}
			if next.retry != nil && *next.retry == due {
				next.retry = nil
				priorities = append(priorities, next.retryWithPr)
			}
		})
		m.want(next, slices.Max(priorities), due)
	}
}

func (m *model) add(key string, p Priority, now time.Duration) {
	m.pass(now)
	if !m.closed {
		m.want(m.get(key), p, now)
	}
}

func (m *model) addAfter(key string, p Priority, delay, now time.Duration) {
	m.pass(now)
	k := m.get(key)
	switch {
	case m.closed:
	case delay <= 0:
		m.want(k, p, now)
	case k.wake == nil:
		k.wakePriority = p
		m.change(k, func() { k.wake = new(now + delay) })
	default:
		k.wakePriority = max(k.wakePriority, p)
		m.change(k, func() { k.wake = new(min(*k.wake, now+delay)) })
	}
}

func (m *model) retry(key string, p Priority, atLeast, now time.Duration) time.Duration {
	m.pass(now)
	if m.closed {
		return 0
	}
	k := m.get(key)
	if k.failures == 0 {
		k.doubled = 0
	} else if k.retry == nil {
		k.doubled++
	}
	k.failures++
	k.failed = k.runs
	m.retries++
	delay := m.base
	for range k.doubled {
		delay = min(2*delay, m.limit)
	}
	delay = max(delay, atLeast)
	k.retryWithPr = p
	m.change(k, func() { k.retry = new(now + delay) })
	return delay
}

// heads returns the first waiting key of each priority.
func (m *model) heads() (heads []*modelKey) {
	for _, k := range m.line {
		if !slices.ContainsFunc(heads, func(o *modelKey) bool { return o.priority == k.priority }) {
			heads = append(heads, k)
		}
	}
	return heads
}

func (m *model) take(now time.Duration) (Item[string], bool) {
	m.pass(now)
	var first, oldest *modelKey
	for _, k := range m.heads() {
		if first == nil || k.priority > first.priority {
			first = k
		}
		if oldest == nil || k.since < oldest.since || k.since == oldest.since && k.priority > oldest.priority {
			oldest = k
		}
	}
	if first == nil {
		return Item[string]{}, false
	}
	if oldest != first && now-oldest.since >= m.aging {
		m.passed++
	} else {
		m.passed = 0
	}
	if m.passed == agedShare {
		first, m.passed = oldest, 0
	}
	m.line = slices.DeleteFunc(m.line, func(o *modelKey) bool { return o == first })
	first.waits, first.runs, first.failed = false, true, false
	return Item[string]{first.key, first.priority, first.failures, now - first.since}, true
}

func (m *model) done(key string, now time.Duration) {
	k := m.get(key)
	if !k.runs {
		return
	}
	m.pass(now)
	if !k.failed {
		k.failures = 0
		m.change(k, func() { k.retry = nil })
	}
	k.runs = false
	if k.again {
		k.again, k.waits = false, true
		m.line = append(m.line, k)
	}
}

func (m *model) drain() {
	m.closed, m.delays = true, nil
	for _, k := range m.keys {
		k.wake, k.retry = nil, nil
	}
}

func (m *model) close() {
	m.drain()
	m.line, m.passed = nil, 0
	for _, k := range m.keys {
		k.waits, k.again = false, false
	}
}

func (m *model) stats(now time.Duration) Stats {
	m.pass(now)
	s := Stats{Ready: len(m.line), Delayed: len(m.delays), Adds: m.adds, Retries: m.retries}
	for _, k := range m.heads() {
		s.OldestWait = max(s.OldestWait, now-k.since)
	}
	for _, k := range m.keys {
		if k.runs {
			s.Running++
		}
	}
	return s
}

// compare does random steps to a state and to a model, and fails when their results differ. dice returns a number from
// 0 to n-1.
func compare(t *testing.T, steps, keys int, dice func(n int) (int, bool)) {
	t.Helper()
	options := Options{InitialBackoff: 10, MaxBackoff: 1000, Aging: 50}
	s := newState[string](newBackoff(options), options.Aging)
	m := newModel(options)
	var now time.Duration
	type step struct {
		what       int
		key        string
		p          Priority
		now, delay time.Duration
	}
	var log []step
	var taken []string
	for range steps {
		what, _ := dice(64)
		id, _ := dice(keys)
		level, _ := dice(4)
		span, ok := dice(40)
		if !ok {
			break
		}
		key, p, d := strconv.Itoa(id), Priority(level*5-10), time.Duration(span-2)
		if what%2 == 0 {
			now += time.Duration(level)
		}
		var got, want any
		switch {
		case what < 16:
			s.add(key, p, now)
			m.add(key, p, now)
		case what < 24:
			s.addAfter(key, p, d*d, now)
			m.addAfter(key, p, d*d, now)
		case what < 28:
			got, want = s.retry(key, p, d, now), m.retry(key, p, d, now)
		case what < 44:
			a, okA := s.take(now)
			b, okB := m.take(now)
			got, want = fmt.Sprint(a, okA), fmt.Sprint(b, okB)
			taken = append(taken, a.Key)
		case what < 60:
			if what < 58 && len(taken) > 0 { // usually a key that may be running
				i := id % len(taken)
				key = taken[i]
				taken = slices.Delete(taken, i, i+1)
			}
			s.done(key, now)
			m.done(key, now)
		case what < 63:
			now += time.Duration(span * 10)
			s.advance(now)
		case span == 0 && level == 0:
			s.drain()
			m.drain()
		case span == 0 && level == 1:
			s.close()
			m.close()
		}
		log = append(log, step{what, key, p, now, d})
		if got != want {
			t.Fatalf("after %+v: got %v, want %v", log, got, want)
		}
		if got, want := s.stats(now), m.stats(now); got != want {
			t.Fatalf("after %+v: stats are %+v, want %+v", log, got, want)
		}
		if keys < 100 || len(log)%50 == 0 {
			checkInvariants(t, &s)
		}
	}
}

func TestStateBehavesLikeTheModel(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, seed))
			keys := []int{1, 2, 5, 30, 2000}[seed%5]
			compare(t, 3000, keys, func(n int) (int, bool) { return r.IntN(n), true })
		})
	}
}

func FuzzStateBehavesLikeTheModel(f *testing.F) {
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 1))
		script := make([]byte, 400)
		for i := range script {
			script[i] = byte(r.Uint32())
		}
		f.Add(script)
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		compare(t, 2000, 6, func(n int) (int, bool) {
			if len(script) == 0 {
				return 0, false
			}
			b := script[0]
			script = script[1:]
			return int(b) % n, true
		})
	})
}

// checkInvariants fails the test unless each entry is in the list of its phase, and in no other.
func checkInvariants(t testing.TB, s *state[string]) {
	t.Helper()
	listed := map[*entry[string]]string{}
	walk := func(name string, l list[string], check func(e *entry[string]) bool) (n int) {
		var prev *entry[string]
		for e := l.head; e != nil; prev, e = e, e.next {
			if e.prev != prev || !check(e) || listed[e] != "" {
				t.Fatalf("%q is in the list of %s, but should not be", e.key, name)
			}
			listed[e] = name
			n++
		}
		if l.tail != prev {
			t.Fatalf("the list of %s has the wrong tail", name)
		}
		return n
	}

	numReady := 0
	for i, l := range s.ready.levels {
		if i > 0 && s.ready.levels[i-1].priority <= l.priority {
			t.Fatalf("priority %d comes after %d", l.priority, s.ready.levels[i-1].priority)
		}
		numReady += walk(fmt.Sprintf("priority %d", l.priority), l.list, func(e *entry[string]) bool {
			return e.phase == waiting && e.priority == l.priority
		})
	}
	numKept := walk("kept entries", s.entries.kept, func(e *entry[string]) bool { return e.phase == kept })
	numRunning := 0
	for key, e := range s.entries.byKey {
		inList := e.phase == waiting || e.phase == kept
		inHeap := e.due() != never
		if e.key != key || inList != (listed[e] != "") || inHeap != (e.slot != 0) || e.phase == idle && !inHeap {
			t.Fatalf("the entry of %q is in the wrong place: %+v", key, *e)
		}
		if e.isRunning() {
			numRunning++
		}
	}
	for i, d := range s.delays.heap {
		if d.entry.slot != int32(i+1) || d.due != d.entry.due() || s.entries.get(d.entry.key) != d.entry {
			t.Fatalf("slot %d of the heap does not match its entry %+v", i, *d.entry)
		}
		if i > 0 && d.before(s.delays.heap[(i-1)/2]) {
			t.Fatalf("slot %d of the heap is due before its parent", i)
		}
	}
	got := [...]int{s.ready.len, s.running, s.entries.numKept}
	if want := [...]int{numReady, numRunning, numKept}; got != want || numKept > maxKept {
		t.Fatalf("counts of ready, running and kept are %v, want %v", got, want)
	}
}
