// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package applier

import (
	"container/heap"
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
type hold[K comparable] struct {
	Write
	entry *entry[K]
	slot  int // in the heap of the source
}

// holds has the unobserved writes of all keys.
type holds[K comparable] struct {
	sources []*sourceHolds[K]
	len     int
}

// sourceHolds has the unobserved writes of a source: a heap by version, and the deletions by UID.
type sourceHolds[K comparable] struct {
	byVersion heapOfHolds[K]
	byUID     map[types.UID][]*hold[K]
}

// add records an unobserved write of an entry.
func (h *holds[K]) add(e *entry[K], w Write) {
	for len(h.sources) <= w.Source {
		h.sources = append(h.sources, &sourceHolds[K]{byUID: make(map[types.UID][]*hold[K])})
	}
	s, x := h.sources[w.Source], &hold[K]{Write: w, entry: e}
	if w.UID != "" {
		s.byUID[w.UID] = append(s.byUID[w.UID], x)
	} else {
		heap.Push(&s.byVersion, x)
	}
	e.holds = append(e.holds, x)
	h.len++
}

// seen removes the writes that a source at a version has observed from the source, and returns them by version.
func (h *holds[K]) seen(source int, version uint64) (observed []*hold[K]) {
	if source >= len(h.sources) {
		return nil
	}
	s := h.sources[source]
	for len(s.byVersion) > 0 && s.byVersion[0].Version <= version {
		observed = append(observed, heap.Pop(&s.byVersion).(*hold[K]))
	}
	return observed
}

// gone removes the deletions of an object from the source, and returns them.
func (h *holds[K]) gone(source int, uid types.UID) []*hold[K] {
	if source >= len(h.sources) {
		return nil
	}
	observed := h.sources[source].byUID[uid]
	delete(h.sources[source].byUID, uid)
	return observed
}

// remove removes an observed write from its entry.
func (h *holds[K]) remove(x *hold[K]) {
	i := slices.Index(x.entry.holds, x)
	x.entry.holds = slices.Delete(x.entry.holds, i, i+1)
	h.len--
}

// forget removes the writes of an entry from their sources, and returns them.
func (h *holds[K]) forget(e *entry[K]) []Write {
	if len(e.holds) == 0 {
		return nil
	}
	writes := make([]Write, 0, len(e.holds))
	for _, x := range e.holds {
		s := h.sources[x.Source]
		if x.UID == "" {
			heap.Remove(&s.byVersion, x.slot)
		} else if rest := slices.DeleteFunc(s.byUID[x.UID], func(o *hold[K]) bool { return o == x }); len(rest) > 0 {
			s.byUID[x.UID] = rest
		} else {
			delete(s.byUID, x.UID)
		}
		writes = append(writes, x.Write)
	}
	h.len -= len(e.holds)
	e.holds = nil
	return writes
}

// heapOfHolds is a heap.Interface: the lowest version is first.
type heapOfHolds[K comparable] []*hold[K]

func (h heapOfHolds[K]) Len() int           { return len(h) }
func (h heapOfHolds[K]) Less(i, j int) bool { return h[i].Version < h[j].Version }
func (h heapOfHolds[K]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].slot, h[j].slot = i, j
}

func (h *heapOfHolds[K]) Push(x any) {
	e := x.(*hold[K])
	e.slot = len(*h)
	*h = append(*h, e)
}

func (h *heapOfHolds[K]) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return x
}
