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

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
)

// write is an object that a run has written, and the source that will observe it.
type write struct {
	feed feed
	obj  *metav1.PartialObjectMetadata
}

// writes collects the objects that a worker's runs have written, if their kind is a source of the controller.
type writes struct {
	sources []source

	mu   sync.Mutex // guards list: a reconcile may write from many goroutines
	list []write
}

// observe is called for each object that was written. It records the write if a source will observe it.
func (w *writes) observe(done client.Write) {
	for _, s := range w.sources {
		if !isOf(done, s.feed) {
			continue
		}
		kept := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Namespace:       done.Object.GetNamespace(),
			Name:            done.Object.GetName(),
			Labels:          maps.Clone(done.Object.GetLabels()),
			ResourceVersion: done.Object.GetResourceVersion(),
		}}
		w.mu.Lock()
		w.list = append(w.list, write{s.feed, kept})
		w.mu.Unlock()
	}
}

// isOf reports whether a write is of a kind. The API version may differ: resource versions are the same in all of them.
func isOf(w client.Write, of identity) bool {
	res := of.Resource()
	return w.Server == of.Server() && w.Resource.Group == res.Group && w.Resource.Plural == res.Plural
}

// unseen ends a run. It returns the run's writes that their source has not observed yet. A source that has never been
// synced has no objects to read, so it can't be stale.
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

// awaitSeen waits until the sources have observed some writes, for at most [Options.HoldTimeout].
func (c *Controller[K]) awaitSeen(take context.Context, list []write) {
	ctx, cancel := context.WithTimeout(take, c.opts.HoldTimeout)
	defer cancel()
	for _, w := range list {
		err := w.feed.WaitFor(ctx, w.obj)
		switch {
		case take.Err() != nil:
			return
		case ctx.Err() != nil && err != nil:
			c.holds.overdue.Add(1)
			c.opts.Logger.LogAttrs(take, slog.LevelWarn, "a cache has not observed a write yet",
				describe(w.feed.Resource(), core.RefOf(w.obj), err)...)
			return
		}
		// Other errors mean that the version is invalid, so that there is nothing to wait for.
	}
}
