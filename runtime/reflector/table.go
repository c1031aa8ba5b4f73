// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
)

// table is the part of a store that does not depend on the kind: the packed objects, and who wants to know of changes.
// One goroutine writes to it, any number read.
type table struct {
	mu sync.RWMutex // guards all below

	// By namespace, then by name: each namespace's string is held once, and one namespace can be read without the others.
	objects map[string]map[string]entry
	count   int

	list    uint32 // counts the lists; entries of an earlier one were not in the last
	version string // that the table has come to
	ready   bool   // a list has come to its end once
	current bool   // a list of the present run has come to its end
	trouble error  // why there is nothing new; nil when all is well
	failed  error  // why there never will be

	subscriptions map[*subscription]struct{}
	waiters       []*waiter
}

// entry is one object: its own bytes, and the last list that it was in.
type entry struct {
	object wire.Packed
	list   uint32
}

func newTable() *table {
	return &table{
		objects:       make(map[string]map[string]entry),
		subscriptions: make(map[*subscription]struct{}),
	}
}

// get returns an object, and whether what the table holds is complete.
func (t *table) get(ref core.ObjectRef) (object wire.Packed, ok, ready bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	e, ok := t.objects[ref.Namespace][ref.Name]
	return e.object, ok, t.ready
}

// snapshot returns the objects of a namespace, or all of them when it is empty, and whether that is complete.
func (t *table) snapshot(namespace string) (objects []wire.Packed, ready bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if namespace != "" {
		return appendObjects(nil, t.objects[namespace]), t.ready
	}
	objects = make([]wire.Packed, 0, t.count)
	for _, in := range t.objects {
		objects = appendObjects(objects, in)
	}
	return objects, t.ready
}

func appendObjects(dst []wire.Packed, objects map[string]entry) []wire.Packed {
	dst = slices.Grow(dst, len(objects))
	for _, e := range objects {
		dst = append(dst, e.object)
	}
	return dst
}

// beginList starts a list, which may replace one that has not come to its end.
func (t *table) beginList() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.list++
}

// endList removes what was not in the list.
func (t *table) endList(version string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sweep()
	t.current = true
	if !t.ready {
		t.ready = true
		for s := range t.subscriptions {
			s.markSynced()
		}
	}
	t.advance(version)
}

func (t *table) sweep() {
	for ns, objects := range t.objects {
		for name, e := range objects {
			if e.list != t.list {
				t.remove(core.ObjectRef{Namespace: ns, Name: name}, e)
			}
		}
	}
}

// put stores an object, of which it keeps the bytes, and notes that the table has come to a version.
func (t *table) put(ref core.ObjectRef, object wire.Packed, version string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.advance(version)
	objects := t.objects[ref.Namespace]
	if objects == nil {
		objects = make(map[string]entry)
		t.objects[ref.Namespace] = objects
	}
	old, ok := objects[ref.Name]
	if !ok {
		t.count++
	}
	objects[ref.Name] = entry{object, t.list}
	for s := range t.subscriptions {
		s.offer(ref, old.object, false)
	}
}

// keep notes that an object, if it is there, is in the list and as it was, and that the table has come to a version.
func (t *table) keep(ref core.ObjectRef, version string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.advance(version)
	if e, ok := t.objects[ref.Namespace][ref.Name]; ok {
		e.list = t.list
		t.objects[ref.Namespace][ref.Name] = e
	}
}

// drop removes an object, and notes that the table has come to a version.
func (t *table) drop(ref core.ObjectRef, version string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.advance(version)
	if e, ok := t.objects[ref.Namespace][ref.Name]; ok {
		t.remove(ref, e)
	}
}

// remove removes an entry; t.mu is locked.
func (t *table) remove(ref core.ObjectRef, e entry) {
	objects := t.objects[ref.Namespace]
	delete(objects, ref.Name)
	if len(objects) == 0 {
		delete(t.objects, ref.Namespace)
	}
	t.count--
	for s := range t.subscriptions {
		s.offer(ref, e.object, true)
	}
}

// see notes that the table has come to a version.
func (t *table) see(version string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.advance(version)
}

// advance notes that something has come from the server, and which version, unless empty, the table has come to by it;
// t.mu is locked.
func (t *table) advance(version string) {
	if version != "" {
		t.version = version
	}
	t.trouble = nil
	t.wake()
}

// setTrouble notes why there is nothing new.
func (t *table) setTrouble(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.trouble = err
}

// endRun notes that nothing keeps the table in step any more.
func (t *table) endRun() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.current = false
}

// setFailed notes that there never will be anything new, or, with nil, that there may be again.
func (t *table) setFailed(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failed = err
	t.wake()
	for s := range t.subscriptions {
		s.alert()
	}
}

// hasSeen reports whether the table has come to a version.
func (t *table) hasSeen(version string) bool {
	c, err := resourceversion.CompareResourceVersion(t.version, version)
	return err == nil && c >= 0
}
