// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package applier

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// model is the simplest implementation of the queue: slices that are searched linearly. It keeps the waiting keys in
// the order in which they began to wait, and the delays in the order in which they were set.
type model struct {
	base, most, aging time.Duration
	quiet, maxQuiet   time.Duration

	line   []*modelKey // the waiting keys
	held   []*modelKey // the held keys
	delays []*modelKey // the delayed keys
	keys   map[string]*modelKey
	turn   int
	closed bool

	adds, retries, overdue uint64

	holdFor time.Duration
	limit   int
	owned   func(string) bool
}

type modelKey struct {
	key                                 string
	waits, runs, holds, again, failed   bool
	writes                              []Write
	free                                *time.Duration
	priority, wakePriority, retryWithPr Priority
	since                               time.Duration
	wake, retry, covered                *time.Duration
	failures, doubled                   int
	causes                              []string
	wakeCause, retryCause               string
	quiet                               *time.Duration
	quietBy                             time.Duration
	quietPriority                       Priority
}

func newModel(o Options) *model {
	return &model{
		quiet: o.Debounce, maxQuiet: o.MaxDebounce,
		base: o.Backoff.InitialBackoff, most: o.Backoff.MaxBackoff, aging: aging, holdFor: o.HoldTimeout, limit: o.Concurrency,
		keys: map[string]*modelKey{}, owned: func(string) bool { return true },
	}
}

