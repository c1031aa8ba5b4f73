// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kube-go/sdk/runtime/cache"
)

// Engage adds the cluster of a cache to the controller until ctx ends: while Run is active, it runs all sources of the
// controller on the cache, see [cache.View.On], and reconciles the cluster's objects. Run may begin later, end, and
// begin again, such as in a replica that is the leader twice. Engage returns when all of its goroutines have ended.
// Then the waiting keys of the cluster are dropped; current runs continue. The connections of the cache's client stay
// open, see [client.Client.CloseIdleConnections].
//
// Errors: the cause of ctx; the error of a source that is invalid for the cluster, which does not affect other
// clusters; an error if the cache is nil, or if the controller already has a cluster of the same name, see
// [cache.Options.Cluster].
func (c *Controller[K]) Engage(ctx context.Context, other *cache.Cache) error {
	return c.engine.engage(ctx, other)
}

// errRunEnded is the cause of the end of a member whose session has ended.
var errRunEnded = errors.New("controller: Run has ended")

func (e *engine) engage(ctx context.Context, c *cache.Cache) error {
	if c == nil {
		return errNoCache
	}
	if err := e.reserve(c.Cluster()); err != nil {
		return err
	}
	defer e.release(c.Cluster())
	for {
		s, err := e.join(ctx)
		if err != nil {
			return err
		}
		if err := s.include(ctx, c); !errors.Is(err, errRunEnded) {
			return err
		}
	}
}

// include runs the member of a cache's cluster in a session that it has joined, until ctx or the session ends.
func (s *session) include(ctx context.Context, c *cache.Cache) error {
	defer s.running.Done()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(s.feeds, func() { stop(errRunEnded) })()
	m := s.memberOn(ctx, c)
	s.admit(m)
	defer s.dismiss(m)
	return m.run(ctx, s)
}

// memberOn returns the member of a cache's cluster, which leaves when ctx ends.
func (e *engine) memberOn(ctx context.Context, c *cache.Cache) *member {
	m := &member{cluster: c.Cluster(), engaged: true, stay: ctx}
	for i, src := range e.sources {
		var feeds []feed
		for _, in := range src.inputs {
			// Views of different clusters are the same view on another cluster.
			if f := in.on(c); !slices.Contains(feeds, f) {
				feeds = append(feeds, f)
				m.add(f, src, i == 0)
			}
		}
	}
	return m
}

// reserve makes sure that the controller has only one cluster of a name.
func (e *engine) reserve(cluster string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	static := slices.ContainsFunc(e.sources[0].inputs, func(in input) bool { return in.feed.Cluster() == cluster })
	if static || slices.Contains(e.engaged, cluster) {
		return fmt.Errorf("engage the cluster %q: the controller already has a cluster of this name: "+
			"set cache.Options.Cluster", cluster)
	}
	e.engaged = append(e.engaged, cluster)
	return nil
}

func (e *engine) release(cluster string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	i := slices.Index(e.engaged, cluster)
	e.engaged = slices.Delete(e.engaged, i, i+1)
}

// join waits for a session, and adds a member to those that the session waits for.
func (e *engine) join(ctx context.Context) (*session, error) {
	for {
		s, begun := e.tryJoin()
		if s != nil {
			return s, nil
		}
		select {
		case <-begun:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// tryJoin joins the current session, or returns a channel that is closed when the next one begins.
func (e *engine) tryJoin() (*session, <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if s := e.session; s != nil && !s.closed {
		s.running.Add(1)
		return s, nil
	}
	if e.begun == nil {
		e.begun = make(chan struct{})
	}
	return nil, e.begun
}

// admit makes the keys of a member's cluster run.
func (s *session) admit(m *member) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.roster.Load().with(m)
	s.roster.Store(r)
	s.applier.Own(r.has)
	for _, stage := range s.stages {
		stage.retain(r)
	}
}

// dismiss drops the keys of a member's cluster.
func (s *session) dismiss(m *member) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.roster.Load().without(m)
	s.roster.Store(r)
	s.applier.Own(r.has)
	for _, stage := range s.stages {
		stage.retain(r)
	}
	s.gone.forget(m.cluster)
	s.failing.left(m.cluster)
	s.trackers.leave(m.cluster)
	for _, f := range m.feeds {
		f.left.Store(true)
		s.applier.Forget(f.number)
	}
}
