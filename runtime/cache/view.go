// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"iter"
	"log/slog"
	"sync"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/reflector"
	"github.com/kube-go/sdk/runtime/watcher"
)

// View is one kind of object in a [Cache]. Make one with [Of].
type View[K any] struct {
	resource  core.Resource
	reflector *reflector.Reflector[K]
	setup     error // why it can't run

	mu    sync.Mutex // guards what follows
	users int        // how many calls of Run share the watch
	watch *watch     // nil while there are none
}

// watch is one run of the reflector.
type watch struct {
	stop  context.CancelFunc
	ended chan struct{} // closed when it has ended
	err   error         // why it ended; to be read once ended is closed
}

func newView[K any, P core.ObjectPtr[K]](c *Cache, res core.Resource, s Selection) *View[K] {
	config := watcher.Config{
		LabelSelector: s.LabelSelector,
		FieldSelector: s.FieldSelector,
		OnError: func(err error) {
			c.logger.LogAttrs(context.Background(), slog.LevelWarn, "watch", slog.Any("err", err))
		},
	}
	feed := client.Of[K, P](c.client, res, s.Namespace).Feed()
	return &View[K]{resource: res, reflector: reflector.New[K, P](feed, &reflector.Options{Watch: config})}
}

// Resource returns what the kind is called on the wire.
func (v *View[K]) Resource() core.Resource { return v.resource }

// Store returns the objects. It is filled while the view runs.
func (v *View[K]) Store() *reflector.Store[K] { return v.reflector.Store() }

// Ready waits until the store has been in step with the server once, see [reflector.Store.Ready].
func (v *View[K]) Ready(ctx context.Context) error { return v.Store().Ready(ctx) }

// Subscribe tells what is there, then each change, see [reflector.Store.Subscribe].
func (v *View[K]) Subscribe(ctx context.Context) iter.Seq2[reflector.Change, error] {
	return v.Store().Subscribe(ctx)
}

// Health returns the trouble that the watch is in, nil when there is none, see [reflector.Reflector.Health].
func (v *View[K]) Health() error {
	if v.setup != nil {
		return v.setup
	}
	return v.reflector.Health()
}

// Run keeps the store in step with the server until ctx ends, and returns the cause, or returns an error because the
// view can't work at all. It may be called many times: all share one watch, which ends with the last of them.
func (v *View[K]) Run(ctx context.Context) error {
	if v.setup != nil {
		return v.setup
	}
	w := v.join(ctx)
	defer v.leave(w)
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-w.ended:
		return w.err
	}
}

// join returns the watch, which the first to join starts. It lives on when the first leaves before others.
func (v *View[K]) join(ctx context.Context) *watch {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.users++
	if v.watch == nil {
		ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
		w := &watch{stop: stop, ended: make(chan struct{})}
		go func() { // owned by the users: the last to leave waits for it
			defer close(w.ended)
			w.err = v.reflector.Run(ctx)
		}()
		v.watch = w
	}
	return v.watch
}

// leave ends the watch when nobody is left. A new one can't begin before the old one has ended.
func (v *View[K]) leave(w *watch) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.users--
	if v.users == 0 {
		w.stop()
		<-w.ended
		v.watch = nil
	}
}
