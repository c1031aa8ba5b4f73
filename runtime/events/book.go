// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"container/list"
	"time"
)

// When a series is written again, and when it ends. The peers' are 30 and 6 minutes.
const (
	shortestGap = time.Minute      // between two writes of a series, the first two apart
	longestGap  = 30 * time.Minute // well within the hour after which the server forgets an event
	quiet       = 6 * time.Minute  // without a repetition, after which a series has ended
)

// maxTries is how often the same state of a series is sent before it is given up.
const maxTries = 12

// series is an event with its repetitions.
type series struct {
	id          identity
	name        string // of the Event object
	note        string
	first, last time.Time
	count       int

	// exists says that the server has the Event object, as far as we know.
	exists bool
	// settled is how much of count needs no telling any more: it was told, or given up. settledAt is when.
	settled   int
	settledAt time.Time
	tries     int // that have failed since

	waiting bool          // it is in book.waiting
	place   *list.Element // in book.open; nil when it has ended
}

// due reports whether there is something to tell by now.
func (s *series) due(now time.Time) bool {
	switch {
	case s.count == s.settled:
		return false
	case s.settled < 2 || s.place == nil:
		return true
	}
	gap := min(max(s.settledAt.Sub(s.first), shortestGap), longestGap)
	return now.Sub(s.settledAt) >= gap
}

// book keeps the series that have not ended and the queue of those that are to be written. It is a state machine
// without a clock and without IO: what happens is told to its methods.
type book struct {
	maxWaiting int
	series     map[identity]*series
	open       list.List // of *series, the least recently repeated in front
	waiting    []*series
	serial     int64 // of the last name
	dropped    uint64
}

func newBook(maxWaiting int) *book {
	return &book{maxWaiting: maxWaiting, series: map[identity]*series{}}
}

// maxOpen bounds the series that have not ended.
func (b *book) maxOpen() int { return 4 * b.maxWaiting }

// observe adds an event. It reports whether there is something to write now.
func (b *book) observe(now time.Time, id identity, note string) bool {
	s := b.series[id]
	if s != nil && now.Sub(s.last) >= quiet {
		b.end(s)
		s = nil
	}
	if s == nil {
		if s = b.begin(now, id, note); s == nil {
			b.dropped++
			return len(b.waiting) > 0
		}
	}
	s.last = now
	s.count++
	b.open.MoveToBack(s.place)
	b.wait(s, now)
	return len(b.waiting) > 0
}

// begin opens a series, and returns nil when there is no room.
func (b *book) begin(now time.Time, id identity, note string) *series {
	if len(b.waiting) >= b.maxWaiting {
		return nil
	}
	if b.open.Len() >= b.maxOpen() {
		b.end(b.open.Front().Value.(*series))
	}
	b.serial = max(b.serial+1, now.UnixNano())
	s := &series{id: id, name: eventName(id.regarding.Name, b.serial), note: note, first: now}
	s.place = b.open.PushBack(s)
	b.series[id] = s
	return s
}

// wait puts a series into the queue if it is due.
func (b *book) wait(s *series, now time.Time) {
	if !s.waiting && s.due(now) {
		s.waiting = true
		b.waiting = append(b.waiting, s)
	}
}

// end ends a series, after a last write if something is untold.
func (b *book) end(s *series) {
	delete(b.series, s.id)
	b.open.Remove(s.place)
	s.place = nil
	b.wait(s, time.Time{})
}

// sweep does what is to be done because time has passed: it ends the series that are quiet, and queues those that are
// due.
func (b *book) sweep(now time.Time) {
	for e := b.open.Front(); e != nil; {
		s := e.Value.(*series)
		e = e.Next()
		if now.Sub(s.last) >= quiet {
			b.end(s)
		} else {
			b.wait(s, now)
		}
	}
}

// close ends all series.
func (b *book) close() {
	for e := b.open.Front(); e != nil; e = b.open.Front() {
		b.end(e.Value.(*series))
	}
}

// abandon drops what waits.
func (b *book) abandon() (lost int) {
	for _, s := range b.waiting {
		lost += s.count - s.settled
		s.settled = s.count
		s.waiting = false
	}
	b.waiting = nil
	b.dropped += uint64(lost)
	return lost
}

// write is one write of a series: a create, or a patch of the count.
type write struct {
	series *series
	create bool
	count  int
	last   time.Time
}

// next takes the next write off the queue. Its result must be told to one of the methods below.
func (b *book) next() (write, bool) {
	if len(b.waiting) == 0 {
		return write{}, false
	}
	s := b.waiting[0]
	b.waiting[0] = nil
	b.waiting = b.waiting[1:]
	s.waiting = false
	return write{series: s, create: !s.exists, count: s.count, last: s.last}, true
}

// written is told that a write went well.
func (b *book) written(w write, now time.Time) {
	w.series.exists = true
	b.settle(w, now)
}

// expired is told that the server has forgotten the Event object: it is created anew.
func (b *book) expired(w write) {
	w.series.exists = false
	b.again(w)
}

// refused is told that the server will not have the event. Repetitions are tried as rarely as if it had been written.
func (b *book) refused(w write, now time.Time) {
	b.dropped += uint64(w.count - w.series.settled)
	b.settle(w, now)
}

// failed is told that a write failed and may go well later. It reports false when it is given up.
func (b *book) failed(w write, now time.Time) bool {
	w.series.tries++
	if w.series.tries >= maxTries {
		b.refused(w, now)
		return false
	}
	b.again(w)
	return true
}

// again puts a series back into the queue.
func (b *book) again(w write) {
	if !w.series.waiting {
		w.series.waiting = true
		b.waiting = append(b.waiting, w.series)
	}
}

func (b *book) settle(w write, now time.Time) {
	w.series.settled, w.series.settledAt, w.series.tries = w.count, now, 0
	b.wait(w.series, now)
}
