// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package store keeps the objects of an API server and the history of their changes.
//
// Stored objects are shared: neither the store nor its callers change them.
package store

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/core"
)

// firstVersion is the resource version of an empty store. It is not 0, which has a special meaning in lists and
// watches.
const firstVersion = 1000

// maxHistory is the number of changes that the store keeps. If there are more, it drops the older half.
const maxHistory = 100_000

// Key identifies a stored object. All versions of a kind share their objects.
type Key struct {
	schema.GroupResource
	core.ObjectRef
}

// Change is a change of one object.
type Change struct {
	Key
	Version uint64
	Old     *unstructured.Unstructured // nil if the object was created
	New     *unstructured.Unstructured // nil if it was deleted
}

// Hold can hide later changes from its users.
type Hold struct {
	visible uint64 // the newest change that is not hidden; 0: nothing is hidden; guarded by the mutex of the store
}

// Store keeps objects. It is safe for concurrent use.
type Store struct {
	mu        sync.Mutex // guards all fields, and is held during Update
	objects   map[schema.GroupResource]map[core.ObjectRef]*unstructured.Unstructured
	relations relations
	version   uint64
	history   []Change // ascending by version
	dropped   uint64   // changes up to this version are not in the history
	compacted uint64   // lists and readers can't begin before this version
	readers   map[*Reader]struct{}
	changed   chan struct{} // closed when Changes may return more
}

// New returns an empty store.
func New() *Store {
	return &Store{
		objects:   make(map[schema.GroupResource]map[core.ObjectRef]*unstructured.Unstructured),
		relations: newRelations(),
		version:   firstVersion,
		dropped:   firstVersion,
		compacted: firstVersion,
		readers:   make(map[*Reader]struct{}),
		changed:   make(chan struct{}),
	}
}

// Update calls f with a transaction. It stores the changes of f, or none if f returns an error or dryRun is true.
func (s *Store) Update(dryRun bool, f func(*Tx) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	tx := &Tx{store: s, version: s.version, dryRun: dryRun}
	err := f(tx)
	if err != nil || dryRun {
		tx.rollback()
		return err
	}
	s.version, s.history = tx.version, append(s.history, tx.changes...)
	if n := len(s.history); n > maxHistory {
		s.compacted = s.history[n/2].Version
		s.drop(s.compacted)
	}
	if len(tx.changes) > 0 {
		s.notify()
	}
	return nil
}

// notify wakes all callers that wait for the channel of Changes. The caller holds s.mu.
func (s *Store) notify() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// Version returns the resource version of the store.
func (s *Store) Version() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version
}

// Compact drops the history, so that neither a reader nor a list can begin at an earlier version. Readers that exist
// read their remaining changes.
func (s *Store) Compact() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.compacted = s.version
	read := s.version
	for r := range s.readers {
		read = min(read, r.after)
	}
	s.drop(read)
}

// drop removes the changes up to a version from the history.
func (s *Store) drop(version uint64) {
	s.history = slices.Clone(s.after(version))
	s.dropped = max(s.dropped, version)
}

// after returns the history after a version.
func (s *Store) after(version uint64) []Change {
	byVersion := func(c Change, v uint64) int { return cmp.Compare(c.Version, v) }
	n, _ := slices.BinarySearchFunc(s.history, version+1, byVersion)
	return s.history[n:]
}

// Hide hides later changes from the users of a Hold until Show is called. Lists and reads are not affected.
func (s *Store) Hide(h *Hold) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.visible == 0 {
		h.visible = s.version
	}
}

// Show ends Hide.
func (s *Store) Show(h *Hold) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h.visible = 0
	s.notify()
}

// Reader reads the changes after a version.
type Reader struct {
	store *Store
	after uint64 // changes up to it are read; guarded by the mutex of the store
}

// Read returns a reader of the changes after a version. Version 0 is the newest one. It returns ErrExpired for a
// version that is too old. The caller must call Close.
func (s *Store) Read(after uint64) (*Reader, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if after == 0 {
		after = s.version
	}
	if after < s.compacted {
		return nil, core.ErrExpired
	}
	r := &Reader{s, after}
	s.readers[r] = struct{}{}
	return r, nil
}

// Close ends the reader.
func (r *Reader) Close() {
	r.store.mu.Lock()
	defer r.store.mu.Unlock()
	delete(r.store.readers, r)
}

// List is like [Store.List] for the newest version. Changes then returns those after the list.
func (r *Reader) List(gr schema.GroupResource) ([]*unstructured.Unstructured, uint64) {
	r.store.mu.Lock()
	defer r.store.mu.Unlock()
	r.after = r.store.version
	return sorted(r.store.objects[gr]), r.after
}

// Changes returns the next changes of a resource that the holds do not hide, and the version up to which they are
// complete. If it returns none, the channel is closed when there may be more. It returns ErrExpired if the history was
// too long.
func (r *Reader) Changes(
	gr schema.GroupResource, holds []*Hold,
) (changes []Change, upTo uint64, more <-chan struct{}, err error) {
	s := r.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.after < s.dropped {
		return nil, 0, nil, core.ErrExpired
	}
	upTo = s.version
	for _, h := range holds {
		if h.visible > 0 {
			upTo = min(upTo, h.visible)
		}
	}
	for _, c := range s.after(r.after) {
		if c.Version <= upTo && c.GroupResource == gr {
			changes = append(changes, c)
		}
	}
	r.after = max(upTo, r.after)
	return changes, r.after, s.changed, nil
}

