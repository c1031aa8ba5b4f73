// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"
)

// Tracker keeps something for each object that a controller reconciles, such as for a debug page, and is notified when
// to forget it. Its methods must not block.
type Tracker interface {
	// Gone is called when an object does not exist, when its cluster has left, or when another replica owns it. No run of
	// the object is active meanwhile. It is also called for objects for which no run has called [Track].
	Gone(key Key)

	// Left is called when a cluster has left, see [Controller.Engage].
	Left(cluster string)

	// Ended is called once, when all runs of the current [Controller.Run] have returned.
	Ended()
}

// Track returns the tracker that owner has in the current Run of the controller, for the context of a reconcile, and
// the key of the reconciled object, which is the only one for which the tracker may keep something. The first call
// creates the tracker with the function. The owner is any comparable value that only the caller has, such as a pointer;
// [Runner.Owners] returns it. For other contexts, and after the Run has ended, Track returns nil.
func Track(ctx context.Context, owner any, create func() Tracker) (Tracker, Key) {
	r, ok := ctx.Value(runKey{}).(*run)
	if !ok || r.worker.trackers == nil {
		return nil, Key{}
	}
	return r.worker.trackers.of(owner, create), r.item.Key
}

// trackers are the trackers of a session. A nil *trackers has none.
type trackers struct {
	all atomic.Pointer[map[any]Tracker] // nil or immutable; stored with mu held

	owners *owners // of all sessions

	mu    sync.Mutex // guards ended
	ended bool
}

func (t *trackers) of(owner any, create func() Tracker) Tracker {
	if all := t.all.Load(); all != nil {
		if found, ok := (*all)[owner]; ok {
			return found
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended { // a goroutine has kept the context of a run
		return nil
	}
	next := make(map[any]Tracker)
	if all := t.all.Load(); all != nil {
		maps.Copy(next, *all)
	}
	if next[owner] == nil {
		next[owner] = create()
		t.owners.add(owner)
	}
	t.all.Store(&next)
	return next[owner]
}

// each calls f for each tracker.
func (t *trackers) each(f func(Tracker)) {
	if all := t.all.Load(); all != nil {
		for _, tracker := range *all {
			f(tracker)
		}
	}
}

// end removes the trackers, and reports to them that no run is active.
func (t *trackers) end() {
	t.mu.Lock()
	t.ended = true
	all := t.all.Swap(nil)
	t.mu.Unlock()
	if all != nil {
		for _, tracker := range *all {
			tracker.Ended()
		}
	}
}

// any reports whether there are trackers.
func (t *trackers) any() bool { return t != nil && t.all.Load() != nil }

// gone reports to the trackers that an object does not exist.
func (t *trackers) gone(key Key) {
	if t.any() { // without a closure for sessions without trackers
		t.each(func(tracker Tracker) { tracker.Gone(key) })
	}
}

// left reports to the trackers of a session that a key of a run belongs to a cluster that has left during the run. The
// session has removed the cluster before it calls Left, so either this or Left is later than what the run has kept.
func (s *session) left(key Key) {
	if !s.roster.Load().has(key) {
		s.trackers.gone(key)
	}
}
