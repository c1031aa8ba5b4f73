// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package applier

import "slices"

// delays is a binary heap of the delayed entries, with the next due one on top. Entries that are due at the same time
// keep the order in which they were added.
type delays[K comparable, C any] struct {
	heap []delay[K, C]
	seq  uint64
}

// A delay is a slot of the heap. It has a copy of the entry's due time, so that comparisons do not access the entry.
type delay[K comparable, C any] struct {
	due   instant
	seq   uint64
	entry *entry[K, C]
}

func (d delay[K, C]) before(o delay[K, C]) bool {
	return d.due < o.due || d.due == o.due && d.seq < o.seq
}

// len returns the number of delayed entries.
func (d *delays[K, C]) len() int { return len(d.heap) }

// due returns the time at which the first entry is due, or never.
func (d *delays[K, C]) due() instant {
	if len(d.heap) == 0 {
		return never
	}
	return d.heap[0].due
}

// first returns the entry that is due next. The heap must not be empty.
func (d *delays[K, C]) first() *entry[K, C] { return d.heap[0].entry }

// set inserts, moves or removes the entry according to its due time.
func (d *delays[K, C]) set(e *entry[K, C]) {
	due, i := e.due(), int(e.slot)-1
	switch {
	case i < 0 && due == never, i >= 0 && d.heap[i].due == due:
	case due == never:
		d.remove(i)
	case i < 0:
		d.seq++
		d.heap = append(d.heap, delay[K, C]{due: due, seq: d.seq, entry: e})
		d.up(len(d.heap) - 1)
	default:
		d.seq++
		d.heap[i].due, d.heap[i].seq = due, d.seq
		d.fix(i)
	}
}

// clear removes all entries. The caller resets their slots.
func (d *delays[K, C]) clear() { d.heap = nil }

// remove removes slot i.
func (d *delays[K, C]) remove(i int) {
	d.heap[i].entry.slot = 0
	last := len(d.heap) - 1
	moved := d.heap[last]
	d.heap[last] = delay[K, C]{}
	d.heap = d.heap[:last]
	if i < last {
		d.heap[i] = moved
		d.fix(i)
	}
	if c := cap(d.heap); c >= shrinkFrom && len(d.heap) <= c/8 {
		d.heap = slices.Clone(d.heap)
	}
}

// fix moves slot i up or down to its position.
func (d *delays[K, C]) fix(i int) {
	if !d.up(i) {
		d.down(i)
	}
}

// up moves slot i towards the top and reports whether it moved.
func (d *delays[K, C]) up(i int) bool {
	it, start := d.heap[i], i
	for i > 0 {
		parent := (i - 1) / 2
		if !it.before(d.heap[parent]) {
			break
		}
		d.place(i, d.heap[parent])
		i = parent
	}
	d.place(i, it)
	return i != start
}

// down moves slot i away from the top.
func (d *delays[K, C]) down(i int) {
	it := d.heap[i]
	for {
		child := 2*i + 1
		if child >= len(d.heap) {
			break
		}
		if right := child + 1; right < len(d.heap) && d.heap[right].before(d.heap[child]) {
			child = right
		}
		if !d.heap[child].before(it) {
			break
		}
		d.place(i, d.heap[child])
		i = child
	}
	d.place(i, it)
}

// place stores a delay in slot i and records the slot in its entry.
func (d *delays[K, C]) place(i int, it delay[K, C]) {
	d.heap[i] = it
	it.entry.slot = int32(i + 1)
}
