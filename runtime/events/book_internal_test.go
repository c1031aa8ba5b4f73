// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// epoch is the start time of the tests of the book.
var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func named(name string) identity {
	return identity{typ: Normal, reason: "R", action: "A", regarding: reference{Kind: "K", Name: name}}
}

func TestSeriesIsDue(t *testing.T) {
	tests := []struct {
		name      string
		count     int
		settled   int
		settledAt time.Duration // since the first event
		now       time.Duration
		ended     bool
		want      bool
	}{
		{name: "the first event is due immediately", count: 1, want: true},
		{name: "the second is due immediately", count: 2, settled: 1, want: true},
		{name: "a series without unwritten events is not due", count: 2, settled: 2, now: time.Hour},
		{name: "the third is not due within a minute", count: 3, settled: 2, settledAt: time.Second, now: 60 * time.Second},
		{name: "the third is due after a minute", count: 3, settled: 2, settledAt: time.Second, now: 61 * time.Second, want: true},
		{name: "a later one is not due before the age has doubled", count: 9, settled: 8, settledAt: 5 * time.Minute, now: 9 * time.Minute},
		{name: "a later one is due when the age has doubled", count: 9, settled: 8, settledAt: 5 * time.Minute, now: 10 * time.Minute, want: true},
		{name: "an old one is not due within half an hour", count: 9, settled: 8, settledAt: 5 * time.Hour, now: 329 * time.Minute},
		{name: "an old one is due after half an hour", count: 9, settled: 8, settledAt: 5 * time.Hour, now: 330 * time.Minute, want: true},
		{name: "an ended series is due immediately", count: 9, settled: 8, settledAt: time.Hour, now: time.Hour, ended: true, want: true},
		{name: "an ended series without unwritten events is not due", count: 9, settled: 9, now: time.Hour, ended: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := &series{first: epoch, count: tt.count, settled: tt.settled, settledAt: epoch.Add(tt.settledAt)}
			if !tt.ended {
				s.place = newBook("r", 1, 1e6).open.PushBack(s)
			}
			if got := s.due(epoch.Add(tt.now)); got != tt.want {
				t.Errorf("due() = %v, want %v", got, tt.want)
			}
		})
	}
}

// writeAll writes all queued series, and returns the writes.
func writeAll(b *book, now time.Time) (out []string) {
	for w, _, ok := b.next(now); ok; w, _, ok = b.next(now) {
		verb := "patch"
		if w.create {
			verb = "create"
		}
		out = append(out, fmt.Sprintf("%s %s %d", verb, w.series.id.regarding.Name, w.count))
		b.written(w, now)
	}
	return out
}

func wantWrites(t *testing.T, got []string, want ...string) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("writes = %v, want %v", got, want)
	}
}

func TestQuietSeriesEnds(t *testing.T) {
	b, now := newBook("r", 10, 1e6), epoch
	for range 5 {
		b.observe(now, named("a"), "")
		b.observe(now, named("b"), "")
		now = now.Add(time.Second)
	}
	b.sweep(now.Add(quiet - 2*time.Second))
	if len(b.series) != 2 {
		t.Errorf("%d series before they end, want 2", len(b.series))
	}
	writeAll(b, now)
	b.observe(now.Add(quiet-2*time.Second), named("b"), "")
	b.sweep(now.Add(quiet))
	if len(b.series) != 1 || b.open.Len() != 1 || b.series[named("b")] == nil {
		t.Errorf("%d series after one has ended, want only b", len(b.series))
	}
}

func TestLastCountIsWrittenWhenASeriesEnds(t *testing.T) {
	b := newBook("r", 10, 1e6)
	for range 2 {
		b.observe(epoch, named("a"), "")
		writeAll(b, epoch)
	}
	b.observe(epoch.Add(time.Second), named("a"), "")
	b.observe(epoch.Add(2*time.Second), named("a"), "")
	wantWrites(t, writeAll(b, epoch.Add(3*time.Second)))
	b.observe(epoch.Add(time.Hour), named("a"), "") // before any sweep
	wantWrites(t, writeAll(b, epoch.Add(time.Hour)), "patch a 4", "create a 1")
}

