// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"fmt"
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
				s.place = newBook(1).open.PushBack(s)
			}
			if got := s.due(epoch.Add(tt.now)); got != tt.want {
				t.Errorf("due() = %v, want %v", got, tt.want)
			}
		})
	}
}

// writeAll writes all queued series, and returns the writes.
func writeAll(b *book, now time.Time) (out []string) {
	for w, ok := b.next(); ok; w, ok = b.next() {
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
	b, now := newBook(10), epoch
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
	b := newBook(10)
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
	b := newBook(10)
	b.observe(epoch, named("a"), "")
	w, _ := b.next()
	for range 3 {
		b.observe(epoch, named("a"), "")
	}
	b.written(w, epoch)
	wantWrites(t, writeAll(b, epoch), "patch a 4")
}

func TestNewSeriesReplacesTheLeastRecentOne(t *testing.T) {
	b := newBook(1)
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
	b := newBook(10)
	b.observe(epoch, named("bad"), "")
	b.observe(epoch, named("good"), "")
	tries, written := 0, ""
	for w, ok := b.next(); ok; w, ok = b.next() {
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

func TestSuccessResetsTheFailures(t *testing.T) {
	b := newBook(10)
	for range 3 {
		b.observe(epoch, named("a"), "")
		for range maxTries - 1 {
			w, ok := b.next()
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
	b := newBook(10)
	b.observe(epoch, named("a"), "")
	other := named("a")
	other.reason = "Other"
	b.observe(epoch, other, "")
	if one, two := b.series[named("a")].name, b.series[other].name; one == two {
		t.Errorf("two series have the name %s", one)
	}
}
