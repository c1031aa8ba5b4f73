// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/applier"
	"github.com/kube-go/sdk/runtime/reflector"
)

// member is a cluster whose objects a session reconciles, with the feeds of all sources on this cluster.
type member struct {
	cluster string
	feeds   []*memberFeed // those of the primary source first
	primary int           // the number of feeds of the primary source
	engaged bool          // by Engage
	synced  atomic.Bool   // the feeds were synced, or late

	stay context.Context //nolint:containedctx // ends when an engaged cluster leaves; nil if it is not engaged
}

// roster is the members of a session, those of Run first. It is immutable.
type roster struct {
	members []*member
	numbers int // the number of feeds that have ever been added
}

// with returns a roster with another member, and assigns numbers to its feeds.
func (r *roster) with(m *member) *roster {
	next := &roster{append(slices.Clip(r.members), m), r.numbers}
	for _, f := range m.feeds {
		f.number = next.numbers
		next.numbers++
	}
	return next
}

// without returns a roster without a member.
func (r *roster) without(m *member) *roster {
	return &roster{slices.DeleteFunc(slices.Clone(r.members), func(o *member) bool { return o == m }), r.numbers}
}

// member returns the member of a cluster, or nil.
func (r *roster) member(cluster string) *member {
	for _, m := range r.members {
		if m.cluster == cluster {
			return m
		}
	}
	return nil
}

// has reports whether a key is in the cluster of a member.
func (r *roster) has(key Key) bool { return r.member(key.Cluster) != nil }

// feeds returns the feeds of all members.
func (r *roster) feeds() (all []*memberFeed) {
	for _, m := range r.members {
		all = append(all, m.feeds...)
	}
	return all
}

// memberFeed is one feed of a source.
type memberFeed struct {
	feed    feed
	source  *source
	number  int           // the number of the feed in the applier
	version atomic.Uint64 // the resource version that the feed has observed
	began   uint64        // the version when the subscription began, or 0
	left    atomic.Bool   // the cluster has left

	mu         sync.Mutex // guards the fields below
	unobserved unobserved
	own        ownSteps

	overdue overdueLog
}

func (m *member) add(f feed, src *source, primary bool) {
	m.feeds = append(m.feeds, &memberFeed{feed: f, source: src})
	if primary {
		m.primary++
	}
}

// context returns a context that ends with ctx, and when the cluster leaves. stop releases it.
func (m *member) context(ctx context.Context) (_ context.Context, stop func()) {
	if !m.engaged {
		return ctx, func() {}
	}
	ctx, end := context.WithCancelCause(ctx)
	forget := context.AfterFunc(m.stay, func() { end(context.Cause(m.stay)) })
	return ctx, func() {
		forget()
		end(nil)
	}
}

