// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"strconv"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/internal/kinds"
)

// ErrNotReady is returned by a store that has not completed its first list. Wait for [Store.Ready].
var ErrNotReady = errors.New("the store is not synced yet")

// Store reads the objects of a [Reflector] as objects of type K. It decodes a new object for each read, which the
// caller may change, unless it is a decoded store; see [Decoded]. Create one with [StoreOf]. It is safe for
// concurrent use.
type Store[K any] struct {
	reflector *Reflector
	form      uint64 // the objects that it can read, see [Reflector.add]
	as        func(*K) core.Object
	decoded   func(*entry) *K // nil if each read decodes an object; see [decodedIndex.of]
}

// StoreOf returns a store that reads the objects of a reflector. Stores of several types can read one reflector, which
// has one watch: K may be the kind of the source, a struct with some of its fields, unstructured.Unstructured, or
// metav1.PartialObjectMetadata.
//
// The reflector holds what its stores can read: the fields that one of the types declares. If all of them read only
// metadata, it requests nothing else. If one type can't be decoded from protobuf, the watch uses JSON for all of them,
// which needs more memory, and several times as much CPU for each read; see EncodingOf in package client. A struct with
// some fields of a kind of k8s.io/api can be decoded from protobuf if all its fields have the protobuf tags of the
// kind. A store of a type that needs more than the current objects have is not ready until the reflector has listed the
// objects again; the other stores continue to work.
func StoreOf[K any, P core.ObjectPtr[K]](r *Reflector) *Store[K] {
	return &Store[K]{reflector: r, form: r.add(needOf[K]()), as: func(obj *K) core.Object { return P(obj) }}
}

func (s *Store[K]) table() *table { return s.reflector.table }

// SelectOptions select objects of a store. The zero value of a field is its default.
type SelectOptions struct {
	// Namespace is the namespace of the objects. Default: all namespaces.
	Namespace string
	// LabelSelector is a label selector as in API requests, such as "app=web,tier!=cache". Default: all labels.
	LabelSelector string
	// Owner is the UID of an owner: an object is selected if it has an owner reference with this UID. Default: all
	// objects.
	Owner types.UID
}

// Resource returns the resource of the kind.
func (s *Store[K]) Resource() core.Resource { return s.table().resource }

// Get returns an object.
//
// Errors: [core.ErrNotFound]; [ErrNotReady] if the store does not hold the object and is not synced yet. A ref that is
// invalid for the kind, because it lacks a namespace or has one that it can't have, is another error, and so is one in
// a namespace that the view does not select.
func (s *Store[K]) Get(ref core.ObjectRef) (*K, error) {
	t := s.table()
	state, shared, absence := s.get(ref)
	switch {
	case shared != nil:
		return shared, nil
	case state.Exists():
		return s.decode(state)
	}
	err := cmp.Or(t.resource.CheckRef(ref), t.checkNamespace(ref.Namespace), absence)
	return nil, fmt.Errorf("%s %s: %w", t.resource, ref, err)
}

// get returns the state of an object, and the decoded object or nil; or why it does not find the object. It does not
// find objects that may have an older form.
func (s *Store[K]) get(ref core.ObjectRef) (state State, shared *K, absence error) {
	t := s.table()
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.form < s.form {
		return State{}, nil, t.unready()
	}
	if e := t.objects[ref.Namespace][ref.Name]; e != nil {
		if s.decoded != nil {
			shared = s.decoded(e)
		}
		return t.state(e.object), shared, nil
	}
	if !t.ready {
		return State{}, nil, t.unready()
	}
	return State{}, nil, core.ErrNotFound
}

// checkNamespace returns an error for a namespace whose objects the source does not have.
func (t *table) checkNamespace(namespace string) error {
	if t.namespace == "" || namespace == t.namespace {
		return nil
	}
	return fmt.Errorf("the store has only the namespace %q: use a view of the namespace %q or of all namespaces",
		t.namespace, namespace)
}

// unready returns the error of a table that is not ready. The caller holds t.mu.
func (t *table) unready() error {
	switch {
	case t.failed != nil:
		return fmt.Errorf("%w: %w", ErrNotReady, t.failed)
	case t.running:
		return ErrNotReady
	}
	return fmt.Errorf("%w, and nothing runs it: %s", ErrNotReady, runIt)
}

// runIt is the remedy for a store that is not synced because nothing runs its reflector.
const runIt = "pass its view to a controller, add it to a manager, or call its Run"

// Has reports whether the store holds an object. If it returns false, [Store.Get] returns the reason: the object does
// not exist, the store is not synced yet, or the ref is invalid for the kind.
func (s *Store[K]) Has(ref core.ObjectRef) bool {
	return s.State(ref).Exists()
}

// State returns the current state of an object, without decoding it. If the store does not hold the object, the state
// does not exist; see [Store.Has]. A JSON object has no kind and apiVersion, and perhaps not all fields, see [StoreOf].
func (s *Store[K]) State(ref core.ObjectRef) State {
	state, _, _ := s.get(ref)
	return state
}

