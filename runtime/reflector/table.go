// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"bytes"
	"hash/maphash"
	"iter"
	"maps"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/watcher"
)

// table holds the packed objects of a reflector, with their indexes, subscriptions and waiters. It knows no Go type of
// the objects. It has one writer, and any number of readers.
type table struct {
	resource  core.Resource
	namespace string // of all objects, or empty

	// writing is held while an object or the set of indexes changes, before mu. So the keys of an object are computed
	// without blocking readers.
	writing sync.Mutex

	creating sync.Mutex // held while the index of owners or labels is created, before writing

	mu sync.RWMutex // guards the fields below

	// Objects by namespace and name. Each namespace's string is stored once, and one namespace can be read without the
	// others.
	objects map[string]map[string]*entry
	count   int
	bytes   int64 // of the objects, see sizeOf

	list    uint32 // counts the lists; the entries with an older number were not in the last list
	version string // the resource version that the table has observed
	number  uint64 // the same as a number; 0 if the version is not a number
	ready   bool   // a list has been completed
	form    uint64 // the form of the objects since the last complete list, see [Reflector.add]
	current uint64 // the form of the last complete list of the current run, or 0
	status  watcher.Status
	failed  error // the error that ended the run permanently
	last    error // of the last request of a run that has ended
	running bool  // Run is active
	hasRun  bool  // Run was called

	fields   *wire.Projection // of objects in the form; nil means all
	incoming *wire.Projection // of the objects that the current watch sends

	indexes []indexer    // changed with writing held, too
	later   []laterIndex // guarded by writing
	labels  *labelIndex  // nil until the first selection by labels
	owners  *index[types.UID]

	compression compression
	seed        maphash.Seed // of the hashes in the entries
	before      []byte       // the old state of a changed object; used with writing held

	subscriptions map[*subscription]struct{}
	followers     followers
	observers     map[*Observer]struct{}
	waiters       waiters
}

// entry is an object in packed form. With the hashes, most changes are found without decompressing the old state. The
// size of an entry is that of a size class of the allocator.
type entry struct {
	object wire.Packed // see [table.state]
	uid    uint64      // the hash of the UID
	sum    uint32      // the hash of the bytes before they were compressed
	list   uint32      // the last list that contained the object
}

func newTable(res core.Resource) *table {
	return &table{
		resource:      res,
		compression:   compression{create: newDictionary},
		seed:          maphash.MakeSeed(),
		objects:       make(map[string]map[string]*entry),
		subscriptions: make(map[*subscription]struct{}),
		followers:     followers{all: make(map[*func(Change)]struct{})},
		observers:     make(map[*Observer]struct{}),
	}
}

// isReady reports whether readers of a form can rely on the table to have all objects. The caller holds t.mu.
func (t *table) isReady(form uint64) bool { return t.ready && t.form >= form }

// entries returns the entries of a namespace, or all entries if it is empty. The caller holds t.mu.
func (t *table) entries(namespace string) iter.Seq[*entry] {
	if namespace != "" {
		return maps.Values(t.objects[namespace])
	}
	return func(yield func(*entry) bool) {
		for _, objects := range t.objects {
			for _, e := range objects {
				if !yield(e) {
					return
				}
			}
		}
	}
}

// setIncoming records the fields of the objects that the next lists have.
func (t *table) setIncoming(fields *wire.Projection) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.incoming = fields
}

// beginList starts a list of objects in a form. It may replace an incomplete one.
func (t *table) beginList(form uint64) {
	t.writing.Lock()
	defer t.writing.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.list++
	if t.count == 0 && !t.ready { // otherwise some objects may have another form until the end of the list
		t.form, t.fields = form, t.incoming
		t.wake()
		t.indexes = append(t.indexes, t.fillLater(form)...)
	}
}

// endList removes the objects that were not in the list, and records the form of the others.
func (t *table) endList(version string, form uint64) error {
	t.writing.Lock()
	defer t.writing.Unlock()
	filled := t.fillLater(form)
	t.finishList(version, form, filled)
	t.deliver()
	return t.train(form)
}

