// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/time/rate"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core/abi"
	"github.com/kube-go/sdk/core/wire"
)

// guest is a module that a host runs.
type guest struct {
	host     *Host
	module   Module // with defaults
	digest   string
	program  *program
	client   *client.Client
	logger   *slog.Logger
	logs     *rate.Limiter
	requests *rate.Limiter
	budget   budget
	quota    quota
	cpu      *cpu
	tapes    atomic.Int64 // bytes that recordings may still have
	trial    *trial       // nil unless the module is compared with a recording

	ctx  context.Context //nolint:containedctx // of the instances; ends after the removal
	stop context.CancelCauseFunc

	description abi.Description // of the running instance
	reconciler  *reconciler     // nil unless the module has the profile; changed by turns, with mu held
	instance    *instance       // nil while the guest is not running; changed by turns, with mu held
	pending     []*operation    // have items that could not be sent yet; used by turns
	unread      int             // pending operations in succession that could send nothing; used by turns

	mu        sync.Mutex // guards the fields below
	lifecycle lifecycle
	stats     Stats
	blocked   map[int]error // why controllers do not run, by their number in the description
	scheduled bool          // a turn is running, or is about to
	again     bool          // something has happened since the turn has begun
	items     []*operation  // have items, or were dropped
	sweep     int           // the length of items at which dropped operations are removed
	ticking   bool          // a timer of the guest is due
	idling    bool          // the guest has been idle for a while
	unloaded  bool
	timer     *time.Timer // for the next timer of the guest, or the next start
	closed    bool        // no turn follows
	ended     chan struct{}

	removing chan struct{} // closed when the guest is removed
}

// ready records that an operation has items. In one call, a guest can submit and cancel any number of operations, so
// dropped ones are removed before the next turn. The caller holds op.mu: the mu of other operations must not be locked.
func (g *guest) ready(op *operation) {
	const minSweep = 64
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.items) >= max(g.sweep, minSweep) {
		g.items = slices.DeleteFunc(g.items, func(op *operation) bool { return op.dropped.Load() })
		g.sweep = 2 * len(g.items)
	}
	g.items = append(g.items, op)
	g.schedule()
}

// schedule makes a turn happen. The caller holds g.mu.
func (g *guest) schedule() {
	switch {
	case g.closed:
		return
	case g.scheduled:
		g.again = true
		return
	}
	g.scheduled = true
	g.host.spawn(g.turns)
}

// turns runs the guest until it has nothing to do.
func (g *guest) turns() {
	for {
		g.throttleCPU(g.ctx)
		g.host.acquire()
		g.turn()
		g.host.release()
		g.mu.Lock()
		if !g.again {
			g.scheduled = false
			g.mu.Unlock()
			return
		}
		g.again = false
		g.mu.Unlock()
	}
}

// turn starts the guest if it must be started, and sends what waits for it.
func (g *guest) turn() {
	g.mu.Lock()
	phase, items, ticking, idling := g.lifecycle.phase, g.items, g.ticking, g.idling
	g.items, g.ticking, g.idling = nil, false, false
	g.mu.Unlock()
	var err error
	switch {
	case phase == Removed:
		g.quiesce()
		g.discard(errRemoved)
		g.mu.Lock()
		defer g.mu.Unlock()
		if !g.closed {
			g.closed = true
			close(g.ended)
		}
		return
	case phase == Quarantined:
		g.discard(errQuarantined)
		return
	case phase == Starting && g.instance == nil:
		err = g.start()
	}
	if err == nil && g.instance == nil {
		return // a reconciler, or items of an instance that has ended
	}
	i := g.instance
	switch {
	case err != nil:
	case idling && len(items) == 0 && !ticking:
		i.touch(item{}) // it may refuse
		err = i.unload(time.Now())
	case i.body == nil && (ticking || len(items) > 0):
		err = i.load()
	}
	if err == nil && i.body != nil {
		err = g.deliver(items, ticking)
	}
	if err != nil {
		g.fail(err)
		return
	}
	i.park()
	g.arm()
}

// newInstance returns a new instance, which is recorded if the module says so.
func (g *guest) newInstance() (*instance, error) {
	g.mu.Lock()
	g.stats.Starts++
	g.mu.Unlock()
	t, err := g.newTape()
	if err != nil {
		return nil, hostError{fmt.Errorf("Module.Record: %w", err)}
	}
	return g.host.newInstance(g, t)
}

