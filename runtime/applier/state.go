// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package applier

import (
	"math"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// instant is a point in time, as the duration since the creation of the applier on the monotonic clock.
type instant = time.Duration

// never is an instant in the infinite future.
const never instant = math.MaxInt64

// state is the applier without waiting, locks and a clock. Each method is one step: an input that changes the state.
// The outputs are the key that take returns, the time of delays.due at which the next step is needed, and the list
// overdue, which the caller empties.
//
// Each step takes the current time, and times never decrease. A delay that ended before a step takes effect before that
// step, so it does not matter when or whether a timer calls advance.
type state[K comparable] struct {
	backoff backoff
	holdFor time.Duration // the maximum time for which a key is held
	limit   int           // the maximum number of running keys; 0 means no limit

	entries entries[K]
	ready   ready[K]
	delays  delays[K]
	holds   holds[K]
	running int
	held    list[K] // the held keys, in the order in which they were done
	numHeld int
	closed  bool // ignores adds

	shut    map[string]bool // the closed gates
	owned   func(K) bool    // nil means all keys
	foreign int             // the running keys that are not owned

	overdue []Overdue[K] // keys that were released although writes had not been observed

	adds, retries, numOverdue uint64
}

// Overdue is a key that was released although its sources had not observed writes of its last run.
type Overdue[K comparable] struct {
	Key    K
	Writes []Write
}

func newState[K comparable](o Options, b backoff) state[K] {
	return state[K]{
		backoff: b,
		holdFor: o.HoldTimeout,
		limit:   o.Concurrency,
		entries: entries[K]{byKey: make(map[K]*entry[K])},
		ready:   ready[K]{aging: o.Aging},
		shut:    make(map[string]bool),
	}
}

// owns reports whether a key is owned.
func (s *state[K]) owns(key K) bool { return s.owned == nil || s.owned(key) }

// add makes the key ready to run.
func (s *state[K]) add(key K, p Priority, now instant) {
	if s.closed || !s.owns(key) {
		return
	}
	s.advance(now)
	s.want(s.entries.ensure(key), p, now)
}

// addAfter makes the key ready after the delay, or at the time of a delayed add if that is earlier.
func (s *state[K]) addAfter(key K, p Priority, delay time.Duration, now instant) {
	if s.closed || !s.owns(key) {
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
	if s.closed || !s.owns(key) {
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

// available returns the number of keys that may be taken now.
func (s *state[K]) available() int {
	switch {
	case len(s.shut) > 0:
		return 0
	case s.limit > 0:
		return min(s.ready.len, max(0, s.limit-s.running))
	}
	return s.ready.len
}

// take removes and returns the next key, if one may run.
func (s *state[K]) take(now instant) (item Item[K], ok bool) {
	s.advance(now)
	if s.available() == 0 {
		return item, false
	}
	e := s.ready.pop(now)
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
	if s.foreign > 0 && !s.owns(key) {
		s.foreign--
	}
	if len(e.holds) == 0 {
		s.free(e)
		return
	}
	s.held.push(e)
	s.numHeld++
	if e.phase == running {
		e.phase = held
	} else {
		e.phase = heldAgain
	}
	e.freeAt = later(now, s.holdFor)
	s.delays.set(e)
}

// free ends the run of a key that is not held, or no longer held.
func (s *state[K]) free(e *entry[K]) {
	if e.phase == runningAgain || e.phase == heldAgain {
		e.phase = waiting
		s.ready.push(e)
		return
	}
	e.phase = idle
	s.entries.release(e)
}

// wrote records a write of the key's current run. The key is held after the run until the source has observed it.
func (s *state[K]) wrote(key K, w Write) {
	if e := s.entries.get(key); e != nil && e.isRunning() && s.holdFor > 0 && !s.closed {
		s.holds.add(e, w)
	}
}

// seen records that a source has observed a resource version.
func (s *state[K]) seen(source int, version uint64, now instant) {
	s.advance(now)
	s.unhold(s.holds.seen(source, version))
}

// gone records that a source no longer has an object.
func (s *state[K]) gone(source int, uid types.UID, now instant) {
	s.advance(now)
	s.unhold(s.holds.gone(source, uid))
}

// unhold removes observed writes from their keys, and releases the held keys that have no other ones.
func (s *state[K]) unhold(observed []*hold[K]) {
	for _, x := range observed {
		s.holds.remove(x)
		if e := x.entry; e.isHeld() && len(e.holds) == 0 {
			s.release(e)
		}
	}
}

// release ends the hold of a key.
func (s *state[K]) release(e *entry[K]) {
	s.held.remove(e)
	s.numHeld--
	e.freeAt = never
	s.delays.set(e)
	s.free(e)
}

// gate closes or opens a gate. No key is taken while a gate is closed.
func (s *state[K]) gate(name string, open bool, now instant) {
	s.advance(now)
	if open {
		delete(s.shut, name)
	} else {
		s.shut[name] = true
	}
}

// resize sets the maximum number of running keys.
func (s *state[K]) resize(limit int, now instant) {
	s.advance(now)
	s.limit = limit
}

// own sets which keys are owned, and drops all others that are not running or held.
func (s *state[K]) own(owned func(K) bool, now instant) {
	s.advance(now)
	s.owned, s.foreign = owned, 0
	for e := s.held.head; e != nil; e = e.next { // in order, since some may be due at the same time
		if !s.owns(e.key) {
			s.disown(e)
			e.phase = held
		}
	}
	var unused []*entry[K]
	for key, e := range s.entries.byKey {
		switch {
		case e.phase == kept || e.isHeld() || s.owns(key):
		case e.isRunning():
			s.disown(e)
			e.phase = running
			s.foreign++
		default:
			s.disown(e)
			unused = append(unused, e)
		}
	}
	for _, e := range unused {
		if e.phase == waiting {
			s.ready.remove(e)
		}
		e.phase = idle
		s.entries.release(e)
	}
}

// disown cancels the delays of a key and forgets its failures.
func (s *state[K]) disown(e *entry[K]) {
	e.wakeAt, e.retryAt = never, never
	e.failures, e.failed = 0, false
	s.delays.set(e)
}

// settled reports whether no key runs that must not run now.
func (s *state[K]) settled() bool {
	return s.foreign == 0 && (len(s.shut) == 0 || s.running == 0)
}

// advance makes the keys ready whose delays are over.
func (s *state[K]) advance(now instant) {
	for s.delays.due() <= now {
		e := s.delays.first()
		due := e.due()
		wanted, p := false, Priority(math.MinInt8)
		if e.wakeAt == due {
			e.wakeAt, p, wanted = never, e.wakePriority, true
		}
		if e.retryAt == due {
			e.retryAt, p, wanted = never, max(p, e.retryPriority), true
		}
		if wanted {
			s.want(e, p, due)
		}
		if e.freeAt == due {
			s.overdue = append(s.overdue, Overdue[K]{e.key, s.holds.forget(e)})
			s.numOverdue++
			s.release(e)
			continue
		}
		s.delays.set(e)
	}
}

// drain closes the state to new keys and drops the delayed ones. Waiting and running keys stay.
func (s *state[K]) drain() {
	s.closed = true
	for e := s.held.head; e != nil; e = s.held.head {
		s.holds.forget(e)
		s.release(e)
	}
	s.delays.clear()
	s.entries.retain(func(e *entry[K]) bool {
		s.holds.forget(e)
		e.wakeAt, e.retryAt, e.slot = never, never, 0
		return e.phase != idle
	})
	if len(s.shut) > 0 {
		s.dropWaiting()
	}
}

// dropWaiting drops all keys that are not running.
func (s *state[K]) dropWaiting() {
	s.ready.clear()
	s.entries.retain(func(e *entry[K]) bool {
		if e.isRunning() {
			e.phase = running
		}
		return e.phase == running
	})
}

// close closes the state to new keys and drops all keys that are not running.
func (s *state[K]) close() {
	s.drain()
	s.dropWaiting()
}

// stats returns the statistics of the state.
func (s *state[K]) stats(now instant) Stats {
	s.advance(now)
	return Stats{
		Ready:      s.ready.len,
		Running:    s.running,
		Held:       s.numHeld,
		Delayed:    s.delays.len(),
		OldestWait: s.ready.oldestWait(now),
		Adds:       s.adds,
		Retries:    s.retries,
		Overdue:    s.numOverdue,
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
	case held:
		e.phase, e.priority, e.since = heldAgain, p, since
		s.adds++
	case runningAgain, heldAgain:
		e.priority = max(e.priority, p)
	case kept: // unused; ensure never returns an entry in this phase
	}
}

// later returns now+delay, or the last instant before never if that overflows.
func later(now instant, delay time.Duration) instant {
	return now + min(delay, never-1-now)
}
