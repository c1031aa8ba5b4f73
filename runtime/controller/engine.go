// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/applier"
	"github.com/kube-go/sdk/runtime/internal/terms"
	"github.com/kube-go/sdk/runtime/reflector"
)

// engine is a controller without the type of its objects: it reconciles packed objects.
type engine struct {
	opts     Options
	name     string
	resource core.Resource // of the reconciled objects
	sources  []*source     // the primary one first
	tallies  *tallies
	owners   owners
	shard    func(*session) ownership // nil without Runner.Shard
	invalid  error                    // mistakes of the caller that Run returns

	mu      sync.Mutex    // guards the fields below
	session *session      // the current one, or nil
	former  totals        // of the ones before
	size    int           // the number of workers
	engaged []string      // the clusters of all calls of engage
	begun   chan struct{} // closed when a session begins; nil if nobody waits
}

// session is one Run of an engine.
type session struct {
	*engine
	applier   *applier.Applier[Key, *event]
	reconcile func(context.Context, reflector.State) (Action, error)
	pool      *pool
	gone      *goneKeys // nil without OnGone
	trackers  *trackers
	failing   *failing
	stages    map[*source]stage
	ownership ownership // nil without Runner.Shard

	ignoring atomic.Bool // WithoutRun was called

	roster  atomic.Pointer[roster] // stored with engine.mu held
	running sync.WaitGroup         // the members that run; added to with engine.mu held
	feeds   context.Context        //nolint:containedctx // ends when all members must end
	closed  bool                   // no more members begin; guarded by engine.mu
}

func (e *engine) add(s *source) {
	if len(s.inputs) == 0 && s.start == nil {
		e.wrong(errNoView)
	}
	e.sources = append(e.sources, s)
}

// extend adds a source besides the primary one. A run that is active does not get it.
func (e *engine) extend(s *source) {
	if e.current() != nil {
		e.opts.Logger.Error("the source has no effect, because Run is active: call Owns, Watches and Reads before Run",
			"source", s.resource())
		return
	}
	e.add(s)
}

// wrong records a mistake of the caller, which Run returns.
func (e *engine) wrong(err error) { e.invalid = errors.Join(e.invalid, err) }

// Mistakes of the caller.
var (
	errRunning     = errors.New("controller: Run was called while it was running")
	errNoReconcile = errors.New("controller: the reconcile is nil: pass a function")
	errNoTrigger   = errors.New("controller: Watches was called with a Trigger that has no function: pass one to Map or On")
	errNoView      = errors.New("controller: a view is nil: pass one of cache.Of")
	errNoCache     = errors.New("controller: the cache is nil: pass one of cache.New")
	errStuck       = errors.New("controller: Run was called, but runs of the last Run have not returned yet")
)

// run reconciles objects until ctx ends or a source fails permanently.
func (e *engine) run(ctx context.Context, reconcile func(context.Context, reflector.State) (Action, error)) error {
	if e.invalid != nil {
		return e.invalid
	}
	members, err := e.members()
	if err == nil {
		err = e.opts.check()
	}
	if err != nil {
		return err
	}
	// Workers take keys until ctx ends or a source fails permanently. The feeds end after the workers' last run, so that
	// this run reads current objects.
	take, stopTaking := context.WithCancelCause(ctx)
	defer stopTaking(nil)
	feeds, stopFeeds := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stopFeeds(nil)
	s := &session{engine: e, reconcile: reconcile, pool: newPool(), feeds: feeds, trackers: &trackers{owners: &e.owners}}
	s.failing = &failing{has: func(key Key) bool { return s.roster.Load().has(key) }}
	s.applier = applier.New[Key, *event](e.opts.applier())
	if e.opts.OnGone != nil {
		s.gone = new(goneKeys)
	}
	s.applier.OnOverdue = s.reportOverdue
	s.stages = make(map[*source]stage)
	for _, src := range e.sources {
		if src.start != nil {
			s.stages[src] = src.start(s)
		}
	}
	if s.shard != nil {
		s.ownership = s.shard(s)
	}
	if err := s.begin(members); err != nil { // calls of engage see the session from now on
		return err
	}
	for _, m := range members {
		s.running.Go(func() { stopTaking(m.run(feeds, s)) })
	}
	stages := s.startStages(take)
	err = s.work(take)
	if late := stages(); late != nil {
		err = fmt.Errorf("%w; %w", err, late)
	}
	s.close()
	stopFeeds(err)
	s.running.Wait()
	s.pool.whenIdle(s.end) // later if a run is stuck
	return err
}

