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

// maxScan is the maximum number of running keys that are compared with a key before it is looked up.
const maxScan = 8

// state is the applier without waiting, locks and a clock. Each method is one step: an input that changes the state.
// The outputs are the key that take returns, the time of delays.due at which the next step is needed, and the list
// overdue, which the caller empties.
//
// Each step takes the current time, and times never decrease. A delay that ended before a step takes effect before that
// step, so it does not matter when or whether a timer calls advance.
type state[K comparable, C any] struct {
	backoff backoff
	holdFor time.Duration // the maximum time for which a key is held
	limit   int           // the maximum number of running keys; 0 means no limit

	quiet, maxQuiet time.Duration // of debounced adds; 0 means that adds are not debounced

	entries entries[K, C]
	ready   ready[K, C]
	delays  delays[K, C]
	holds   holds[K, C]
	runs    list[K, C] // the running keys, in the order in which they were taken
	running int        // their number
	held    list[K, C] // the held keys, in the order in which they were done
	numHeld int
	closed  bool // ignores adds

	owned func(K) bool // nil means all keys

	overdue []Overdue[K] // keys that were released although writes had not been observed

	adds, retries, numOverdue uint64
}

// Overdue is a key that was released although its sources had not observed writes of its last run.
type Overdue[K comparable] struct {
	Key    K
	Writes []Write
}

func newState[K comparable, C any](o Options, b backoff) state[K, C] {
	return state[K, C]{
		backoff: b,
		holdFor: o.HoldTimeout,
		limit:   o.Concurrency,

		quiet:    o.Debounce,
		maxQuiet: o.MaxDebounce,

		entries: newEntries[K, C](),
		ready:   ready[K, C]{aging: aging},
		holds:   holds[K, C]{sources: make(map[int]*sourceHolds[K, C])},
	}
}

// owns reports whether a key is owned.
func (s *state[K, C]) owns(key K) bool { return s.owned == nil || s.owned(key) }

// add makes the key ready to run.
func (s *state[K, C]) add(key K, p Priority, cause C, now instant) {
	if s.closed || s.owned != nil && !s.owned(key) { // a call of owns would copy the key
		return
	}
	s.advance(now)
	e := s.entries.ensure(key)
	if s.quiet > 0 && p <= Normal && !e.isWanted() {
		s.debounce(e, p, cause, now)
		return
	}
	s.want(e, p, cause, now)
}

// debounce makes the key ready after the quiet time.
func (s *state[K, C]) debounce(e *entry[K, C], p Priority, cause C, now instant) {
	e.because(cause)
	x := e.more()
	if x.quietAt == never {
		x.quietBy, x.quietPriority = later(now, s.maxQuiet), p
	}
	x.quietPriority = max(x.quietPriority, p)
	x.quietAt = min(later(now, s.quiet), x.quietBy)
	s.delays.set(e)
}

// addAfter makes the key ready after the delay, or at the time of a delayed add if that is earlier.
func (s *state[K, C]) addAfter(key K, p Priority, cause C, delay time.Duration, now instant) {
	if s.closed || !s.owns(key) {
		return
	}
	if delay <= 0 {
		s.add(key, p, cause, now)
		return
	}
	s.advance(now)
	e := s.entries.ensure(key)
	x := e.more()
	if x.wakeAt == never {
		x.wakePriority, x.wakeCause = p, cause
	}
	x.wakePriority = max(x.wakePriority, p)
	x.wakeAt = min(x.wakeAt, later(now, delay))
	s.delays.set(e)
}

// retry counts a failure and makes the key ready after its back-off, but not before atLeast has passed.
func (s *state[K, C]) retry(key K, p Priority, cause C, atLeast time.Duration, now instant) time.Duration {
	if s.closed || !s.owns(key) {
		return 0
	}
	s.advance(now)
	e := s.entries.ensure(key)
	x := e.more()
	switch {
	case x.failures == 0:
		x.doubled = 0
	case x.retryAt == never && x.doubled < math.MaxUint8: // the last retry took place and failed
		x.doubled++
	}
	if x.failures < math.MaxInt32 {
		x.failures++
	}
	delay := max(s.backoff.delay(int(x.doubled)), atLeast)
	x.failed, x.covered = true, false
	x.retryAt, x.retryPriority, x.retryCause = later(now, delay), p, cause
	s.delays.set(e)
	s.retries++
	return delay
}

