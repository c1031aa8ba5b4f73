// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"iter"
	"slices"

	"github.com/kube-go/sdk/core/wire"
)

// Index finds the objects of a store by values that a function computes from each object, such as the names of the
// secrets that a pod uses. Create one with [IndexBy]. It is safe for concurrent use.
type Index[K any, T comparable] struct {
	store *Store[K]
	index *index[T]
}

// IndexBy returns an index of a store by the values of f. The index always has the same objects as the store: it
// changes together with each object. If the store is ready, IndexBy calls f for each of its objects before it returns.
// After that, f is called once for each new state of each object, in the goroutine of the watch, so it must be fast.
// The result must depend only on the object, and f must not use the store. If an object can't be decoded, or f panics,
// the object has no values, and OnError of the watch receives the error, for existing objects in the goroutine of the
// caller. Of the errors for existing objects, and of those of each list, it receives the first ten and the number of
// the others. Only the first panic has its stack.
//
// An index needs about 60 bytes for each value of each object, and about 110 bytes and the value itself for each
// different value. It exists as long as its store. Create it once, not for each lookup. An index by namespace, labels
// or owner is not needed: see [SelectOptions].
func IndexBy[K any, T comparable](s *Store[K], f func(*K) []T) *Index[K, T] {
	x := newIndex(func(p wire.Packed) (values []T) {
		s.reflector.try("index", p, func() error {
			obj, err := s.decode(StateOf(p))
			if err == nil {
				values = f(obj)
			}
			return err
		})
		return values
	})
	s.table().addIndex(x, s.form)
	s.reflector.reportIndexes()
	return &Index[K, T]{s, x}
}

// All iterates over a snapshot of the objects that have a value, as [Store.All] does.
//
// Errors: [ErrNotReady].
func (x *Index[K, T]) All(value T) iter.Seq2[*K, error] {
	return x.store.each(func(take collector) error {
		x.read(value, func(s *set) { take(s.len(), s.entries(), nil) })
		return nil
	})
}

// Len returns the number of objects that have a value. It is 0 until the store is ready.
func (x *Index[K, T]) Len(value T) (n int) {
	x.read(value, func(s *set) { n = s.len() })
	return n
}

// read calls f with the entries that have a value, if the store is ready. Before that, the table may be filling the
// index.
func (x *Index[K, T]) read(value T, f func(*set)) {
	t := x.store.table()
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.isReady(x.store.form) {
		f(x.index.entries(value))
	}
}

// indexer is an index of a table. Its methods are called with the table's writing held, and all but prepare with mu.
type indexer interface {
	updater
	size() int64 // the memory of the index, in bytes
}

// updater changes an index. The old state of an entry is empty if the index does not have it.
type updater interface {
	prepare(e *entry, old, object wire.Packed)   // computes the values of a state, for the next call of update
	update(e *entry, old wire.Packed, gone bool) // e has a new state, or is gone
	reset()                                      // all entries are gone
}

// addIndex adds an index that reads objects of a form, and fills it. If the table has an older form, it does so at the
// end of the list that replaces it.
func (t *table) addIndex(x indexer, form uint64) {
	t.writing.Lock()
	defer t.writing.Unlock()
	if t.form < form {
		t.later = append(t.later, laterIndex{x, form})
		return
	}
	t.fill(x, 0)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.indexes = append(t.indexes, x)
	t.sized()
}

// laterIndex is an index that waits for objects of a form.
type laterIndex struct {
	indexer
	form uint64
}

// fill fills an index, which no reader has yet, with the entries that were in a list or a later one. The caller holds
// t.writing.
func (t *table) fill(x indexer, list uint32) {
	for _, objects := range t.objects {
		for _, e := range objects {
			if e.list >= list {
				object := t.state(e.object)
				if _, ok := x.(*labelIndex); ok && t.compression.past != nil {
					object = StateOf(t.old(e)) // update gets these labels as the old ones
				}
				x.prepare(e, wire.Packed{}, object.Packed())
				x.update(e, wire.Packed{}, false)
			}
		}
	}
}

