// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path"
	"sync/atomic"
	"time"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/debugpage"
	"github.com/kube-go/sdk/runtime/election"
	"github.com/kube-go/sdk/runtime/internal/terms"
	"github.com/kube-go/sdk/runtime/metrics"
	"github.com/kube-go/sdk/runtime/sharding"
	"github.com/kube-go/sdk/runtime/webhook"
)

// Options are the options of [New]. The zero value of a field is its default.
type Options struct {
	// LeaderElection is the name of the lease that the replicas of the program share, such as "shop". Default: no
	// election; every replica runs everything.
	LeaderElection string

	// ElectionOptions has further options of the election; its Name must be empty. Default: those of package election.
	ElectionOptions *election.Options

	// Sharding is the name of the group in which the replicas of the program divide the objects of the controllers among
	// themselves, such as "shop", see package sharding. It excludes LeaderElection. A Deployment that changes from one to
	// the other needs the strategy Recreate. Default: every replica reconciles all objects.
	Sharding string

	// ShardingOptions has further options of the sharding; its Name must be empty. Default: those of package sharding.
	ShardingOptions *sharding.Options

	// HealthAddr is the TCP address of the health endpoints, such as ":8081". Default: none.
	HealthAddr string

	// MetricsAddr is the TCP address of the metrics, at the path /metrics. It may be HealthAddr. Default: none.
	MetricsAddr string

	// MetricsHandler is the handler of MetricsAddr, such as one that also serves the metrics of the Prometheus library;
	// see package contrib/prometheus. Default: Manager.Metrics.
	MetricsHandler http.Handler

	// DebugAddr is the TCP address of the debug page, at the path /debug/controllers. The page has no authentication and
	// shows names of objects and texts of errors, see package debugpage: use a loopback address, such as
	// "localhost:8082", and kubectl port-forward. Default: none.
	DebugAddr string

	// StopTimeout is the maximum time that Run waits, after its context has ended, for the Runnables of [Manager.Add], and
	// then again for those of [Manager.AddToAll]. Runs also have [controller.Options.StopTimeout]. Default: 60 s.
	StopTimeout time.Duration

	// Logger logs the beginning and the end of terms, and failing checks. Default: [slog.Default].
	Logger *slog.Logger
}

// Runnable is something that runs until its context ends, such as a [controller.Runner], a [cache.View] or an
// [events.Recorder]. Run then returns nil, or an error of the context: its cause, [context.Canceled] or one that wraps
// them. If it returns another error, or earlier with an error, the manager stops. A Run that returns nil earlier has
// nothing left to do.
type Runnable interface {
	Run(ctx context.Context) error
}

// Manager runs the parts of a program. Create one with [New]. See the comment of the package for its concurrency.
//
// # Candidates
//
// A replica is not a candidate before its controllers can begin: a new one whose caches are filled for minutes, or
// that lacks a permission, does not take the lease from one that works. It waits for the sources of its controllers, by
// the rule of [controller.Options.SyncTimeout], see [controller.Runner.Ready]. When one controller can begin, it waits
// for the others for at most their longest SyncTimeout, so that a missing permission of one does not stop the others.
// It logs for which controllers it waits, and why. Other Runnables are not waited for, but begin with the controllers:
// something that the caches need, such as a definition of a kind, must be installed before Run, or by
// [Manager.AddToAll].
type Manager struct {
	options  Options
	elector  *election.Elector // nil without election
	member   *sharding.Member  // nil without sharding
	metrics  *metrics.Registry
	page     *debugpage.Handler
	problems []error

	led     []Runnable // run in the leader
	all     []Runnable // run in every replica
	checks  []check    // of readiness
	live    []check    // of liveness
	waiting waiting    // before the first term
	log     healthLog
	started atomic.Bool
	stopped atomic.Bool // Run is stopping
}

// New returns a manager that runs nothing. The client is for the election or the sharding.
func New(c *client.Client, o *Options) *Manager {
	m := &Manager{metrics: metrics.NewRegistry()}
	m.page = debugpage.New(m.metrics)
	m.live, m.checks = []check{{"ping", ping}}, []check{{"running", m.running}}
	if o != nil {
		m.options = *o
	}
	d := &m.options
	if d.StopTimeout < 0 {
		m.wrong("Options.StopTimeout: %v is negative; leave it zero for the default", d.StopTimeout)
	}
	d.StopTimeout = cmp.Or(d.StopTimeout, time.Minute)
	if d.Logger == nil {
		d.Logger = slog.Default()
	}
	switch {
	case d.LeaderElection != "":
		var e election.Options
		if d.ElectionOptions != nil {
			e = *d.ElectionOptions
		}
		if e.Name != "" {
			m.wrong("Options.ElectionOptions.Name is %q: set only Options.LeaderElection", e.Name)
		}
		e.Name = d.LeaderElection
		if e.Logger == nil {
			e.Logger = d.Logger
		}
		m.elector = election.New(c, &e)
		m.keep(m.elector.Validate())
		m.checks = append(m.checks, check{"lease-" + d.LeaderElection, m.reached})
		m.keep(m.metrics.AddElector(m.elector))
	case d.ElectionOptions != nil:
		m.wrong("Options.ElectionOptions is set without Options.LeaderElection: set the name of the lease")
	}
	m.shard(c)
	if d.MetricsHandler == nil {
		d.MetricsHandler = m.metrics
	} else if d.MetricsAddr == "" {
		m.wrong("Options.MetricsHandler is set without Options.MetricsAddr: set the address")
	}
	return m
}

