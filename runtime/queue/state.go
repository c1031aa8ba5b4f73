// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"math"
	"time"
)

// instant is a point in time, as the duration since the creation of the queue on the monotonic clock.
type instant = time.Duration

// never is an instant in the infinite future.
const never instant = math.MaxInt64

// state is the queue without waiting, locks and a clock. Each step takes the current time, and times never decrease. A
// delay that ended before a step takes effect before that step, so it does not matter when or whether a timer calls
// advance.
type state[K comparable] struct {
	backoff backoff
	entries entries[K]
	ready   ready[K]
	delays  delays[K]
	running int
	closed  bool // ignores adds

	adds, retries uint64
}

func newState[K comparable](b backoff, aging time.Duration) state[K] {
	return state[K]{
		backoff: b,
		entries: entries[K]{byKey: make(map[K]*entry[K])},
		ready:   ready[K]{aging: aging},
	}
}

// add makes the key ready to run.
func (s *state[K]) add(key K, p Priority, now instant) {
	if s.closed {
		return
	}
	s.advance(now)
	s.want(s.entries.ensure(key), p, now)
}

// addAfter makes the key ready after the delay, or at the time of a delayed add if that is earlier.
func (s *state[K]) addAfter(key K, p Priority, delay time.Duration, now instant) {
	if s.closed {
		return
	}
	if delay <= 0 {
		s.add(key, p, now)
		return
	}
	s.advance(now)
	e := s.entries.ensure(key)
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
	e := s.entries.ensure(key)
	switch {
	case e.failures == 0:
		e.doubled = 0
	case e.retryAt == never && e.doubled < math.MaxUint8: // the last retry took place and failed
		e.doubled++
	}
	if e.failures < math.MaxInt32 {
		e.failures++
	}
	delay := max(s.backoff.delay(int(e.doubled)), atLeast)
	e.failed = true
	e.retryAt, e.retryPriority = later(now, delay), p
	s.delays.set(e)
	s.retries++
	return delay
}

// take removes and returns the next key, if one is ready.
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

// done ends the run of the key. A run that has not called retry has succeeded.
func (s *state[K]) done(key K, now instant) {
	e := s.entries.get(key)
	if e == nil || !e.isRunning() {
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
	s.entries.release(e)
}

// advance makes the keys ready whose delays are over.
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

// drain closes the state to new keys and drops the delayed ones. Waiting and running keys stay.
func (s *state[K]) drain() {
	s.closed = true
	s.delays.clear()
	s.entries.retain(func(e *entry[K]) bool {
		e.wakeAt, e.retryAt, e.slot = never, never, 0
		return e.phase != idle
	})
}

// close closes the state to new keys and drops all keys that are not running.
func (s *state[K]) close() {
	s.drain()
	s.ready.clear()
	s.entries.retain(func(e *entry[K]) bool {
		if e.isRunning() {
			e.phase = running
		}
		return e.phase == running
	})
}

// stats returns the statistics of the state.
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

// want marks the key as waiting since the given time.
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
	case kept: // unused; ensure never returns an entry in this phase
	}
}

// later returns now+delay, or the last instant before never if that overflows.
func later(now instant, delay time.Duration) instant {
	return now + min(delay, never-1-now)
}
