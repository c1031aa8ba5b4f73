// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package sharding

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/election"
	"github.com/kube-go/sdk/runtime/internal/apierr"
	"github.com/kube-go/sdk/runtime/internal/leases"
	"github.com/kube-go/sdk/runtime/internal/terms"
)

// Options are the options of [New]. The zero value of a field is its default.
type Options struct {
	// Name is the name of the group, which all replicas share, such as "shop". Required. It has at most 40 lower-case
	// letters, digits and hyphens.
	Name string

	// Namespace is the namespace of the leases. Default: the namespace of the client, which in a cluster is that of the
	// pod.
	Namespace string

	// Identity names the replica for people. It need not be unique. Default: the host name.
	Identity string

	// ByNamespace divides the objects by their namespaces instead of their UIDs: all objects of a namespace have one
	// owner, and so have all cluster-scoped objects. The replicas must agree: one that differs from the others owns
	// nothing, and Status.Err says why. So a Deployment that changes it needs the strategy Recreate. Use it only with
	// many namespaces whose names differ in more than the last characters: the hash, which is that of the API server,
	// does not distinguish the others well. Default: the slot of an object is that of its UID. An object and a later one
	// of the same name may then have different owners, and the later one may be reconciled before the owner of the former
	// one has noticed the deletion.
	ByNamespace bool

	// LeaseDuration, RenewDeadline and RetryPeriod are those of the lease of this replica, see [election.Options]. A
	// replica looks for changes of the group about twice in RetryPeriod. Defaults: 15 s, 10 s and 2 s.
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration

	// Logger logs which slots this replica gains and loses, and failed requests as warnings. Default: [slog.Default].
	Logger *slog.Logger
}

// Member is one replica of a group. Create one with [New].
//
// # Sharded views
//
// By default, each replica watches all objects, and reconciles its own. With Selection.Sharded of package cache, it
// also lists, watches and holds nothing but its own objects. The order is:
//
//   - A replica that gains slots has them in the table first. Then its views list the objects of all its slots again,
//     and only then work in the gained ones begins. The list is requested after the former owner has given up the
//     slots, or has lost its term, and all lists request the newest state. So work never begins with an object that
//     lacks a write of the former owner, unless a write that was sent before the end of a lost term reaches the server
//     later.
//   - A replica that loses slots first ends its work in them, then gives them away. Its views select less about two
//     RetryPeriods after that, with one list for all slots that leave meanwhile.
//
// Objects that leave a view for this reason are not deleted: no reconcile and no OnGone runs for them. The order holds
// for views that are sharded. An unsharded view, such as that of a source of a controller whose objects are divided by
// UID, may be behind the writes of the former owner when a run begins, as it may after a restart of the program.
//
// The views of the reconciled kind can be sharded and, with [Options.ByNamespace], also those of other namespaced
// sources. Then a changed object must concern only objects of its own namespace.
//
// The API server needs the feature gate ShardedListAndWatch, which is alpha in Kubernetes 1.36. Without the gate it
// ignores the selector and sends all objects, without any indication. The client notices the first object of another
// shard. Then the views request all objects, and drop the others, so that everything above holds, at the cost of the
// traffic. The status of the view has AllShards then, and the debug page of the manager shows it.
type Member struct {
	options Options
	leases  *client.API[leases.Lease]
	logger  *slog.Logger
	invalid error
	wake    chan struct{} // wakes the loop of a term; has room for one

	follow    sync.Mutex // held while followers are called, before mu
	followers []*follower

	mu      sync.Mutex // guards the fields below
	running bool
	elector *election.Elector // of the current term until it ends or is lost, or nil
	state   state
	group   *leases.Lease // the object with the table, as it was read or written last
	work    [slotCount]int
	wanted  wanted
	valid   context.Context //nolint:containedctx // ends when the windows have to list again
	former  []string        // the terms of this replica that have ended
	reached bool            // the server has returned the leases
	errs    failures

	invalidate context.CancelFunc // ends valid
	shrink     *time.Timer        // does it later; nil if nothing was lost
}