// shard prepares the sharding.
func (m *Manager) shard(c *client.Client) {
	d := &m.options
	switch {
	case d.Sharding != "" && d.LeaderElection != "":
		m.wrong("Options.Sharding and Options.LeaderElection are both set: set one of them")
	case d.Sharding != "":
		var o sharding.Options
		if d.ShardingOptions != nil {
			o = *d.ShardingOptions
		}
		if o.Name != "" {
			m.wrong("Options.ShardingOptions.Name is %q: set only Options.Sharding", o.Name)
		}
		o.Name = d.Sharding
		if o.Logger == nil {
			o.Logger = d.Logger
		}
		m.member = sharding.New(c, &o)
		m.keep(m.member.Validate())
		m.checks = append(m.checks, check{"lease-" + d.Sharding, m.reached})
		m.keep(m.metrics.AddMember(m.member))
		m.page.AddTable(m.shardTable)
	case d.ShardingOptions != nil:
		m.wrong("Options.ShardingOptions is set without Options.Sharding: set the name of the group")
	}
}

// shardTable is the part of the debug page about the sharding.
func (m *Manager) shardTable() debugpage.Table {
	s := m.member.Status()
	t := debugpage.Table{Title: "Shards of " + s.Name, Columns: []string{"member", "slots of 256"}}
	for _, member := range s.Members {
		t.Rows = append(t.Rows, []string{member.Identity, member.Ranges})
	}
	return t
}

func (m *Manager) wrong(format string, args ...any) {
	m.problems = append(m.problems, fmt.Errorf("manager: "+format, args...))
}

// keep adds an error of another package to the problems, if it is not nil.
func (m *Manager) keep(err error) {
	if err != nil {
		m.wrong("%w", err)
	}
}

// late reports whether Run has begun, so that nothing can be added any more, and logs that. What names the argument.
func (m *Manager) late(method, what string) bool {
	if !m.started.Load() {
		return false
	}
	m.options.Logger.Error("a call is ignored", "err",
		fmt.Errorf("manager: %s was called with %s after the start of Run: call it before", method, what))
	return true
}

// Add adds something that only the leader runs; without election, every replica does. If r has a method
// Standby(context.Context) error, as a [controller.Runner] has, it runs in the replicas that wait. With election or
// sharding, the first term of a replica waits until its controllers can begin, see [Manager]. The Run method of r is
// called again in each term of the replica, after all earlier calls have returned. With election, r must not be a
// [cache.View]: every replica needs its objects to be ready, so use AddToAll. With election or sharding, r must not be
// a [webhook.Server], which runs once, and which every replica needs: use AddToAll.
//
// With sharding, every member of the group runs r. A [controller.Runner] reconciles only the objects of its shard. A
// controller of another type must have the method Shard, as a controller.Runner has; otherwise each member would
// reconcile all objects, and Run returns an error.
//
// After the start of Run, Add ignores r and logs an error.
func (m *Manager) Add(r Runnable) {
	if m.late("Add", name(r)) {
		return
	}
	if r == nil {
		m.wrong("Add was called with nil: pass a Runnable")
		return
	}
	if v, ok := r.(view); ok && m.elector != nil {
		m.wrong("Add was called with the view of %s, without which a replica on standby is not ready: use AddToAll",
			v.Resource())
		return
	}
	if _, ok := r.(*webhook.Server); ok && (m.elector != nil || m.member != nil) {
		m.wrong("Add was called with a webhook server, which runs once and must serve in every replica: use AddToAll")
		return
	}
	if m.member != nil {
		m.divide(r)
	}
	m.led = append(m.led, r)
	m.watch(r)
}

// divide makes a controller reconcile only the objects of this member. One without a method Shard would reconcile all
// objects in every member.
func (m *Manager) divide(r Runnable) {
	if s, ok := r.(interface{ Shard(s controller.Shards) }); ok {
		s.Shard(m.member)
	} else if _, ok := r.(metrics.Controller); ok {
		m.wrong("Add was called with the controller %s, which can't be sharded: use Options.LeaderElection", name(r))
	}
}

