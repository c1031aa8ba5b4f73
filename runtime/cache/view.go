// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/reflector"
	"github.com/kube-go/sdk/runtime/watcher"
)

// View reads the objects of one kind in a [Cache] as objects of type K. Create one with [Of].
type View[K any] struct {
	watch *watch
	store *reflector.Store[K]
	on    func(*Cache) *View[K]

	decode  sync.Once
	decoded *View[K] // set by decode
}

// Cache returns the cache of the objects.
func (v *View[K]) Cache() *Cache { return v.watch.cache }

// Server returns the URL of the objects' server.
func (v *View[K]) Server() string { return v.watch.cache.server }

// Cluster returns the name of the objects' cluster, see [Options.Cluster].
func (v *View[K]) Cluster() string { return v.watch.cache.cluster }

// On returns the view of the same kind and selection in another cache, such as that of another cluster.
func (v *View[K]) On(c *Cache) *View[K] { return v.on(c) }

// Resource returns the resource of the kind.
func (v *View[K]) Resource() core.Resource { return v.watch.resource }

// Selection returns the selection of the objects, with its selectors in a fixed order.
func (v *View[K]) Selection() Selection { return v.watch.selection }

// Store returns the store with the objects. It is filled while the view runs.
func (v *View[K]) Store() *reflector.Store[K] { return v.store }

// Decoded returns the same view with a store that decodes each state of an object once, and returns the same object to
// all readers, who must not change it; see [reflector.Decoded]. The reconciles of a controller get copies. If v is nil,
// it returns nil, which is an error of a controller.
func Decoded[K any](v *View[K]) *View[K] {
	if v == nil {
		return nil
	}
	v.decode.Do(func() {
		d := &View[K]{watch: v.watch, store: reflector.Decoded(v.store)}
		d.on = func(c *Cache) *View[K] { return Decoded(v.on(c)) }
		d.decode.Do(func() { d.decoded = d })
		v.decoded = d
	})
	return v.decoded
}

// idleTime is how long Ready waits before it logs that nothing runs the view.
const idleTime = 10 * time.Second

// Ready waits until the current watch, or the next one, has synced the store; see [reflector.Store.Ready]. If the view
// is invalid, Ready immediately returns the same error as Run. If nothing runs the view after 10 s, this is logged.
func (v *View[K]) Ready(ctx context.Context) error {
	timer := time.AfterFunc(idleTime, v.watch.reportIdle)
	defer timer.Stop()
	return v.store.Ready(ctx)
}

// Subscribe yields the existing objects, then each change; see [reflector.Store.Subscribe]. If the view is invalid,
// Subscribe yields the same error as Run.
func (v *View[K]) Subscribe(ctx context.Context) iter.Seq2[reflector.Change, error] {
	return v.store.Subscribe(ctx)
}

// Follow calls f with the existing objects, then each change; see [reflector.Store.Follow]. If the view is invalid,
// Follow returns the same error as Run.
func (v *View[K]) Follow(ctx context.Context, f func(reflector.Change)) error {
	return v.store.Follow(ctx, f)
}

// WaitFor waits until the store has observed obj, such as the response to a write, or a newer state of it. Later reads
// are at least as new. It returns immediately if obj does not concern the view, see [View.Concerns]: if the selection
// excludes it and the store does not hold the object. If the field selector has other fields than metadata.name and
// metadata.namespace, which only the server can evaluate, it returns immediately whenever the store does not hold the
// object. See [reflector.Store.WaitForVersion].
func (v *View[K]) WaitFor(ctx context.Context, obj core.Object) error {
	switch {
	case v.watch.invalid != nil:
		return v.watch.invalid
	case !v.Concerns(obj):
		return nil
	}
	return v.store.WaitForVersion(ctx, obj.GetResourceVersion())
}

// State returns the current state of an object of the store, without decoding it; see [reflector.Store.State].
func (v *View[K]) State(ref core.ObjectRef) reflector.State { return v.store.State(ref) }

// Observe notifies o of the progress of the store until stop is called; see [reflector.Store.Observe].
func (v *View[K]) Observe(o reflector.Observer) (stop func()) { return v.store.Observe(o) }

// Concerns reports whether the server sends the state of an object to the view, as far as the view knows: if the
// selection selects the object, or the store holds it. If the field selector has other fields than metadata.name and
// metadata.namespace, which only the server can evaluate, Concerns reports whether the store holds the object.
func (v *View[K]) Concerns(obj core.Object) bool {
	switch {
	case v.watch.invalid != nil:
		return false
	case v.watch.selection.Namespace != "" && v.watch.selection.Namespace != obj.GetNamespace():
		return false
	case v.store.Has(core.RefOf(obj)): // the server reports its deletion if the selection excludes it now
		return true
	case v.watch.window != nil && !v.watch.window.Has(obj.GetUID(), obj.GetNamespace()):
		return false
	}
	return v.watch.selects(obj)
}

// Status returns the state of the watch, such as its version and when data has last arrived.
func (v *View[K]) Status() watcher.Status { return v.watch.reflector.Status() }

// Health returns the error of the last request of the watch while it runs, or nil once the server has accepted a later
// one; see [reflector.Reflector.Health].
func (v *View[K]) Health() error { return v.watch.reflector.Health() }

// Run keeps the store synced with the server until ctx ends, and returns the cause. It returns another error if the
// view is invalid. It may be called many times: all calls of all views of the same objects share one watch, which ends
// with the last call. A minute later, the objects are discarded. The watch does not belong to the first caller: its
// requests have no values of any ctx.
func (v *View[K]) Run(ctx context.Context) error { return v.watch.run(ctx) }