// failures has the last request of each kind. A replica may be permitted to read leases, but not to write them.
type failures struct{ list, write, remove terms.Failure }

// of returns the field of a kind.
func (f *failures) of(kind actionKind) *terms.Failure {
	switch kind {
	case write:
		return &f.write
	case remove:
		return &f.remove
	default:
		return &f.list
	}
}

// first returns the error of a list, since nothing else is sent after one, or else that of another request, or nil.
func (f *failures) first() error { return cmp.Or(f.list.Err, f.write.Err, f.remove.Err) }

// follower is a function that is called with the slots in which work may begin.
type follower struct {
	window *window // nil without one
	f      func(*core.Shard)
	last   slots
}

// New returns a member of a group. It does nothing until Run is called.
func New(c *client.Client, o *Options) *Member {
	m := &Member{wake: make(chan struct{}, 1)}
	if o != nil {
		m.options = *o
	}
	m.valid, m.invalidate = context.WithCancel(context.Background())
	d := &m.options
	if c != nil {
		d.Namespace = cmp.Or(d.Namespace, c.Namespace())
	}
	d.LeaseDuration = cmp.Or(d.LeaseDuration, 15*time.Second)
	d.RenewDeadline = cmp.Or(d.RenewDeadline, 10*time.Second)
	d.RetryPeriod = cmp.Or(d.RetryPeriod, 2*time.Second)
	if d.Identity == "" {
		d.Identity, _ = os.Hostname() // people can do without it
	}
	if d.Logger == nil {
		d.Logger = slog.Default()
	}
	m.logger = d.Logger.With("shards", d.Namespace+"/"+d.Name, "identity", d.Identity)
	m.leases = client.Namespaced[leases.Lease](c, d.Namespace)
	m.invalid = d.check()
	if c == nil {
		m.invalid = errors.New("sharding: the client is nil: pass one of client.New")
	}
	return m
}

