// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"maps"
	"math"
	"time"
)

// instant is a point in time: how long after the creation of the queue it is, on the monotonic clock.
type instant = time.Duration

// never is the instant that does not come.
const never instant = math.MaxInt64

// maxSpares bounds how many unused entries are kept for the next keys.
const maxSpares = 256

// shrinkFrom is how large a map or a slice must have been before giving back its room is worth a copy.
const shrinkFrom = 1024

// phase says what a key is doing, leaving its delays aside.
type phase uint8

const (
	idle         phase = iota // only delayed
	waiting                   // in the ready list
	running                   // between take and done
	runningAgain              // running, and added since
)

// An entry is all that is known of one key. It exists while the key waits, runs or is delayed.
type entry[K comparable] struct {
	key        K
	prev, next *entry[K] // neighbours in the ready list

	since   instant // when the add that waits was made
	wakeAt  instant // when the delayed add is due, or never
	retryAt instant // when the retry is due, or never

	slot     int32  // place in the heap of delays, counted from 1; 0 when not there
	failures int32  // failed runs in a row
	doubled  uint8  // how often the delay of the next retry has doubled
	phase    phase
	failed   bool // the current run has asked for a retry

	priority      Priority // of the waiting add or, when none waits, of the run
	wakePriority  Priority
	retryPriority Priority
}

// due is when the entry's delays need attention next.
func (e *entry[K]) due() instant { return min(e.wakeAt, e.retryAt) }

// state is the queue without waiting, locking and a clock. Each step takes the time at which it happens; times never
// go back. What became due before a step counts as having happened before it, so it does not matter when or whether
// a timer calls advance.
type state[K comparable] struct {
	backoff backoff
	entries map[K]*entry[K]
	ready   ready[K]
	delays  delays[K]
	running int
	closed  bool // takes no more adds

	adds, retries uint64

	spare  *entry[K] // unused entries, linked by next
	spares int
	peak   int // most entries there were since the map was made
}

func newState[K comparable](b backoff, aging time.Duration) state[K] {
	return state[K]{backoff: b, entries: make(map[K]*entry[K]), ready: ready[K]{aging: aging}}
}

// add makes the key ready to run.
func (s *state[K]) add(key K, p Priority, now instant) {
	if s.closed {
		return
	}
	s.advance(now)
	s.want(s.entry(key), p, now)
}

// addAfter makes the key ready once delay has passed, or at an earlier time that is already set.
func (s *state[K]) addAfter(key K, p Priority, delay time.Duration, now instant) {
	if s.closed {
		return
	}
	if delay <= 0 {
		s.add(key, p, now)
		return
	}
	s.advance(now)
	e := s.entry(key)
	if e.wakeAt == never {
		e.wakePriority = p
	}
	e.wakePriority = max(e.wakePriority, p)
	e.wakeAt = min(e.wakeAt, later(now, delay))
	s.delays.set(e)
}

// retry counts a failure and makes the key ready after its back-off, but not before atLeast has passed.
func (s *state[K]) retry(key K, p Priority, atLeast time.Duration, now instant) time.Duration {
	if s.closed {
		return 0
	}
	s.advance(now)
	e := s.entry(key)
	switch {
	case e.failures == 0:
		e.doubled = 0
	case e.retryAt == never && e.doubled < math.MaxUint8: // the last delay was waited for, in vain
		e.doubled++
	}
	if e.failures < math.MaxInt32 {
		e.failures++
	}
	delay := max(s.backoff.delay(int(e.doubled)), atLeast)
	e.failed = e.phase == running || e.phase == runningAgain
	e.retryAt, e.retryPriority = later(now, delay), p
	s.delays.set(e)
	s.retries++
	return delay
}

// take hands out the next key, if one is ready.
func (s *state[K]) take(now instant) (item Item[K], ok bool) {
	s.advance(now)
	e := s.ready.pop(now)
	if e == nil {
		return item, false
	}
	e.phase, e.failed = running, false
	s.running++
	return Item[K]{Key: e.key, Priority: e.priority, Failures: int(e.failures), Waited: now - e.since}, true
}

