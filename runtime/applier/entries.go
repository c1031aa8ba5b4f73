// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package applier

import (
	"hash/maphash"
	"math/bits"
)

const (
	// maxSpare is the maximum number of entries that are kept for reuse.
	maxSpare = 256
	// maxCauses is the maximum number of causes that a waiting add keeps.
	maxCauses = 8
	// minBuckets is the minimum number of buckets of a hash table.
	minBuckets = 16
	// shrinkFrom is the capacity from which it is worth copying a table or a slice to free memory.
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
)

// An entry is the state of one key. It exists while the key waits, runs, is held or is delayed.
type entry[K comparable, C any] struct {
	key        K
	hash       uint64
	chain      *entry[K, C] // the next entry of the bucket
	prev, next *entry[K, C] // neighbors in the list of waiting, running, held or spare entries

	since  instant      // when the key began to wait
	cause  C            // the first cause of the waiting or debounced add, if caused is set
	others *others[C]   // the next ones, or nil
	extra  *extra[K, C] // nil if the key has never been delayed, failed or held since the entry was created

	slot     int32 // slot in the heap of delays, counted from 1; 0 if not delayed
	phase    phase
	priority Priority // of the waiting add, or of the run if no add is waiting
	caused   bool     // cause is set
}

// extra is the delays, failures and holds of a key: most keys have none.
type extra[K comparable, C any] struct {
	wakeAt  instant // when the delayed add is due, or never
	retryAt instant // when the retry is due unless it is covered, or never
	quietAt instant // when the debounced add is due, or never
	quietBy instant // when the debounced add is due at the latest
	freeAt  instant // when the key is released although writes have not been observed, or never

	wakeCause, retryCause                      C
	wakePriority, retryPriority, quietPriority Priority

	holds []*hold[K, C] // the writes of the run, or of the last run if it is held, that have not been observed

	failures int32 // failed runs in a row
	doubled  uint8 // how often the retry delay has doubled
	failed   bool  // Retry was called since the last take
	covered  bool  // the retry was pending when the run began: it is not due, unless the run is skipped
}

// more returns the extra part of the entry, and creates it if necessary.
func (e *entry[K, C]) more() *extra[K, C] {
	if e.extra == nil {
		e.extra = &extra[K, C]{wakeAt: never, retryAt: never, quietAt: never, freeAt: never}
	}
	return e.extra
}

// due returns the time at which the entry's delays need attention next.
func (e *entry[K, C]) due() instant {
	if x := e.extra; x != nil {
		return min(x.wakeAt, x.retryDue(), x.quietAt, x.freeAt)
	}
	return never
}

// retryDue returns the time at which the retry is due, or never.
func (x *extra[K, C]) retryDue() instant {
	if x.covered {
		return never
	}
	return x.retryAt
}

// others are the causes of an add after the first: most adds have none.
type others[C any] struct {
	list    []C // at most maxCauses-1
	dropped int
}

// because adds a cause of the waiting or debounced add.
func (e *entry[K, C]) because(cause C) {
	if !e.caused {
		e.cause, e.caused = cause, true
		return
	}
	if e.others == nil {
		e.others = new(others[C])
	}
	if len(e.others.list) < maxCauses-1 {
		e.others.list = append(e.others.list, cause)
	} else {
		e.others.dropped++
	}
}

// forgetCauses removes the causes of the waiting or debounced add.
func (e *entry[K, C]) forgetCauses() {
	var none C
	e.cause, e.others, e.caused = none, nil, false
}

// isWanted reports whether the key waits, or will wait after its run or hold.
func (e *entry[K, C]) isWanted() bool {
	return e.phase == waiting || e.phase == runningAgain || e.phase == heldAgain
}

// isRunning reports whether a worker has the key.
func (e *entry[K, C]) isRunning() bool { return e.phase == running || e.phase == runningAgain }

// isHeld reports whether the key is held back.
func (e *entry[K, C]) isHeld() bool { return e.phase == held || e.phase == heldAgain }

