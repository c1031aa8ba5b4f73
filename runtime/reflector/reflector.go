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
	// Watch says which objects to watch, and how.
	Watch watcher.Options
}

// Reflector keeps a [Store] synced with a source. Create one with [New]. It is safe for concurrent use.
type Reflector[K any] struct {
	source watcher.Source
	watch  watcher.Options
	store  *Store[K]
	pack   func(wire.Packed) (wire.Packed, error) // returns the copy that the store keeps

	running sync.Mutex // held by Run
	listing bool       // a list has begun and is not complete; used by Run only
}

// New returns a reflector with an empty store, which [Reflector.Run] fills. K must be the kind of the source, or
// metav1.PartialObjectMetadata. With the latter, a client's feed requests metadata only, and the store keeps only
// metadata, whatever the source sends.
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

// Store returns the reflector's store.
func (r *Reflector[K]) Store() *Store[K] { return r.store }

// Health returns the error of the reflector's last request, or nil if data has arrived since. The reflector recovers
// automatically; until then the store keeps its objects.
func (r *Reflector[K]) Health() error {
	t := r.store.table
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.trouble
}

// Ready waits until the current run, or the next one, has synced the store with the server. Then no object in the store
// is older than the start of that run. If ctx ends first, the error includes the last error of the reflector.
func (r *Reflector[K]) Ready(ctx context.Context) error {
	t := r.store.table
	return r.store.awaitAll(ctx, func() bool { return t.current })
}

// errRunning reports a mistake of the caller.
var errRunning = errors.New("reflector: Run was called while it was running")

// Run keeps the store synced until ctx ends, and returns the cause. It returns another error if the request is invalid
// and can't be sent. The store then keeps its objects, and the next Run updates it: unchanged objects keep their
// entries, and subscribers receive the differences. Run must not be called while it is running.
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

// take applies an event to the table. An error concerns only its object, which keeps its old state.
func (r *Reflector[K]) take(ev watcher.Event) error {
	t := r.store.table
	version := ev.Head.ResourceVersion
	if r.listing && ev.Type != watcher.InitDone {
		version = "" // the versions of a list are not in order
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

// put stores the object of an event, unless the table already has it.
func (r *Reflector[K]) put(ev watcher.Event, version string) error {
	t := r.store.table
	old, ok, _ := t.get(ev.Head.Ref)
	if ok && unchanged(old, ev.Head) {
		t.keep(ev.Head.Ref, version)
		return nil
	}
	object, err := r.pack(ev.Object)
	if err != nil {
		return fmt.Errorf("skip %s %s: %w", r.source.Resource(), ev.Head.Ref, err)
	}
	t.put(ev.Head.Ref, object, version)
	return nil
}

// packMetadata returns a copy of an object's metadata, without managedFields.
func packMetadata(p wire.Packed) (wire.Packed, error) {
	meta, err := p.Metadata()
	if err != nil {
		return wire.Packed{}, err
	}
	return wire.Pack(&metav1.PartialObjectMetadata{ObjectMeta: *meta}, p.Encoding())
}

// unchanged reports whether a stored object has the UID and the version of a head.
func unchanged(old wire.Packed, now wire.Head) bool {
	head, err := old.Head()
	return err == nil && head.UID == now.UID && head.ResourceVersion == now.ResourceVersion && now.ResourceVersion != ""
}