func TestRepetitionsDuringTheFirstWriteAreNotLost(t *testing.T) {
	b := newBook("r", 10, 1e6)
	b.observe(epoch, named("a"), "")
	w, _, _ := b.next(epoch)
	for range 3 {
		b.observe(epoch, named("a"), "")
	}
	b.written(w, epoch)
	wantWrites(t, writeAll(b, epoch), "patch a 4")
}

func TestNewSeriesReplacesTheLeastRecentOne(t *testing.T) {
	b := newBook("r", 1, 1e6)
	for i := range b.maxOpen() {
		b.observe(epoch, named(fmt.Sprint(i)), "")
		writeAll(b, epoch)
	}
	b.observe(epoch, named("0"), "")
	writeAll(b, epoch)
	b.observe(epoch, named("0"), "") // not due yet, and now the most recent one
	b.observe(epoch, named("new"), "")
	if b.open.Len() != b.maxOpen() || b.series[named("1")] != nil || b.series[named("0")] == nil || b.dropped != 0 {
		t.Errorf("%d series are open, %d dropped; want the least recent ended", b.open.Len(), b.dropped)
	}
	if b.observe(epoch, named("newer"), ""); b.dropped != 1 {
		t.Errorf("dropped = %d with a full queue, want 1", b.dropped)
	}
	wantWrites(t, writeAll(b, epoch), "create new 1")
}

func TestFailingWriteIsDroppedAndDoesNotBlockOthers(t *testing.T) {
	b := newBook("r", 10, 1e6)
	b.observe(epoch, named("bad"), "")
	b.observe(epoch, named("good"), "")
	tries, written := 0, ""
	for w, _, ok := b.next(epoch); ok; w, _, ok = b.next(epoch) {
		if w.series.id.regarding.Name == "good" {
			written = fmt.Sprint("good after ", tries)
			b.written(w, epoch)
			continue
		}
		tries++
		if again := b.failed(w, epoch); again != (tries < maxTries) {
			t.Errorf("failed() = %v at try %d", again, tries)
		}
	}
	if tries != maxTries || written != "good after 1" || b.dropped != 1 {
		t.Errorf("%d tries, wrote %q, dropped %d", tries, written, b.dropped)
	}
}

// drive sends for a time to a server with internal errors in the namespace "bad", one request at a time, and returns
// the number of requests for it and for others.
func drive(b *book, now *time.Time, d time.Duration) (bad, others int) {
	end := now.Add(d)
	for now.Before(end) {
		w, wait, ok := b.next(*now)
		switch {
		case !ok:
			return bad, others
		case wait > 0:
			*now = now.Add(min(wait, end.Sub(*now)))
		case w.series.id.namespace() == "bad":
			bad++
			b.failedInside(w, *now, 0)
		default:
			others++
			b.written(w, *now)
		}
	}
	return bad, others
}

func TestInternalErrorPausesOnlyItsNamespace(t *testing.T) {
	b, now := newBook("r", 20, 1e6), epoch
	bad := func(i int) identity {
		id := named(fmt.Sprint(i))
		id.regarding.Namespace = "bad"
		return id
	}
	for i := range 20 {
		b.observe(now, bad(i), "")
	}
	b.observe(now, named("no room"), "")
	if b.dropped != 1 {
		t.Errorf("%d events are dropped by a full queue, want 1", b.dropped)
	}
	failed, written := drive(b, &now, time.Minute)
	if failed < 5 || failed > 7 || written != 0 {
		t.Errorf("%d requests for the failing namespace in a minute, want about 6, each after a longer pause", failed)
	}
	b.observe(now, named("good"), "")
	b.observe(now, bad(20), "")
	if failed, written := drive(b, &now, time.Second); failed != 0 || written != 1 {
		t.Errorf("%d requests for the failing namespace and %d for others, want 0 and 1", failed, written)
	}
	if b.dropped != 3 {
		t.Errorf("%d events are dropped, want 2 more of the failing namespace, one to make room", b.dropped)
	}
	now = now.Add(longestWait)
	w, _, _ := b.next(now)
	b.written(w, now)
	if got := len(writeAll(b, now)); len(b.holds) != 0 || got < 15 {
		t.Errorf("%d writes after the first success in the namespace, want all", got)
	}
}