// entries finds the entries of keys. It is a hash table whose buckets are lists. A map would compute the hash of a key
// for each of the three operations of a run, and keep a second copy of the key.
type entries[K comparable, C any] struct {
	seed     maphash.Seed
	buckets  []*entry[K, C] // their number is a power of two
	len      int
	spare    *entry[K, C] // entries for reuse, linked by next
	numSpare int
}

func newEntries[K comparable, C any]() entries[K, C] {
	return entries[K, C]{seed: maphash.MakeSeed(), buckets: make([]*entry[K, C], minBuckets)}
}

// bucket returns the bucket of a hash.
func (s *entries[K, C]) bucket(hash uint64) **entry[K, C] {
	return &s.buckets[hash&uint64(len(s.buckets)-1)]
}

// find returns where the key's entry is in its bucket, or the end of the bucket.
func (s *entries[K, C]) find(key K, hash uint64) **entry[K, C] {
	at := s.bucket(hash)
	for *at != nil && ((*at).hash != hash || (*at).key != key) {
		at = &(*at).chain
	}
	return at
}

// get returns the key's entry, or nil.
func (s *entries[K, C]) get(key K) *entry[K, C] { return *s.find(key, maphash.Comparable(s.seed, key)) }

// ensure returns the key's entry, and creates it if necessary.
func (s *entries[K, C]) ensure(key K) *entry[K, C] {
	hash := maphash.Comparable(s.seed, key)
	at := s.find(key, hash)
	if *at != nil {
		return *at
	}
	e := s.spare
	if e == nil {
		e = new(entry[K, C])
	} else {
		s.spare, e.next = e.next, nil
		s.numSpare--
	}
	e.key, e.hash = key, hash
	*at = e
	if s.len++; s.len > len(s.buckets) {
		s.resize(2 * len(s.buckets))
	}
	return e
}

// release removes the entry if its key neither waits, runs, is held nor is delayed.
func (s *entries[K, C]) release(e *entry[K, C]) {
	if e.phase != idle || e.slot != 0 {
		return
	}
	at := s.bucket(e.hash)
	for *at != e {
		at = &(*at).chain
	}
	*at = e.chain
	s.len--
	*e = entry[K, C]{}
	if s.numSpare < maxSpare {
		s.spare, e.next = e, s.spare
		s.numSpare++
	}
	s.shrink()
}

// all calls yield for each entry. It must not add or remove entries.
func (s *entries[K, C]) all(yield func(*entry[K, C]) bool) {
	for _, e := range s.buckets {
		for ; e != nil; e = e.chain {
			if !yield(e) {
				return
			}
		}
	}
}

// retain removes all entries that are not wanted.
func (s *entries[K, C]) retain(wanted func(*entry[K, C]) bool) {
	for i := range s.buckets {
		for at := &s.buckets[i]; *at != nil; {
			if wanted(*at) {
				at = &(*at).chain
			} else {
				*at = (*at).chain
				s.len--
			}
		}
	}
	s.shrink()
}

// shrink frees the memory of a table that was once much larger.
func (s *entries[K, C]) shrink() {
	if len(s.buckets) >= shrinkFrom && s.len <= len(s.buckets)/8 {
		s.resize(max(minBuckets, 1<<bits.Len(uint(2*s.len))))
	}
}

// resize sets the number of buckets.
func (s *entries[K, C]) resize(n int) {
	old := *s
	s.buckets = make([]*entry[K, C], n)
	for _, e := range old.buckets {
		for e != nil {
			next, at := e.chain, s.bucket(e.hash)
			*at, e.chain = e, *at
			e = next
		}
	}
}

// A list is a linked list of entries. An entry is in at most one list.
type list[K comparable, C any] struct {
	head, tail *entry[K, C]
}

// push appends the entry.
func (l *list[K, C]) push(e *entry[K, C]) {
	e.prev, e.next = l.tail, nil
	if l.tail == nil {
		l.head = e
	} else {
		l.tail.next = e
	}
	l.tail = e
}

// remove removes the entry.
func (l *list[K, C]) remove(e *entry[K, C]) {
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