func (t *table) finishList(version string, form uint64, filled []indexer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.indexes = append(t.indexes, filled...)
	t.sweep()
	t.form, t.fields = form, t.incoming
	t.current = form
	if !t.ready {
		t.ready = true
		for s := range t.subscriptions {
			s.markSynced()
		}
		t.followers.markSynced()
	}
	t.listed(version)
	t.merged(version)
	t.advance(version)
	t.sized()
	t.wake()
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

// put stores a copy of an object in a form, unless the table already has it, and records the observed version, which is
// empty within a list. merged reports that the object has changed several times.
func (t *table) put(head wire.Head, object wire.Packed, version string, form uint64, merged bool) error {
	t.writing.Lock()
	defer t.writing.Unlock()
	next := entry{
		uid: maphash.String(t.seed, string(head.UID)),
		sum: uint32(maphash.Bytes(t.seed, object.Bytes())),
	}
	e := t.objects[head.Ref.Namespace][head.Ref.Name] // nobody else writes
	if e != nil && e.sum == next.sum && t.has(e, object) {
		t.keep(head.Ref, version)
		return nil
	}
	c := t.compare(e, next.uid, head, form)
	c.merged = merged
	for _, x := range t.indexes {
		x.prepare(e, c.old, object)
	}
	recent := version != "" && len(t.compression.codecs) > 0
	ref := head.Ref
	ref.Name, next.object = t.pack(head.Ref.Name, object.Encoding(), object.Bytes(), recent)
	t.replace(ref, next, version, c)
	t.deliver()
	if recent {
		t.defers(ref, object.Len())
	}
	return t.train(t.form) // not only at the end of a list, so that a long one does not need memory for all objects
}

// has reports whether an entry has exactly an object. The caller holds t.writing.
func (t *table) has(e *entry, object wire.Packed) bool {
	if past := t.compression.past; past != nil {
		return bytes.Equal(e.object.Bytes(), past.Compress(nil, object.Bytes())) // the kept metadata has the version
	}
	old := t.old(e)
	return old.Encoding() == object.Encoding() && bytes.Equal(old.Bytes(), object.Bytes())
}

// old returns the object of an entry as the server sent it, until the next call. If the object is remote, it has the
// metadata that the table keeps. The caller holds t.writing.
func (t *table) old(e *entry) wire.Packed {
	if t.compression.past != nil {
		return wire.NewPacked(wire.JSON, e.object.Bytes())
	}
	object := t.state(e.object).plain(t.before)
	if isCompressed(e.object) {
		t.before = object.Bytes()[:0]
	}
	return object
}

// change is the part of a change that is computed without the lock.
type change struct {
	old      wire.Packed // as the server sent it; empty if nobody needs it
	another  bool        // the new state is of another object with the same name
	repacked bool        // only the form has changed
	gone     bool        // the object was deleted
	merged   bool        // it is several changes
}

// compare compares an entry, if it is not nil, with a new state. The caller holds t.writing.
func (t *table) compare(e *entry, uid uint64, head wire.Head, form uint64) (c change) {
	if e == nil {
		return c
	}
	c.another = e.uid != uid
	if len(t.indexes) > 0 || c.another || form > t.form {
		c.old = t.old(e)
	}
	c.repacked = form > t.form && unchanged(c.old, head)
	return c
}

// unchanged reports whether a stored object has the UID and the version of a head.
func unchanged(old wire.Packed, now wire.Head) bool {
	head, err := old.Head()
	return err == nil && head.UID == now.UID && head.ResourceVersion == now.ResourceVersion && now.ResourceVersion != ""
}

// replace stores an object under its name, both of which pack has returned.
func (t *table) replace(ref core.ObjectRef, next entry, version string, c change) {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.advance(version)
	if t.objects[ref.Namespace] == nil {
		t.objects[ref.Namespace] = make(map[string]*entry)
	}
	e := t.objects[ref.Namespace][ref.Name]
	if e == nil {
		e = new(entry)
		t.count++
		t.bytes += sizeOf(ref, e.object)
	}
	t.rename(e, ref)
	old := e.object
	t.bytes += sizeOf(ref, next.object) - sizeOf(ref, old)
	defer t.sized() // after the subscriptions have the change
	next.list = t.list
	*e = next
	for _, x := range t.indexes {
		x.update(e, c.old, false)
	}
	if c.repacked {
		return
	}
	if c.another {
		t.gone(c.old)
	}
	for s := range t.subscriptions {
		t.offer(s, ref, old, c)
	}
	t.followers.add(Change{Ref: ref, Old: t.past(old), New: t.state(next.object), Merged: c.merged}, t.ready)
}

// rename stores an entry under a name whose memory is that of its new object.
func (t *table) rename(e *entry, ref core.ObjectRef) {
	objects := t.objects[ref.Namespace]
	delete(objects, ref.Name) // whose key is in the memory of the old object
	objects[ref.Name] = e
}

// keep marks an object, if the table has it, as unchanged and present in the list, and records the observed version.
func (t *table) keep(ref core.ObjectRef, version string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.advance(version)
	if e := t.objects[ref.Namespace][ref.Name]; e != nil {
		e.list = t.list
	}
}

// spare marks an object whose next state can't be stored as present in the list.
func (t *table) spare(ref core.ObjectRef) {
	t.writing.Lock()
	defer t.writing.Unlock()
	t.keep(ref, "")
}

// drop removes an object, and records the observed version.
func (t *table) drop(ref core.ObjectRef, version string) {
	t.writing.Lock()
	defer t.writing.Unlock()
	defer t.deliver()
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.advance(version)
	if e := t.objects[ref.Namespace][ref.Name]; e != nil {
		t.remove(ref, e)
	}
}

// remove removes an entry. The caller holds t.writing and t.mu.
func (t *table) remove(ref core.ObjectRef, e *entry) {
	objects := t.objects[ref.Namespace]
	delete(objects, ref.Name)
	if len(objects) == 0 {
		delete(t.objects, ref.Namespace)
	}
	t.count--
	t.bytes -= sizeOf(ref, e.object)
	if len(t.indexes)+len(t.observers) > 0 {
		old := t.old(e)
		for _, x := range t.indexes {
			x.update(e, old, true)
		}
		t.gone(old)
	}
	for s := range t.subscriptions {
		t.offer(s, ref, e.object, change{gone: true})
	}
	t.followers.add(Change{Ref: ref, Old: t.past(e.object)}, t.ready)
	t.sized()
}

// entryBytes is the memory of an object besides its name and its bytes: its entry and its place in the map.
const entryBytes = 100

// sizeOf returns the memory of an object. The allocator of Go adds up to an eighth to small objects, and fills the
// pages of large ones.
func sizeOf(ref core.ObjectRef, object wire.Packed) int64 {
	const small, page = 32 << 10, 8 << 10
	n := len(ref.Name) + object.Len()
	if n <= small {
		return int64(entryBytes + n + n/16)
	}
	return int64(entryBytes + (n+page-1)/page*page)
}

// size returns the memory of the objects and of the indexes. The caller holds t.mu.
func (t *table) size() int64 {
	n := t.bytes
	for _, x := range t.indexes {
		n += x.size()
	}
	return n
}

// reset discards all objects, unless somebody subscribes to their changes. The table is then as new.
func (t *table) reset() bool {
	t.writing.Lock()
	defer t.writing.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.subscriptions) > 0 || len(t.observers) > 0 || len(t.followers.all) > 0 {
		return false
	}
	clear(t.objects)
	t.objects = make(map[string]map[string]*entry)
	t.compression.reset()
	t.before = nil
	t.count, t.bytes, t.ready, t.form, t.version, t.number = 0, 0, false, 0, "", 0
	for _, x := range t.indexes {
		x.reset()
	}
	return true
}

