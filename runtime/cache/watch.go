// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/runtime/reflector"
	"github.com/kube-go/sdk/runtime/watcher"
)

// idle is the time after the last Run of a watch after which its objects are discarded. It is longer than the time for
// which a program usually stops a part of itself, such as for a new configuration.
const idle = time.Minute

// watch is a watch of one resource, and the objects that it has received. Views of several Go types read it.
type watch struct {
	cache     *Cache
	resource  core.Resource
	selection Selection
	labels    labels.Selector // parsed from the selection
	fields    fields.Selector // parsed from the selection
	invalid   error           // the error of an invalid resource or selection
	reflector *reflector.Reflector
	window    *watcher.Window // nil without Selection.Sharded

	mu      sync.Mutex // guards the fields below, and the number of users of the run
	views   map[reflect.Type]any
	windows ShardSources // where the shard of the window is from, or nil
	last    *run         // nil before the first
	discard *time.Timer
}

// run is one run of the reflector, which concurrent calls of View.Run share.
type run struct {
	users int
	stop  context.CancelFunc
	ended chan struct{} // closed when it has ended
	err   error         // why it ended; read it only after ended is closed
}

// errGoexit is the error of a run whose goroutine did not return.
var errGoexit = errors.New("cache: runtime.Goexit was called by the client's middleware or the logger's handler")

func newWatch(c *Cache, res core.Resource, s Selection, setup error) *watch {
	options := watcher.Options{
		LabelSelector: s.LabelSelector,
		FieldSelector: s.FieldSelector,
		Server:        &c.learned,
		OnError: func(err error) {
			c.logger.LogAttrs(context.Background(), slog.LevelWarn, "watch error",
				slog.String("resource", res.String()), slog.Any("err", err))
		},
	}
	failing := false // only used by OnStatus
	options.OnStatus = func(s watcher.Status) {
		if failing && s.Err == nil && s.Phase == watcher.Watching {
			c.logger.LogAttrs(context.Background(), slog.LevelInfo, "watch recovered", slog.String("resource", res.String()))
		}
		failing = s.Err != nil || failing && s.Phase != watcher.Watching
	}
	dir := c.dir
	if s.Sharded {
		dir, options.Window = "", new(watcher.Window) // the next process has other objects
	}
	w := &watch{
		cache:     c,
		window:    options.Window,
		resource:  res,
		selection: s,
		views:     make(map[reflect.Type]any),
	}
	w.labels, w.fields, w.invalid = s.parse()
	if c.setup != nil {
		setup = c.setup
	}
	switch {
	case setup != nil:
		w.invalid = errors.Join(setup, w.invalid)
	case w.invalid == nil && s.Namespace != "" && !res.Namespaced:
		w.invalid = &request.InvalidError{Field: "namespace", Detail: fmt.Sprintf(
			"%q was selected, but %s are cluster-scoped; leave Selection.Namespace empty", s.Namespace, res)}
	}
	w.reflector = reflector.New(c.source(res, s.Namespace), &reflector.Options{
		Watch: options, Invalid: w.invalid, Compression: c.codec, Namespace: s.Namespace,
		SnapshotDir: dir, SnapshotScope: fmt.Sprintf("%q", []string{c.server, c.cluster, s.Namespace}),
	})
	return w
}

// parse returns the selectors. It returns an error for selectors that every server would reject, since the watch would
// repeat such a request forever.
func (s Selection) parse() (labels.Selector, fields.Selector, error) {
	byLabels, err := labels.Parse(s.LabelSelector)
	if err != nil {
		return nil, nil, fmt.Errorf("label selector %q: %w", s.LabelSelector, err)
	}
	byFields, err := fields.ParseSelector(s.FieldSelector)
	if err != nil {
		return nil, nil, fmt.Errorf("field selector %q: %w", s.FieldSelector, err)
	}
	return byLabels, byFields, nil
}

// selects reports whether the selection selects an object, as far as this can be known without the server: it returns
// false if the selection depends on other fields than the name and the namespace.
func (w *watch) selects(obj core.Object) bool {
	for _, r := range w.fields.Requirements() {
		value := obj.GetName()
		switch r.Field {
		case "metadata.name":
		case "metadata.namespace":
			value = obj.GetNamespace()
		default:
			return false
		}
		if (value == r.Value) == (r.Operator == selection.NotEquals) { // the others are Equals and DoubleEquals
			return false
		}
	}
	return w.labels.Matches(labels.Set(obj.GetLabels()))
}

// run keeps the objects synced until ctx ends.
func (w *watch) run(ctx context.Context) error {
	r := w.join()
	defer w.leave(r)
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-r.ended:
		return r.err
	}
}

// join returns the current run, or creates one that starts when the previous one has ended.
func (w *watch) join() *run {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.last
	if before != nil && before.users > 0 {
		before.users++
		return before
	}
	if w.discard != nil {
		w.discard.Stop()
	}
	ctx, stop := context.WithCancel(context.Background())
	r := &run{users: 1, stop: stop, ended: make(chan struct{}), err: errGoexit}
	go func() { // owned by the callers of Run: the last one waits for it
		defer close(r.ended)
		if before != nil {
			<-before.ended
		}
		r.err = w.reflector.Run(ctx)
	}()
	w.last = r
	return r
}

// reportIdle logs that nothing runs the watch, if that is so.
func (w *watch) reportIdle() {
	w.mu.Lock()
	idle := w.last == nil || w.last.users == 0
	w.mu.Unlock()
	if idle {
		w.cache.logger.LogAttrs(context.Background(), slog.LevelWarn, "a view is waited for, but nothing runs it: pass it to "+
			"a controller, add it to a manager, or call its Run", slog.String("resource", w.resource.String()))
	}
}

// leave ends the run if it has no other users, and then waits for its end without blocking other callers.
func (w *watch) leave(r *run) {
	w.mu.Lock()
	r.users--
	last := r.users == 0
	w.mu.Unlock()
	if !last {
		return
	}
	r.stop()
	<-r.ended
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last == r {
		w.discardLater()
	}
}

// discardNow discards the objects unless the watch runs.
func (w *watch) discardNow() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last == nil || w.last.users > 0 {
		return
	}
	if !w.reflector.Reset() {
		w.discardLater()
	}
}

// discardLater discards the objects after the idle time, unless the watch runs again. The caller holds w.mu.
func (w *watch) discardLater() {
	if w.discard != nil {
		w.discard.Stop() // discardNow was called while the run ended
	}
	w.discard = time.AfterFunc(idle, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.last.users == 0 && !w.reflector.Reset() {
			w.discardLater() // something subscribes to the changes
		}
	})
}