// available returns the number of keys that may be taken now.
func (s *state[K, C]) available() int {
	if s.limit > 0 {
		return min(s.ready.len, max(0, s.limit-s.running))
	}
	return s.ready.len
}

// take removes and returns the next key, if one may run.
func (s *state[K, C]) take(now instant) (item Item[K, C], ok bool) {
	s.advance(now)
	if s.available() == 0 {
		return item, false
	}
	e := s.ready.pop(now)
	e.phase = running
	s.runs.push(e)
	s.running++
	item = Item[K, C]{
		Key:      e.key,
		Priority: e.priority,
		Waited:   now - e.since,
		Cause:    e.cause,
	}
	if e.others != nil {
		item.Others, item.Dropped = e.others.list, e.others.dropped
	}
	e.forgetCauses()
	if x := e.extra; x != nil {
		item.Failures = int(x.failures)
		x.failed = false
		x.quietAt = never // the run is later than the adds
		x.covered = x.retryAt != never
		s.delays.set(e)
	}
	return item, true
}

// runningEntry returns the key's entry if the key is running, or nil.
func (s *state[K, C]) runningEntry(key K) *entry[K, C] {
	e := s.runs.head
	for range maxScan {
		if e == nil || e.key == key {
			return e
		}
		e = e.next
	}
	if e = s.entries.get(key); e == nil || !e.isRunning() {
		return nil
	}
	return e
}