const (
	// maxTapes is the maximum size of the recordings of a module. A reconciler, or a module that fails, has many.
	maxTapes = 1 << 30

	// tapeCost is what a recording counts besides its content, so that the number of recordings is limited, too.
	tapeCost = 64 << 10
)

// newTape begins to record an instance. The tape is nil if nothing is recorded.
func (g *guest) newTape() (*tape, error) {
	if g.module.Record == nil || g.tapes.Load() < 0 {
		return nil, nil
	}
	if g.tapes.Add(-tapeCost) < 0 {
		g.logger.LogAttrs(g.ctx, slog.LevelWarn, "recordings of the module have reached their maximum size",
			slog.Int64("bytes", maxTapes))
		return nil, nil
	}
	w, err := g.module.Record()
	if err != nil {
		return nil, err
	}
	return newTape(w, &g.tapes, cover{
		Digest: g.digest, Name: g.module.Name, Args: g.module.Args, Env: g.module.Env, Memory: g.module.Limits.MemoryBytes,
		Wake: int64(g.module.Limits.CallTimeout),
	}), nil
}

// Why the operations of a module end.
var (
	errRemoved     = errors.New("the module is removed")
	errQuarantined = errors.New("the module is quarantined")
	errIdle        = errors.New("the instance was not used for a while")
)

// start creates an instance and starts its program.
func (g *guest) start() error {
	i, err := g.newInstance()
	if err != nil {
		return err
	}
	g.mu.Lock()
	g.instance = i
	g.mu.Unlock()
	data, _, err := i.perform(&export{Name: abi.Describe})
	if err != nil {
		return err
	}
	d, err := readDescription(data)
	if err != nil {
		return fmt.Errorf("%s: %w", abi.Describe, err)
	}
	if err := g.check(d); err != nil {
		return err
	}
	g.description = d
	if d.Profile == abi.ProfileReconciler {
		r, err := g.startReconciler(i)
		g.mu.Lock()
		defer g.mu.Unlock()
		if err == nil {
			g.instance, g.reconciler = nil, r
			g.lifecycle.started(time.Now())
		}
		return err
	}
	m := &g.module
	_, code, err := i.perform(&export{Name: abi.Start, Message: marshal(abi.Startup{
		Module: m.Name, Namespace: m.Namespace, Server: g.client.Server(), Args: m.Args, Env: m.Env,
		Features: features(),
	})})
	if err == nil && code != 0 {
		err = fmt.Errorf("%s: the guest returned the code %d (%w)", abi.Start, code, abi.Code(code))
	}
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lifecycle.started(time.Now())
	return nil
}

// maxDescription is the maximum size of a description in bytes. Decoded, it can need more than 50 times as much memory.
const maxDescription = 256 << 10

func readDescription(data []byte) (d abi.Description, err error) {
	if len(data) > maxDescription {
		return d, fmt.Errorf("the description has %d bytes: at most %d are supported", len(data), maxDescription)
	}
	return d, wire.UnmarshalJSON(data, &d)
}

// features returns the features of the host.
func features() []string { return []string{abi.FeatureSeen} }

// check returns an error if the host can't run a module with a description.
func (g *guest) check(d abi.Description) error {
	profile := abi.ProfileReconciler
	if g.program.actor {
		profile = abi.ProfileActor
	}
	switch {
	case d.ABI != abi.Module:
		return fmt.Errorf("%s: abi is %q, want %q", abi.Describe, d.ABI, abi.Module)
	case d.Profile != profile:
		return fmt.Errorf("%s: profile is %q, but the module has the exports of %q", abi.Describe, d.Profile, profile)
	}
	for _, feature := range d.Features {
		if !slices.Contains(features(), feature) {
			return fmt.Errorf("%s: features has %q, which this host does not have; it has %q", abi.Describe, feature, features())
		}
	}
	watches := len(d.Controllers)
	for _, c := range d.Controllers {
		watches += len(c.Owns)
	}
	if watches > g.module.Limits.Watches {
		return fmt.Errorf("%s: the controllers have %d watches, and the limit is %d (Limits.Watches)",
			abi.Describe, watches, g.module.Limits.Watches)
	}
	return nil
}