func (k *modelKey) due() (due *time.Duration) {
	for _, d := range []*time.Duration{k.wake, k.retry, k.quiet, k.free} {
		if due == nil || d != nil && *d < *due {
			due = d
		}
	}
	return due
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

func (m *model) want(k *modelKey, p Priority, since time.Duration, causes ...string) {
	k.causes = append(k.causes, causes...)
	fresh := !k.waits && !k.again
	raised := k.waits && p > k.priority
	if fresh || p > k.priority {
		k.priority = p
	}
	if fresh {
		k.since = since
		m.adds++
	}
	if k.runs || k.holds {
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
		var causes []string
		m.change(next, func() {
			if next.wake != nil && *next.wake == due {
				next.wake = nil
				priorities = append(priorities, next.wakePriority)
				causes = append(causes, next.wakeCause)
			}
			if next.retry != nil && *next.retry == due {
				next.retry = nil
				priorities = append(priorities, next.retryWithPr)
				causes = append(causes, next.retryCause)
			}
			if next.quiet != nil && *next.quiet == due {
				next.quiet = nil
				priorities = append(priorities, next.quietPriority)
			}
		})
		if len(priorities) > 0 {
			m.want(next, slices.Max(priorities), due, causes...)
		}
		if next.free != nil && *next.free == due {
			next.writes = nil
			m.overdue++
			m.release(next)
		}
	}
}

// release ends the hold of k.
func (m *model) release(k *modelKey) {
	k.holds = false
	m.held = slices.DeleteFunc(m.held, func(o *modelKey) bool { return o == k })
	m.change(k, func() { k.free = nil })
	m.free(k)
}

// free ends the run of k.
func (m *model) free(k *modelKey) {
	if k.again {
		k.again, k.waits = false, true
		m.line = append(m.line, k)
	}
}

func (m *model) wrote(key string, w Write) {
	if k := m.get(key); k.runs && !m.closed {
		k.writes = append(k.writes, w)
	}
}

// observe removes the writes that are observed.
func (m *model) observe(observed func(Write) bool, now time.Duration) {
	m.pass(now)
	last := map[*modelKey]uint64{} // the highest observed version of each released key
	for _, k := range m.keys {
		before := slices.Clone(k.writes)
		k.writes = slices.DeleteFunc(k.writes, observed)
		if k.holds && len(before) > 0 && len(k.writes) == 0 {
			last[k] = slices.MaxFunc(before, func(a, b Write) int { return cmp.Compare(a.Version, b.Version) }).Version
		}
	}
	for _, k := range slices.SortedFunc(maps.Keys(last), func(a, b *modelKey) int { return cmp.Compare(last[a], last[b]) }) {
		m.release(k)
	}
}

func (m *model) own(owned func(string) bool, now time.Duration) {
	m.pass(now)
	m.owned = owned
	for _, k := range slices.Concat(m.held, slices.Collect(maps.Values(m.keys))) {
		if owned(k.key) {
			continue
		}
		m.change(k, func() { k.wake, k.retry, k.covered, k.quiet = nil, nil, nil, nil })
		m.line = slices.DeleteFunc(m.line, func(o *modelKey) bool { return o == k })
		k.waits, k.again, k.failed, k.failures, k.causes = false, false, false, 0, nil
	}
}

func (m *model) running() (n int) {
	for _, k := range m.keys {
		if k.runs {
			n++
		}
	}
	return n
}

func (m *model) add(key string, p Priority, cause string, now time.Duration) {
	m.pass(now)
	k := m.get(key)
	switch {
	case m.closed, !m.owned(key):
	case m.quiet == 0, p > Normal, k.waits, k.again:
		m.want(k, p, now, cause)
	default:
		k.causes = append(k.causes, cause)
		if k.quiet == nil {
			k.quietBy, k.quietPriority = now+m.maxQuiet, p
		}
		k.quietPriority = max(k.quietPriority, p)
		m.change(k, func() { k.quiet = new(min(now+m.quiet, k.quietBy)) })
	}
}

func (m *model) addAfter(key string, p Priority, cause string, delay, now time.Duration) {
	m.pass(now)
	k := m.get(key)
	switch {
	case m.closed, !m.owned(key):
	case delay <= 0:
		m.add(key, p, cause, now)
	case k.wake == nil:
		k.wakePriority, k.wakeCause = p, cause
		m.change(k, func() { k.wake = new(now + delay) })
	default:
		k.wakePriority = max(k.wakePriority, p)
		m.change(k, func() { k.wake = new(min(*k.wake, now+delay)) })
	}
}

func (m *model) retry(key string, p Priority, cause string, atLeast, now time.Duration) time.Duration {
	m.pass(now)
	if m.closed || !m.owned(key) {
		return 0
	}
	k := m.get(key)
	if k.failures == 0 {
		k.doubled = 0
	} else if k.retry == nil && k.covered == nil {
		k.doubled++
	}
	k.failures++
	k.failed = k.runs
	m.retries++
	delay := m.base
	for range k.doubled {
		delay = min(2*delay, m.most)
	}
	delay = max(delay, atLeast)
	k.retryWithPr, k.retryCause = p, cause
	m.change(k, func() { k.retry, k.covered = new(now+delay), nil })
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

func (m *model) take(now time.Duration) (Item[string, string], bool) {
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
	if first == nil || m.limit > 0 && m.running() >= m.limit {
		return Item[string, string]{}, false
	}
	if m.turn = (m.turn + 1) % agedShare; m.turn == 0 && now-oldest.since >= m.aging {
		first = oldest
	}
	m.line = slices.DeleteFunc(m.line, func(o *modelKey) bool { return o == first })
	first.waits, first.runs, first.failed = false, true, false
	item := Item[string, string]{
		Key: first.key, Priority: first.priority, Failures: first.failures, Waited: now - first.since,
		Cause: first.causes[0], Others: first.causes[1:min(8, len(first.causes))], Dropped: max(0, len(first.causes)-8),
	}
	first.causes = nil
	m.change(first, func() { first.quiet, first.retry, first.covered = nil, nil, first.retry })
	return item, true
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
	k.runs, k.covered = false, nil
	if len(k.writes) == 0 {
		m.free(k)
		return
	}
	k.holds = true
	m.held = append(m.held, k)
	m.change(k, func() { k.free = new(now + m.holdFor) })
}

func (m *model) skip(key string, now time.Duration) {
	if k := m.get(key); k.runs {
		m.pass(now)
		if k.retry == nil {
			m.change(k, func() { k.retry = k.covered })
		}
		k.failed = k.retry != nil || k.again
	}
	m.done(key, now)
}

func (m *model) cancel(key string, now time.Duration) {
	m.pass(now)
	k := m.get(key)
	k.failures, k.failed = 0, false
	m.change(k, func() { k.wake, k.retry, k.covered = nil, nil, nil })
}

func (m *model) drain() {
	m.closed = true
	for len(m.held) > 0 {
		m.release(m.held[0])
	}
	for _, k := range m.keys {
		k.wake, k.retry, k.covered, k.quiet, k.writes = nil, nil, nil, nil, nil
	}
	m.delays = nil
}

func (m *model) close() {
	m.drain()
	m.dropWaiting()
}

func (m *model) dropWaiting() {
	m.line, m.turn = nil, 0
	for _, k := range m.keys {
		k.waits, k.again, k.causes = false, false, nil
	}
}

func (m *model) stats(now time.Duration) Stats {
	m.pass(now)
	s := Stats{Ready: len(m.line), Delayed: len(m.delays), Adds: m.adds, Retries: m.retries, Overdue: m.overdue}
	for _, k := range m.heads() {
		s.OldestWait = max(s.OldestWait, now-k.since)
	}
	for _, k := range m.keys {
		if k.runs {
			s.Running++
		}
		if k.holds {
			s.Held++
		}
	}
	return s
}

// compare does random steps to a state and to a model, and fails when their results differ. dice returns a number from
// 0 to n-1.
func compare(t *testing.T, steps, keys int, dice func(n int) (int, bool)) {
	t.Helper()
	options := Options{Backoff: Backoff{InitialBackoff: 10, MaxBackoff: 1000}, HoldTimeout: 200}
	if debounced, _ := dice(2); debounced == 1 {
		options.Debounce, options.MaxDebounce = 20, 50
	}
	s := newState[string, string](options, newBackoff(options.Backoff))
	m := newModel(options)
	s.ready.aging, m.aging = 50, 50
	var now time.Duration
	type step struct {
		what       int
		key        string
		p          Priority
		now, delay time.Duration
	}
	var log []step
	var taken []string
	version := uint64(0) // of the last write
	for range steps {
		what, _ := dice(96)
		id, _ := dice(keys)
		level, _ := dice(4)
		span, ok := dice(40)
		if !ok {
			break
		}
		key, p, d, cause := strconv.Itoa(id), Priority(level*5-10), time.Duration(span-2), strconv.Itoa(len(log))
		if what%2 == 0 {
			now += time.Duration(level)
		}
		var got, want any
		switch {
		case what < 16:
			s.add(key, p, cause, now)
			m.add(key, p, cause, now)
		case what < 24:
			s.addAfter(key, p, cause, d*d, now)
			m.addAfter(key, p, cause, d*d, now)
		case what < 28:
			got, want = s.retry(key, p, cause, d, now), m.retry(key, p, cause, d, now)
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
		case what == 95 && len(taken) > 0:
			i := id % len(taken)
			key = taken[i]
			taken = slices.Delete(taken, i, i+1)
			s.skip(key, now)
			m.skip(key, now)
		case what < 63:
			now += time.Duration(span * 10)
			s.advance(now)
		case what < 75: // usually of a running key
			if len(taken) > 0 {
				key = taken[id%len(taken)]
			}
			version++
			w := Write{Source: level % 2, Version: version}
			if span < 10 {
				w.UID = types.UID(strconv.Itoa(int(version)))
			}
			s.wrote(key, w)
			m.wrote(key, w)
		case what < 85:
			source, seen := level%2, version-min(version, uint64(span/4))
			s.seen(source, seen, now)
			m.observe(func(w Write) bool { return w.UID == "" && w.Source == source && w.Version <= seen }, now)
		case what < 90:
			source, uid := level%2, types.UID(strconv.Itoa(int(version-min(version, uint64(span/4)))))
			s.gone(source, uid, now)
			m.observe(func(w Write) bool { return w.UID == uid && w.Source == source }, now)
		case what < 93:
			s.resize(span%8, now)
			m.pass(now)
			m.limit = span % 8
		case what == 93 && span < 10:
			owned := func(k string) bool { return span < 4 || len(k)%2 != level%2 || k == key }
			s.own(owned, now)
			m.own(owned, now)
		case what == 93 && span >= 15 && level < 2:
			s.cancel(key, now)
			m.cancel(key, now)
		case what == 93 && span < 15:
			s.forget(level%2, now)
			m.observe(func(w Write) bool { return w.Source == level%2 }, now)
		case what == 94 && span == 0 && level == 0:
			s.drain()
			m.drain()
		case what == 94 && span == 0 && level == 1:
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
	for seed := range uint64(40) {
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
func checkInvariants(t testing.TB, s *state[string, string]) {
	t.Helper()
	listed := map[*entry[string, string]]string{}
	walk := func(name string, l list[string, string], check func(e *entry[string, string]) bool) (n int) {
		var prev *entry[string, string]
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
		numReady += walk(fmt.Sprintf("priority %d", l.priority), l.list, func(e *entry[string, string]) bool {
			return e.phase == waiting && e.priority == l.priority
		})
	}
	numHeld := walk("held keys", s.held, func(e *entry[string, string]) bool {
		return e.isHeld() && len(e.extra.holds) > 0
	})
	numRunning := walk("running keys", s.runs, (*entry[string, string]).isRunning)
	numEntries, numSpare := 0, 0
	for e := range s.entries.all {
		inHeap := e.due() != never
		if s.entries.get(e.key) != e || (e.phase == idle) != (listed[e] == "") || inHeap != (e.slot != 0) ||
			e.phase == idle && !inHeap {
			t.Fatalf("the entry of %q is in the wrong place: %+v", e.key, *e)
		}
		delete(listed, e)
		numEntries++
	}
	if len(listed) > 0 {
		t.Fatalf("lists have entries that the table does not have: %v", listed)
	}
	for e := s.entries.spare; e != nil; e = e.next {
		if e.phase != idle || e.slot != 0 || e.caused || e.extra != nil || e.chain != nil {
			t.Fatalf("the spare entry of %q has a state: %+v", e.key, *e)
		}
		numSpare++
	}
	for i, d := range s.delays.heap {
		if d.entry.slot != int32(i+1) || d.due != d.entry.due() || s.entries.get(d.entry.key) != d.entry {
			t.Fatalf("slot %d of the heap does not match its entry %+v", i, *d.entry)
		}
		if i > 0 && d.before(s.delays.heap[(i-1)/2]) {
			t.Fatalf("slot %d of the heap is due before its parent", i)
		}
	}
	got := [...]int{s.ready.len, s.running, s.numHeld, s.entries.len, s.entries.numSpare, s.holds.len}
	want := [...]int{numReady, numRunning, numHeld, numEntries, numSpare, checkHolds(t, s)}
	if got != want || numSpare > maxSpare {
		t.Fatalf("counts of ready, running and held keys, of all and spare entries, and of holds are %v, want %v", got, want)
	}
}

// checkHolds fails the test unless each hold is in its source and in its entry, and returns the number of holds.
func checkHolds(t testing.TB, s *state[string, string]) (n int) {
	t.Helper()
	check := func(x *hold[string, string]) {
		if !slices.Contains(x.entry.extra.holds, x) || s.entries.get(x.entry.key) != x.entry {
			t.Fatalf("a write of source %d is not in the entry of %q", x.Source, x.entry.key)
		}
		n++
	}
	for _, source := range s.holds.sources {
		for i, x := range source.byVersion {
			if check(x); x.slot != i || i > 0 && x.Version < source.byVersion[(i-1)/2].Version {
				t.Fatalf("slot %d of the heap of holds has the wrong write %+v", i, x.Write)
			}
		}
		for uid, list := range source.byUID {
			for _, x := range list {
				if check(x); x.UID != uid {
					t.Fatalf("the deletion of %q is listed as one of %q", x.UID, uid)
				}
			}
		}
	}
	inEntries := 0
	for e := range s.entries.all {
		if e.extra != nil {
			inEntries += len(e.extra.holds)
		}
	}
	if inEntries != n {
		t.Fatalf("entries have %d writes, and sources %d", inEntries, n)
	}
	return n
}