func TestSuccessResetsTheFailures(t *testing.T) {
	b := newBook("r", 10, 1e6)
	for range 3 {
		b.observe(epoch, named("a"), "")
		for range maxTries - 1 {
			w, _, ok := b.next(epoch)
			if !ok || !b.failed(w, epoch) {
				t.Fatal("dropped too early")
			}
		}
		writeAll(b, epoch)
		b.series[named("a")].settledAt = epoch.Add(-time.Hour) // so that the next one is due immediately
	}
	if b.dropped != 0 {
		t.Errorf("dropped = %d, want 0", b.dropped)
	}
}

func TestNamesOfTheSameTimeAreUnique(t *testing.T) {
	b := newBook("r", 10, 1e6)
	b.observe(epoch, named("a"), "")
	other := named("a")
	other.reason = "Other"
	b.observe(epoch, other, "")
	if one, two := b.series[named("a")].name, b.series[other].name; one == two {
		t.Errorf("two series have the name %s", one)
	}
}

func TestObjectHasABudgetOfSeries(t *testing.T) {
	b, now := newBook("r", 1000, 1e6), epoch
	reason := func(object string, n int) identity {
		id := named(object)
		id.reason = fmt.Sprint(n)
		return id
	}
	for i := range 2 * objectBurst {
		b.observe(now, reason("a", i), "")
	}
	if b.dropped != objectBurst || len(writeAll(b, now)) != objectBurst {
		t.Fatalf("%d of %d series dropped, want %d", b.dropped, 2*objectBurst, objectBurst)
	}
	if b.excess.count != objectBurst || b.excess.last.Name != "a" {
		t.Errorf("excess = %+v, want %d of a", b.excess, objectBurst)
	}
	b.observe(now, reason("a", 0), "") // a repetition costs nothing
	b.observe(now, reason("b", 0), "") // neither do other objects and types
	warning := reason("a", 100)
	warning.typ = Warning
	b.observe(now, warning, "")
	if b.dropped != objectBurst {
		t.Errorf("%d dropped, want only those of the object beyond its budget", b.dropped)
	}
	b.observe(now.Add(objectRefill-time.Second), reason("a", 101), "")
	b.observe(now.Add(objectRefill), reason("a", 102), "")
	b.observe(now.Add(objectRefill), reason("a", 103), "")
	if b.dropped != objectBurst+2 {
		t.Errorf("%d dropped after the refill, want %d", b.dropped, objectBurst+2)
	}
	b.sweep(now.Add(24 * time.Hour))
	if len(b.budgets) != 0 || b.recent.Len() != 0 {
		t.Errorf("%d budgets after a day", len(b.budgets))
	}
}

// TestBookKeepsItsBounds is a model test: random events, times and results of writes never exceed the rate or the
// bounds of the memory, and no event is lost without being counted.
func TestBookKeepsItsBounds(t *testing.T) {
	exact := 0
	for seed := range uint64(60) {
		m := &model{
			rnd: rand.New(rand.NewPCG(seed, 0)), book: newBook("r", 5, 2), now: epoch, server: map[string]int{},
			objects: 1 + int(seed%60), downUntil: epoch, badUntil: epoch, fails: seed%2 == 1,
		}
		for range 2000 {
			m.step()
			if problem := m.problem(); problem != "" {
				t.Fatalf("seed %d after %v: %s", seed, m.now.Sub(epoch), problem)
			}
		}
		m.finish()
		stored := 0
		for _, n := range m.server {
			stored += n
		}
		if !m.gaveUp {
			exact++
		}
		if got := stored + int(m.book.dropped); got < m.observed || got > m.observed && !m.gaveUp {
			t.Fatalf("seed %d: %d events stored and %d dropped, want %d together", seed, stored, m.book.dropped, m.observed)
		}
	}
	if exact < 5 {
		t.Errorf("%d seeds without a write that was given up: too few for the sum to prove anything", exact)
	}
}