// done ends the run of the key. A run that has not called retry has succeeded.
func (s *state[K, C]) done(key K, now instant) {
	e := s.runningEntry(key)
	if e == nil {
		return
	}
	s.advance(now)
	s.runs.remove(e)
	s.running--
	x := e.extra
	if x != nil && !x.failed {
		x.failures = 0
		x.retryAt = never
		s.delays.set(e)
	}
	if x == nil || len(x.holds) == 0 {
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
	x.freeAt = later(now, s.holdFor)
	s.delays.set(e)
}

// skip ends the run of the key, and keeps its failures if another run follows: the pending retry or a later add.
func (s *state[K, C]) skip(key K, now instant) {
	s.advance(now)
	if e := s.runningEntry(key); e != nil && e.extra != nil {
		x := e.extra
		x.failed, x.covered = x.retryAt != never || e.phase == runningAgain, false
		s.delays.set(e)
	}
	s.done(key, now)
}

// cancel cancels the delayed add and the retry of the key.
func (s *state[K, C]) cancel(key K, now instant) {
	s.advance(now)
	e := s.entries.get(key)
	if e == nil || e.extra == nil {
		return
	}
	x := e.extra
	x.wakeAt, x.retryAt = never, never
	x.failures, x.failed = 0, false
	s.delays.set(e)
	s.entries.release(e)
}

// free ends the run of a key that is not held, or no longer held.
func (s *state[K, C]) free(e *entry[K, C]) {
	if e.phase == runningAgain || e.phase == heldAgain {
		e.phase = waiting
		s.ready.push(e)
		return
	}
	e.phase = idle
	s.entries.release(e)
}

// wrote records a write of the key's current run. The key is held after the run until the source has observed it.
func (s *state[K, C]) wrote(key K, w Write) {
	if e := s.runningEntry(key); e != nil && s.holdFor > 0 && !s.closed {
		s.holds.add(e, w)
	}
}

// seen records that a source has observed a resource version.
func (s *state[K, C]) seen(source int, version uint64, now instant) {
	s.advance(now)
	s.unhold(s.holds.seen(source, version))
}

// gone records that a source no longer has an object.
func (s *state[K, C]) gone(source int, uid types.UID, now instant) {
	s.advance(now)
	s.unhold(s.holds.gone(source, uid))
}

// forget records that a source observes nothing any more.
func (s *state[K, C]) forget(source int, now instant) {
	s.advance(now)
	s.unhold(s.holds.drop(source))
}

// unhold removes observed writes from their keys, and releases the held keys that have no other ones.
func (s *state[K, C]) unhold(observed []*hold[K, C]) {
	for _, x := range observed {
		s.holds.remove(x)
		if e := x.entry; e.isHeld() && len(e.extra.holds) == 0 {
			s.release(e)
		}
	}
}

// release ends the hold of a key.
func (s *state[K, C]) release(e *entry[K, C]) {
	s.held.remove(e)
	s.numHeld--
	e.extra.freeAt = never
	s.delays.set(e)
	s.free(e)
}

// resize sets the maximum number of running keys.
func (s *state[K, C]) resize(limit int, now instant) {
	s.advance(now)
	s.limit = limit
}

// own sets which keys are owned, and drops all others that are not running or held.
func (s *state[K, C]) own(owned func(K) bool, now instant) {
	s.advance(now)
	s.owned = owned
	for e := s.held.head; e != nil; e = e.next { // in order, since some may be due at the same time
		if !s.owns(e.key) {
			s.disown(e)
			e.phase = held
		}
	}
	var unused []*entry[K, C]
	for e := range s.entries.all {
		switch {
		case e.isHeld() || s.owns(e.key):
		case e.isRunning():
			s.disown(e)
			e.phase = running
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
func (s *state[K, C]) disown(e *entry[K, C]) {
	if x := e.extra; x != nil {
		x.wakeAt, x.retryAt, x.quietAt = never, never, never
		x.failures, x.failed = 0, false
	}
	e.forgetCauses()
	s.delays.set(e)
}

// advance makes the keys ready whose delays are over.
func (s *state[K, C]) advance(now instant) {
	for s.delays.due() <= now {
		e := s.delays.first()
		x, due := e.extra, e.due()
		if x.wakeAt == due {
			x.wakeAt = never
			s.want(e, x.wakePriority, x.wakeCause, due)
		}
		if x.retryDue() == due {
			x.retryAt = never
			s.want(e, x.retryPriority, x.retryCause, due)
		}
		if x.quietAt == due {
			x.quietAt = never
			s.enlist(e, x.quietPriority, due)
		}
		if x.freeAt == due {
			s.overdue = append(s.overdue, Overdue[K]{e.key, s.holds.forget(e)})
			s.numOverdue++
			s.release(e)
			continue
		}
		s.delays.set(e)
	}
}

// drain closes the state to new keys and drops the delayed ones. Waiting and running keys stay.
func (s *state[K, C]) drain() {
	s.closed = true
	for e := s.held.head; e != nil; e = s.held.head {
		s.holds.forget(e)
		s.release(e)
	}
	s.delays.clear()
	s.entries.retain(func(e *entry[K, C]) bool {
		s.holds.forget(e)
		if x := e.extra; x != nil {
			x.wakeAt, x.retryAt, x.quietAt = never, never, never
		}
		e.slot = 0
		return e.phase != idle
	})
}

// dropWaiting drops all keys that are not running.
func (s *state[K, C]) dropWaiting() {
	s.ready.clear()
	s.entries.retain(func(e *entry[K, C]) bool {
		if e.isRunning() {
			e.phase = running
			e.forgetCauses()
		}
		return e.phase == running
	})
}

// close closes the state to new keys and drops all keys that are not running.
func (s *state[K, C]) close() {
	s.drain()
	s.dropWaiting()
}

// stats returns the statistics of the state.
func (s *state[K, C]) stats(now instant) Stats {
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

// want marks the key as waiting since the given time, because of a cause.
func (s *state[K, C]) want(e *entry[K, C], p Priority, cause C, since instant) {
	e.because(cause)
	s.enlist(e, p, since)
}

// enlist marks the key as waiting since the given time.
func (s *state[K, C]) enlist(e *entry[K, C], p Priority, since instant) {
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
	}
}

// later returns now+delay, or the last instant before never if that overflows.
func later(now instant, delay time.Duration) instant {
	return now + min(delay, never-1-now)
}
