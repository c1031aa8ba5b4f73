// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package election

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/internal/apierr"
	"github.com/kube-go/sdk/runtime/internal/leases"
	"github.com/kube-go/sdk/runtime/internal/terms"
)

// Options are the options of [New]. The zero value of a field is its default.
type Options struct {
	// Name is the name of the lease, which all replicas share, such as "document-controller". Required.
	Name string

	// Namespace is the namespace of the lease. Default: the namespace of the client, which in a cluster is that of the
	// pod.
	Namespace string

	// Identity identifies the replica. Default: the host name and a random suffix.
	Identity string

	// LeaseDuration is the time without a renewal after which another replica may lead, in whole seconds. Default: 15 s.
	LeaseDuration time.Duration

	// RenewDeadline is the time without a successful renewal after which a term ends. It must be shorter than
	// LeaseDuration by more than RetryPeriod: in the difference, the work of an ended term stops. Default: 10 s.
	RenewDeadline time.Duration

	// RetryPeriod is the time between renewals. Replicas that wait read the lease about twice as often. Default: 2 s.
	RetryPeriod time.Duration

	// Labels and Annotations are those of a lease that this replica creates. An existing lease keeps its own. Default:
	// none.
	Labels, Annotations map[string]string

	// Logger logs the beginning and the end of terms, and failed requests as warnings. Default: [slog.Default].
	Logger *slog.Logger
}

// The defaults of client-go and of the components of Kubernetes.
const (
	defaultLeaseDuration = 15 * time.Second
	defaultRenewDeadline = 10 * time.Second
	defaultRetryPeriod   = 2 * time.Second
)

// Errors of an [Elector].
var (
	// ErrLost is the error of a term that ended because the lease could not be renewed in time, or was taken away.
	ErrLost = errors.New("the lease is lost")

	// ErrNotLeader is the error of a request that a fence refuses: that of [Elector.Fence] because the replica does not
	// lead, and that of package sharding because it is not a member.
	ErrNotLeader = errors.New("this replica has no term")
)

// Elector is one replica's candidate for a lease. Create one with [New].
type Elector struct {
	options Options
	leases  *client.API[leases.Lease]
	logger  *slog.Logger
	invalid error

	mu      sync.Mutex // guards the fields below
	state   state
	lease   *leases.Lease // as it was read or written last, or nil
	reached bool          // the server has returned the lease
	reading terms.Failure // the last read
	writing terms.Failure // the last write, until no write is necessary
	running bool
}

// New returns a candidate for a lease. It does nothing until Run is called.
func New(c *client.Client, o *Options) *Elector {
	e := &Elector{}
	if o != nil {
		e.options = *o
	}
	d := &e.options
	if c != nil {
		d.Namespace = cmp.Or(d.Namespace, c.Namespace())
	}
	d.LeaseDuration = cmp.Or(d.LeaseDuration, defaultLeaseDuration)
	d.RenewDeadline = cmp.Or(d.RenewDeadline, defaultRenewDeadline)
	d.RetryPeriod = cmp.Or(d.RetryPeriod, defaultRetryPeriod)
	if d.Identity == "" {
		host, _ := os.Hostname() // the suffix is enough
		d.Identity = host + "_" + rand.Text()
	}
	if d.Logger == nil {
		d.Logger = slog.Default()
	}
	e.logger = d.Logger.With("lease", d.Namespace+"/"+d.Name, "identity", d.Identity)
	e.leases = client.Namespaced[leases.Lease](c, d.Namespace)
	e.invalid = d.check()
	if c == nil {
		e.invalid = errors.New("election: the client is nil: pass one of client.New")
	}
	e.state = state{
		identity: d.Identity, leaseDuration: d.LeaseDuration, renewDeadline: d.RenewDeadline, retryPeriod: d.RetryPeriod,
	}
	return e
}

