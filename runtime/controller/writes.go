// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/applier"
)

// writes are the writes of a run that a feed of the controller will observe.
type writes struct {
	mu      sync.Mutex // guards the fields below: a reconcile may write from many goroutines, even after its end
	list    []write
	ignored []written // those that were made with WithoutRun
}

// write is a write that a feed will observe.
type write struct {
	ownWrite
	feed *memberFeed
	held bool // the key is held back until the feed has observed the write

	// ends is true if the write has completed a deletion that somebody else may have begun. So its change causes a run.
	ends bool
}

// written identifies a write.
type written struct {
	uid     types.UID
	version uint64 // 0 if it has deleted the object
}

// WithoutRun returns a context for writes of a run that cause no other run of the reconciled object. It is
// [Options.IgnoreOwnWrites] for single writes: only writes that this option would ignore are ignored, and a change that
// may contain a write of anybody else causes a run. It is for a status that the run has computed and that no later run
// needs. For a context that is not the one of a reconcile, WithoutRun returns the context itself.
func WithoutRun(ctx context.Context) context.Context {
	r, ok := ctx.Value(runKey{}).(*run)
	if !ok || r.worker.session == nil {
		return ctx
	}
	r.worker.session.ignoring.Store(true) // before the write: its change may be delivered before its response
	return client.WithWriteObserver(ctx, func(_ context.Context, done client.Write) {
		own := r.ownWrites()
		own.mu.Lock()
		defer own.mu.Unlock()
		own.ignored = append(own.ignored, written{done.Object.GetUID(), versionOf(done.Object.GetResourceVersion())})
	})
}

// ownWrites returns the writes of a run.
func (r *run) ownWrites() *writes {
	if own := r.writes.Load(); own != nil {
		return own
	}
	r.writes.CompareAndSwap(nil, new(writes))
	return r.writes.Load()
}

// observe records a write of a run if a feed will observe it. A write after the end of its run has no effect: it counts
// as one of somebody else.
func (w *worker) observe(ctx context.Context, done client.Write) {
	r, ok := ctx.Value(runKey{}).(*run)
	if !ok || r.worker != w {
		return
	}
	for _, f := range w.session.roster.Load().feeds() {
		if !isOf(done, f.feed) {
			continue
		}
		ref := core.RefOf(done.Object)
		x := write{
			ownWrite: ownWrite{ref: ref, uid: done.Object.GetUID(), deleted: done.Deleted},
			feed:     f,
			held:     f.mayBeStale(ref),
			ends:     done.Deleted && done.Object.GetDeletionTimestamp() != nil,
		}
		if !done.Deleted {
			version, err := strconv.ParseUint(done.Object.GetResourceVersion(), 10, 64)
			if err != nil || !f.feed.Concerns(done.Object) {
				continue
			}
			x.version, x.base, x.known = version, versionOf(done.Base), done.Base != ""
		}
		own := r.ownWrites()
		own.mu.Lock()
		own.list = append(own.list, x)
		own.mu.Unlock()
	}
}

// mayBeStale reports whether a run may read a state of an object that is older than its own write. During the first
// list of a feed, a run can already read the objects that have arrived.
func (f *memberFeed) mayBeStale(ref core.ObjectRef) bool {
	return ready(f.feed) || f.version.Load() > 0 || f.feed.State(ref).Exists()
}

// isOf reports whether a write is of a kind. The API version may differ: resource versions are the same in all of them.
func isOf(w client.Write, of feed) bool {
	res := of.Resource()
	return w.Server == of.Server() && w.Resource.Group == res.Group && w.Resource.Plural == res.Plural
}

// recordWrites ends a run of a key. The writes that the feeds have not observed hold the key back.
func (r *run) recordWrites() {
	own := r.writes.Load()
	if own == nil {
		return // like most runs
	}
	own.mu.Lock()
	list, ignored := own.list, own.ignored
	own.mu.Unlock()
	key, s := r.item.Key, r.worker.session
	a := s.applier
	for _, x := range list {
		if !x.held || x.observed() {
			continue
		}
		a.Wrote(key, applier.Write{Source: x.feed.number, Ref: x.ref, Version: x.version, UID: x.deletedUID()})
		switch { // in between
		case x.feed.left.Load():
			a.Forget(x.feed.number)
		case x.observed():
			x.tell(a)
		}
	}
	for i, x := range list {
		if x.ends {
			continue
		}
		x.key = key
		x.removed = !x.deleted && slices.ContainsFunc(list[i:], func(y write) bool {
			return y.deleted && !y.ends && y.feed == x.feed && y.uid == x.uid
		})
		x.feed.wrote(s, x.ownWrite, slices.Contains(ignored, written{x.uid, x.version}))
	}
}

// deletedUID returns the UID of a deleted object.
func (x write) deletedUID() types.UID {
	if x.deleted {
		return x.uid
	}
	return ""
}

// observed reports whether the feed has observed the write.
func (x write) observed() bool {
	if !x.deleted {
		return x.feed.version.Load() >= x.version
	}
	return !x.feed.contains(x.ref, x.uid)
}

// contains reports whether the feed has an object.
func (f *memberFeed) contains(ref core.ObjectRef, uid types.UID) bool {
	state := f.feed.State(ref)
	if !state.Exists() {
		return false
	}
	head, err := state.Head()
	return err != nil || head.UID == uid
}

// tell reports the observed write to the applier.
func (x write) tell(a *applier.Applier[Key, *event]) {
	if x.deleted {
		a.Gone(x.feed.number, x.uid)
	} else {
		a.Seen(x.feed.number, x.feed.version.Load())
	}
}

// errOverdue is the reason in the log record of an overdue write.
var errOverdue = errors.New("the hold timeout has passed")

// overdueEvery is the time between two log records of overdue writes of one feed.
const overdueEvery = time.Minute

// reportOverdue logs writes that a feed has not observed in time: the first one, and one each minute with the number of
// those that were not logged.
func (s *session) reportOverdue(o applier.Overdue[Key]) {
	feeds := s.roster.Load().feeds()
	for _, x := range o.Writes {
		i := slices.IndexFunc(feeds, func(f *memberFeed) bool { return f.number == x.Source })
		if i < 0 {
			continue // its cluster has left
		}
		f := feeds[i]
		attrs := describe(f.feed.Resource().Kind, Key{f.feed.Cluster(), x.Ref}, errOverdue)
		if skipped, log := f.overdue.next(time.Now()); log {
			if skipped > 0 {
				attrs = append(attrs, slog.Int("others", skipped))
			}
			s.opts.Logger.LogAttrs(context.Background(), slog.LevelWarn, "a cache has not observed a write yet", attrs...)
		}
	}
}

// overdueLog limits the log records of the overdue writes of a feed.
type overdueLog struct {
	mu      sync.Mutex // guards the fields below
	last    time.Time  // of the last record
	skipped int        // writes since the last record
}

// next reports whether to log a write, and the number of those that were not logged before it.
func (l *overdueLog) next(now time.Time) (skipped int, log bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.last.IsZero() && now.Sub(l.last) < overdueEvery {
		l.skipped++
		return 0, false
	}
	skipped, l.skipped, l.last = l.skipped, 0, now
	return skipped, true
}
