// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"sync"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/reflector"
	"github.com/kube-go/sdk/runtime/watcher"
)

// View holds the objects of one kind in a [Cache]. Create one with [Of].
type View[K any] struct {
	server    string
	resource  core.Resource
	selection Selection
	labels    labels.Selector // parsed from the selection
	reflector *reflector.Reflector[K]
	setup     error // the error of an invalid view

	mu    sync.Mutex // guards the fields below, and the number of users of the watch
	watch *watch     // the last one; nil before the first
}

// watch is one run of the reflector, which concurrent calls of Run share.
type watch struct {
	users int
	stop  context.CancelFunc
	ended chan struct{} // closed when it has ended
	err   error         // why it ended; read it only after ended is closed
}

// errGoexit is the error of a watch whose goroutine did not return.
var errGoexit = errors.New("cache: runtime.Goexit was called by the client's middleware or the logger's handler")

func newView[K any, P core.ObjectPtr[K]](c *Cache, res core.Resource, s Selection, setup error) *View[K] {
	config := watcher.Options{
		LabelSelector: s.LabelSelector,
		FieldSelector: s.FieldSelector,
		OnError: func(err error) {
			c.logger.LogAttrs(context.Background(), slog.LevelWarn, "watch", slog.Any("err", err))
		},
	}
	api := client.Of[K, P](c.client, res)
	if s.Namespace != "" {
		api = api.In(s.Namespace)
	}
	v := &View[K]{
		server:    c.client.Server(),
		resource:  res,
		selection: s,
		reflector: reflector.New[K, P](api.Feed(), &reflector.Options{Watch: config}),
	}
	v.labels, v.setup = s.parse()
	switch {
	case setup != nil:
		v.setup = errors.Join(setup, v.setup)
	case v.setup == nil && s.Namespace != "" && !res.Namespaced:
		v.setup = &request.InvalidError{Field: "namespace", Detail: fmt.Sprintf(
			"%q was selected, but %s are cluster-scoped; leave Selection.Namespace empty", s.Namespace, res)}
	}
	return v
}

// parse returns the label selector. It returns an error for selectors that every server would reject, since the watch
// would repeat such a request forever.
func (s Selection) parse() (labels.Selector, error) {
	selector, err := labels.Parse(s.LabelSelector)
	if err != nil {
		return nil, fmt.Errorf("label selector %q: %w", s.LabelSelector, err)
	}
	if _, err := fields.ParseSelector(s.FieldSelector); err != nil {
		return nil, fmt.Errorf("field selector %q: %w", s.FieldSelector, err)
	}
	return selector, nil
}

// Server returns the URL of the objects' server.
func (v *View[K]) Server() string { return v.server }

// Resource returns the resource of the kind.
func (v *View[K]) Resource() core.Resource { return v.resource }

// Store returns the store with the objects. It is filled while the view runs.
func (v *View[K]) Store() *reflector.Store[K] { return v.reflector.Store() }

// Ready waits until the current watch, or the next one, has synced the store; see [reflector.Reflector.Ready]. If the
// view is invalid, Ready immediately returns the same error as Run.
func (v *View[K]) Ready(ctx context.Context) error {
	if v.setup != nil {
		return v.setup
	}
	return v.reflector.Ready(ctx)
}

// Subscribe yields the existing objects, then each change; see [reflector.Store.Subscribe]. If the view is invalid,
// Subscribe yields the same error as Run.
func (v *View[K]) Subscribe(ctx context.Context) iter.Seq2[reflector.Change, error] {
	if v.setup != nil {
		return func(yield func(reflector.Change, error) bool) { yield(reflector.Change{}, v.setup) }
	}
	return v.Store().Subscribe(ctx)
}

// WaitFor waits until the store has observed obj, such as the response to a write, or a newer state of it. Later reads
// are at least as new. It returns immediately if obj does not concern the view because the selection excludes it, and
// did so before. With a field selector, it also returns immediately if the store does not hold the object: only the
// server can evaluate field selectors. See [reflector.Store.WaitFor].
func (v *View[K]) WaitFor(ctx context.Context, obj core.Object) error {
	if v.setup != nil {
		return v.setup
	}
	if !v.Concerns(obj) {
		return nil
	}
	return v.Store().WaitFor(ctx, obj.GetResourceVersion())
}

// Packed returns an object of the store in its packed form, and reports whether the store holds it; see
// [reflector.Store.Packed].
func (v *View[K]) Packed(ref core.ObjectRef) (wire.Packed, bool) { return v.Store().Packed(ref) }

// Observe notifies o of the progress of the store until stop is called; see [reflector.Store.Observe].
func (v *View[K]) Observe(o reflector.Observer) (stop func()) { return v.Store().Observe(o) }

// Concerns reports whether the server sends the state of an object to the view. With a field selector, it does so only
// if the store holds the object, since only the server can evaluate field selectors.
func (v *View[K]) Concerns(obj core.Object) bool {
	switch {
	case v.selection.Namespace != "" && v.selection.Namespace != obj.GetNamespace():
		return false
	case v.Store().Has(core.RefOf(obj)): // if it is no longer selected, the server sends it as deleted
		return true
	}
	return v.selection.FieldSelector == "" && v.labels.Matches(labels.Set(obj.GetLabels()))
}

// Health returns the error of the watch's last request, or nil if data has arrived since; see
// [reflector.Reflector.Health].
func (v *View[K]) Health() error {
	if v.setup != nil {
		return v.setup
	}
	return v.reflector.Health()
}

// Run keeps the store synced with the server until ctx ends, and returns the cause. It returns another error if the
// view is invalid. It may be called many times: all calls share one watch, which ends with the last call. The watch
// does not belong to the first caller: its requests have no values of any ctx.
func (v *View[K]) Run(ctx context.Context) error {
	if v.setup != nil {
		return v.setup
	}
	w := v.join()
	defer v.leave(w)
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-w.ended:
		return w.err
	}
}

// join returns the current watch, or creates one that starts when the previous one has ended.
func (v *View[K]) join() *watch {
	v.mu.Lock()
	defer v.mu.Unlock()
	before := v.watch
	if before != nil && before.users > 0 {
		before.users++
		return before
	}
	ctx, stop := context.WithCancel(context.Background())
	w := &watch{users: 1, stop: stop, ended: make(chan struct{}), err: errGoexit}
	go func() { // owned by the callers of Run: the last one waits for it
		defer close(w.ended)
		if before != nil {
			<-before.ended
		}
		w.err = v.reflector.Run(ctx)
	}()
	v.watch = w
	return w
}

// leave ends the watch if it has no other users, and then waits for its end without blocking other callers.
func (v *View[K]) leave(w *watch) {
	v.mu.Lock()
	w.users--
	last := w.users == 0
	v.mu.Unlock()
	if last {
		w.stop()
		<-w.ended
	}
}