// All iterates over a snapshot of the objects, which is taken when the loop begins. The order is not specified. Each
// object is decoded when it is yielded. For an object that can't be decoded, the sequence yields an error that names
// the object, and continues.
//
// A selection reads only the objects that it selects, or little more: namespaces, labels and owners are indexed. The
// first selection by labels or owner creates the index. It needs about 100 bytes for each object with an owner, and 40
// bytes for each label of each object.
//
// Errors: [ErrNotReady].
func (s *Store[K]) All(o *SelectOptions) iter.Seq2[*K, error] {
	var selects SelectOptions
	if o != nil {
		selects = *o
	}
	return s.each(func(take collector) error { return s.table().selected(&selects, take) })
}

// selected calls take with candidates, and a filter for those that the options select.
func (t *table) selected(o *SelectOptions, take collector) error {
	if o == nil {
		o = &SelectOptions{}
	}
	selector, err := labels.Parse(o.LabelSelector)
	if err != nil {
		return fmt.Errorf("select %s: label selector %q: %w", t.resource, o.LabelSelector, err)
	}
	if o.Namespace != "" && !t.resource.Namespaced {
		return fmt.Errorf("select %s: the namespace is %q: leave SelectOptions.Namespace empty, because they are "+
			"cluster-scoped", t.resource, o.Namespace)
	}
	if o.Namespace != "" {
		if err := t.checkNamespace(o.Namespace); err != nil {
			return fmt.Errorf("select %s: %w", t.resource, err)
		}
	}
	t.find(query{namespace: o.Namespace, owner: o.Owner, labels: selector}, take)
	return nil
}

// each yields the selected of the candidates that find finds, if the store is ready.
func (s *Store[K]) each(find func(collector) error) iter.Seq2[*K, error] {
	return func(yield func(*K, error) bool) {
		c := &candidates[K]{store: s}
		err := find(c.collect)
		if err == nil && !c.ready {
			err = s.unready()
		}
		if err != nil {
			yield(nil, err)
			return
		}
		for i := range c.kept {
			if obj, err := c.read(i); (obj != nil || err != nil) && !yield(obj, err) {
				return
			}
		}
	}
}

// unready returns the error of a store that was not ready.
func (s *Store[K]) unready() error {
	t := s.table()
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.failed != nil {
		return t.unready()
	}
	return fmt.Errorf("%s: %w", t.resource, t.unready())
}

// candidates is a snapshot of some objects.
type candidates[K any] struct {
	store   *Store[K]
	kept    []wire.Packed
	codecs  codecs // of the kept objects
	decoded []*K   // nil, or the same objects, of which some may be nil
	selects filter
	ready   bool   // the store had all objects
	buffer  []byte // of the last object that was decompressed
}

// collect is a [collector].
func (c *candidates[K]) collect(n int, entries iter.Seq[*entry], selects filter) {
	t := c.store.table()
	c.kept, c.codecs, c.selects = make([]wire.Packed, 0, n), t.compression.codecs, selects
	c.ready = t.isReady(c.store.form)
	of := c.store.decoded
	if of != nil {
		c.decoded = make([]*K, 0, n)
	}
	for e := range entries {
		c.kept = append(c.kept, e.object)
		if of != nil {
			c.decoded = append(c.decoded, of(e))
		}
	}
}

// read returns an object, or nil if it is not selected.
func (c *candidates[K]) read(i int) (*K, error) {
	var shared *K
	if c.decoded != nil {
		shared = c.decoded[i]
	}
	if shared != nil && c.selects == nil {
		return shared, nil
	}
	if shared != nil && c.store.table().compression.past != nil { // of which the host may have a newer state
		if c.selects(wire.NewPacked(wire.JSON, c.kept[i].Bytes())) {
			return shared, nil
		}
		return nil, nil
	}
	object, ok := c.packed(i)
	switch {
	case !ok:
		return nil, nil
	case shared != nil:
		return shared, nil
	}
	return c.store.decode(StateOf(object))
}

// packed returns an object, until the next call, and whether it is selected.
func (c *candidates[K]) packed(i int) (object wire.Packed, selected bool) {
	object = c.codecs.plain(c.kept[i], c.buffer)
	if isCompressed(c.kept[i]) {
		c.buffer = object.Bytes()[:0]
	}
	return object, c.selects == nil || c.selects(object)
}

// Len returns the number of objects.
func (s *Store[K]) Len() int {
	t := s.table()
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.count
}

// ResourceVersion returns the resource version that the store has observed. It is empty until the store is synced.
func (s *Store[K]) ResourceVersion() string {
	t := s.table()
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.version
}

