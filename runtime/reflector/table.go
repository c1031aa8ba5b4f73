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

// table is the part of a store that does not depend on the kind: the packed objects, the subscriptions and the waiters.
// It has one writer, and any number of readers.
type table struct {
	mu sync.RWMutex // guards the fields below

	// Objects by namespace and name. Each namespace's string is stored once, and one namespace can be read without the
	// others.
	objects map[string]map[string]entry
	count   int

	list    uint32 // counts the lists; the entries with an older number were not in the last list
	version string // the resource version that the table has observed
	ready   bool   // a list has been completed
	current bool   // a list of the current run has been completed
	trouble error  // the error of the last request; nil if data has arrived since
	failed  error  // the error that ended the run permanently

	subscriptions map[*subscription]struct{}
	observers     map[*Observer]struct{}
	waiters       []*waiter
}

// entry is an object in packed form, and the last list that contained it.
type entry struct {
	object wire.Packed
	list   uint32
}

func newTable() *table {
	return &table{
		objects:       make(map[string]map[string]entry),
		subscriptions: make(map[*subscription]struct{}),
		observers:     make(map[*Observer]struct{}),
	}
}

// get returns an object, and whether the table has been completed by a list.
func (t *table) get(ref core.ObjectRef) (object wire.Packed, ok, ready bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	e, ok := t.objects[ref.Namespace][ref.Name]
	return e.object, ok, t.ready
}

// snapshot returns the objects of a namespace, or all objects if it is empty, and whether the table has been completed
// by a list.
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

// beginList starts a list. It may replace an incomplete one.
func (t *table) beginList() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.list++
}

// endList removes the objects that were not in the list.
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

// put stores an object, whose bytes it keeps, and records the observed version.
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
	if ok && len(t.observers) > 0 && replaced(old.object, object) {
		t.gone(old.object)
	}
	for s := range t.subscriptions {
		s.offer(ref, old.object, false)
	}
}

// keep marks an object, if the table has it, as unchanged and present in the list, and records the observed version.
func (t *table) keep(ref core.ObjectRef, version string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.advance(version)
	if e, ok := t.objects[ref.Namespace][ref.Name]; ok {
		e.list = t.list
		t.objects[ref.Namespace][ref.Name] = e
	}
}

// drop removes an object, and records the observed version.
func (t *table) drop(ref core.ObjectRef, version string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.advance(version)
	if e, ok := t.objects[ref.Namespace][ref.Name]; ok {
		t.remove(ref, e)
	}
}

// remove removes an entry. The caller holds t.mu.
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
	t.gone(e.object)
}

// see records an observed version.
func (t *table) see(version string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.advance(version)
}

// advance clears the trouble, and records the observed version unless it is empty. The caller holds t.mu.
func (t *table) advance(version string) {
	if version != "" {
		t.version = version
		t.seen()
	}
	t.trouble = nil
	t.wake()
}

// setTrouble records the error of a request.
func (t *table) setTrouble(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.trouble = err
}

// endRun records that the run has ended.
func (t *table) endRun() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.current = false
}

// setFailed records the error that ended the run permanently, or clears it with nil.
func (t *table) setFailed(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failed = err
	t.wake()
	for s := range t.subscriptions {
		s.alert()
	}
}

// hasSeen reports whether the table has observed a version.
func (t *table) hasSeen(version string) bool {
	c, err := resourceversion.CompareResourceVersion(t.version, version)
	return err == nil && c >= 0
}

// replaced reports whether two states are of different objects with the same name.
func replaced(old, object wire.Packed) bool {
	before, err := old.Head()
	if err != nil {
		return true
	}
	after, err := object.Head()
	return err != nil || before.UID != after.UID
}