// begin makes s the current session, unless there is one.
func (s *session) begin(members []*member) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch last := s.engine.session; {
	case last == nil:
	case last.closed:
		return errStuck
	default:
		return errRunning
	}
	r := &roster{}
	for _, m := range members {
		r = r.with(m)
	}
	s.roster.Store(r)
	s.pool.resize(s.size)
	s.engine.session = s
	if s.begun != nil {
		close(s.begun)
		s.begun = nil
	}
	return nil
}

// close makes later calls of engage wait for the next session.
func (s *session) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

// end makes room for the next session.
func (s *session) end() {
	s.trackers.end()
	adds, retries, overdue := s.applier.Totals() // final, as it is closed
	s.mu.Lock()
	defer s.mu.Unlock()
	s.former.adds += adds
	s.former.retries += retries
	s.former.overdue += overdue
	s.engine.session = nil
}

// members returns the clusters of the controller's views.
func (e *engine) members() (all []*member, err error) {
	for i, src := range e.sources {
		for _, in := range src.inputs {
			if all, err = e.withInput(all, src, in.feed, i == 0); err != nil {
				return nil, fmt.Errorf("source %s: %w", in.feed.Resource(), err)
			}
		}
	}
	return all, nil
}

// withInput adds a feed to the member of its cluster, or to a new one if it is of the primary source.
func (e *engine) withInput(all []*member, src *source, f feed, primary bool) ([]*member, error) {
	if src.filter != nil {
		if err := src.filter.check(src.filter.predicates, f.Resource()); err != nil {
			return nil, err
		}
	}
	name := f.Cluster()
	at := slices.IndexFunc(all, func(m *member) bool { return m.cluster == name })
	switch {
	case at < 0 && !primary:
		return nil, fmt.Errorf("it is in the cluster %q, where no %s are reconciled: pass a view of that cluster to "+
			"ForView, or, to reconcile objects of another cluster, pass their keys to On", name, e.resource)
	case at < 0:
		at = len(all)
		all = append(all, &member{cluster: name})
	case primary && f.Server() != all[at].feeds[0].feed.Server():
		return nil, fmt.Errorf("%s and %s are both named %q: set cache.Options.Cluster",
			all[at].feeds[0].feed.Server(), f.Server(), name)
	}
	all[at].add(f, src, primary)
	return all, nil
}

// read returns the state of an object, which may not exist, and its server. It returns an error for a key that is
// invalid for the kind. No object exists in a cluster that is not synced: a run that began before the cluster has left
// and engaged again may add a key. All objects of the cluster run once it is synced.
func (s *session) read(key Key) (object reflector.State, server string, err error) {
	if m := s.roster.Load().member(key.Cluster); m != nil && m.synced.Load() {
		for _, f := range m.feeds[:m.primary] {
			if state := f.feed.State(key.Ref); state.Exists() {
				return state, f.feed.Server(), nil
			}
		}
	}
	return reflector.State{}, "", key.check(s.resource)
}