// deliver sends the items of operations to the guest, and lets it run its timers if one is due. If that takes long, the
// rest waits for the next turn, before which other guests run.
func (g *guest) deliver(items []*operation, ticking bool) error {
	i := g.instance
	mayRun := g.slice()
	if ticking || len(items) > 0 {
		g.unread = 0
	}
	if ticking {
		i.touch(item{})
		if !i.next.After(i.time()) {
			i.next = time.Time{} // the guest sets the next one
		}
		if _, _, err := i.perform(&export{Name: abi.Tick}); err != nil {
			return err
		}
	}
	for _, op := range items {
		if op.instance == i && !op.pending {
			op.pending = true
			g.pending = append(g.pending, op)
		}
	}
	// An operation stays pending while the guest does not read its items.
	for progress := true; progress; {
		progress = false
		all := g.pending
		var rest []*operation
		for n, op := range all {
			sent, err := i.flush(op, mayRun)
			if err != nil {
				return err
			}
			progress = progress || sent
			if op.pending = op.waiting() > 0; op.pending {
				rest = append(rest, op)
			}
			if !mayRun() {
				g.pending = append(all[n+1:], rest...)
				g.interrupt(sent)
				return nil
			}
		}
		g.pending = rest
	}
	return nil
}

// interrupt makes another turn follow, which begins with the first pending operation. It does not if none of the
// pending operations could send an item, because the guest reads none.
func (g *guest) interrupt(sent bool) {
	if g.unread++; sent {
		g.unread = 0
	}
	if g.unread >= len(g.pending) {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.schedule()
}

// slice returns a function that reports whether the guest may go on with its turn.
func (g *guest) slice() (mayRun func() bool) {
	if g.trial != nil {
		return func() bool { return true }
	}
	end := time.Now().Add(slice)
	return func() bool {
		now := time.Now()
		return now.Before(end) && g.cpu.wait(now) == 0
	}
}

// flush sends all items of an operation, or stops when the guest has too many of them or may not go on, and reports
// whether it has sent one.
func (i *instance) flush(op *operation, mayRun func() bool) (sent bool, err error) {
	for i.operations[op.id] == op {
		if op.depth >= abi.MaxDepth {
			if err := i.wake(op, item{}); err != nil {
				return sent, err
			}
			if op.depth >= abi.MaxDepth {
				return sent, nil
			}
		}
		it, ok := op.take()
		if !ok {
			return sent, nil
		}
		i.touch(it)
		last := it.flags&abi.FlagLast != 0
		if last {
			i.forget(op) // the guest may ask for its id while it handles the item
		}
		if err := i.wake(op, it); err != nil {
			return sent, err
		}
		sent = true
		if last {
			op.cancel(nil)
		} else if !mayRun() {
			return sent, nil
		}
	}
	op.drop()
	return sent, nil
}

// arm plans the next turn: for a timer of the guest, or to unload it.
func (g *guest) arm() {
	g.mu.Lock()
	defer g.mu.Unlock()
	i, idle := g.instance, g.host.options.IdleAfter
	g.unloaded = i.body == nil
	if i.used.IsZero() { // it has just started
		i.touch(item{})
	}
	unload := i.used.Add(idle)
	if i.keep.After(unload) {
		unload = i.keep
	}
	if i.body != nil && i.image != nil && idle > 0 && (i.next.IsZero() || unload.Before(i.next)) {
		g.plan(unload, func() { g.idling = true })
		return
	}
	g.plan(i.next, func() { g.ticking = true })
}

// plan plans a call of f with g.mu held, and then a turn. It replaces the last plan; a zero time only cancels that. The
// caller holds g.mu.
func (g *guest) plan(at time.Time, f func()) {
	if g.timer != nil {
		g.timer.Stop()
		g.timer = nil
	}
	if at.IsZero() {
		return
	}
	var timer *time.Timer
	timer = time.AfterFunc(time.Until(at), func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.timer == timer {
			f()
			g.schedule()
		}
	})
	g.timer = timer
}

// hostError is an error of the host, for which the module is not responsible.
type hostError struct{ error }

func (e hostError) Unwrap() error { return e.error }

