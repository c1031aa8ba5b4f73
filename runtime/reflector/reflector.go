// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"errors"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/internal/kinds"
	"github.com/kube-go/sdk/runtime/watcher"
)

// Options are the options of [New]. The zero value of a field is its default.
type Options struct {
	// Watch says what is watched, and how.
	Watch watcher.Config
}

// Reflector keeps a [Store] in step with a source. Make one with [New]. It is safe for concurrent use.
type Reflector[K any] struct {
	source watcher.Source
	watch  watcher.Config
	store  *Store[K]
	pack   func(wire.Packed) (wire.Packed, error) // returns the lasting copy that the store keeps

	running sync.Mutex // held by Run
	listing bool       // a list has begun and not come to its end; for Run alone
}

// New returns a reflector whose store is empty until [Reflector.Run] fills it. K must be the kind of the source, or
// metav1.PartialObjectMetadata: a client's feed then asks the server for metadata only, and the store keeps nothing else,
// whatever the source sends.
func New[K any, P core.ObjectPtr[K]](src watcher.Source, o *Options) *Reflector[K] {
	if o == nil {
		o = &Options{}
	}
	pack := wire.Packed.Compact
	if kinds.IsMetadata[K]() {
		src, pack = kinds.Source[K](src), packMetadata
	}
	return &Reflector[K]{
		source: src,
		watch:  o.Watch,
		pack:   pack,
		store: &Store[K]{
			resource: src.Resource(),
			table:    newTable(),
			as:       func(obj *K) core.Object { return P(obj) },
		},
	}
}

// Store returns the store, always the same.
func (r *Reflector[K]) Store() *Store[K] { return r.store }

// Health returns the trouble that the reflector is in: why its last request failed, nil when something has come since.
// It gets over it by itself; meanwhile the store has what it had.
func (r *Reflector[K]) Health() error {
	t := r.store.table
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.trouble
}

// Ready waits until the present run, or else the next, has brought the store in step with the server: what the store
// holds is then no older than that run. The error says what the trouble was.
func (r *Reflector[K]) Ready(ctx context.Context) error {
	t := r.store.table
	return r.store.awaitAll(ctx, func() bool { return t.current })
}

// errRunning is a mistake of the caller.
var errRunning = errors.New("reflector: Run was called while it was running")

// Run keeps the store in step until ctx ends, and returns the cause, or returns an error because the request can't be
// sent at all. The store then stays as it is, and the next Run brings it up to date: what has not changed is kept, the
// rest becomes changes. It must not be called while it runs.
func (r *Reflector[K]) Run(ctx context.Context) error {
	if !r.running.TryLock() {
		return errRunning
	}
	defer r.running.Unlock()
	t := r.store.table
	t.setFailed(nil)
	defer t.endRun()
	config := r.watch
	config.OnError = func(err error) {
		t.setTrouble(err)
		if r.watch.OnError != nil {
			r.watch.OnError(err)
		}
	}
	var end error
	for ev, err := range watcher.Events(ctx, r.source, &config) {
		if end = err; err != nil {
			break
		}
		if err := r.take(ev); err != nil {
			config.OnError(err)
		}
	}
	if ctx.Err() == nil {
		t.setTrouble(end)
		t.setFailed(end)
	}
	return end
}

// take brings an event into the table. An error is about its object, which then stays as it was.
func (r *Reflector[K]) take(ev watcher.Event) error {
	t := r.store.table
	version := ev.Head.ResourceVersion
	if r.listing && ev.Type != watcher.InitDone {
		version = "" // versions come in no order until all are there
	}
	switch ev.Type {
	case watcher.Init:
		r.listing = true
		t.beginList()
	case watcher.InitApply, watcher.Apply:
		return r.put(ev, version)
	case watcher.InitDone:
		r.listing = false
		t.endList(version)
	case watcher.Delete:
		t.drop(ev.Head.Ref, version)
	case watcher.Bookmark:
		t.see(version)
	}
	return nil
}

// put stores the object of an event, unless the table has it already.
func (r *Reflector[K]) put(ev watcher.Event, version string) error {
	t := r.store.table
	old, ok, _ := t.get(ev.Head.Ref)
	if ok && unchanged(old, ev.Head) {
		t.keep(ev.Head.Ref, version)
		return nil
	}
	object, err := r.pack(ev.Object)
	if err != nil {
		return fmt.Errorf("%s %s is passed over: %w", r.source.Resource(), ev.Head.Ref, err)
	}
	t.put(ev.Head.Ref, object, version)
	return nil
}

// packMetadata returns a copy of the metadata of an object that owns its bytes, without managedFields.
func packMetadata(p wire.Packed) (wire.Packed, error) {
	meta, err := p.Metadata()
	if err != nil {
		return wire.Packed{}, err
	}
	return wire.Pack(&metav1.PartialObjectMetadata{ObjectMeta: *meta}, p.Encoding())
}

// unchanged reports whether a stored object is the one, at the version, that a head describes.
func unchanged(old wire.Packed, now wire.Head) bool {
	head, err := old.Head()
	return err == nil && head.UID == now.UID && head.ResourceVersion == now.ResourceVersion && now.ResourceVersion != ""
}