// work runs the workers until take ends and all runs have returned, and returns the cause. The contexts of the runs end
// after StopTimeout, or when the term is lost, since another replica may begin soon. If runs ignore that, it returns an
// error that names them.
func (s *session) work(take context.Context) error {
	running, stop := context.WithCancelCause(context.WithoutCancel(take))
	defer stop(nil)
	s.pool.start(func() *worker {
		w := s.worker()
		go w.run(take, running) // owned by the pool
		return w
	})
	if s.opts.RunTimeout == 0 {
		s.running.Go(func() { s.reportLong(take) })
	}
	<-take.Done()
	s.applier.Close()
	cause, idle, term := context.Cause(take), s.pool.stop(), terms.Of(take)
	late, noticed := time.NewTimer(s.opts.StopTimeout), time.NewTimer(noticedAfter)
	defer late.Stop()
	defer noticed.Stop()
	for running.Err() == nil {
		select {
		case <-idle:
			return cause
		case <-noticed.C:
			s.reportWait()
		case <-late.C:
			stop(cause)
		case <-term.Done():
			stop(context.Cause(term))
		}
	}
	late.Reset(stuckAfter)
	select {
	case <-idle:
		return cause
	case <-late.C:
	}
	if runs := s.pool.runs(); len(runs) > 0 {
		late := s.abandon(runs)
		terms.Leave(take, terms.Remainder{Err: late, Done: idle})
		return &terms.Unfinished{Cause: cause, Left: late}
	}
	return cause // the last run has just returned
}

func (s *session) worker() *worker {
	return &worker{
		session:   s,
		applier:   s.applier,
		read:      s.read,
		reconcile: s.reconcile,
		timeout:   s.opts.RunTimeout,
		stuck:     s.reportLate,
		logger:    s.opts.Logger,
		kind:      s.resource.Kind,
		report:    s.report,
		describes: s.opts.OnResult != nil,
		leave:     s.pool.leave,
		gone:      s.gone,
		onGone:    s.opts.OnGone,
		trackers:  s.trackers,
		left:      s.left,
		ownership: s.ownership,
		tally:     s.tallies.shard(),
		failing:   s.failing,
	}
}

// report logs a failed run, and calls OnResult for every run. It logs a panic of OnResult, and a call of
// runtime.Goexit; they do not change the result of the run.
func (s *session) report(ctx context.Context, r Result) {
	if r.Err != nil {
		attrs := append(describe(s.resource.Kind, r.Key, r.Err), r.causeAttrs()...)
		attrs = append(attrs, slog.Int("failures", r.Failures))
		if r.RetryIn > 0 {
			attrs = append(attrs, slog.Duration("retryIn", r.RetryIn))
		}
		s.opts.Logger.LogAttrs(ctx, slog.LevelError, "reconcile", attrs...)
	}
	if s.opts.OnResult == nil {
		return
	}
	var err error
	defer func() { // also if OnResult ends the goroutine
		if err != nil {
			s.opts.Logger.LogAttrs(ctx, slog.LevelError, "OnResult", describe(s.resource.Kind, r.Key, err)...)
		}
	}()
	try(&err, func() { s.opts.OnResult(r) })
}

// current returns the current session, or nil.
func (e *engine) current() *session {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.session
}

func (e *engine) resize(n int) {
	if n <= 0 {
		n = defaultConcurrency()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.size = n
	if s := e.session; s != nil {
		s.applier.Resize(n) // surplus workers must not run
		s.pool.resize(n)
	}
}

func (e *engine) runHealth() []RunHealth {
	if s := e.current(); s != nil {
		return s.runHealth()
	}
	return nil
}

func (e *engine) health() []SourceHealth {
	var health []SourceHealth
	for _, src := range e.sources {
		for _, in := range src.inputs {
			health = append(health, healthOf(in.feed, false))
		}
	}
	s := e.current()
	if s == nil {
		return health
	}
	for _, m := range s.roster.Load().members {
		if !m.engaged {
			continue
		}
		for _, f := range m.feeds {
			health = append(health, healthOf(f.feed, true))
		}
	}
	return health
}

func healthOf(f feed, engaged bool) SourceHealth {
	return SourceHealth{f.Cluster(), engaged, f.Resource(), ready(f), f.Health()}
}