// IsHostError reports whether an error of [Host.Set] is one of the host or of its system, such as too many open files.
// The module is not responsible for it, and a later call may succeed.
func IsHostError(err error) bool {
	_, own := errors.AsType[hostError](err)
	_, system := errors.AsType[syscall.Errno](err)
	return own || system
}

// fail discards the instance, and plans the next start.
func (g *guest) fail(err error) {
	g.discard(err)
	ofHost := IsHostError(err)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.lifecycle.phase != Starting && g.lifecycle.phase != Running {
		return // it was removed or quarantined during the call
	}
	now, err := time.Now(), shorten(err)
	if ofHost {
		wait, _ := g.lifecycle.hinder(now, err)
		g.startIn(now, wait)
		g.logger.LogAttrs(context.Background(), slog.LevelWarn, "host can't run the module", slog.Any("err", err),
			slog.Duration("retry", wait))
		return
	}
	g.stats.Failures++
	wait, again := g.lifecycle.failed(now, err)
	attrs := []slog.Attr{slog.Any("err", err), slog.Int("failures", g.lifecycle.failures)}
	if !again {
		g.plan(time.Time{}, nil)
		g.logger.LogAttrs(context.Background(), slog.LevelError, "module is quarantined", attrs...)
		return
	}
	g.startIn(now, wait)
	g.logger.LogAttrs(context.Background(), slog.LevelWarn, "module has failed", append(attrs, slog.Duration("retry", wait))...)
}

// startIn plans the next start. The caller holds g.mu.
func (g *guest) startIn(now time.Time, wait time.Duration) {
	g.plan(now.Add(wait), func() { g.lifecycle.due(time.Now()) })
}

// discard ends the instance, if there is one.
func (g *guest) discard(cause error) {
	g.mu.Lock()
	g.unloaded, g.blocked = false, nil
	i, r := g.instance, g.reconciler
	g.instance, g.reconciler = nil, nil
	g.mu.Unlock()
	if i != nil {
		i.end(cause)
	}
	if r != nil {
		g.host.release() // its runs need it to return
		timer := time.AfterFunc(stopTime, func() { g.stop(cause) })
		r.end(cause)
		timer.Stop()
		g.host.acquire()
	}
	g.pending = nil
}

// begin lets the guest start.
func (g *guest) begin() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.schedule()
}

// stopTime is the time in which a call of a removed guest may return.
const stopTime = 2 * time.Second

// quiesce calls the quiesce export of a guest before it is removed.
func (g *guest) quiesce() {
	i := g.instance
	if i == nil || !g.program.quiesces || i.ctx.Err() != nil {
		return
	}
	var err error
	if i.body == nil {
		err = i.load()
	}
	if err == nil {
		_, _, err = i.perform(&export{Name: abi.Quiesce, Reason: abi.ReasonStop})
	}
	if err != nil {
		g.logger.LogAttrs(i.ctx, slog.LevelWarn, "module has failed while it was removed", slog.Any("err", err))
	}
}

// remove ends the guest, and waits until it has ended. It can be called again.
func (g *guest) remove() {
	g.mu.Lock()
	if g.lifecycle.phase != Removed {
		g.lifecycle.removed(time.Now())
		close(g.removing)
		g.plan(time.Time{}, nil)
		g.schedule()
	}
	g.mu.Unlock()
	timer := time.AfterFunc(stopTime, func() { g.stop(errRemoved) })
	defer timer.Stop()
	<-g.ended
}

// ends reports whether the guest is removed or quarantined: its instances and controllers end.
func (g *guest) ends() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.lifecycle.phase == Removed || g.lifecycle.phase == Quarantined
}

// status returns the state of the module.
func (g *guest) status() Status {
	g.mu.Lock()
	defer g.mu.Unlock()
	l, phase := &g.lifecycle, g.lifecycle.phase
	if phase == Running && g.unloaded {
		phase = Unloaded
	}
	stats := g.stats
	stats.BufferBytes, stats.CacheBytes = g.budget.inUse(), g.quota.inUse()
	var blocked error
	if numbers := slices.Sorted(maps.Keys(g.blocked)); len(numbers) > 0 {
		blocked = g.blocked[numbers[0]]
	}
	return Status{
		Name: g.module.Name, Digest: g.digest, Phase: phase, Failures: l.failures, Err: l.err, Blocked: blocked,
		Since: l.since, Stats: stats,
	}
}