// AddToAll adds something that every replica runs, such as a webhook server, a recorder of events, or a [cache.View]
// that a reconcile reads without having it among its sources. The metrics have a [webhook.Server], but not one in a
// Runnable of another type: add it with [metrics.Registry.AddWebhookServer]. After the start of Run, AddToAll ignores r and
// logs an error.
func (m *Manager) AddToAll(r Runnable) {
	if m.late("AddToAll", name(r)) {
		return
	}
	if r == nil {
		m.wrong("AddToAll was called with nil: pass a Runnable")
		return
	}
	m.all = append(m.all, r)
	m.watch(r)
}

// AddReadinessCheck adds a check of readiness. f returns an error if the replica is not ready. The name may appear in
// paths, so it may have slashes, as in "db/primary", but no empty, . or .. element. No other check of readiness may
// have it. After the start of Run, AddReadinessCheck ignores the check and logs an error.
func (m *Manager) AddReadinessCheck(name string, f func(context.Context) error) {
	if m.late("AddReadinessCheck", fmt.Sprintf("the check %q", name)) {
		return
	}
	m.verify("AddReadinessCheck", "readiness", m.checks, check{name, f})
	m.checks = append(m.checks, check{name, f})
}

// AddLivenessCheck adds a check of liveness. f returns an error if the process can recover only by a restart, so it
// must not depend on servers. The name is as that of [Manager.AddReadinessCheck], and no other check of liveness may
// have it. After the start of Run, AddLivenessCheck ignores the check and logs an error.
func (m *Manager) AddLivenessCheck(name string, f func(context.Context) error) {
	if m.late("AddLivenessCheck", fmt.Sprintf("the check %q", name)) {
		return
	}
	m.verify("AddLivenessCheck", "liveness", m.live, check{name, f})
	m.live = append(m.live, check{name, f})
}

// verify reports what is wrong with a new check.
func (m *Manager) verify(method, kind string, checks []check, c check) {
	switch {
	case c.run == nil:
		m.wrong("%s was called with nil for the check %q: pass a function", method, c.name)
	case c.name == "" || path.Clean("/"+c.name) != "/"+c.name:
		m.wrong("%s was called with the name %q, which no path can have: use another name", method, c.name)
	case has(checks, c.name):
		m.wrong("%s was called with the name %q, which another check of %s has: use another name", method, c.name, kind)
	}
}

// Metrics returns the metrics of the election and of all controllers and views that were added, with their caches and
// state machines. Use it to add other parts of the program, and for the Prometheus library.
func (m *Manager) Metrics() *metrics.Registry { return m.metrics }

// AddTable adds a table to the debug page, see [Options.DebugAddr]. The function returns its current content. A table
// may also be added while Run is active.
func (m *Manager) AddTable(t func() debugpage.Table) {
	if t == nil {
		if !m.late("AddTable", "nil") {
			m.wrong("AddTable was called with nil: pass a function")
		}
		return
	}
	m.page.AddTable(t)
}

// Leading reports whether this replica runs what [Manager.Add] has added. Without election and sharding it does while
// Run is active.
func (m *Manager) Leading() bool {
	switch {
	case m.elector != nil:
		return m.elector.Status().Leading
	case m.member != nil:
		return m.member.Status().Joined
	}
	return m.started.Load() && !m.stopped.Load()
}

// Fence returns a middleware that refuses writes while this replica does not lead, or is not a member, also those of a
// run that ignores the end of its context; see [election.Elector.Fence] and [sharding.Member.Fence]. The error wraps
// [election.ErrNotLeader]. Use it in the client of the reconciles, and another client for the manager. Without election
// and sharding it refuses nothing.
//
//	m := manager.New(c, &manager.Options{LeaderElection: "shop"})
//	fenced, err := client.New(ctx, &client.Options{Config: c.Config(), PerAttempt: []middleware.Func{m.Fence()}})
func (m *Manager) Fence() middleware.Func {
	switch {
	case m.elector != nil:
		return m.elector.Fence()
	case m.member != nil:
		return m.member.Fence()
	}
	return func(next http.RoundTripper) http.RoundTripper { return next }
}

// Sharding returns the state of the sharding, or false without sharding.
func (m *Manager) Sharding() (sharding.Status, bool) {
	if m.member == nil {
		return sharding.Status{}, false
	}
	return m.member.Status(), true
}