// check returns the error of an invalid field.
func (o *Options) check() error {
	name := regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?$`)
	switch {
	case o.Name == "":
		return errors.New("sharding: Options.Name is empty: set the name that all replicas share")
	case !name.MatchString(o.Name):
		return fmt.Errorf("sharding: Options.Name is %q: set at most 40 lower-case letters, digits and hyphens", o.Name)
	case o.Namespace == "":
		return errors.New("sharding: Options.Namespace is empty, and the client has no namespace: set one of them")
	case len(validation.IsDNS1123Label(o.Namespace)) > 0:
		return fmt.Errorf("sharding: Options.Namespace is %q: set lower-case letters, digits and hyphens", o.Namespace)
	case !utf8.ValidString(o.Identity): // the lease would have another one
		return fmt.Errorf("sharding: Options.Identity is %q: set valid UTF-8", o.Identity)
	}
	if err := terms.CheckDurations(o.LeaseDuration, o.RenewDeadline, o.RetryPeriod); err != nil {
		return fmt.Errorf("sharding: %w", err)
	}
	return nil
}

// Validate returns the error of an invalid option or client, which Run would return, or nil.
func (m *Member) Validate() error { return m.invalid }

func (m *Member) slot(uid types.UID, namespace string) int {
	if m.options.ByNamespace {
		return slotOf(namespace)
	}
	return slotOf(string(uid))
}

func (m *Member) owns(slot int) bool {
	return m.state.granted.has(slot) && m.elector != nil && m.elector.Status().Leading
}

// ByNamespace reports whether the objects are divided by their namespaces, see [Options.ByNamespace].
func (m *Member) ByNamespace() bool { return m.options.ByNamespace }

// Begin begins work on an object, if this replica owns it. The object gets no other owner before end is called, unless
// the term is lost. Further calls of end do nothing.
func (m *Member) Begin(uid types.UID, namespace string) (end func(), ok bool) {
	return m.begin(nil, uid, namespace)
}

func (m *Member) begin(w *window, uid types.UID, namespace string) (end func(), ok bool) {
	slot := m.slot(uid, namespace)
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.owns(slot) || w != nil && !w.lists.has(&m.wanted, slot) {
		return nil, false
	}
	m.work[slot]++
	return sync.OnceFunc(func() { m.end(slot) }), true
}

func (m *Member) end(slot int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.work[slot]--
	if m.work[slot] == 0 && !m.state.granted.has(slot) {
		m.wakeUp()
	}
}

// wakeUp ends a wait of the loop.
func (m *Member) wakeUp() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// Follow calls f with the shard that this replica owns, now and after each change, until stop is called. f must not
// block, and must not call Follow or stop. The shard of a replica that owns nothing is empty: its String is "", which
// selects all objects as a selector. When an object enters the shard, work on it may begin. The caller must start that
// work, because no later event reports the changes that the object had before.
func (m *Member) Follow(f func(*core.Shard)) (stop func()) { return m.followOn(nil, f) }

func (m *Member) followOn(w *window, f func(*core.Shard)) (stop func()) {
	m.follow.Lock()
	defer m.follow.Unlock()
	one := &follower{window: w, f: f}
	m.followers = append(m.followers, one)
	m.mu.Lock()
	one.last = m.open(w)
	m.mu.Unlock()
	f(one.last.shard(m.options.ByNamespace))
	return func() {
		m.follow.Lock()
		defer m.follow.Unlock()
		m.followers = slices.DeleteFunc(m.followers, func(o *follower) bool { return o == one })
	}
}

// Run joins the group, calls work, and leaves the group after one term. The context of work ends with ctx, with the
// cause [election.ErrLost] when the term is lost, or at the latest when Run returns. If work continues after the end of
// ctx, the term may still be lost: a controller in it notices that. Other work can read [Status.Joined]. After work has
// returned, and what it has begun with Begin has ended, Run gives the objects to the other members. If that is
// impossible for RenewDeadline, Run returns, and the others take the objects after LeaseDuration.
//
// It returns the error of work; the cause of ctx if the replica has not joined, or work has returned nil after the end
// of ctx; an error that wraps election.ErrLost if the term was lost before the work ended, also because somebody has
// deleted or restored a Lease of the group; or the error of an invalid option. It does not return before work does.
// After election.ErrLost, call Run again to join as a new member.
func (m *Member) Run(ctx context.Context, work func(context.Context) error) error {
	if m.invalid != nil {
		return m.invalid
	}
	if !m.start() {
		return errors.New("sharding: Run was called while it was running")
	}
	defer m.stop()
	group, err := m.find(ctx)
	if err != nil {
		return err
	}
	o, name := &m.options, m.options.Name+"-"+strings.ToLower(rand.Text()[:10])
	e := election.New(m.leases.Client(), &election.Options{
		Name: name, Namespace: o.Namespace, Identity: cmp.Or(o.Identity, name),
		LeaseDuration: o.LeaseDuration, RenewDeadline: o.RenewDeadline, RetryPeriod: o.RetryPeriod,
		Labels:      map[string]string{groupLabel: o.Name},
		Annotations: map[string]string{joinedAnnotation: group},
		Logger:      slog.New(warnings{o.Logger.Handler()}),
	})
	t := &turn{member: m, elector: e, name: name, group: group}
	err = e.Run(ctx, func(ctx context.Context) error { return t.run(ctx, work) })
	m.remove(context.WithoutCancel(ctx), name)
	switch {
	case t.ended && !t.lost:
		return t.outcome(ctx)
	case t.lost || errors.Is(err, election.ErrLost):
		lost := t.why
		if lost == nil {
			lost = fmt.Errorf("shards %s/%s: %w", o.Namespace, o.Name, err)
		}
		m.logger.Info("this replica is not a member any more: its work has ended")
		if t.err != nil && !errors.Is(t.err, election.ErrLost) {
			lost = fmt.Errorf("%w; %w", lost, t.err)
		}
		return lost
	}
	return err
}

// outcome returns the result of Run after the end of the work.
func (t *turn) outcome(ctx context.Context) error {
	if t.err == nil {
		return context.Cause(ctx)
	}
	return t.err
}

func (m *Member) start() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running {
		return false
	}
	m.running = true
	return true
}

func (m *Member) stop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.running = false
}

// limit returns the context of a request, which no rate limit delays.
func (m *Member) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(middleware.WithoutRateLimit(ctx), m.options.RenewDeadline/2)
}

// find returns the UID of the object with the table. It creates the object if it does not exist. Lists do not have an
// object without the label, so each term would be lost at once: then find waits until somebody repairs it.
func (m *Member) find(ctx context.Context) (string, error) {
	for {
		l, err := m.tableLease(ctx)
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		if err == nil && l.Labels[groupLabel] != m.options.Name {
			err = fmt.Errorf("the lease %s/%s does not have the label %s=%s: set the label, or delete the lease",
				m.options.Namespace, l.Name, groupLabel, m.options.Name)
		}
		m.note(list, err)
		if err == nil {
			return string(l.UID), nil
		}
		timer := time.NewTimer(m.options.RetryPeriod)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return "", context.Cause(ctx)
		}
	}
}

func (m *Member) tableLease(ctx context.Context) (*leases.Lease, error) {
	ctx, cancel := m.limit(ctx)
	defer cancel()
	l, err := m.leases.Get(ctx, m.options.tableName(), nil)
	if !apierr.NotFound(err) {
		return l, err
	}
	l, err = m.leases.Create(ctx, m.options.newTable(), nil)
	if errors.Is(err, core.ErrAlreadyExists) {
		return m.leases.Get(ctx, m.options.tableName(), nil)
	}
	return l, err
}

// remove deletes the lease of a term whose work has ended. The others would wait until it expires.
func (m *Member) remove(ctx context.Context, name string) {
	ctx, cancel := m.limit(ctx)
	defer cancel()
	if err := m.leases.Delete(ctx, name, nil); err != nil && !apierr.NotFound(err) {
		m.logger.Warn("the lease of this replica is not deleted", "lease", name, "err", err)
	}
}

// note takes note of the result of a request, and logs an error as [terms.Failure] says.
func (m *Member) note(kind actionKind, err error) {
	m.mu.Lock()
	log := m.errs.of(kind).Note(err)
	m.mu.Unlock() // before the log, whose handler may call Status
	if log {
		m.logger.Warn("a request for the shards has failed", "err", err)
	}
}

// turn is one term of a member.
type turn struct {
	member  *Member
	elector *election.Elector
	name    string // of the lease
	group   string // the UID of the object with the table

	ended  bool  // the work has returned
	lost   bool  // the term was lost before
	why    error // why the group has lost this member, although its lease is renewed; or nil
	err    error // of the work
	lose   context.CancelCauseFunc
	result chan terms.Result
}

// run runs the work, and takes part in the group, until the work has ended and everything is given away, or the term is
// lost.
func (t *turn) run(ctx context.Context, work func(context.Context) error) error {
	term := terms.Of(ctx) // of the lease
	outer, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	inner, lose := terms.Begin(outer)
	defer lose(nil)
	defer context.AfterFunc(term, func() { lose(election.ErrLost) })()
	defer context.AfterFunc(ctx, func() {
		if term.Err() == nil {
			cancel(context.Cause(ctx))
		}
	})()
	t.lose = lose
	t.join()
	defer t.leave()
	t.result = terms.Start(inner, work) // run waits for it
	in := input{kind: tick}
	for {
		act := t.step(in)
		switch {
		case act.kind == lost:
			t.why = fmt.Errorf("shards %s/%s: %w: %s", t.member.options.Namespace, t.member.options.Name, election.ErrLost,
				act.loss.describe(t.member.options.tableName(), t.name))
			return t.fail(ctx)
		case act.kind != done && act.kind != late && !t.elector.Status().Leading:
			return t.fail(ctx)
		case act.kind == late:
			t.late()
			return t.outcome(ctx)
		case act.kind == done:
			return t.outcome(ctx)
		case act.kind == wait:
			in = t.wait(term, act.until)
		default:
			in = t.send(ctx, act)
		}
	}
}

// join begins the term.
func (t *turn) join() {
	m := t.member
	m.mu.Lock()
	defer m.mu.Unlock()
	m.elector = t.elector
	m.state = state{
		self: member{identity: m.options.Identity}, group: t.group,
		leaseDuration: m.options.LeaseDuration, poll: m.options.RetryPeriod / 2,
		patience: m.options.RenewDeadline, dead: slices.Clone(m.former),
	}
}

// leave ends the term.
func (t *turn) leave() {
	m := t.member
	m.mu.Lock()
	if uid := m.state.self.uid; uid != "" {
		m.former = append(m.former, uid)
		m.former = m.former[max(0, len(m.former)-maxFormer):]
	}
	before := m.state.granted
	m.state = state{}
	m.want(slots{})
	m.elector = nil
	m.mu.Unlock()
	m.publish(before, slots{})
}

// maxFormer is the maximum number of former terms that are remembered. The others remove those that are older.
const maxFormer = 16

// late logs that other members have to wait.
func (t *turn) late() {
	t.member.logger.Warn("the slots are not given away: the others take them after the duration of the lease")
}

// fail ends the work because the term is lost, and waits for it. If it has ended before, the loss changes nothing for
// the caller of Run.
func (t *turn) fail(ctx context.Context) error {
	m := t.member
	m.mu.Lock()
	before := m.state.granted
	m.state = m.state.end()
	m.elector = nil // the lease may be renewed while the work continues
	m.mu.Unlock()
	t.lose(election.ErrLost)      // before the log, whose handler may block
	if t.why != nil && !t.ended { // otherwise the elector logs it
		m.logger.Warn("the membership is lost: the work ends", "err", t.why)
	}
	m.publish(before, slots{})
	if !t.ended {
		t.end(<-t.result)
	}
	if t.lost {
		return election.ErrLost
	}
	t.late()
	return t.outcome(ctx)
}

// end takes note of the end of the work.
func (t *turn) end(r terms.Result) { t.ended, t.lost, t.err, t.result = true, r.Lost, r.Err, nil }

// step applies an input to the state, and notifies the followers.
func (t *turn) step(in input) action {
	m := t.member
	m.mu.Lock()
	before := m.state
	in.now, in.jitter = time.Now(), mathrand.Float64()
	if t.ended && in.kind == tick {
		in.kind = stop
	}
	for i, n := range m.work {
		if n > 0 {
			in.busy.add(i)
		}
	}
	var act action
	m.state, act = m.state.step(in)
	if in.kind == listed && act.kind == wait { // nothing has to be written
		m.errs.write, m.errs.remove = terms.Failure{}, terms.Failure{}
	}
	m.want(m.state.wanted())
	after := m.state
	m.mu.Unlock()
	m.publish(before.granted, after.granted)
	return act
}

// publish logs a change, and notifies the followers.
func (m *Member) publish(before, after slots) {
	if before != after {
		m.logger.Info("shards", "slots", after.len(), "gained", after.without(before).String(),
			"lost", before.without(after).String())
	}
	m.follow.Lock()
	defer m.follow.Unlock()
	for _, f := range m.followers {
		m.mu.Lock()
		now := m.open(f.window)
		m.mu.Unlock()
		if now != f.last {
			f.last = now
			f.f(now.shard(m.options.ByNamespace))
		}
	}
}

// wait waits for a time, the end of work, or the loss of the term.
func (t *turn) wait(term context.Context, until time.Time) input {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.member.wake:
	case result := <-t.result:
		t.end(result)
		return input{kind: stop}
	case <-term.Done():
	}
	return input{kind: tick}
}
