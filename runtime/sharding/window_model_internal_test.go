// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package sharding

import (
	"fmt"
	"testing"
)

// objects is the objects of a world: one in each slot. Work writes the object of its slot when it ends.
type objects struct {
	version [slotCount]int    // of the object
	writer  [slotCount]string // the term that wrote it last
	before  [slotCount]int    // the version that another term wrote last before this writer
}

// write is a write by a term.
func (o *objects) write(slot int, term string) {
	if o.writer[slot] != term {
		o.writer[slot], o.before[slot] = term, o.version[slot]
	}
	o.version[slot]++
}

// oldest returns the oldest version that a term may read: the last one that another term has written.
func (o *objects) oldest(slot int, term string) int {
	if o.writer[slot] == term {
		return o.before[slot]
	}
	return o.version[slot]
}

// view is the cache of a process with a window. Its lists and watches are late, and lost.
type view struct {
	wanted wanted
	lists  lists
	serial int // the number of the list
	begun  bool
	shrink bool

	held    slots // in the cache
	version [slotCount]int
}

// viewMistakes makes views wrong.
type viewMistakes struct {
	early, old, late, narrow bool
}

func (r *replica) termName() string { return fmt.Sprint(r.name, "/", r.uid) }

// want changes what the view of a replica selects.
func (w *world) want(r *replica, next slots) {
	v := &r.view
	if w.mistakes.narrow {
		next = r.state.granted
	}
	gained, lost := v.wanted.set(next)
	if w.mistakes.old {
		v.wanted.since = [slotCount]uint64{}
	}
	switch {
	case gained && v.begun && w.mistakes.late:
	case gained:
		w.list(r)
	case lost && !v.shrink:
		v.shrink = true
		w.after(2*retryPeriod, w.local(r, func() {
			if v.shrink {
				w.list(r)
			}
		}))
	}
}

// list lists what the view selects, and watches it.
func (w *world) list(r *replica) {
	v := &r.view
	v.shrink, v.begun = false, true
	v.serial++
	serial, selected := v.serial, v.lists.begin(&v.wanted)
	var got [slotCount]int
	w.request(r, renewDeadline/2, func() input {
		got = w.objects.version
		return input{kind: listed}
	}, func(in input) {
		switch {
		case v.serial != serial:
		case in.kind == failed:
			w.after(w.millis(2000), w.local(r, func() {
				if v.serial == serial {
					w.list(r)
				}
			}))
		default:
			v.held, v.version, v.begun = selected, got, false
			if w.mistakes.late {
				v.lists.begin(&v.wanted)
			}
			v.lists.end()
			w.watch(r, serial)
		}
	})
}

// watch receives changes, in order.
func (w *world) watch(r *replica, serial int) {
	v := &r.view
	var got [slotCount]int
	w.request(r, renewDeadline/2, func() input {
		got = w.objects.version
		return input{kind: listed}
	}, func(in input) {
		if v.serial != serial {
			return
		}
		if in.kind == listed {
			v.version = got
		}
		w.after(w.millis(3000), w.local(r, func() {
			if v.serial == serial {
				w.watch(r, serial)
			}
		}))
	})
}

// opens reports whether work in a granted slot may begin, as far as the view is concerned.
func (w *world) opens(r *replica, slot int) bool {
	return r.view.lists.has(&r.view.wanted, slot) || w.mistakes.early
}

// reads checks that a replica that works in a slot has its object in the cache, and as new as its former owners wrote
// it.
func (w *world) reads(r *replica, slot int) {
	switch oldest := w.objects.oldest(slot, r.termName()); {
	case !r.view.held.has(slot):
		w.broken = true
		w.fail("%s works in the slot %d, which its view does not hold", r.name, slot)
	case r.view.version[slot] < oldest:
		w.broken = true
		w.fail("%s reads version %d of slot %d, and another replica has written %d",
			r.name, r.view.version[slot], slot, oldest)
	}
}

// TestWrongViewsAreFound checks that the worlds find mistakes in the selections of views.
func TestWrongViewsAreFound(t *testing.T) {
	for name, mistakes := range map[string]viewMistakes{
		"work begins before the list":                       {early: true},
		"a list before the slot was gained again counts":    {old: true},
		"slots that were gained during a list are in it":    {late: true},
		"the selection shrinks before the slot is released": {narrow: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range max(*seeds, 1000) {
				found := ""
				w := newWorld(seed, func(format string, args ...any) { found = fmt.Sprintf(format, args...) })
				w.mistakes = mistakes
				w.run()
				if found != "" {
					t.Logf("seed %d: %s", seed, found)
					return
				}
			}
			t.Error("the worlds do not find this mistake")
		})
	}
}

// TestSlotsThatMayHaveBeenGivenAreListedAgain checks what the worlds hardly ever reach: a write that gives a slot away
// succeeds, its response is lost, and the slot is back before the table is read again.
func TestSlotsThatMayHaveBeenGivenAreListedAgain(t *testing.T) {
	self := member{uid: "a"}
	s := state{self: self, table: table{}.join(self)}
	for i := range s.table.owners {
		s.table.owners[i] = 1
	}
	var w wanted
	var l lists
	w.set(s.wanted())
	l.begin(&w)
	l.end()
	s.given.add(7)
	if gained, lost := w.set(s.wanted()); gained || !lost || l.has(&w, 7) || !l.has(&w, 8) {
		t.Errorf("a slot is given: gained %v, lost %v, the list has it: %v", gained, lost, l.has(&w, 7))
	}
	s.given = slots{}
	if gained, _ := w.set(s.wanted()); !gained || l.has(&w, 7) || !l.has(&w, 8) {
		t.Errorf("the slot is back: gained %v, the list has it: %v", gained, l.has(&w, 7))
	}
	l.begin(&w)
	if l.has(&w, 7) {
		t.Error("a list has the slot before it is complete")
	}
	if l.end(); !l.has(&w, 7) {
		t.Error("a complete list does not have the slot")
	}
}
