// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package applier

import "maps"

const (
	// maxKept is the maximum number of unused entries that are kept for the next add of their key.
	maxKept = 256
	// shrinkFrom is the capacity from which it is worth copying a map or a slice to free memory.
	shrinkFrom = 1024
)

// phase is the state of a key, apart from its delays.
type phase uint8

const (
	idle         phase = iota // delayed only
	waiting                   // in the ready list
	running                   // between take and done
	runningAgain              // running, and added since
	held                      // done, but a source has not observed a write of the run
	heldAgain                 // held, and added since
	kept                      // unused
)

// An entry is the state of one key. It exists while the key waits, runs or is delayed. The entries of the keys that
// were the last to do so are kept for reuse.
type entry[K comparable] struct {
	key        K
	prev, next *entry[K] // neighbours in the list of waiting, held or kept entries

	since   instant // when the key began to wait
	wakeAt  instant // when the delayed add is due, or never
	retryAt instant // when the retry is due, or never
	freeAt  instant // when the key is released although writes have not been observed, or never

	holds []*hold[K] // the writes of the run, or of the last run if it is held, that have not been observed

	slot     int32 // slot in the heap of delays, counted from 1; 0 if not delayed
	failures int32 // failed runs in a row
	doubled  uint8 // how often the retry delay has doubled
	phase    phase
	failed   bool // Retry was called since the last take

	priority      Priority // of the waiting add, or of the run if no add is waiting
	wakePriority  Priority
	retryPriority Priority
}

// due returns the time at which the entry's delays need attention next.
func (e *entry[K]) due() instant { return min(e.wakeAt, e.retryAt, e.freeAt) }

// isRunning reports whether a worker has the key.
func (e *entry[K]) isRunning() bool { return e.phase == running || e.phase == runningAgain }

// isHeld reports whether the key is held back.
func (e *entry[K]) isHeld() bool { return e.phase == held || e.phase == heldAgain }

// entries maps keys to entries. A key that is added again soon finds its old entry, which avoids most operations on the
// map and most allocations.
type entries[K comparable] struct {
	byKey   map[K]*entry[K]
	kept    list[K] // the oldest first
	numKept int
	peak    int // the maximum number of entries since byKey was created
}

// get returns the key's entry, or nil.
func (s *entries[K]) get(key K) *entry[K] { return s.byKey[key] }

// ensure returns the key's entry, and creates it if necessary.
func (s *entries[K]) ensure(key K) *entry[K] {
	e := s.byKey[key]
	switch {
	case e == nil:
		if s.numKept < maxKept {
			e = new(entry[K])
		} else {
			e = s.evict()
		}
		e.key, e.wakeAt, e.retryAt, e.freeAt = key, never, never, never
		s.byKey[key] = e
		s.peak = max(s.peak, len(s.byKey))
	case e.phase == kept:
		s.kept.remove(e)
		s.numKept--
		e.phase = idle
	}
	return e
}

// release moves the entry to the kept ones if its key neither waits, runs nor is delayed.
func (s *entries[K]) release(e *entry[K]) {
	if e.phase != idle || e.slot != 0 {
		return
	}
	e.phase = kept
	s.kept.push(e)
	s.numKept++
	if s.numKept > maxKept {
		s.evict()
		s.shrink()
	}
}

// evict removes the oldest kept entry, and returns it cleared for reuse.
func (s *entries[K]) evict() *entry[K] {
	e := s.kept.head
	s.kept.remove(e)
	s.numKept--
	delete(s.byKey, e.key)
	*e = entry[K]{}
	return e
}

// retain removes all entries that are not wanted.
func (s *entries[K]) retain(wanted func(*entry[K]) bool) {
	maps.DeleteFunc(s.byKey, func(_ K, e *entry[K]) bool { return e.phase == kept || !wanted(e) })
	s.kept, s.numKept = list[K]{}, 0
	s.shrink()
}

// shrink frees the memory of a map that was once much larger. Deleting from a map does not.
func (s *entries[K]) shrink() {
	if s.peak < shrinkFrom || len(s.byKey) > s.peak/8 {
		return
	}
	byKey := make(map[K]*entry[K], len(s.byKey))
	maps.Copy(byKey, s.byKey)
	s.byKey, s.peak = byKey, len(byKey)
}

// A list is a linked list of entries. An entry is in at most one list.
type list[K comparable] struct {
	head, tail *entry[K]
}

// push appends the entry.
func (l *list[K]) push(e *entry[K]) {
	e.prev, e.next = l.tail, nil
	if l.tail == nil {
		l.head = e
	} else {
		l.tail.next = e
	}
	l.tail = e
}

// remove removes the entry.
func (l *list[K]) remove(e *entry[K]) {
	if e.prev == nil {
		l.head = e.next
	} else {
		e.prev.next = e.next
	}
	if e.next == nil {
		l.tail = e.prev
	} else {
		e.next.prev = e.prev
	}
	e.prev, e.next = nil, nil
}
