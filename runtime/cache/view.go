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
	"github.com/kube-go/sdk/runtime/reflector"
	"github.com/kube-go/sdk/runtime/watcher"
)

// View is one kind of object in a [Cache]. Make one with [Of].
type View[K any] struct {
	server    string
	resource  core.Resource
	selection Selection
	labels    labels.Selector // parsed from the selection
	reflector *reflector.Reflector[K]
	setup     error // why it can't run

	mu    sync.Mutex // guards what follows, and the number of users of the watch
	watch *watch     // the last one; nil before the first
}

// watch is one run of the reflector, which calls of Run share.
type watch struct {
	users int
	stop  context.CancelFunc
	ended chan struct{} // closed when it has ended
	err   error         // why it ended; to be read once ended is closed
}

func newView[K any, P core.ObjectPtr[K]](c *Cache, res core.Resource, s Selection, setup error) *View[K] {
	config := watcher.Config{
		LabelSelector: s.LabelSelector,
		FieldSelector: s.FieldSelector,
		OnError: func(err error) {
			c.logger.LogAttrs(context.Background(), slog.LevelWarn, "watch", slog.Any("err", err))
		},
	}
	feed := client.Of[K, P](c.client, res, s.Namespace).Feed()
	v := &View[K]{
		server:    c.client.Server(),
		resource:  res,
		selection: s,
		reflector: reflector.New[K, P](feed, &reflector.Options{Watch: config}),
	}
	v.labels, v.setup = s.parse()
	v.setup = errors.Join(setup, v.setup)
	return v
}

// parse returns the label selector, or what no server would take. The server would only be asked again and again.
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

// Server returns the URL of the server whose objects these are.
func (v *View[K]) Server() string { return v.server }

// Resource returns what the kind is called on the wire.
func (v *View[K]) Resource() core.Resource { return v.resource }

// Store returns the objects. It is filled while the view runs.
func (v *View[K]) Store() *reflector.Store[K] { return v.reflector.Store() }

// Ready waits until the watch that runs, or else the next, has brought the store in step with the server, see
// [reflector.Reflector.Ready].
func (v *View[K]) Ready(ctx context.Context) error { return v.reflector.Ready(ctx) }

// Subscribe tells what is there, then each change, see [reflector.Store.Subscribe].
func (v *View[K]) Subscribe(ctx context.Context) iter.Seq2[reflector.Change, error] {
	return v.Store().Subscribe(ctx)
}

// WaitFor waits until the store has seen obj, such as the answer to a write, or a newer state of it; what is read
// afterwards is at least as new. It returns at once when obj does not concern the view, because the selection leaves it
// out, now and before. A field selector leaves out what the store does not hold already: only the server knows better.
// See [reflector.Store.WaitFor].
func (v *View[K]) WaitFor(ctx context.Context, obj core.Object) error {
	if v.setup != nil {
		return v.setup
	}
	if !v.concerns(obj) {
		return nil
	}
	return v.Store().WaitFor(ctx, obj.GetResourceVersion())
}

// concerns reports whether the server tells the view that an object has become what it is.
func (v *View[K]) concerns(obj core.Object) bool {
	switch {
	case v.selection.Namespace != "" && v.selection.Namespace != obj.GetNamespace():
		return false
	case v.Store().Has(core.RefOf(obj)): // if it is not selected any more, it comes as deleted
		return true
	}
	return v.selection.FieldSelector == "" && v.labels.Matches(labels.Set(obj.GetLabels()))
}

// Health returns the trouble that the watch is in, nil when there is none, see [reflector.Reflector.Health].
func (v *View[K]) Health() error {
	if v.setup != nil {
		return v.setup
	}
	return v.reflector.Health()
}

// Run keeps the store in step with the server until ctx ends, and returns the cause, or returns an error because the
// view can't work at all. It may be called many times: all share one watch, which ends with the last of them. The watch
// is the program's, not the first caller's: its requests carry none of the values of any ctx.
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

// join returns the watch that is under way, or else begins one, which starts when the one before has ended.
func (v *View[K]) join() *watch {
	v.mu.Lock()
	defer v.mu.Unlock()
	before := v.watch
	if before != nil && before.users > 0 {
		before.users++
		return before
	}
	ctx, stop := context.WithCancel(context.Background())
	w := &watch{users: 1, stop: stop, ended: make(chan struct{})}
	go func() { // owned by the users: the last to leave waits for it
		defer close(w.ended)
		if before != nil {
			<-before.ended
		}
		w.err = v.reflector.Run(ctx)
	}()
	v.watch = w
	return w
}

// leave ends the watch when nobody is left, and then waits for its end, which holds up nobody else.
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
