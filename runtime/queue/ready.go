// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"cmp"
	"slices"
	"time"
)

// agedShare is the share of turns, one in so many, for the key that has waited longest.
const agedShare = 4

// ready holds the waiting entries: a first-in, first-out list for each priority.
type ready[K comparable] struct {
	levels []level[K] // highest priority first; there are at most 256, and empty ones stay
	len    int
	aging  time.Duration
	passed int // turns in a row in which an aged key was passed over
}

// A level is the list of waiting entries of one priority.
type level[K comparable] struct {
	priority Priority
	list[K]
}

// push appends the entry to the list of its priority.
func (r *ready[K]) push(e *entry[K]) {
	r.level(e.priority).push(e)
	r.len++
}

// remove takes the entry out of the list of its priority.
func (r *ready[K]) remove(e *entry[K]) {
	r.level(e.priority).remove(e)
	r.len--
}

// pop removes the entry whose turn it is, or returns nil.
func (r *ready[K]) pop(now instant) *entry[K] {
	e := r.first()
	if e == nil {
		return nil
	}
	if aged := r.oldest(); aged == e || now-aged.since < r.aging {
		r.passed = 0
	} else if r.passed++; r.passed == agedShare {
		r.passed = 0
		e = aged
	}
	r.remove(e)
	return e
}

// first returns the head of the highest priority that has one.
func (r *ready[K]) first() *entry[K] {
	for i := range r.levels {
		if e := r.levels[i].head; e != nil {
			return e
		}
	}
	return nil
}

// oldest returns the head that has waited longest. Each list moves on, so every entry becomes a head, and then the
// oldest one: nothing starves.
func (r *ready[K]) oldest() *entry[K] {
	var oldest *entry[K]
	for i := range r.levels {
		if e := r.levels[i].head; e != nil && (oldest == nil || e.since < oldest.since) {
			oldest = e
		}
	}
	return oldest
}

// oldestWait is how long the oldest head has waited.
func (r *ready[K]) oldestWait(now instant) time.Duration {
	if e := r.oldest(); e != nil {
		return now - e.since
	}
	return 0
}

// clear drops all entries.
func (r *ready[K]) clear() {
	r.levels, r.len, r.passed = nil, 0, 0
}

// level finds or makes the list of a priority.
func (r *ready[K]) level(p Priority) *level[K] {
	for i := range r.levels {
		if r.levels[i].priority == p {
			return &r.levels[i]
		}
	}
	i, _ := slices.BinarySearchFunc(r.levels, p, func(l level[K], p Priority) int { return cmp.Compare(p, l.priority) })
	r.levels = slices.Insert(r.levels, i, level[K]{priority: p})
	return &r.levels[i]
}