// Ready waits until the current call of [Reflector.Run], or the next one, has listed all objects. Then no object is
// older than the start of that call. The objects may become outdated later, when the server can't be reached: see
// [Reflector.Health]. If ctx ends first, the error includes the last error of the reflector.
func (s *Store[K]) Ready(ctx context.Context) error {
	t := s.table()
	return t.awaitAll(ctx, func() bool { return t.current >= s.form })
}

// WaitForVersion waits until the store has observed a resource version, such as that of the response to a write. Later
// reads are at least as new. Versions are compared as numbers, which Kubernetes 1.35 and later allow for versions of
// one kind; see https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions.
//
// A store that holds only some of the objects does not see changes of the others. It observes those versions through
// bookmarks, which servers send about once a minute.
func (s *Store[K]) WaitForVersion(ctx context.Context, version string) error {
	return s.table().awaitVersion(ctx, version)
}

// awaitVersion waits until the table has observed a version.
func (t *table) awaitVersion(ctx context.Context, version string) error {
	if _, err := resourceversion.CompareResourceVersion(version, version); err != nil {
		return fmt.Errorf("wait for %s: %w", t.resource, err)
	}
	n, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return fmt.Errorf("wait for %s: resource version: %w", t.resource, err)
	}
	if err := t.await(ctx, &waiter{version: n}); err != nil {
		return fmt.Errorf("wait for %s at version %s: %w", t.resource, version, err)
	}
	return nil
}

// Subscribe yields the existing objects as Added, a Bookmark after them, and each change as it happens. If the store is
// not synced yet, the Bookmark follows when it is. No change that happens while the subscription begins is lost or
// delivered twice.
//
// A slow subscriber does not delay the watch. Undelivered changes of one object are merged into one, from the oldest
// Old to the newest New, with the states between, see [Change.Between], so each object has at most one undelivered
// change. Deletions are always kept until they are delivered, so deleted objects count, too: their number has no limit.
// Changes of different objects are delivered in the order of the first undelivered change of each; they take turns with
// the existing objects, so that a change does not wait for all of them. The states of a change stay valid.
//
// The subscription begins when the caller ranges over the sequence, and ends with the loop. The sequence yields an
// error only as its last pair: the cause of ctx, or the error that [Reflector.Run] returned for an invalid request.
func (s *Store[K]) Subscribe(ctx context.Context) iter.Seq2[Change, error] {
	return s.table().changes(ctx, s.form)
}

// Follow calls f with the changes that [Store.Subscribe] yields, until ctx ends. It calls f for the existing objects in
// the goroutine of the caller, and then for each change, without merging them, in the goroutine of the watch, which
// waits for it. So f receives a change earlier than a subscriber, but it must be fast, and must not call Follow, Ready,
// WaitForVersion, [Decoded] or [IndexBy], or select by labels or owner. Calls of f do not overlap. Follow returns the
// cause of ctx, or the error that [Reflector.Run] returned for an invalid request.
func (s *Store[K]) Follow(ctx context.Context, f func(Change)) error {
	return s.table().follow(ctx, s.form, f)
}

// Observe notifies o of the store's progress until stop is called. It calls Seen immediately if the store has observed
// a version.
func (s *Store[K]) Observe(o Observer) (stop func()) { return s.table().observe(o) }

// decode decodes an object, and sets the TypeMeta, which servers omit from the items of a list.
func (s *Store[K]) decode(state State) (*K, error) {
	obj := new(K)
	res, as := s.table().resource, s.as(obj)
	if err := state.Decode(as); err != nil {
		return nil, decodeError(res, state, err)
	}
	kinds.Complete(as, res)
	return obj, nil
}

func decodeError(res core.Resource, state State, err error) error {
	head, _ := state.Head()
	return fmt.Errorf("%s %s: %w", res, head.Ref, err)
}

// try calls f for an object of an index. Its error or panic is reported by reportIndexes.
func (r *Reflector) try(index string, object wire.Packed, f func() error) {
	var err error
	defer func() {
		if v := recover(); v != nil || err != nil {
			r.fail(index, object, v, err)
		}
	}()
	err = f()
}

// failures are the errors of indexes that are not reported yet. A function may fail for each of many objects, so only
// the first errors are kept, and only the first panic has its stack.
type failures struct {
	first    []error
	others   int // the number of the other errors
	panicked bool
}

// mostFailures is the number of errors that are kept.
const mostFailures = 10

// fail records an error of an index, or the value of a panic. The stack of the panic is that of the caller.
func (r *Reflector) fail(index string, object wire.Packed, panicked any, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	failed := &r.failed
	if len(failed.first) == mostFailures {
		failed.others++
		return
	}
	if panicked != nil {
		err = fmt.Errorf("panic: %v", panicked)
		if !failed.panicked {
			failed.panicked, err = true, fmt.Errorf("%w\n%s", err, debug.Stack())
		}
		err = decodeError(r.table.resource, StateOf(object), err)
	}
	failed.first = append(failed.first, fmt.Errorf("%s of %w", index, err))
}