// check returns the error of an invalid field.
func (o *Options) check() error {
	switch {
	case o.Name == "":
		return errors.New("election: Options.Name is empty: set the name of the lease that all replicas share")
	case len(validation.IsDNS1123Subdomain(o.Name)) > 0:
		return fmt.Errorf("election: Options.Name is %q: set lower-case letters, digits, hyphens and dots", o.Name)
	case o.Namespace == "":
		return errors.New("election: Options.Namespace is empty, and the client has no namespace: set one of them")
	case len(validation.IsDNS1123Label(o.Namespace)) > 0:
		return fmt.Errorf("election: Options.Namespace is %q: set lower-case letters, digits and hyphens", o.Namespace)
	case !utf8.ValidString(o.Identity): // the lease would have another one
		return fmt.Errorf("election: Options.Identity is %q: set valid UTF-8", o.Identity)
	}
	if err := terms.CheckDurations(o.LeaseDuration, o.RenewDeadline, o.RetryPeriod); err != nil {
		return fmt.Errorf("election: %w", err)
	}
	return nil
}

// Validate returns the error of an invalid option or client, which Run would return, or nil.
func (e *Elector) Validate() error { return e.invalid }

// Status is the state of an [Elector].
type Status struct {
	// Lease is the lease, and Identity this replica.
	Lease    core.ObjectRef
	Identity string

	// Leading is true while this replica is the leader.
	Leading bool

	// Leader is the identity in the lease, or empty if the lease is free or has not been read.
	Leader string

	// Transitions is how often the lease has changed its holder. It grows with each term of a replica with another
	// identity, so that other systems can reject the work of a former leader.
	Transitions int

	// Reached is true once the server has returned the lease to this replica, for a read or a write.
	Reached bool

	// Err is the error of the last read of the lease, or else that of the last write, or nil if both have succeeded.
	Err error
}

// Status returns the current state.
func (e *Elector) Status() Status {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now()
	e.state = e.state.expire(now)
	s := &e.state
	return Status{
		Lease: core.ObjectRef{Namespace: e.options.Namespace, Name: e.options.Name}, Identity: e.options.Identity,
		Leading: s.leads(now), Leader: s.stored.leader(), Transitions: int(s.stored.transitions), Reached: e.reached,
		Err: cmp.Or(e.reading.Err, e.writing.Err), // while reads fail, nothing is written
	}
}

// Run waits until this replica is the leader, calls lead, and returns after the term. The context of lead ends with
// ctx, with the cause [ErrLost] when the term ends, or at the latest when Run returns. If lead continues after the end
// of ctx, the lease is renewed meanwhile, and the term may still end: a controller in lead notices it. Other work can
// read [Status.Leading]. After lead has returned, Run releases the lease. If runs of a controller in lead have not
// returned, Run does not release the lease; it expires.
//
// It returns the error of lead; the cause of ctx if the replica has not led, or lead has returned nil after the end of
// ctx; an error that wraps ErrLost if the term ended before the work; or the error of an invalid option. It does not
// return before lead does.
func (e *Elector) Run(ctx context.Context, lead func(context.Context) error) error {
	if e.invalid != nil {
		return e.invalid
	}
	if err := e.begin(); err != nil {
		return err
	}
	defer e.end()
	t := &term{elector: e, lead: lead}
	in := input{kind: tick}
	for {
		act := t.step(ctx, in)
		switch act.kind {
		case lost, done:
			if t.work != nil || ctx.Err() != nil {
				return t.finish(ctx)
			}
			e.restart() // the term was over before the work could begin
			in = input{kind: tick}
		case wait:
			in = t.wait(ctx, act.until)
		default:
			in = e.send(ctx, act)
		}
	}
}

// begin makes a new term possible.
func (e *Elector) begin() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.running {
		return errors.New("election: Run was called while it was running")
	}
	e.running, e.state = true, e.state.begin()
	return nil
}

func (e *Elector) restart() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.state = e.state.begin()
}

func (e *Elector) end() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.running, e.state = false, e.state.begin()
}

