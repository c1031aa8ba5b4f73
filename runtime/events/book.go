// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"container/list"
	"math"
	"slices"
	"time"
)

// The times at which a series is written again and ends. client-go uses 30 and 6 minutes.
const (
	shortestGap = time.Minute      // between two writes of a series, except the first two
	longestGap  = 30 * time.Minute // well within the hour after which the server deletes an event
	quiet       = 6 * time.Minute  // the time without a repetition after which a series ends
)

// The limits of requests. client-go allows an object 25 different events and one more each 5 minutes, too.
const (
	burstSeconds = 5 // the burst of all requests is what the rate allows in this time
	objectBurst  = 25
	objectRefill = 5 * time.Minute
)

// maxTries is the maximum number of attempts to send the same state of a series.
const maxTries = 12

// series is an event with its repetitions.
type series struct {
	id          identity
	name        string // of the Event object
	note        string
	first, last time.Time
	count       int

	// exists is true if the server is known to have the Event object.
	exists bool
	// settled is the part of count that needs no more writes: it was written, or dropped. settledAt is the time of
	// that.
	settled   int
	settledAt time.Time
	tries     int // failed attempts since then

	waiting bool          // it is in book.waiting
	place   *list.Element // in book.open; nil if the series has ended
}

// due reports whether the series needs a write at this time.
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

// bucket is a token bucket. It begins full.
type bucket struct {
	used float64 // tokens that are missing
	at   time.Time
}

// fill adds the tokens since the last call.
func (b *bucket) fill(now time.Time, perSecond float64) {
	if passed := now.Sub(b.at); passed > 0 {
		b.used = max(0, b.used-passed.Seconds()*perSecond)
		b.at = now
	}
}

// take removes a token, or returns the time until there is one.
func (b *bucket) take(now time.Time, perSecond, burst float64) (wait time.Duration) {
	b.fill(now, perSecond)
	if missing := b.used + 1 - burst; missing > 0 {
		return time.Duration(math.Ceil(missing / perSecond * float64(time.Second)))
	}
	b.used++
	return 0
}

// budget limits the new series of one object and type of event.
type budget struct {
	of budgetOf
	bucket
}

type budgetOf struct {
	object reference
	typ    Type
}

// hold is a pause of the writes in a namespace where the server has an internal error, such as that of an admission
// webhook for the namespace.
type hold struct {
	until    time.Time
	failures int // in a row
}

// book holds the series that have not ended, and the queue of series to write. It is a state machine without a clock
// and without IO: its methods are its inputs.
type book struct {
	recorder   string // random characters for names
	maxWaiting int
	perSecond  float64 // the maximum rate of writes
	series     map[identity]*series
	open       list.List // of *series, the least recently repeated first
	waiting    []*series
	serial     int64 // of the last name
	dropped    uint64
	holds      map[string]*hold // by namespace

	writes  bucket
	budgets map[budgetOf]*list.Element
	recent  list.List // of *budget, the least recently used first
	excess  excess
}

// excess is the number of events that exceeded the budgets of their objects since the last report, and the last object.
type excess struct {
	count uint64
	last  reference
}

func newBook(recorder string, maxWaiting int, perSecond float64) *book {
	return &book{
		recorder: recorder, maxWaiting: maxWaiting, perSecond: perSecond,
		series: map[identity]*series{}, budgets: map[budgetOf]*list.Element{}, holds: map[string]*hold{},
	}
}

// maxOpen returns the maximum number of open series, and of budgets. A series begins only while less than maxWaiting
// series wait, so that at most 5 × maxWaiting series are in memory, also while the server is down.
func (b *book) maxOpen() int { return 4 * b.maxWaiting }

// afford reports whether an object may have another series, and counts it. It forgets the least recent budget when
// there are too many: all objects together are limited by the queue and by the rate.
func (b *book) afford(now time.Time, id identity) bool {
	of := budgetOf{id.regarding, id.typ}
	e := b.budgets[of]
	if e == nil {
		if b.recent.Len() >= b.maxOpen() {
			delete(b.budgets, b.recent.Remove(b.recent.Front()).(*budget).of)
		}
		e = b.recent.PushBack(&budget{of: of, bucket: bucket{at: now}})
		b.budgets[of] = e
	}
	b.recent.MoveToBack(e)
	return e.Value.(*budget).take(now, 1/objectRefill.Seconds(), objectBurst) == 0
}

// observe adds an event. It reports whether a write is due now.
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

// begin opens a series. It returns nil if the queue is full, or if the object has too many.
func (b *book) begin(now time.Time, id identity, note string) *series {
	if len(b.waiting) >= b.maxWaiting && !b.makeRoom(now, id.namespace()) {
		return nil
	}
	if !b.afford(now, id) {
		b.excess.count++
		b.excess.last = id.regarding
		return nil
	}
	if b.open.Len() >= b.maxOpen() {
		b.end(b.open.Front().Value.(*series))
	}
	b.serial = max(b.serial+1, now.UnixNano())
	s := &series{id: id, name: eventName(id.regarding.Name, b.serial, b.recorder), note: note, first: now}
	s.place = b.open.PushBack(s)
	b.series[id] = s
	return s
}