// Run runs everything until ctx ends, and returns nil when all of it has stopped; see the comment of the package.
//
// Errors: that of a Runnable that has failed, which stops the others; an error that names the Runnables that have not
// stopped in time. It returns an error immediately if an option is invalid or an address can't be listened to.
func (m *Manager) Run(ctx context.Context) error {
	if m.started.Swap(true) {
		return errors.New("manager: Run was called twice")
	}
	defer m.stopped.Store(true)
	if err := errors.Join(m.problems...); err != nil {
		return err
	}
	servers, err := m.serve()
	if err != nil {
		return err
	}
	defer servers.close()

	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var failed atomic.Bool
	fail := func(err error) {
		failed.Store(true)
		stop(err)
	}
	health := newSupport(ctx, fail) // the health endpoint shows how the others stop
	health.start("HTTP server", servers.run)
	support := newSupport(ctx, fail)
	for _, r := range m.all {
		support.start(name(r), r.Run)
	}
	lead := newGroup(ctx, fail)
	term := m.term()
	if term == nil {
		for _, r := range m.led {
			lead.start(name(r), r.Run)
		}
	} else {
		for _, r := range m.led {
			if s, ok := r.(standby); ok {
				support.start("standby of "+name(r), s.Standby)
			}
		}
		what := "leader election"
		if m.member != nil {
			what = "sharding"
		}
		giveUp := func(err error) { lead.ended(what, err) }
		lead.start(what, func(ctx context.Context) error { return m.campaign(ctx, term, giveUp) })
	}
	<-ctx.Done()
	m.stopped.Store(true)
	cause := context.Cause(ctx)
	timeout := m.options.StopTimeout
	ofLead := max(timeout, timeout+reportTime) // the sum may overflow
	late := errors.Join(lead.wait(cause, ofLead), support.wait(cause, timeout), health.wait(cause, timeout))
	switch {
	case late != nil:
		return fmt.Errorf("%w; %w", cause, late)
	case failed.Load(): // before the end of the context: a later failure is among the late errors
		return cause
	}
	return nil
}

// reportTime is the time in which a term names what still runs after Options.StopTimeout.
const reportTime = time.Second

// standby prepares a Runnable for its Run.
type standby interface {
	Standby(ctx context.Context) error
}

// termFunc runs one term of this replica as a leader or a member, see [election.Elector.Run].
type termFunc func(ctx context.Context, lead func(context.Context) error) error

// term returns the function for terms, or nil without election and sharding.
func (m *Manager) term() termFunc {
	switch {
	case m.elector != nil:
		return m.elector.Run
	case m.member != nil:
		return m.member.Run
	}
	return nil
}

// campaign runs the terms of this replica, one after the other, as soon as its controllers can begin. giveUp ends the
// wait for it with an error.
func (m *Manager) campaign(ctx context.Context, term termFunc, giveUp func(error)) error {
	if err := m.prepare(ctx); err != nil {
		return err
	}
	for {
		var result error // of the term
		pause := time.After(termInterval)
		err := term(ctx, func(ctx context.Context) error {
			result = m.lead(ctx, giveUp)
			return result
		})
		stopped, lost := result == election.ErrLost, errors.Is(err, election.ErrLost) // everything has stopped
		switch {
		case ctx.Err() == nil && !stopped:
			return err
		case ctx.Err() != nil && lost && (stopped || isEnd(ctx, result)):
			return nil // a loss during the stop is in the log
		case ctx.Err() != nil:
			return err
		}
		m.options.Logger.Info("on standby", "lease", cmp.Or(m.options.LeaderElection, m.options.Sharding))
		select {
		case <-pause:
		case <-ctx.Done():
		}
	}
}

// termInterval is the minimum time from the start of a term to that of the next one, so that a replica that loses each
// term immediately does not load the server.
const termInterval = 2 * time.Second

// lead runs what the leader runs until ctx ends. It does not return before everything has ended, since the lease is
// released then. If that takes too long, it calls giveUp with an error: the program should end.
func (m *Manager) lead(ctx context.Context, giveUp func(error)) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	g := newGroup(ctx, stop)
	for _, r := range m.led {
		g.start(name(r), r.Run)
	}
	<-ctx.Done()
	cause := context.Cause(ctx)
	late := g.wait(cause, m.options.StopTimeout)
	left := terms.Left(ctx)
	for _, part := range left { // a Runnable may have dropped the error
		if !errors.Is(cause, part.Err) && !errors.Is(late, part.Err) {
			late = errors.Join(late, part.Err)
		}
	}
	result := cause
	switch {
	case late != nil:
		result = &terms.Unfinished{Cause: cause, Left: late}
	case len(left) == 0:
		return cause
	}
	giveUp(result)
	<-g.done
	for _, part := range terms.Left(ctx) {
		if m.elector != nil { // a member keeps only the slots of the work
			<-part.Done
		}
	}
	return errors.New(result.Error()) // nothing that matters is unfinished now
}

// name returns the name of a Runnable for errors.
func name(r Runnable) string {
	if n, ok := r.(interface{ Name() string }); ok {
		return n.Name()
	}
	if v, ok := r.(view); ok {
		return "view of " + v.Resource().String()
	}
	return fmt.Sprintf("%T", r)
}
