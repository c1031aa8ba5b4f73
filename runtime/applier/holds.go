// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package applier

import (
	"container/heap"
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/core"
)

// Write is a write of a run that a source has to observe before the key runs again.
type Write struct {
	// Source is the number of the source that will observe the write. The caller assigns the numbers, from 0.
	Source int

	// Ref is the written object, for the report of an overdue write.
	Ref core.ObjectRef

	// Version is the resource version of the written object, for [Applier.Seen].
	Version uint64

	// UID is the UID of a deleted object, for [Applier.Gone]. If it is set, Version is ignored.
	UID types.UID
}

// hold is a write that a source has not observed.
type hold[K comparable, C any] struct {
	Write
	entry *entry[K, C]
	slot  int // in the heap of the source
}

// holds has the unobserved writes of all keys.
type holds[K comparable, C any] struct {
	sources map[int]*sourceHolds[K, C] // those that ever had an unobserved write, until forgotten
	len     int
}

// sourceHolds has the unobserved writes of a source: a heap by version, and the deletions by UID.
type sourceHolds[K comparable, C any] struct {
	byVersion heapOfHolds[K, C]
	byUID     map[types.UID][]*hold[K, C]
}

// add records an unobserved write of an entry.
func (h *holds[K, C]) add(e *entry[K, C], w Write) {
	s, x := h.sources[w.Source], &hold[K, C]{Write: w, entry: e}
	if s == nil {
		s = &sourceHolds[K, C]{byUID: make(map[types.UID][]*hold[K, C])}
		h.sources[w.Source] = s
	}
	if w.UID != "" {
		s.byUID[w.UID] = append(s.byUID[w.UID], x)
	} else {
		heap.Push(&s.byVersion, x)
	}
	more := e.more()
	more.holds = append(more.holds, x)
	h.len++
}

// seen removes from a source the writes that it has observed at a version, and returns them by version.
func (h *holds[K, C]) seen(source int, version uint64) (observed []*hold[K, C]) {
	s := h.sources[source]
	if s == nil {
		return nil
	}
	for len(s.byVersion) > 0 && s.byVersion[0].Version <= version {
		observed = append(observed, heap.Pop(&s.byVersion).(*hold[K, C]))
	}
	return observed
}

// gone removes the deletions of an object from the source, and returns them.
func (h *holds[K, C]) gone(source int, uid types.UID) []*hold[K, C] {
	s := h.sources[source]
	if s == nil {
		return nil
	}
	observed := s.byUID[uid]
	delete(s.byUID, uid)
	return observed
}

// drop removes a source, and returns its writes by version.
func (h *holds[K, C]) drop(source int) (all []*hold[K, C]) {
	s := h.sources[source]
	if s == nil {
		return nil
	}
	for _, deletions := range s.byUID {
		for _, x := range deletions {
			heap.Push(&s.byVersion, x)
		}
	}
	all = h.seen(source, math.MaxUint64)
	delete(h.sources, source)
	return all
}

// remove removes an observed write from its entry.
func (h *holds[K, C]) remove(x *hold[K, C]) {
	more := x.entry.extra
	more.holds = without(more.holds, x)
	h.len--
}

// without removes a write from a list.
func without[K comparable, C any](list []*hold[K, C], x *hold[K, C]) []*hold[K, C] {
	return slices.DeleteFunc(list, func(o *hold[K, C]) bool { return o == x })
}

// forget removes the writes of an entry from their sources, and returns them.
func (h *holds[K, C]) forget(e *entry[K, C]) []Write {
	more := e.extra
	if more == nil || len(more.holds) == 0 {
		return nil
	}
	writes := make([]Write, 0, len(more.holds))
	for _, x := range more.holds {
		s := h.sources[x.Source]
		if x.UID == "" {
			heap.Remove(&s.byVersion, x.slot)
		} else if rest := without(s.byUID[x.UID], x); len(rest) > 0 {
			s.byUID[x.UID] = rest
		} else {
			delete(s.byUID, x.UID)
		}
		writes = append(writes, x.Write)
	}
	h.len -= len(more.holds)
	more.holds = nil
	return writes
}

// heapOfHolds is a heap.Interface: the lowest version is first.
type heapOfHolds[K comparable, C any] []*hold[K, C]

func (h heapOfHolds[K, C]) Len() int           { return len(h) }
func (h heapOfHolds[K, C]) Less(i, j int) bool { return h[i].Version < h[j].Version }
func (h heapOfHolds[K, C]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].slot, h[j].slot = i, j
}

func (h *heapOfHolds[K, C]) Push(x any) {
	e := x.(*hold[K, C])
	e.slot = len(*h)
	*h = append(*h, e)
}

func (h *heapOfHolds[K, C]) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return x
}
