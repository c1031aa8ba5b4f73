// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package sharding

// wanted is the slots whose objects the windows of a member select: those that it owns, also while work in them ends.
type wanted struct {
	slots slots
	gains uint64            // the number of changes with which slots were gained
	since [slotCount]uint64 // the number of the last such change of each slot
}

// wanted returns the slots of this member. Those that a write may have given away are not among them: other members may
// have worked in them when they are back.
func (s state) wanted() slots { return s.table.of(s.self.uid).without(s.given) }

// set changes the slots. It reports whether some were gained, and whether some were lost.
func (w *wanted) set(next slots) (gained, lost bool) {
	gains := next.without(w.slots)
	gained, lost = gains != slots{}, w.slots.without(next) != slots{}
	if gained {
		w.gains++
	}
	for i := range slotCount {
		if gains.has(i) {
			w.since[i] = w.gains
		}
	}
	w.slots = next
	return gained, lost
}

// lists is the lists of a window.
type lists struct {
	current selection // may be incomplete
	last    selection // the last complete one
}

// selection is the slots of a list.
type selection struct {
	slots slots
	gains uint64 // when it began
}

// begin begins a list. A list that is incomplete never will be complete.
func (l *lists) begin(w *wanted) slots {
	l.current = selection{w.slots, w.gains}
	return w.slots
}

// end completes the current list.
func (l *lists) end() { l.last = l.current }

// has reports whether the objects of a slot are known, and watched: the last complete list has them, and began after
// the slot was gained.
func (l *lists) has(w *wanted, slot int) bool {
	return l.last.slots.has(slot) && w.slots.has(slot) && w.since[slot] <= l.last.gains
}