// makeRoom drops queued series of paused namespaces until the queue has room for a series of another namespace, and
// reports whether it has. Otherwise, a failing namespace would fill the queue.
func (b *book) makeRoom(now time.Time, namespace string) bool {
	if len(b.holds) == 0 || b.holds[namespace] != nil {
		return false
	}
	kept := b.waiting[:0]
	surplus := len(b.waiting) - b.maxWaiting + 1
	for _, s := range b.waiting {
		if surplus == 0 || b.holds[s.id.namespace()] == nil {
			kept = append(kept, s)
			continue
		}
		surplus--
		s.waiting = false
		b.refused(write{series: s, count: s.count}, now)
	}
	clear(b.waiting[len(kept):])
	b.waiting = kept
	return len(b.waiting) < b.maxWaiting
}

// wait adds a series to the queue if it is due.
func (b *book) wait(s *series, now time.Time) {
	if !s.waiting && s.due(now) {
		s.waiting = true
		b.waiting = append(b.waiting, s)
	}
}

// end ends a series, after a last write if it has unwritten repetitions.
func (b *book) end(s *series) {
	delete(b.series, s.id)
	b.open.Remove(s.place)
	s.place = nil
	b.wait(s, time.Time{})
}

// sweep ends the series without recent repetitions, and queues the series that are due.
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
	for e := b.recent.Front(); e != nil; e = b.recent.Front() { // a full budget is like none
		oldest := e.Value.(*budget)
		if oldest.fill(now, 1/objectRefill.Seconds()); oldest.used > 0 {
			break
		}
		delete(b.budgets, oldest.of)
		b.recent.Remove(e)
	}
	for namespace, h := range b.holds { // no write has followed a pause that ended long ago
		if now.Sub(h.until) >= longestWait {
			delete(b.holds, namespace)
		}
	}
}

// close ends all series.
func (b *book) close() {
	for e := b.open.Front(); e != nil; e = b.open.Front() {
		b.end(e.Value.(*series))
	}
}

// abandon drops the queued events.
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

// write is one write of a series: the creation, or a patch of the count.
type write struct {
	series *series
	create bool
	count  int
	last   time.Time
}

// next removes the next write from the queue, or returns the time after which to call it again. The caller must report
// the result of the write with one of the methods below.
func (b *book) next(now time.Time) (w write, wait time.Duration, ok bool) {
	if len(b.waiting) == 0 {
		return write{}, 0, false
	}
	i, wait := b.first(now)
	if wait == 0 {
		wait = b.writes.take(now, b.perSecond, max(1, burstSeconds*b.perSecond))
	}
	if wait > 0 {
		return write{}, wait, true
	}
	s := b.waiting[i]
	b.waiting = slices.Delete(b.waiting, i, i+1)
	s.waiting = false
	return write{series: s, create: !s.exists, count: s.count, last: s.last}, 0, true
}

// first returns the index of the first queued series whose namespace is not paused, or the time until there is one.
func (b *book) first(now time.Time) (i int, wait time.Duration) {
	for i, s := range b.waiting {
		h := b.holds[s.id.namespace()]
		if h == nil || !h.until.After(now) {
			return i, 0
		}
		if left := h.until.Sub(now); wait == 0 || left < wait {
			wait = left
		}
	}
	return 0, wait
}

// written records a successful write.
func (b *book) written(w write, now time.Time) {
	b.release(w)
	w.series.exists = true
	b.settle(w, now)
}

// existed records that an earlier attempt to create the Event object has succeeded. That attempt may have had a lower
// count, so a count is written again.
func (b *book) existed(w write, now time.Time) {
	b.release(w)
	w.series.exists = true
	if w.count == 1 {
		b.settle(w, now)
		return
	}
	b.again(w)
}

// expired records that the server has deleted the Event object, which is then created again.
func (b *book) expired(w write) {
	b.release(w)
	w.series.exists = false
	b.again(w)
}

// refused records that the server has rejected the event. Repetitions are sent as rarely as after a successful write.
func (b *book) refused(w write, now time.Time) {
	b.dropped += uint64(w.count - w.series.settled)
	b.settle(w, now)
}

// failed records a write that failed and may succeed later. It returns false when the write is dropped.
func (b *book) failed(w write, now time.Time) bool {
	w.series.tries++
	if w.series.tries >= maxTries {
		b.refused(w, now)
		return false
	}
	b.again(w)
	return true
}

// failedInside records a write that failed with an internal error of the server, and pauses the writes in its namespace
// for a time that doubles with each failure. It returns false when the write is dropped.
func (b *book) failedInside(w write, now time.Time, atLeast time.Duration) bool {
	namespace := w.series.id.namespace()
	h := b.holds[namespace]
	if h == nil {
		h = &hold{}
		b.holds[namespace] = h
	}
	pause := longestWait
	if h.failures < 10 {
		pause = min(shortestWait<<h.failures, longestWait)
	}
	h.failures++
	h.until = now.Add(max(pause, atLeast))
	return b.failed(w, now)
}

// release ends the pause of the namespace of a write.
func (b *book) release(w write) { delete(b.holds, w.series.id.namespace()) }

// again returns a series to the queue.
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