// List returns the objects of a resource at a version, sorted like the keys of a real server, and the version. Version
// 0 is the newest one. It returns ErrExpired for a version that is too old.
func (s *Store) List(gr schema.GroupResource, version uint64) ([]*unstructured.Unstructured, uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if version == 0 {
		version = s.version
	}
	objects := s.objects[gr]
	if version < s.version {
		if version < s.compacted {
			return nil, 0, core.ErrExpired
		}
		objects = s.undone(gr, version)
	}
	return sorted(objects), version, nil
}

// sorted returns objects in the order of a real server.
func sorted(objects map[core.ObjectRef]*unstructured.Unstructured) []*unstructured.Unstructured {
	refs := slices.SortedFunc(maps.Keys(objects), compareRefs)
	list := make([]*unstructured.Unstructured, len(refs))
	for i, ref := range refs {
		list[i] = objects[ref]
	}
	return list
}

// undone returns the objects at an earlier version.
func (s *Store) undone(gr schema.GroupResource, version uint64) map[core.ObjectRef]*unstructured.Unstructured {
	objects := maps.Clone(s.objects[gr])
	if objects == nil {
		objects = make(map[core.ObjectRef]*unstructured.Unstructured)
	}
	for _, c := range slices.Backward(s.history) {
		switch {
		case c.Version <= version:
			return objects
		case c.GroupResource != gr:
		case c.Old == nil:
			delete(objects, c.ObjectRef)
		default:
			objects[c.ObjectRef] = c.Old
		}
	}
	return objects
}

// Tx reads and changes objects. It is valid until the function that received it returns.
type Tx struct {
	store   *Store
	version uint64
	dryRun  bool
	changes []Change
}

// Get returns an object, or nil.
func (tx *Tx) Get(key Key) *unstructured.Unstructured {
	return tx.store.objects[key.GroupResource][key.ObjectRef]
}

// List returns the objects of a resource, sorted like the keys of a real server.
func (tx *Tx) List(gr schema.GroupResource) []*unstructured.Unstructured {
	return sorted(tx.store.objects[gr])
}

// All yields all objects of all resources in a fixed order. They must not be changed during the iteration.
func (tx *Tx) All() iter.Seq2[Key, *unstructured.Unstructured] {
	return func(yield func(Key, *unstructured.Unstructured) bool) {
		var keys []Key
		for gr, objects := range tx.store.objects {
			for ref := range objects {
				keys = append(keys, Key{gr, ref})
			}
		}
		slices.SortFunc(keys, Compare)
		for _, key := range keys {
			if !yield(key, tx.Get(key)) {
				return
			}
		}
	}
}

// Changes returns the changes of the transaction.
func (tx *Tx) Changes() []Change { return tx.changes }

// Put stores an object and returns it. It has a new resource version, except in a dry run. The caller must not change
// it any more.
func (tx *Tx) Put(key Key, obj *unstructured.Unstructured) *unstructured.Unstructured {
	tx.version++
	old := tx.Get(key)
	switch {
	case !tx.dryRun:
		obj = WithVersion(obj, tx.version)
	case old != nil:
		obj.SetResourceVersion(old.GetResourceVersion())
	}
	tx.changes = append(tx.changes, Change{Key: key, Old: old, New: obj, Version: tx.version})
	tx.set(key, old, obj)
	return obj
}

// Delete removes an object, which must exist, and returns it. It has the resource version of its deletion, except in a
// dry run.
func (tx *Tx) Delete(key Key) *unstructured.Unstructured {
	tx.version++
	old := tx.Get(key)
	tx.changes = append(tx.changes, Change{Key: key, Old: old, Version: tx.version})
	tx.set(key, old, nil)
	if tx.dryRun {
		return old
	}
	return WithVersion(old, tx.version)
}

// set replaces an object. Both may be nil.
func (tx *Tx) set(key Key, from, to *unstructured.Unstructured) {
	tx.store.relations.set(key, from, to)
	objects := tx.store.objects[key.GroupResource]
	switch {
	case to == nil:
		delete(objects, key.ObjectRef)
	case objects == nil:
		tx.store.objects[key.GroupResource] = map[core.ObjectRef]*unstructured.Unstructured{key.ObjectRef: to}
	default:
		objects[key.ObjectRef] = to
	}
}

// rollback undoes all changes.
func (tx *Tx) rollback() {
	for _, c := range slices.Backward(tx.changes) {
		tx.set(c.Key, c.New, c.Old)
	}
}

// WithVersion returns a copy of an object with another resource version, which shares all fields except metadata.
func WithVersion(obj *unstructured.Unstructured, version uint64) *unstructured.Unstructured {
	content := maps.Clone(obj.Object)
	meta, _ := content["metadata"].(map[string]any)
	meta = maps.Clone(meta)
	meta["resourceVersion"] = strconv.FormatUint(version, 10)
	content["metadata"] = meta
	return &unstructured.Unstructured{Object: content}
}

// compareRefs returns the order of the keys in etcd: "a-b/x" is before "a/x".
func compareRefs(a, b core.ObjectRef) int {
	if a.Namespace == b.Namespace {
		return cmp.Compare(a.Name, b.Name)
	}
	return cmp.Compare(a.String(), b.String())
}

// Compare returns the order of two keys.
func Compare(a, b Key) int {
	if a.GroupResource == b.GroupResource {
		return compareRefs(a.ObjectRef, b.ObjectRef)
	}
	return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource))
}
