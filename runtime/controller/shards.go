// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/applier"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/reflector"
)

// Shards decides which objects this replica of the program reconciles. A *sharding.Member is one. For views with
// [cache.Selection] Sharded it must be a [cache.ShardSources], too.
type Shards interface {
	// Begin begins work on an object, or returns false if this replica does not own it. No other replica works on it
	// before end is called. For an object that does not exist, and whose UID is unknown, the UID is empty.
	Begin(uid types.UID, namespace string) (end func(), ok bool)

	// Follow calls f with the owned shard, now and after each change, until stop is called. f does not block.
	Follow(f func(*core.Shard)) (stop func())
}

// ownership is the part of a session that decides which objects run. It is an interface so that programs without
// sharding do not link it.
type ownership interface {
	// owns reports whether a state of an object of a cluster is in the shard. Objects that can't be read count as owned:
	// their runs fail.
	owns(cluster string, state reflector.State) bool
	// begin begins a run, unless another replica owns the object.
	begin(r *run, uid types.UID) (end func(), ok bool)
	// follow begins to add the objects of a member that become owned.
	follow(m *member) (stop func(), err error)
}

// anyOwned reports whether a state of a changed object is in the shard. If only the old one is, another replica has the
// object that has replaced it, and the run forgets the old one.
func anyOwned(o ownership, cluster string, c *reflector.Change) bool {
	return c.New.Exists() && o.owns(cluster, c.New) || c.Old.Exists() && o.owns(cluster, c.Old)
}

// sharded is the ownership of a session with [Runner.Shard].
type sharded struct {
	session *session
	shards  Shards

	mu    sync.Mutex       // guards the fields below
	parts map[string]parts // of each cluster
	runs  map[*run]*shardedRun
}

// part decides about the objects of a namespace, or about all objects if the namespace is empty: it is the window of a
// view, or all shards.
type part struct {
	Shards
	namespace string
	owned     *core.Shard
}

// parts are the parts of a cluster. An object is owned if it is in the shards of all parts that decide about it. They
// are immutable.
type parts []part

// about returns the parts that decide about the objects of a namespace. If no view has the namespace, these are all.
func (p parts) about(namespace string) parts {
	if len(p) == 1 {
		return p
	}
	var about parts
	for _, one := range p {
		if one.namespace == "" || one.namespace == namespace {
			about = append(about, one)
		}
	}
	if len(about) == 0 {
		return p
	}
	return about
}

func (p parts) has(uid types.UID, namespace string) bool {
	about := p.about(namespace)
	return len(about) > 0 && !slices.ContainsFunc(about, func(one part) bool { return !one.owned.Has(uid, namespace) })
}

func (p parts) hasState(state reflector.State) bool {
	head, err := state.Head()
	return err != nil || p.has(head.UID, head.Ref.Namespace)
}

// shardedRun is a current run.
type shardedRun struct {
	uid    types.UID
	cancel context.CancelCauseFunc
	late   *time.Timer // cancels it; nil while its object is owned
	stuck  *time.Timer // reports it; nil like late
}

func newSharded(session *session, shards Shards) *sharded {
	return &sharded{
		session: session, shards: shards, parts: make(map[string]parts), runs: make(map[*run]*shardedRun),
	}
}

func (s *sharded) follow(m *member) (stop func(), err error) {
	parts, err := divide(m, s.shards)
	if err != nil {
		return nil, err
	}
	if len(parts) == 0 {
		parts = append(parts, part{Shards: s.shards, owned: new(core.Shard)})
	}
	s.mu.Lock()
	s.parts[m.cluster] = parts
	s.mu.Unlock()
	var stops []func()
	for i, one := range parts {
		stops = append(stops, one.Follow(func(next *core.Shard) { s.reshard(m, i, next) }))
	}
	return func() {
		for _, stop := range stops {
			stop()
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.parts, m.cluster)
	}, nil
}

func (s *sharded) owns(cluster string, state reflector.State) bool {
	s.mu.Lock()
	now := s.parts[cluster]
	s.mu.Unlock()
	return now.hasState(state)
}

func (s *sharded) begin(r *run, uid types.UID) (end func(), ok bool) {
	key := r.item.Key
	finish, ok := s.reserve(key, uid)
	if !ok {
		return nil, false
	}
	one := &shardedRun{uid: uid}
	r.Context, one.cancel = context.WithCancelCause(r.Context)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs[r] = one
	s.check(r, one)
	return func() {
		s.mu.Lock()
		delete(s.runs, r)
		one.stay()
		s.mu.Unlock()
		one.cancel(nil)
		finish()
	}, true
}

// reserve begins work on an object in all parts that decide about it.
func (s *sharded) reserve(key Key, uid types.UID) (finish func(), ok bool) {
	s.mu.Lock()
	parts := s.parts[key.Cluster].about(key.Ref.Namespace)
	s.mu.Unlock()
	var ends []func()
	finish = func() {
		for _, end := range ends {
			end()
		}
	}
	for _, one := range parts {
		end, ok := one.Begin(uid, key.Ref.Namespace)
		if !ok {
			finish()
			return nil, false
		}
		ends = append(ends, end)
	}
	return finish, len(parts) > 0
}

