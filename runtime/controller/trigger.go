// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"time"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/applier"
	"github.com/kube-go/sdk/runtime/reflector"
)

// stage is the part of a trigger that works in goroutines of a session.
type stage interface {
	// run starts goroutines, which end with ctx and then close a channel each.
	run(ctx context.Context) (ended []<-chan struct{})
	runs() []*run // the current calls of a function of Map
	backlog
}

// backlog is the changed objects that a stage has not processed.
type backlog interface {
	offer(key Key, c reflector.Change, p applier.Priority, cause *event)
	retain(r *roster) // drops the keys of other clusters
	waiting() int
}

// startStages starts the stages of the triggers. The returned function waits for the end of their goroutines, and
// returns an error if one ignores the end of ctx.
func (s *session) startStages(ctx context.Context) (wait func() error) {
	var ended []<-chan struct{}
	for _, stage := range s.stages {
		ended = append(ended, stage.run(ctx)...)
	}
	return func() error {
		late := time.NewTimer(stuckAfter)
		defer late.Stop()
		for _, done := range ended {
			select {
			case <-done:
			case <-late.C:
				return s.abandonStages()
			}
		}
		return nil
	}
}

// abandonStages logs the calls of Map that have not returned after the stop, and returns an error that names their
// objects, or an error about a sequence.
func (s *session) abandonStages() error {
	var calls []*run
	for _, stage := range s.stages {
		calls = append(calls, stage.runs()...)
	}
	if len(calls) == 0 {
		return fmt.Errorf("a sequence of On has not ended %v after its context", stuckAfter)
	}
	const one, many = "call of a function of Map", "calls of a function of Map"
	return fmt.Errorf("%s: %s", notReturned(len(calls), one, many), s.abandonEach(calls))
}

// sequence is the stage of On.
type sequence struct {
	session *session
	keys    func(context.Context) iter.Seq[Key]
}

func (q *sequence) offer(Key, reflector.Change, applier.Priority, *event) {}
func (q *sequence) retain(*roster)                                        {}
func (q *sequence) runs() []*run                                          { return nil }
func (q *sequence) waiting() int                                          { return 0 }

func (q *sequence) run(ctx context.Context) []<-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		q.receive(ctx)
	}()
	return []<-chan struct{}{done}
}

// receive adds the keys of the sequence.
func (q *sequence) receive(ctx context.Context) {
	var err error
	defer func() { // also if the sequence ends the goroutine
		if err != nil {
			q.session.opts.Logger.LogAttrs(ctx, slog.LevelError, "a sequence of keys has ended", errorAttrs(err)...)
		}
	}()
	try(&err, func() {
		for key := range q.keys(ctx) {
			if ctx.Err() != nil {
				return
			}
			q.session.external(ctx, key)
		}
	})
}

// external adds a key that does not come from a feed.
func (s *session) external(ctx context.Context, key Key) {
	switch m := s.roster.Load().member(key.Cluster); {
	case m == nil:
		err := fmt.Errorf("the controller has no cluster %q: set Key.Cluster to that of a source, or call Engage before",
			key.Cluster)
		s.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "can't reconcile", describe(s.resource.Kind, key, err)...)
	case m.synced.Load():
		s.applier.Add(key, applier.Normal, &event{what: CauseExternal})
	}
}

// reconcileAll adds all objects of the clusters that are synced. The objects of the others are added when they are.
func (s *session) reconcileAll() {
	cause := &event{what: CauseReconcileAll}
	for _, m := range s.roster.Load().members {
		if !m.synced.Load() {
			continue
		}
		for _, f := range m.feeds[:m.primary] {
			f.existing(s, func(key Key, state reflector.State) {
				if s.ownership == nil || s.ownership.owns(key.Cluster, state) {
					s.applier.Add(key, applier.Low, cause)
				}
			})
		}
	}
}

// existing calls each for the objects that a subscription begins with. It does nothing if the feed is late: when it is
// ready, follow adds all objects that are owned then.
func (f *memberFeed) existing(s *session, each func(Key, reflector.State)) {
	if !ready(f.feed) {
		return
	}
	for change, err := range f.feed.Subscribe(s.feeds) {
		if err != nil || change.Type == core.Bookmark {
			return
		}
		each(Key{f.feed.Cluster(), change.Ref}, change.New)
	}
}