// model is a book with a server that is sometimes down, and that forgets events.
type model struct {
	rnd       *rand.Rand
	book      *book
	now       time.Time
	objects   int
	downUntil time.Time
	fails     bool           // the namespace "bad" has events, and at times internal errors
	badUntil  time.Time      // the end of those
	server    map[string]int // the counts of the events that the server has or had
	writes    []time.Time
	observed  int
	gaveUp    bool // on a write or a queued series, whose repetitions a later write of the series includes
}

func (m *model) step() {
	m.now = m.now.Add(time.Duration(m.rnd.IntN(5000)) * time.Millisecond)
	switch n := m.rnd.IntN(100); {
	case n < 60:
		id := named(fmt.Sprint(m.rnd.IntN(m.objects)))
		id.reason = fmt.Sprint(m.rnd.IntN(3))
		if m.fails && m.rnd.IntN(2) == 0 {
			id.regarding.Namespace = "bad"
		}
		before := m.book.dropped
		m.book.observe(m.now, id, "")
		m.observed++
		if m.book.dropped > before && m.book.series[id] != nil { // another series made room
			m.gaveUp = true
		}
	case n < 90:
		m.write()
	case n < 97:
		m.book.sweep(m.now)
	case n < 98:
		m.now = m.now.Add(time.Duration(m.rnd.IntN(20)) * time.Minute)
	case n < 99:
		m.badUntil = m.now.Add(time.Duration(m.rnd.IntN(30)) * time.Minute)
	case m.now.After(m.downUntil):
		m.downUntil = m.now.Add(time.Duration(m.rnd.IntN(30)) * time.Minute)
	}
}

// write sends as much as the book wants.
func (m *model) write() {
	for {
		w, wait, ok := m.book.next(m.now)
		if !ok || wait > 0 {
			return
		}
		m.writes = append(m.writes, m.now)
		switch {
		case m.now.Before(m.downUntil):
			if !m.book.failed(w, m.now) {
				m.gaveUp = true
			}
			m.now = m.now.Add(time.Duration(10+m.rnd.IntN(20)) * time.Second) // the driver pauses
			return
		case m.now.Before(m.badUntil) && w.series.id.namespace() == "bad":
			if !m.book.failedInside(w, m.now, 0) {
				m.gaveUp = true
			}
		case !w.create && m.rnd.IntN(20) == 0:
			m.book.expired(w)
		default:
			m.server[w.series.name] = w.count
			m.book.written(w, m.now)
		}
	}
}

func (m *model) problem() string {
	b := m.book
	known := map[any]bool{}
	for e := b.open.Front(); e != nil; e = e.Next() {
		known[e.Value] = true
	}
	for _, s := range b.waiting {
		known[s] = true
	}
	recent := m.writes[max(0, len(m.writes)-100):]
	for i, first := range recent { // in each window that ends with the last write
		window := recent[len(recent)-1].Sub(first).Seconds()
		if n := len(recent) - i; float64(n) > b.perSecond*(burstSeconds+window)+1e-6 {
			return fmt.Sprintf("%d writes in %.3f s", n, window)
		}
	}
	switch {
	case len(known) > 5*b.maxWaiting:
		return fmt.Sprintf("%d series in memory, want at most %d", len(known), 5*b.maxWaiting)
	case b.open.Len() != len(b.series) || b.open.Len() > b.maxOpen():
		return fmt.Sprintf("%d open series, %d of them known, want at most %d", b.open.Len(), len(b.series), b.maxOpen())
	case len(b.holds) > 1:
		return fmt.Sprintf("%d namespaces are paused, want at most that with errors", len(b.holds))
	case len(b.budgets) != b.recent.Len() || len(b.budgets) > b.maxOpen():
		return fmt.Sprintf("%d budgets, %d in order, want at most %d", len(b.budgets), b.recent.Len(), b.maxOpen())
	}
	return ""
}

// finish writes everything to a server that works.
func (m *model) finish() {
	m.downUntil, m.badUntil = epoch, epoch
	m.book.close()
	for len(m.book.waiting) > 0 {
		m.now = m.now.Add(time.Minute)
		m.write()
	}
}