// fillLater fills the indexes that have waited for a form with the entries of the current list, and returns them. The
// caller holds t.writing.
func (t *table) fillLater(form uint64) (filled []indexer) {
	var later []laterIndex
	for _, l := range t.later {
		if l.form > form {
			later = append(later, l)
			continue
		}
		t.fill(l.indexer, t.list)
		filled = append(filled, l.indexer)
	}
	t.later = later
	return filled
}

// index is an index by values of a function. It holds each value once, not for each entry.
type index[T comparable] struct {
	values func(wire.Packed) []T
	next   []T
	sets   map[T]*valueSet[T]
	first  map[*entry]*valueSet[T]   // the set of the first value of each entry that has any
	others map[*entry][]*valueSet[T] // the sets of its other values
	pairs  int                       // of an entry and one of its values
}

// The memory of an index: see the comment of [IndexBy].
const (
	pairBytes     = 60
	valueBytes    = 110
	labelBytes    = 40
	labelSetBytes = 110
)

func (x *index[T]) size() int64 { return pairBytes*int64(x.pairs) + valueBytes*int64(len(x.sets)) }

// valueSet is the set of the entries that have a value.
type valueSet[T comparable] struct {
	set
	value T
}

func newIndex[T comparable](values func(wire.Packed) []T) *index[T] {
	x := &index[T]{values: values}
	x.reset()
	return x
}

func (x *index[T]) prepare(_ *entry, _, object wire.Packed) { x.next = x.values(object) }

func (x *index[T]) update(e *entry, _ wire.Packed, gone bool) {
	if s := x.first[e]; s != nil {
		x.remove(e, s)
		delete(x.first, e)
	}
	for _, s := range x.others[e] {
		x.remove(e, s)
	}
	delete(x.others, e)
	if gone {
		return
	}
	for i, value := range x.next {
		s := x.sets[value]
		if s == nil {
			s = &valueSet[T]{value: value}
			x.sets[value] = s
		}
		s.add(e)
		x.pairs++
		if i == 0 {
			x.first[e] = s
		} else {
			x.others[e] = append(x.others[e], s)
		}
	}
	x.next = nil
}

func (x *index[T]) remove(e *entry, s *valueSet[T]) {
	x.pairs--
	if s.remove(e) {
		delete(x.sets, s.value)
	}
}

func (x *index[T]) reset() {
	x.sets = make(map[T]*valueSet[T])
	x.first, x.others = make(map[*entry]*valueSet[T]), make(map[*entry][]*valueSet[T])
	x.pairs = 0
}

// entries returns the entries that have a value, or nil.
func (x *index[T]) entries(value T) *set {
	if s := x.sets[value]; s != nil {
		return &s.set
	}
	return nil
}

// set is a set of entries. Most values of an index have only a few.
type set struct {
	few  []*entry
	many map[*entry]struct{} // if there are more than most
}

const most = 16

func (s *set) add(e *entry) {
	switch {
	case s.many != nil:
		s.many[e] = struct{}{}
	case slices.Contains(s.few, e):
	case len(s.few) < most:
		s.few = append(s.few, e)
	default:
		s.many = make(map[*entry]struct{}, 2*most)
		for _, other := range s.few {
			s.many[other] = struct{}{}
		}
		s.many[e] = struct{}{}
		s.few = nil
	}
}

// remove removes an entry, and reports whether the set is empty.
func (s *set) remove(e *entry) bool {
	if s.many != nil {
		delete(s.many, e)
		return len(s.many) == 0
	}
	for i, other := range s.few {
		if other == e {
			last := len(s.few) - 1
			s.few[i], s.few[last] = s.few[last], nil
			s.few = s.few[:last]
			break
		}
	}
	return len(s.few) == 0
}

func (s *set) len() int {
	if s == nil {
		return 0
	}
	return len(s.few) + len(s.many)
}

// entries returns the entries.
func (s *set) entries() iter.Seq[*entry] {
	return func(yield func(*entry) bool) {
		if s == nil {
			return
		}
		for _, e := range s.few {
			if !yield(e) {
				return
			}
		}
		for e := range s.many {
			if !yield(e) {
				return
			}
		}
	}
}
