// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import "maps"

const (
	// maxKept bounds how many entries are kept that are of no use but to the next add of their key.
	maxKept = 256
	// shrinkFrom is how large a map or a slice must have been before giving back its room is worth a copy.
	shrinkFrom = 1024
)

// phase says what a key is doing, leaving its delays aside.
type phase uint8

const (
	idle         phase = iota // only delayed
	waiting                   // in the ready list
	running                   // between take and done
	runningAgain              // running, and added since
	kept                      // nothing
)

// An entry is all that is known of one key. It exists while the key waits, runs or is delayed, and for the keys that
// were the last to stop doing so.
type entry[K comparable] struct {
	key        K
	prev, next *entry[K] // neighbours in the list of those that wait, or that are kept

	since   instant // when the add that waits was made
	wakeAt  instant // when the delayed add is due, or never
	retryAt instant // when the retry is due, or never

	slot     int32 // place in the heap of delays, counted from 1; 0 when not there
	failures int32 // failed runs in a row
	doubled  uint8 // how often the delay of the retries has doubled
	phase    phase
	failed   bool // a retry was asked for since the last take

	priority      Priority // of the waiting add or, when none waits, of the run
	wakePriority  Priority
	retryPriority Priority
}

// due is when the entry's delays need attention next.
func (e *entry[K]) due() instant { return min(e.wakeAt, e.retryAt) }

// isRunning says whether a worker has the key.
func (e *entry[K]) isRunning() bool { return e.phase == running || e.phase == runningAgain }

// entries finds the entry of a key. Keys that come and go in a short time find theirs still there, which spares the
// map and the allocator most of their work.
type entries[K comparable] struct {
	byKey   map[K]*entry[K]
	kept    list[K] // the one kept longest first
	numKept int
	peak    int // most entries there were since byKey was made
}

// get returns the key's entry, or nil.
func (s *entries[K]) get(key K) *entry[K] { return s.byKey[key] }

// ensure finds or makes the key's entry.
func (s *entries[K]) ensure(key K) *entry[K] {
	e := s.byKey[key]
	switch {
	case e == nil:
		if s.numKept < maxKept {
			e = new(entry[K])
		} else {
			e = s.evict()
		}
		e.key, e.wakeAt, e.retryAt = key, never, never
		s.byKey[key] = e
		s.peak = max(s.peak, len(s.byKey))
	case e.phase == kept:
		s.kept.remove(e)
		s.numKept--
		e.phase = idle
	}
	return e
}

// release lets go of the entry if its key neither waits, runs nor is delayed.
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

// evict forgets the entry that was kept longest, and returns it blank.
func (s *entries[K]) evict() *entry[K] {
	e := s.kept.head
	s.kept.remove(e)
	s.numKept--
	delete(s.byKey, e.key)
	*e = entry[K]{}
	return e
}

// retain forgets all entries that are not wanted.
func (s *entries[K]) retain(wanted func(*entry[K]) bool) {
	maps.DeleteFunc(s.byKey, func(_ K, e *entry[K]) bool { return e.phase == kept || !wanted(e) })
	s.kept, s.numKept = list[K]{}, 0
	s.shrink()
}

// shrink gives back the room of a map that was once much larger, which deleting does not.
func (s *entries[K]) shrink() {
	if s.peak < shrinkFrom || len(s.byKey) > s.peak/8 {
		return
	}
	byKey := make(map[K]*entry[K], len(s.byKey))
	maps.Copy(byKey, s.byKey)
	s.byKey, s.peak = byKey, len(byKey)
}

// A list is a linked list of entries. An entry is in one list at most.
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

// remove takes the entry out.
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