// stay stops the timers of a run.
func (o *shardedRun) stay() {
	if o.late != nil {
		o.late.Stop()
		o.stuck.Stop()
	}
	o.late, o.stuck = nil, nil
}

// check ends the context of a run whose object another replica should own, after [Options.StopTimeout], and reports it
// if it does not return then: all objects of its slot wait for it. A run of a cluster that has left may continue.
func (s *sharded) check(r *run, one *shardedRun) {
	key := r.item.Key
	parts, exists := s.parts[key.Cluster]
	switch owned := !exists || parts.has(one.uid, key.Ref.Namespace); {
	case owned:
		one.stay()
	case !owned && one.late == nil:
		limit := s.session.opts.StopTimeout
		one.late = time.AfterFunc(limit, func() {
			one.cancel(fmt.Errorf("%s moves to another replica, and its run has not ended after Options.StopTimeout, "+
				"which is %v", key, limit))
		})
		one.stuck = time.AfterFunc(max(limit, limit+stuckAfter), func() { s.reportStuck(r, one) }) // the sum may overflow
	}
}

// reportStuck logs a run that has not returned although its object moves, unless it has just returned.
func (s *sharded) reportStuck(r *run, one *shardedRun) {
	s.mu.Lock()
	moves := s.runs[r] == one && one.stuck != nil
	s.mu.Unlock()
	if moves {
		s.session.reportStuck(r, "it ignores the end of its context, and its object moves to another replica")
	}
}

// reshard changes the shard of part i of a member. It adds the objects that are owned for the first time, and forgets
// those that no longer are.
func (s *sharded) reshard(m *member, i int, shard *core.Shard) {
	s.mu.Lock()
	before, exists := s.parts[m.cluster]
	if !exists { // the cluster has left
		s.mu.Unlock()
		return
	}
	after := slices.Clone(before)
	after[i].owned = shard
	s.parts[m.cluster] = after
	running := make(map[Key]bool, len(s.runs))
	for r, one := range s.runs {
		running[r.item.Key] = true
		s.check(r, one)
	}
	s.mu.Unlock()
	if !m.synced.Load() {
		return // memberFeed.follow adds them when it is
	}
	session := s.session
	cause := &event{what: CauseResharded}
	for _, f := range m.feeds[:m.primary] {
		f.existing(session, func(key Key, state reflector.State) {
			switch was, is := before.hasState(state), after.hasState(state); {
			case is && !was:
				session.applier.Add(key, applier.Low, cause)
			case was && !is && !running[key]: // after a run, the worker does it
				session.applier.Cancel(key)
				session.trackers.gone(key)
				session.failing.remove(key)
			}
		})
	}
}

// divided is the [Shards] of views with [cache.Selection] Sharded. The sources of its windows are Shards, too.
type divided interface {
	cache.ShardSources
	ByNamespace() bool // all objects of a namespace have the same owner
}

// Mistakes in the selections of views.
var (
	errSomeSharded = errors.New("Selection.Sharded is set for some views of the reconciled kind: set it for all of " +
		"them, or for none")
	errSecondarySharded = errors.New("Selection.Sharded is set for objects that are not reconciled, and that are not in " +
		"the shard of the object that they concern: leave it out, or set ByNamespace of sharding.Options")
	errPrimaryWhole = errors.New("Selection.Sharded is set, but not for the reconciled kind: set it there, too")
	errNoWindow     = errors.New("Selection.Sharded is set, but the controller is sharded by something that can't " +
		"divide views: use a *sharding.Member")
)

// divide makes the sharded views of a member have only the objects of this replica, and returns their windows.
func divide(m *member, by Shards) (windows parts, err error) {
	var all cache.ShardSources
	d, able := by.(divided)
	if able {
		all = d
	}
	for i, f := range m.feeds {
		window, err := f.feed.Shard(all)
		if err != nil {
			return nil, f.failed(err)
		}
		primary := i < m.primary
		if primary && i > 0 && (window != nil) != (len(windows) > 0) {
			return nil, f.failed(errSomeSharded)
		}
		if window == nil {
			continue
		}
		one, ok := window.(Shards)
		switch {
		case !able || !ok:
			return nil, f.failed(errNoWindow)
		case !primary && !d.ByNamespace():
			return nil, f.failed(errSecondarySharded)
		case !primary && len(windows) == 0:
			return nil, f.failed(errPrimaryWhole)
		}
		if err := checkNamespaced(f.feed.Resource(), m.feeds[0].feed.Resource(), primary); err != nil {
			return nil, f.failed(err)
		}
		if !slices.ContainsFunc(windows, func(known part) bool { return known.Shards == one }) {
			windows = append(windows, part{one, f.feed.Selection().Namespace, new(core.Shard)})
		}
	}
	return windows, nil
}

// checkNamespaced returns an error if the objects of a source that is divided by namespace always concern objects of
// another one.
func checkNamespaced(res, reconciled core.Resource, primary bool) error {
	if primary || res.Namespaced && reconciled.Namespaced {
		return nil
	}
	if reconciled.Namespaced {
		reconciled = res
	}
	return fmt.Errorf("Selection.Sharded divides the objects by namespace, and %s are cluster-scoped: leave it out",
		reconciled)
}