// apply applies an input to the state, and returns the new state.
func (e *Elector) apply(in input) (state, action) {
	e.mu.Lock()
	before := e.state
	in.now, in.jitter = time.Now(), mathrand.Float64()
	after, act := before.step(in)
	e.state = after
	if in.kind == found && act.kind == wait {
		e.writing = terms.Failure{}
	}
	e.mu.Unlock() // before the log, whose handler may call Status
	if leader := after.stored.leader(); leader != before.stored.leader() && leader != "" {
		e.logger.Info("new leader", "leader", leader)
	}
	return after, act
}

// send sends a request, and returns its result.
func (e *Elector) send(ctx context.Context, act action) input {
	e.mu.Lock()
	s, l := e.state, e.lease
	e.mu.Unlock()
	// Half of RenewDeadline, so that a leader can send another request before its term ends.
	sent := time.Now()
	limit := sent.Add(s.renewDeadline / 2)
	if s.leading && s.end().Before(limit) {
		limit = s.end()
	}
	candidate := ctx
	if s.leading || s.unknown {
		// The end of ctx does not interrupt the requests of a leader, and those that may make this replica the leader.
		ctx = context.WithoutCancel(ctx)
	}
	// The elector has its own retries.
	ctx, cancel := context.WithDeadline(middleware.WithAttempts(middleware.WithoutRateLimit(ctx), 1), limit)
	defer cancel()
	var err error
	kind := stored
	switch act.kind {
	case read:
		kind = found
		l, err = e.leases.Get(ctx, e.options.Name, nil)
	case create:
		l = &leases.Lease{ObjectMeta: metav1.ObjectMeta{
			Name: e.options.Name, Labels: e.options.Labels, Annotations: e.options.Annotations,
		}}
		act.record.store(l)
		l, err = e.leases.Create(ctx, l, nil)
	default:
		l = new(*l)
		act.record.store(l)
		l, err = e.leases.Update(ctx, l, nil)
	}
	switch {
	case err == nil:
		e.note(act.kind, l, nil)
		return input{kind: kind, version: l.ResourceVersion, record: recordOf(l)}
	case act.kind == read && apierr.NotFound(err):
		e.note(read, nil, nil)
		return input{kind: missing}
	case errors.Is(err, core.ErrConflict), errors.Is(err, core.ErrAlreadyExists),
		act.kind == update && apierr.NotFound(err):
		return input{kind: conflict}
	case ctx.Err() != nil && candidate.Err() != nil && !s.leading && !s.unknown:
		return input{kind: stop}
	}
	if ctx.Err() != nil || isTimeout(err) { // the connection may be dead, and the next request would use it
		e.leases.Client().Reconnect()
	}
	e.note(act.kind, nil, err)
	return input{kind: failed, sent: sent}
}

// isTimeout reports whether a request has failed because a response was late, such as after the ResponseHeaderTimeout
// of the client.
func isTimeout(err error) bool {
	late, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	return ok && late.Timeout()
}

// note takes note of the result of a request, and logs an error as [terms.Failure] says.
func (e *Elector) note(kind actionKind, l *leases.Lease, err error) {
	e.mu.Lock()
	last := &e.writing
	if kind == read {
		last = &e.reading
	}
	log := last.Note(err)
	leading := e.state.leading
	e.lease = l
	e.reached = e.reached || l != nil
	e.mu.Unlock() // before the log, whose handler may call Status
	if log {
		e.logger.Warn("a request for the lease has failed", "leading", leading, "err", err)
	}
}

// term is one call of Run, and the work of the leader in it.
type term struct {
	elector *Elector
	lead    func(context.Context) error

	work   context.Context //nolint:containedctx // the context of lead; nil until the work begins
	lose   context.CancelCauseFunc
	result chan terms.Result // of lead
	stop   chan struct{}     // ends endInTime
	guard  sync.WaitGroup    // endInTime

	noticed atomic.Bool // the loss of the term is logged

	returned bool  // lead has returned
	lost     bool  // the term had ended before
	err      error // its result
}

