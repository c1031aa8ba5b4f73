// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/applier"
)

// writes collects the writes of a worker's runs that a source of the controller will observe.
type writes struct {
	sources []*source

	mu   sync.Mutex // guards list: a reconcile may write from many goroutines
	list []applier.Write
}

// observe is called for each object that was written or deleted. It records the write if a source will observe it. A
// source that has never been synced has no objects to read, so it can't be stale.
func (w *writes) observe(done client.Write) {
	for i, s := range w.sources {
		if !isOf(done, s.feed) || !s.ready() {
			continue
		}
		x := applier.Write{Source: i, Ref: core.RefOf(done.Object)}
		if done.Deleted {
			x.UID = done.Object.GetUID()
		} else {
			version, err := strconv.ParseUint(done.Object.GetResourceVersion(), 10, 64)
			if err != nil || !s.feed.Concerns(done.Object) {
				continue
			}
			x.Version = version
		}
		w.mu.Lock()
		w.list = append(w.list, x)
		w.mu.Unlock()
	}
}

// isOf reports whether a write is of a kind. The API version may differ: resource versions are the same in all of them.
func isOf(w client.Write, of identity) bool {
	res := of.Resource()
	return w.Server == of.Server() && w.Resource.Group == res.Group && w.Resource.Plural == res.Plural
}

// record ends a run: it reports the run's writes that the sources have not observed to the applier.
func (w *writes) record(key core.ObjectRef, a *applier.Applier[core.ObjectRef]) {
	w.mu.Lock()
	list := w.list
	w.list = nil
	w.mu.Unlock()
	for _, x := range list {
		s := w.sources[x.Source]
		if s.observed(x) {
			continue
		}
		a.Wrote(key, x)
		if s.observed(x) { // in between
			s.tell(a, x)
		}
	}
}

// observed reports whether the source has observed a write.
func (s *source) observed(x applier.Write) bool {
	if x.UID == "" {
		return s.version.Load() >= x.Version
	}
	object, ok := s.feed.Packed(x.Ref)
	if !ok {
		return true
	}
	head, err := object.Head()
	return err == nil && head.UID != x.UID
}

// tell reports an observed write to the applier.
func (s *source) tell(a *applier.Applier[core.ObjectRef], x applier.Write) {
	if x.UID == "" {
		a.Seen(x.Source, s.version.Load())
	} else {
		a.Gone(x.Source, x.UID)
	}
}

// errOverdue is the reason in the log record of an overdue write.
var errOverdue = errors.New("the hold timeout has passed")

// reportOverdue logs the writes that a source has not observed in time.
func (c *Controller[K]) reportOverdue(o applier.Overdue[core.ObjectRef]) {
	for _, x := range o.Writes {
		attrs := describe(c.sources[x.Source].feed.Resource(), x.Ref, errOverdue)
		c.opts.Logger.LogAttrs(context.Background(), slog.LevelWarn, "a cache has not observed a write yet", attrs...)
	}
}
