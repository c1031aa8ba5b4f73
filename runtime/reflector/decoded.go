// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/kube-go/sdk/core/patch"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
)

// Decoded returns a store of the same objects that decodes each state once, and returns the same object to all readers,
// who must not change it: a reader that needs to change one copies it first. So a read costs little more than that of
// an informer. An object needs as much memory as in an informer, in addition to the packed one: for a pod, about seven
// times that of the packed one. Use it in programs that continuously read most objects, such as a scheduler.
//
// The objects are decoded in the goroutine of the watch, those that the store already has before Decoded returns. All
// decoded stores of type K share them, as long as the reflector exists. An object that can't be decoded is an error of
// each read, as in other stores. OnError of the watch receives it, too, as for an index; see [IndexBy].
//
// When an object that a reader has changed gets its next state, which replaces it, OnError of the watch receives an
// error that names changed fields. Objects are compared in JSON, up to 100 and about 256 KiB of them each second, and
// none in a module of package wasm. Functions of [IndexBy] receive copies.
func Decoded[K any](s *Store[K]) *Store[K] {
	if s.decoded != nil {
		return s
	}
	shared := *s
	shared.decoded = indexDecoded(s).of // and not the index, whose methods the linker would keep in all programs
	s.reflector.reportIndexes()
	return &shared
}

// indexDecoded returns the index that all decoded stores of type K share.
func indexDecoded[K any](s *Store[K]) *decodedIndex[K] {
	d, key := &s.reflector.decoded, reflect.TypeFor[K]()
	if x, ok := d.byType.Load(key); ok { // without the lock, since a function of Follow may wait for this one
		return x.(*decodedIndex[K])
	}
	d.creating.Lock()
	defer d.creating.Unlock()
	if x, ok := d.byType.Load(key); ok {
		return x.(*decodedIndex[K])
	}
	x := &decodedIndex[K]{store: s}
	x.reset()
	s.table().addIndex(x, s.form)
	d.byType.Store(key, x)
	return x
}

// decodedObjects are the decoded objects of a reflector.
type decodedObjects struct {
	creating sync.Mutex // held while an index is created and filled
	byType   sync.Map   // a *decodedIndex for each reflect.Type
}

// decodedIndex holds the objects of a table as objects of type K, apart from those that can't be decoded.
type decodedIndex[K any] struct {
	store   *Store[K]
	objects map[*entry]decoded[K]
	next    decoded[K]
	bytes   int64 // of all packed objects

	// The numbers of objects and bytes that were compared since a time, because they are limited.
	compared, comparedBytes int
	since                   time.Time
}

// decoded is a decoded object.
type decoded[K any] struct {
	shared *K
	bytes  int // of the packed object
}

// decodedFactor is the memory of a decoded object, divided by that of the packed object before it is compressed. For
// the pods of package bench, it was 4.1.
const decodedFactor = 4

func (x *decodedIndex[K]) size() int64 { return decodedFactor * x.bytes }

// of returns the decoded object of an entry, or nil. The caller holds the table's mu.
func (x *decodedIndex[K]) of(e *entry) *K {
	if x.store.table().form < x.store.form { // it may be filled without mu
		return nil
	}
	return x.objects[e].shared
}

func (x *decodedIndex[K]) prepare(e *entry, old, object wire.Packed) {
	r := x.store.reflector
	if shared := x.objects[e].shared; shared != nil && x.compares(old.Len()) {
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

// compares reports whether the next object, which has some bytes, is compared.
func (x *decodedIndex[K]) compares(size int) bool {
	if x.store.table().compression.past != nil {
		return false // the table has only the metadata of old states
	}
	const most, mostBytes = 100, 256 << 10
	if now := time.Now(); now.Sub(x.since) >= time.Second {
		x.since, x.compared, x.comparedBytes = now, 0, 0
	}
	x.compared++
	x.comparedBytes += size
	return x.compared == 1 || x.compared <= most && x.comparedBytes <= mostBytes
}

// compare returns an error if a reader has changed an object.
func (x *decodedIndex[K]) compare(shared *K, object wire.Packed) error {
	own, err := x.store.decode(StateOf(object))
	if err != nil {
		return err
	}
	want, err := wire.MarshalJSON(x.store.as(own))
	if err != nil {
		return nil //nolint:nilerr // objects of this type can't be compared
	}
	if got, err := wire.MarshalJSON(x.store.as(shared)); err == nil && bytes.Equal(want, got) {
		return nil
	}
	changed := "it"
	if changes, err := patch.DiffJSON(own, shared, nil); err == nil {
		changed = paths(changes)
	}
	return decodeError(x.store.Resource(), StateOf(object), fmt.Errorf("a reader has changed %s, but all readers share the "+
		"object: change a copy", changed))
}

// paths returns the first paths of a patch.
func paths(ops []request.Op) string {
	const most = 10
	var all []string
	for _, op := range ops {
		if len(all) == most {
			return strings.Join(all, ", ") + ", …"
		}
		all = append(all, op.Path)
	}
	return strings.Join(all, ", ")
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
