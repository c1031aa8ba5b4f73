// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/queue"
)

// write is an object that a run has written, and the source that is to see it.
type write struct {
	feed feed
	obj  *metav1.PartialObjectMetadata
}

// writes collects what a worker's runs have written, of the kinds of the controller's sources.
type writes struct {
	sources []source

	mu   sync.Mutex // guards list: a reconcile may write from many goroutines
	list []write
}

// observe is told of each object that was written. It keeps what tells whether a source is going to see it.
func (w *writes) observe(res core.Resource, obj core.Object) {
	for _, s := range w.sources {
		// The version of the API may differ; versions of objects are the same in all of them.
		if to := s.feed.Resource(); to.Group != res.Group || to.Plural != res.Plural {
			continue
		}
		kept := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Namespace:       obj.GetNamespace(),
			Name:            obj.GetName(),
			Labels:          maps.Clone(obj.GetLabels()),
			ResourceVersion: obj.GetResourceVersion(),
		}}
		w.mu.Lock()
		w.list = append(w.list, write{s.feed, kept})
		w.mu.Unlock()
	}
}

// unseen ends a run. It returns what the run has written and its source has not seen yet. A source that was never in
// step has nothing to be read from it, so nothing that could be old.
func (w *writes) unseen() []write {
	w.mu.Lock()
	list := w.list
	w.list = nil
	w.mu.Unlock()
	if len(list) == 0 {
		return nil
	}
	look := ended()
	var unseen []write
	for _, x := range list {
		if x.feed.Ready(look) == nil && x.feed.WaitFor(look, x.obj) != nil {
			unseen = append(unseen, x)
		}
	}
	return unseen
}

// holds counts the keys that are held back.
type holds struct {
	held    atomic.Int64
	overdue atomic.Uint64
}

// hold calls Done for a key once the sources have seen the writes of its last run, or after [Options.HoldTimeout]. Until
// then it runs in a goroutine of wg. There is at most one for each key.
func (c *Controller[K]) hold(take context.Context, wg *sync.WaitGroup, q *queue.Queue[core.ObjectRef], key core.ObjectRef, list []write) {
	c.holds.held.Add(1)
	wg.Go(func() {
		defer q.Done(key)
		defer c.holds.held.Add(-1)
		ctx, cancel := context.WithTimeout(take, c.opts.HoldTimeout)
		defer cancel()
		for _, w := range list {
			err := w.feed.WaitFor(ctx, w.obj)
			switch {
			case take.Err() != nil:
				return
			case ctx.Err() != nil && err != nil:
				c.holds.overdue.Add(1)
				c.opts.Logger.LogAttrs(take, slog.LevelWarn, "a cache is late to see a write",
					describe(w.feed.Resource(), core.RefOf(w.obj), err)...)
				return
			}
			// Another error means that the version can't be waited for, because it is none.
		}
	})
}
