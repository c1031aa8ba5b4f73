// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package applier

import "time"

// agedShare is the share of turns for the key that has waited longest: one of every agedShare turns.
const agedShare = 4

// aging is how long a key waits before every fourth turn may go to it, whatever its priority.
const aging = time.Second

// ready holds the waiting entries: a first-in, first-out list for each priority.
type ready[K comparable, C any] struct {
	levels []level[K, C] // highest priority first; there are at most 256, and empty ones stay
	len    int
	aging  time.Duration
	turn   int // turns since the last one for the key that has waited longest
}

// A level is the list of waiting entries of one priority.
type level[K comparable, C any] struct {
	priority Priority
	len      int
	list[K, C]
}

// push appends the entry to the list of its priority.
func (r *ready[K, C]) push(e *entry[K, C]) {
	l := r.level(e.priority)
	l.push(e)
	l.len++
	r.len++
}

// remove removes the entry from the list of its priority.
func (r *ready[K, C]) remove(e *entry[K, C]) {
	l := r.level(e.priority)
	l.remove(e)
	l.len--
	r.len--
}

// pop removes and returns the entry whose turn it is. There must be one.
func (r *ready[K, C]) pop(now instant) *entry[K, C] {
	if r.turn++; r.turn == agedShare {
		r.turn = 0
		if e := r.oldest(); now-e.since >= r.aging {
			r.remove(e)
			return e
		}
	}
	l := &r.levels[0]
	for i := 1; l.head == nil; i++ {
		l = &r.levels[i]
	}
	e := l.head
	l.remove(e)
	l.len--
	r.len--
	return e
}

// oldest returns the first entry that has waited longest among those of all priorities. Every entry becomes the first
// of its list and eventually the oldest, so none starves.
func (r *ready[K, C]) oldest() *entry[K, C] {
	var oldest *entry[K, C]
	for i := range r.levels {
		if e := r.levels[i].head; e != nil && (oldest == nil || e.since < oldest.since) {
			oldest = e
		}
	}
	return oldest
}

// oldestWait returns how long the oldest first entry has waited.
func (r *ready[K, C]) oldestWait(now instant) time.Duration {
	if e := r.oldest(); e != nil {
		return now - e.since
	}
	return 0
}

// clear removes all entries.
func (r *ready[K, C]) clear() {
	r.levels, r.len, r.turn = nil, 0, 0
}

// level returns the list of a priority, and creates it if necessary.
func (r *ready[K, C]) level(p Priority) *level[K, C] {
	for i := range r.levels {
		if r.levels[i].priority == p {
			return &r.levels[i]
		}
	}
	i := len(r.levels)
	r.levels = append(r.levels, level[K, C]{priority: p})
	for ; i > 0 && r.levels[i-1].priority < p; i-- {
		r.levels[i-1], r.levels[i] = r.levels[i], r.levels[i-1]
	}
	return &r.levels[i]
}