// see records an observed version.
func (t *table) see(version string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.compression.past != nil {
		if n, err := strconv.ParseUint(version, 10, 64); err == nil && n < t.number {
			t.listed(version)
		}
		t.merged(version)
	}
	t.advance(version)
}

// advance records the observed version unless it is empty. The caller holds t.mu.
func (t *table) advance(version string) {
	if version == "" {
		return
	}
	t.version = version
	t.number, _ = strconv.ParseUint(version, 10, 64)
	t.seen()
	t.wakeVersions()
}

// setStatus records the state of the watch.
func (t *table) setStatus(s watcher.Status) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.status = s
}

// beginRun records that a run has begun.
func (t *table) beginRun() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running, t.hasRun, t.failed = true, true, nil
	t.status.Err, t.status.Failures, t.last = nil, 0, nil
}

// endRun records that the run has ended. Failed requests of the run say nothing about those of the next one, unless
// they have ended it permanently.
func (t *table) endRun() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running, t.current = false, 0
	if t.failed == nil {
		t.last, t.status.Err, t.status.Failures = t.status.Err, nil, 0
	}
}

// setFailed records the error that ended the run permanently.
func (t *table) setFailed(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failed = err
	if err != nil {
		t.status.Err = err
	}
	t.wake()
	for s := range t.subscriptions {
		s.alert()
	}
}