// done ends the run of the key. A run that has not asked for a retry has succeeded.
func (s *state[K]) done(key K, now instant) {
	e := s.entries[key]
	if e == nil || e.phase == idle || e.phase == waiting {
		return
	}
	s.advance(now)
	s.running--
	if !e.failed {
		e.failures = 0
		e.retryAt = never
		s.delays.set(e)
	}
	if e.phase == runningAgain {
		e.phase = waiting
		s.ready.push(e)
		return
	}
	e.phase = idle
	s.release(e)
}

// advance makes the keys ready whose delay is over.
func (s *state[K]) advance(now instant) {
	for s.delays.due() <= now {
		e := s.delays.first()
		due := e.due()
		p := Priority(math.MinInt8)
		if e.wakeAt == due {
			e.wakeAt, p = never, e.wakePriority
		}
		if e.retryAt == due {
			e.retryAt, p = never, max(p, e.retryPriority)
		}
		s.delays.set(e)
		s.want(e, p, due)
	}
}

// drain takes no more adds and drops the delayed ones. What waits and what runs stays.
func (s *state[K]) drain() {
	s.closed = true
	s.delays.clear()
	for _, e := range s.entries {
		e.wakeAt, e.retryAt, e.slot = never, never, 0
		s.release(e)
	}
}

// close takes no more adds and drops all keys that are not running.
func (s *state[K]) close() {
	s.ready.clear()
	for _, e := range s.entries {
		switch e.phase {
		case waiting:
			e.phase = idle
		case runningAgain:
			e.phase = running
		}
	}
	s.drain()
}

// stats describes the state.
func (s *state[K]) stats(now instant) Stats {
	s.advance(now)
	return Stats{
		Ready:      s.ready.len,
		Running:    s.running,
		Delayed:    s.delays.len(),
		OldestWait: s.ready.oldestWait(now),
		Adds:       s.adds,
		Retries:    s.retries,
	}
}

// want notes that the key is to run, as of since.
func (s *state[K]) want(e *entry[K], p Priority, since instant) {
	switch e.phase {
	case idle:
		e.phase, e.priority, e.since = waiting, p, since
		s.ready.push(e)
		s.adds++
	case running:
		e.phase, e.priority, e.since = runningAgain, p, since
		s.adds++
	case waiting:
		if p > e.priority {
			s.ready.remove(e)
			e.priority = p
			s.ready.push(e)
		}
	case runningAgain:
		e.priority = max(e.priority, p)
	}
}

// entry finds or makes the key's entry.
func (s *state[K]) entry(key K) *entry[K] {
	if e := s.entries[key]; e != nil {
		return e
	}
	e := s.spare
	if e == nil {
		e = new(entry[K])
	} else {
		s.spare, e.next = e.next, nil
		s.spares--
	}
	e.key, e.wakeAt, e.retryAt = key, never, never
	s.entries[key] = e
	s.peak = max(s.peak, len(s.entries))
	return e
}

// release forgets an entry that neither waits, runs nor is delayed.
func (s *state[K]) release(e *entry[K]) {
	if e.phase != idle || e.slot != 0 {
		return
	}
	delete(s.entries, e.key)
	*e = entry[K]{}
	if s.spares < maxSpares {
		e.next, s.spare = s.spare, e
		s.spares++
	}
	s.shrink()
}

// shrink gives back the room of a map that was once much larger, which deleting does not.
func (s *state[K]) shrink() {
	if s.peak < shrinkFrom || len(s.entries) > s.peak/8 {
		return
	}
	entries := make(map[K]*entry[K], len(s.entries))
	maps.Copy(entries, s.entries)
	s.entries, s.peak = entries, len(entries)
}

// later is now+delay, or the last instant before never if that overflows.
func later(now instant, delay time.Duration) instant {
	return now + min(delay, never-1-now)
}
