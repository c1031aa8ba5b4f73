// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"maps"
	"slices"
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

	// Ended is called once, when all runs of the current [Controller.Run] have returned, or when all clusters whose runs
	// have called [Track] for the owner have left. In the second case, runs of their objects may still use the tracker,
	// which must not keep anything.
	Ended()
}

// Totals is a [Tracker] whose owner has numbers that must not fall when a cluster has left, such as those of metrics. Its
// methods change the list that [Runner.Owners] returns, and return a new one. They must not block.
type Totals interface {
	Tracker

	// Resume adds the owner of the tracker, if the list does not have it.
	Resume(owners []any) []any

	// Retire removes the owner, and adds or replaces another one that has its numbers.
	Retire(owners []any) []any
}

// Track returns the tracker that owner has in the current Run of the controller, for the context of a reconcile, and
// the key of the reconciled object, which is the only one for which the tracker may keep something. The first call
// creates the tracker with the function, also the first one after all clusters of an earlier tracker have left. The
// owner is any comparable value that only the caller has, such as a pointer; [Runner.Owners] returns it. For other
// contexts, and after the Run has ended, Track returns nil.
func Track(ctx context.Context, owner any, create func() Tracker) (Tracker, Key) {
	r, ok := ctx.Value(runKey{}).(*run)
	if !ok || r.worker.trackers == nil {
		return nil, Key{}
	}
	return r.worker.trackers.of(owner, r.item.Key.Cluster, create), r.item.Key
}

// trackers are the trackers of a session. A nil *trackers has none.
type trackers struct {
	all atomic.Pointer[map[any]tracking] // by the owner; nil or immutable; stored with mu held

	owners *owners // of all sessions

	mu    sync.Mutex // guards ended
	ended bool
}

// tracking is a tracker with the clusters whose runs have used it. It is immutable.
type tracking struct {
	tracker  Tracker
	clusters []string // sorted
}

func (t tracking) has(cluster string) bool {
	_, found := slices.BinarySearch(t.clusters, cluster)
	return found
}

func (t *trackers) of(owner any, cluster string, create func() Tracker) Tracker {
	if all := t.all.Load(); all != nil {
		if found := (*all)[owner]; found.has(cluster) {
			return found.tracker
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended { // a goroutine has kept the context of a run
		return nil
	}
	next := t.copied()
	found := next[owner]
	if found.tracker == nil {
		found.tracker = create()
		t.owners.add(owner, found.tracker)
	}
	if !found.has(cluster) {
		found.clusters = append(slices.Clone(found.clusters), cluster)
		slices.Sort(found.clusters)
	}
	next[owner] = found
	t.all.Store(&next)
	return found.tracker
}

// copied returns a copy of the trackers.
func (t *trackers) copied() map[any]tracking {
	next := make(map[any]tracking)
	if all := t.all.Load(); all != nil {
		maps.Copy(next, *all)
	}
	return next
}

// each calls f for each tracker.
func (t *trackers) each(f func(Tracker)) {
	if all := t.all.Load(); all != nil {
		for _, found := range *all {
			f(found.tracker)
		}
	}
}

// leave reports to the trackers that a cluster has left, and removes those that no other cluster uses.
func (t *trackers) leave(cluster string) {
	t.each(func(tracker Tracker) { tracker.Left(cluster) })
	t.drop(cluster)
}

// drop removes the trackers that no cluster but the given one uses.
func (t *trackers) drop(cluster string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	next := t.copied()
	for owner, found := range next {
		switch {
		case !found.has(cluster):
		case len(found.clusters) > 1:
			found.clusters = slices.DeleteFunc(slices.Clone(found.clusters), func(c string) bool { return c == cluster })
			next[owner] = found
		default:
			delete(next, owner)
			found.tracker.Ended()
			t.owners.remove(owner, found.tracker)
		}
	}
	if len(next) == 0 {
		t.all.Store(nil)
	} else {
		t.all.Store(&next)
	}
}

// end removes the trackers, and reports to them that no run is active.
func (t *trackers) end() {
	t.mu.Lock()
	t.ended = true
	all := t.all.Swap(nil)
	t.mu.Unlock()
	if all != nil {
		for _, found := range *all {
			found.tracker.Ended()
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
	if s.roster.Load().has(key) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.roster.Load().has(key) { // also now: it may have engaged again
		s.trackers.gone(key)
		s.trackers.drop(key.Cluster) // the run may have created one after Left
	}
}
