// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/patch"
	"github.com/kube-go/sdk/core/wire"
)

// Decoded returns a store of the same objects that decodes each state once, and returns the same object to all readers,
// who must not change it: a reader that needs to change one copies it first. So a read costs as little as that of an
// informer, and an object needs as much memory, in addition to the packed one; for a pod, about seven times as much. Use
// it in programs that continuously read most objects, such as a scheduler.
//
// The objects are decoded in the goroutine of the watch, those that the store already has before Decoded returns. All
// decoded stores of type K share them, as long as the reflector exists.
//
// When an object that a reader has changed gets its next state, which replaces it, OnError of the watch receives an
// error that names the changed fields. Up to 100 objects are compared each second, and none in a module of package wasm.
// Functions of [IndexBy] receive objects of their own.
func (s *Store[K]) Decoded() *Store[K] {
	if s.decoded != nil {
		return s
	}
	d := &s.reflector.decoded
	d.mu.Lock() // until the objects are decoded
	defer d.mu.Unlock()
	if d.byType == nil {
		d.byType = make(map[reflect.Type]any)
	}
	x, ok := d.byType[reflect.TypeFor[K]()].(*decodedIndex[K])
	if !ok {
		x = &decodedIndex[K]{store: s}
		x.reset()
		s.table().addIndex(x, s.form)
		d.byType[reflect.TypeFor[K]()] = x
	}
	shared := *s
	shared.decoded = x
	return &shared
}

// decodedObjects are the decoded objects of a reflector, as a [decodedIndex] for each type.
type decodedObjects struct {
	mu     sync.Mutex
	byType map[reflect.Type]any
}

// decodedIndex holds the objects of a table as objects of type K, apart from those that can't be decoded.
type decodedIndex[K any] struct {
	store   *Store[K]
	objects map[*entry]decoded[K]
	next    decoded[K]
	bytes   int64 // of all packed objects

	compared int // objects since a time, because their number is limited
	since    time.Time
}

// decoded is a decoded object.
type decoded[K any] struct {
	shared *K
	bytes  int // of the packed object
}

// decodedFactor is the memory of a decoded object, divided by that of the packed object before it is compressed. For the
// pods of package bench, it was 4.1.
const decodedFactor = 4

func (x *decodedIndex[K]) size() int64 { return decodedFactor * x.bytes }

// get returns an object that stores of a form can read, or nil.
func (x *decodedIndex[K]) get(ref core.ObjectRef, form uint64) *K {
	t := x.store.table()
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.form < form {
		return nil
	}
	return x.objects[t.objects[ref.Namespace][ref.Name]].shared
}

func (x *decodedIndex[K]) prepare(e *entry, old, object wire.Packed) {
	r := x.store.reflector
	if shared := x.objects[e].shared; shared != nil && x.compares() {
		r.try(decodedStore, old, func() error { return x.compare(shared, old) })
	}
	x.next = decoded[K]{bytes: object.Len()}
	r.try(decodedStore, object, func() (err error) {
		x.next.shared, err = x.store.decode(StateOf(object))
		return err
	})
}

// decodedStore is the index in errors.
const decodedStore = "decoded store"

// compares reports whether the next object is compared.
func (x *decodedIndex[K]) compares() bool {
	if x.store.table().compression.past != nil {
		return false // the table has only the metadata of old states
	}
	const most = 100
	if now := time.Now(); now.Sub(x.since) >= time.Second {
		x.since, x.compared = now, 0
	}
	x.compared++
	return x.compared <= most
}

// compare returns an error if a reader has changed an object.
func (x *decodedIndex[K]) compare(shared *K, object wire.Packed) error {
	own, err := x.store.decode(StateOf(object))
	if err != nil {
		return err
	}
	changes, err := patch.DiffJSON(own, shared, nil)
	if err != nil || len(changes) == 0 {
		return err
	}
	var fields []string
	for _, op := range changes[:min(len(changes), 10)] {
		fields = append(fields, op.Path)
	}
	return decodeError(x.store.Resource(), StateOf(object), fmt.Errorf("a reader has changed %s, but all readers share the "+
		"object: change a copy", strings.Join(fields, ", ")))
}

func (x *decodedIndex[K]) update(e *entry, _ wire.Packed, gone bool) {
	x.bytes -= int64(x.objects[e].bytes)
	delete(x.objects, e)
	if !gone && x.next.shared != nil {
		x.objects[e] = x.next
		x.bytes += int64(x.next.bytes)
	}
	x.next = decoded[K]{}
}

func (x *decodedIndex[K]) reset() { x.objects, x.bytes = make(map[*entry]decoded[K]), 0 }