// run runs the feeds, and adds the keys that their changes concern to the applier, until ctx ends or a feed fails
// permanently. It returns the cause. No key is added before every feed has delivered its existing objects or is late,
// see [Options.SyncTimeout]; therefore no run begins before.
func (m *member) run(ctx context.Context, s *session) error {
	ctx, stop := context.WithCancelCause(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop(nil)
	if s.ownership != nil {
		unfollow, err := s.ownership.follow(m)
		if err != nil {
			return err
		}
		defer unfollow()
	}
	for i, f := range m.feeds {
		defer f.feed.Observe(f.observer(s, &wg))()
		if slices.ContainsFunc(m.feeds[:i], func(o *memberFeed) bool { return o.feed == f.feed }) {
			continue // it runs already
		}
		wg.Go(func() {
			err := errGoexit // overwritten if Run returns
			defer func() { stop(f.failed(err)) }()
			err = f.feed.Run(ctx)
		})
	}
	begun := time.Now()
	if err := m.sync(ctx, &s.opts); err != nil {
		return err
	}
	m.synced.Store(true)
	s.opts.Logger.LogAttrs(ctx, slog.LevelInfo, "runs begin", m.attrs(slog.Duration("waited", time.Since(begun)))...)
	for _, f := range m.feeds {
		wg.Go(func() {
			err := errGoexit
			defer func() { stop(f.failed(err)) }()
			err = f.follow(ctx, s)
		})
	}
	<-ctx.Done()
	return context.Cause(ctx)
}

// attrs returns attributes of a log record, with the name of the cluster if it has one.
func (m *member) attrs(attrs ...slog.Attr) []slog.Attr {
	if m.cluster != "" {
		attrs = append(attrs, slog.String("cluster", m.cluster))
	}
	return attrs
}

// failed returns the error of a member whose feed has failed.
func (f *memberFeed) failed(err error) error {
	return fmt.Errorf("source %s: %w", f.feed.Resource(), err)
}

// sync waits until every feed has delivered its existing objects, or is late. It waits for one feed of the primary
// source without a time limit. It returns the cause of ctx, or the error of an invalid feed.
func (m *member) sync(ctx context.Context, o *Options) error {
	for {
		late, err := m.await(ctx, o, m.feeds[:m.primary])
		if err != nil {
			return err
		}
		if late < m.primary {
			_, err = m.await(ctx, o, m.feeds[m.primary:])
			return err
		}
	}
}

// await waits for feeds, for at most [Options.SyncTimeout], and logs the late ones. It returns their number.
func (m *member) await(ctx context.Context, o *Options, feeds []*memberFeed) (late int, err error) {
	wait, cancel := context.WithTimeout(ctx, o.SyncTimeout)
	defer cancel()
	for _, f := range feeds {
		err := f.feed.Ready(wait)
		switch {
		case err == nil:
			continue
		case ctx.Err() != nil:
			return 0, context.Cause(ctx)
		case wait.Err() == nil:
			return 0, f.failed(err)
		}
		late++
		attrs := m.attrs(slog.String("source", f.feed.Resource().String()), slog.Any("err", err))
		o.Logger.LogAttrs(ctx, slog.LevelWarn, "source is late", attrs...)
	}
	return late, nil
}

// follow adds the keys that the feed's changes concern to the applier until ctx ends, and returns its cause, or the
// error of an invalid feed. It waits for a late feed first, which may have old objects of the last session.
func (f *memberFeed) follow(ctx context.Context, s *session) error {
	if err := f.feed.Ready(ctx); err != nil {
		return err
	}
	f.began = f.version.Load()
	if f.isDirect(s) {
		return f.feed.Follow(ctx, func(c reflector.Change) { f.enqueue(ctx, &c, s) })
	}
	for change, err := range f.feed.Subscribe(ctx) {
		if err != nil {
			return err
		}
		f.enqueue(ctx, &change, s)
	}
	return nil // not reached: the sequence ends with an error
}

// isDirect reports whether the goroutine of the watch may add the changes of the feed: it calls no function of the
// user, and reads a state only if the feed has not observed a write of the object, or after a call of WithoutRun.
func (f *memberFeed) isDirect(s *session) bool {
	return f.source == s.sources[0] && f.source.filter == nil && !s.opts.IgnoreOwnWrites
}

func (f *memberFeed) enqueue(ctx context.Context, c *reflector.Change, s *session) {
	if c.Type == core.Bookmark {
		return
	}
	at := f.deliver(s, c)
	if !f.passes(ctx, c, s.opts.Logger) {
		return
	}
	primary := f.source == s.sources[0]
	if primary && s.ownership != nil && !anyOwned(s.ownership, f.feed.Cluster(), c) {
		return
	}
	key, priority := Key{f.feed.Cluster(), c.Ref}, applier.Normal
	if f.isOld(c) {
		priority = applier.Low
	}
	stage, staged := s.stages[f.source]
	var refs []core.ObjectRef
	if !staged {
		if c.Type == core.Deleted && primary && s.gone != nil {
			head, _ := c.Old.Head()
			s.gone.mark(key, head.UID)
		}
		var err error
		if refs, err = f.source.refs(*c); err != nil {
			s.opts.Logger.LogAttrs(ctx, slog.LevelError, "can't use a changed object",
				describe(f.feed.Resource().Kind, key, err)...)
		}
		if len(refs) == 0 {
			return
		}
	}
	cause := f.event(c, s.opts.RecordChanges)
	if staged {
		stage.offer(key, *c, priority, cause)
		return
	}
	cause.step = at
	for _, ref := range refs {
		s.applier.Add(Key{f.feed.Cluster(), ref}, priority, cause)
	}
}

// observer reports the progress of the feed to the applier. It starts goroutines in wg.
func (f *memberFeed) observer(s *session, wg *sync.WaitGroup) reflector.Observer {
	return reflector.Observer{
		Seen: func(version string) {
			if n, err := strconv.ParseUint(version, 10, 64); err == nil {
				f.version.Store(n)
				s.applier.Seen(f.number, n)
			}
		},
		Listed: func(version string) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.own.list(versionOf(version))
		},
		Merged: func(version string) {
			f.mu.Lock()
			check := f.unobserved.merge(versionOf(version))
			f.mu.Unlock()
			if len(check) > 0 {
				wg.Go(func() { f.addLost(s, check) }) // later, since the feed holds a lock
			}
		},
		Gone: func(object wire.Packed) {
			if head, err := object.Head(); err == nil {
				s.applier.Gone(f.number, head.UID)
			}
		},
	}
}
