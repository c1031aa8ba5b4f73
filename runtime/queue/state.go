// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"math"
	"time"
)

// instant is a point in time: how long after the creation of the queue it is, on the monotonic clock.
type instant = time.Duration

// never is the instant that does not come.
const never instant = math.MaxInt64

// state is the queue without waiting, locking and a clock. Each step takes the time at which it happens; times never
// go back. What became due before a step counts as having happened before it, so it does not matter when or whether
// a timer calls advance.
type state[K comparable] struct {
	backoff backoff
	entries entries[K]
	ready   ready[K]
	delays  delays[K]
	running int
	closed  bool // takes no more adds

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
	case e.retryAt == never && e.doubled < math.MaxUint8: // the last delay was waited for, in vain
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
	s.entries.retain(func(e *entry[K]) bool {
		e.wakeAt, e.retryAt, e.slot = never, never, 0
		return e.phase != idle
	})
}

// close takes no more adds and drops all keys that are not running.
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
	case kept: // not in use; the entries of a state are looked up in any phase but this
	}
}

// later is now+delay, or the last instant before never if that overflows.
func later(now instant, delay time.Duration) instant {
	return now + min(delay, never-1-now)
}