// step applies an input, and begins the work of a new leader.
func (t *term) step(ctx context.Context, in input) action {
	s, act := t.elector.apply(in)
	if t.work == nil && ctx.Err() == nil && s.leads(time.Now()) {
		t.elector.logger.Info("leading", "transitions", s.stored.transitions)
		t.work, t.lose = terms.Begin(ctx)
		t.stop = make(chan struct{})
		t.guard.Go(t.endInTime) // finish waits for both
		t.result = terms.Start(t.work, t.lead)
	}
	return act
}

// endInTime ends the work at the end of the term, even during a request. It looks at the wall clock every second, since
// timers stand still while the machine is suspended.
func (t *term) endInTime() {
	for {
		left, holds := t.elector.left()
		if !holds {
			t.fail()
			return
		}
		timer := time.NewTimer(min(left, time.Second))
		select {
		case <-timer.C:
		case <-t.stop:
			timer.Stop()
			return
		}
	}
}

// fail ends the work, because the term is lost. The log says so now, since the work may ignore the end of its context,
// but not earlier, since a log handler may block.
func (t *term) fail() {
	t.lose(ErrLost)
	if !t.noticed.Swap(true) {
		t.elector.logger.Warn("the lease is lost: the work ends", "err", t.elector.loss())
	}
}

// left returns the time until the end of the term, unless it has ended.
func (e *Elector) left() (left time.Duration, holds bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now()
	e.state = e.state.expire(now)
	return e.state.end().Sub(now), e.state.leading
}

// wait waits for a time, the end of the work, or the end of ctx if the work has not begun.
func (t *term) wait(ctx context.Context, until time.Time) input {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	var end <-chan struct{}
	if t.work == nil && !t.returned {
		end = ctx.Done()
	}
	select {
	case <-timer.C:
		return input{kind: tick}
	case result := <-t.result:
		t.end(result)
		if len(terms.Left(t.work)) > 0 {
			return input{kind: abandon}
		}
		return input{kind: stop}
	case <-end:
		t.returned = true
		return input{kind: stop}
	}
}

// loss returns an error that says why the term is lost.
func (e *Elector) loss() error {
	e.mu.Lock()
	reason := e.state.reason
	err := cmp.Or(e.reading.Err, e.writing.Err)
	e.mu.Unlock()
	if reason == "" {
		reason = fmt.Sprintf("it was not renewed within Options.RenewDeadline, which is %v", e.options.RenewDeadline)
	}
	lost := fmt.Errorf("lease %s/%s: %w: %s", e.options.Namespace, e.options.Name, ErrLost, reason)
	if err != nil {
		lost = fmt.Errorf("%w: %w", lost, err)
	}
	return lost
}

// end takes note of the end of the work.
func (t *term) end(r terms.Result) {
	t.returned, t.lost, t.err, t.result = true, r.Lost, r.Err, nil
	close(t.stop)
	t.guard.Wait()
}

// finish waits for the work, and returns the result of Run.
func (t *term) finish(ctx context.Context) error {
	e := t.elector
	if t.work == nil {
		return context.Cause(ctx)
	}
	if !t.returned {
		t.fail()
		t.end(<-t.result)
	}
	t.lose(nil)
	left := terms.Left(t.work)
	switch status := e.Status(); {
	case t.lost:
		err := e.loss()
		e.logger.Info("no longer leading: the work has ended")
		if t.err != nil && !errors.Is(t.err, ErrLost) {
			err = fmt.Errorf("%w; %w", err, t.err)
		}
		return err
	case len(left) > 0:
		e.logger.Warn("the lease is not released, since work continues", "err", left[0].Err)
	case status.Leader == e.options.Identity:
		e.logger.Warn("the lease is not released", "err", status.Err)
	default:
		e.logger.Info("no longer leading: the lease is released")
	}
	if t.err == nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return t.err
}
