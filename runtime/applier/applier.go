// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package applier

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// ErrClosed is returned by [Applier.Get] when the applier is closed or drained and has no more keys.
var ErrClosed = errors.New("applier closed")

// Priority determines the order of waiting keys: the key with the highest number is next.
type Priority int8

// The priorities that a controller needs. All other numbers are valid priorities, too.
const (
	Low    Priority = -100 // work that can wait, such as the first look at every object after a start
	Normal Priority = 0    // events
	High   Priority = 100  // work that a user is waiting for
)

// Options are the options of [New]. The zero value of a field is its default.
type Options struct {
	// Concurrency is the maximum number of keys that run at the same time; see [Applier.Resize]. Default: no limit.
	Concurrency int
	// HoldTimeout is the maximum time for which a key is held after a run, until its sources have observed the writes
	// of the run. If it is negative, keys are not held. Default: 5 s.
	HoldTimeout time.Duration
	// Backoff has the delays of retries.
	Backoff Backoff
	// Debounce is the quiet time of a key: an add with [Normal] or a lower priority makes the key ready when no other add
	// has followed for this time. Retries, delayed adds and adds with a higher priority are not debounced. Default: 0.
	Debounce time.Duration
	// MaxDebounce is the maximum time for which successive adds delay a key. Default: ten times Debounce.
	MaxDebounce time.Duration
}

func (o *Options) withDefaults() Options {
	var d Options
	if o != nil {
		d = *o
	}
	if d.Backoff.InitialBackoff == 0 {
		d.Backoff.InitialBackoff = 5 * time.Millisecond
	}
	if d.Backoff.MaxBackoff == 0 {
		d.Backoff.MaxBackoff = max(1000*time.Second, d.Backoff.InitialBackoff)
	}
	if d.MaxDebounce == 0 {
		d.MaxDebounce = 10 * d.Debounce
	}
	if d.HoldTimeout == 0 {
		d.HoldTimeout = 5 * time.Second
	}
	return d
}

// Validate returns an error that names an invalid field and the remedy, or nil.
func (o *Options) Validate() error {
	d := o.withDefaults()
	b := d.Backoff
	for _, f := range [...]struct {
		name         string
		value, least time.Duration
	}{
		{"Options.Debounce", d.Debounce, 0},
		{"Options.MaxDebounce", d.MaxDebounce, d.Debounce},
		{"Backoff.InitialBackoff", b.InitialBackoff, 0},
		{"Backoff.MaxBackoff", b.MaxBackoff, b.InitialBackoff},
	} {
		if f.value < f.least {
			return fmt.Errorf("%s: %v is less than %v; leave it zero for the default", f.name, f.value, f.least)
		}
	}
	switch {
	case d.Concurrency < 0:
		return errors.New("Options.Concurrency: is negative; leave it zero for no limit")
	case d.Debounce == 0 && d.MaxDebounce != 0:
		return errors.New("Options.MaxDebounce: has no effect without Debounce; set both, or none")
	case !(b.Jitter >= 0 && b.Jitter <= 1): // also if it is not a number
		return errors.New("Backoff.Jitter: is not between 0 and 1")
	}
	return nil
}

// Backoff has the delays of the retries of a key. The zero value of a field is its default.
type Backoff struct {
	// InitialBackoff is the delay before a key's first retry. Each further delay is twice as long. Default: 5 ms.
	InitialBackoff time.Duration
	// MaxBackoff is the longest delay before a retry. Default: 1000 s, or InitialBackoff if that is longer.
	MaxBackoff time.Duration
	// Jitter is the random share of a retry's delay, from 0 to 1. With 0.2, a delay is shortened by up to a fifth, so
	// that keys that failed at the same time are not retried at the same time. Default: 0.
	Jitter float64
}

// Item is a key for a worker to process, with the causes of type C that it was added with.
type Item[K comparable, C any] struct {
	Key      K
	Priority Priority
	// Failures is the number of consecutive runs of the key that called [Applier.Retry], up to this run.
	Failures int
	// Waited is the time since the key was added, or since its delay ended.
	Waited time.Duration
	// Cause is the first of the causes that the key was added with since its last run. Others are the next ones, at most
	// 7, and Dropped is the number of all others.
	Cause   C
	Others  []C
	Dropped int
}

// Stats is a snapshot of an applier's statistics.
type Stats struct {
	Ready   int // keys that are waiting for a worker
	Running int // keys that a worker has, before Done
	Held    int // keys whose last run wrote objects that its sources have not observed
	Delayed int // keys with a pending delayed or debounced add, retry or hold; they may also be waiting or running
	// OldestWait is the longest wait of a waiting key. Only the first key of each priority is examined.
	OldestWait time.Duration
	// Adds counts the adds so far. It includes delayed adds and retries when they are due, but not adds that collapsed.
	Adds uint64
	// Retries counts the calls of Retry so far.
	Retries uint64
	// Overdue counts the keys so far that were released after the hold timeout.
	Overdue uint64
}

// Applier hands keys of type K to workers, each key to one worker at a time. It passes on the causes of type C, and
// does not read them. Create one with [New]. It is safe for concurrent use.
//
// # Guarantees
//
//   - Only one worker has a key at a time, from [Applier.Get] until [Applier.Done].
//   - Adds for a waiting key collapse. Adds for a running or held key collapse into exactly one more run.
//   - Among the delayed adds of a key, the earliest wins. An add without a delay makes the key ready immediately and
//     keeps the delayed add, so the run that was requested for a later time still happens.
//   - With [Options.Debounce], a key becomes ready when no add has followed for this time, or [Options.MaxDebounce]
//     after the first of the adds. A run that begins earlier for another reason covers these adds, too.
//   - A run also covers the retry that is pending when it begins: the retry does not become due during the run, and
//     takes place only if the run is skipped.
//   - A run receives the causes of all adds that have collapsed into it: the first 8, and the number of the others.
//   - Keys of the same priority are handed out in the order in which they were added.
//   - A key with a higher priority is handed out first, but no key starves: once a key has waited for one second, every
//     fourth turn is for the key that has waited longest, whatever its priority. So a flood of keys with a low priority
//     is processed eventually, and delays other keys only a little when it has aged.
//   - A waiting key has the highest priority that it was added with. When its priority rises, it becomes the last of
//     the waiting keys with the new priority.
//   - A key does not run while a write of its last run is unobserved, for at most [Options.HoldTimeout].
//   - A key that is not owned does not run. At most [Options.Concurrency] keys run.
type Applier[K comparable, C any] struct {
	// OnOverdue, if it is not nil, is called for each key that is released after the hold timeout: by Get, Done or Skip,
	// or by a timer. The other methods do not call it, since their callers may hold locks. Set it before the first call of
	// a method.
	OnOverdue func(Overdue[K])

	created time.Time
	holding atomic.Int64 // the number of unobserved writes

	mu      sync.Mutex // guards the fields below
	state   state[K, C]
	waiters []chan struct{} // the waiting calls of Get, last in, first out
	waking  int             // calls of Get that were woken and do not have the lock yet
	spare   []chan struct{} // channels for the next waiters
	timer   *time.Timer     // wakes waiters when a delay is over; nil until first used
	alarm   instant         // when the timer fires, or never
	drained chan struct{}   // closed when no key waits or runs; nil before Drain
}

// New creates an empty applier. It panics if opts are invalid, see [Options.Validate].
func New[K comparable, C any](opts *Options) *Applier[K, C] {
	if err := opts.Validate(); err != nil {
		panic("applier: " + err.Error())
	}
	o := opts.withDefaults()
	return &Applier[K, C]{created: time.Now(), state: newState[K, C](o, newBackoff(o.Backoff)), alarm: never}
}

// Add makes the key ready because of a cause, after the quiet time of [Options.Debounce]. If the key is already
// waiting, it gets the higher of the two priorities. If it is running, it becomes ready again when it is done. Add does
// nothing when the applier is closed.
func (a *Applier[K, C]) Add(key K, p Priority, cause C) {
	a.mu.Lock()
	defer a.unlock()
	a.state.add(key, p, cause, a.now())
}

// AddAfter adds the key after the delay. If the key already has a delayed add, the two become one, with the earlier
// time, the higher priority and the first cause. With a delay of zero or less, AddAfter is Add. It does nothing when
// the applier is closed.
func (a *Applier[K, C]) AddAfter(key K, p Priority, cause C, delay time.Duration) {
	a.mu.Lock()
	defer a.unlock()
	a.state.addAfter(key, p, cause, delay, a.now())
}

// Retry records that the run of the key has failed. It adds the key again after its back-off, or after atLeast if that
// is longer, and returns the delay. Pass the server's Retry-After as atLeast.
//
// Retry replaces a pending retry, and keeps the delayed add of AddAfter. Call it before Done. It does nothing and
// returns 0 when the applier is closed or does not own the key.
func (a *Applier[K, C]) Retry(key K, p Priority, cause C, atLeast time.Duration) time.Duration {
	a.mu.Lock()
	defer a.unlock()
	return a.state.retry(key, p, cause, atLeast, a.now())
}

// Get waits for a ready key and returns it. The caller processes the key and then calls Done. When ctx has ended, Get
// returns its cause, even if keys are ready; they stay in the applier.
//
// Errors: [ErrClosed], or the cause of ctx.
func (a *Applier[K, C]) Get(ctx context.Context) (Item[K, C], error) {
	a.mu.Lock()
	defer a.unlockAndReport()
	for {
		if ctx.Err() != nil {
			return Item[K, C]{}, context.Cause(ctx)
		}
		if item, ok := a.state.take(a.now()); ok {
			return item, nil
		}
		if a.finished() {
			return Item[K, C]{}, ErrClosed
		}
		a.wait(ctx)
	}
}

// Done ends the run of the key. If the key was added during the run, it becomes ready again. Unless the run called
// Retry, Done resets the key's back-off and cancels its pending retry. Done does nothing for a key that is not running.
func (a *Applier[K, C]) Done(key K) { a.end(key, a.state.done) }

// Skip ends the run of the key as Done does, but keeps the key's back-off and its pending retry, which takes place at
// once if its delay is over. Call it for a run that turns out to be unnecessary. It does nothing for a key that is not
// running.
func (a *Applier[K, C]) Skip(key K) { a.end(key, a.state.skip) }

// end ends the run of a key.
func (a *Applier[K, C]) end(key K, how func(K, instant)) {
	a.mu.Lock()
	defer a.unlockAndReport()
	var now instant // read only if a delay may have ended: the clock is expensive
	if a.state.delays.len() > 0 || a.state.holds.len > 0 {
		now = a.now()
	}
	how(key, now)
}

// Cancel cancels the delayed add of the key and its pending retry, and resets its back-off. Call it for a key that no
// longer exists, which would otherwise stay in the applier until the delays are over. Cancel neither ends a run nor
// drops an add that is due: the key still runs if it is ready or debounced.
func (a *Applier[K, C]) Cancel(key K) {
	a.mu.Lock()
	defer a.unlock()
	a.state.cancel(key, a.now())
}

// Wrote records that the current run of the key wrote or deleted an object that a source observes. Call it before Done.
// After Done, the key is held: it does not run again until the sources have observed all writes of the run, or
// [Options.HoldTimeout] has passed.
//
// The source may observe the write before Wrote is called. So call Seen with the source's current version afterwards,
// or Gone if it does not have the deleted object.
func (a *Applier[K, C]) Wrote(key K, w Write) {
	a.mu.Lock()
	defer a.unlock()
	a.state.wrote(key, w)
}

// Seen records that a source has observed a resource version. It is cheap when no write is unobserved.
func (a *Applier[K, C]) Seen(source int, version uint64) {
	a.observe(func() { a.state.seen(source, version, a.now()) })
}

// Gone records that a source has observed the deletion of an object. It is cheap when no write is unobserved.
func (a *Applier[K, C]) Gone(source int, uid types.UID) {
	a.observe(func() { a.state.gone(source, uid, a.now()) })
}

// Forget records that a source has ended: no key is held any longer for a write that the source has not observed.
func (a *Applier[K, C]) Forget(source int) {
	a.mu.Lock()
	defer a.unlock()
	a.state.forget(source, a.now())
}

// observe does a step if a write is unobserved.
func (a *Applier[K, C]) observe(step func()) {
	if a.holding.Load() == 0 {
		return
	}
	a.mu.Lock()
	defer a.unlock()
	step()
}

// Own sets which keys may run: those for which owned returns true. The others are dropped, and later adds of them are
// ignored; a run that has begun continues. A nil function means all keys, which is the default. The function is called
// with a lock held: it must be fast, must not call methods of the applier, and must always return the same result for a
// key.
//
// After keys have become owned, add them: their changes were ignored before.
func (a *Applier[K, C]) Own(owned func(K) bool) {
	a.mu.Lock()
	defer a.unlock()
	a.state.own(owned, a.now())
}

// Resize sets the maximum number of keys that run at the same time; 0 means no limit. Runs above a lower limit
// continue.
func (a *Applier[K, C]) Resize(concurrency int) {
	a.mu.Lock()
	defer a.unlock()
	a.state.resize(max(0, concurrency), a.now())
}

// Drain closes the applier to new keys, drops the delayed keys, and returns when the workers are done with all others.
// If ctx ends first, Drain returns its cause, and the workers may continue. Drain may be called more than once, and
// after Close.
func (a *Applier[K, C]) Drain(ctx context.Context) error {
	drained := a.drain()
	select {
	case <-drained:
		return nil
	case <-ctx.Done():
	}
	select {
	case <-drained:
		return nil
	default:
		return context.Cause(ctx)
	}
}

// Close closes the applier to new keys and drops all keys that are not running. It does not wait for running keys;
// Drain does. Close may be called more than once.
func (a *Applier[K, C]) Close() {
	a.mu.Lock()
	defer a.unlock()
	a.state.close()
	a.disarm()
}

// Stats returns the current statistics of the applier.
func (a *Applier[K, C]) Stats() Stats {
	a.mu.Lock()
	defer a.unlock()
	return a.state.stats(a.now())
}

// Totals returns the numbers of [Applier.Stats] that only grow. It exists beside Stats so that programs without metrics
// do not link the code of Stats.
func (a *Applier[K, C]) Totals() (adds, retries, overdue uint64) {
	a.mu.Lock()
	adds, retries, overdue = a.state.adds, a.state.retries, a.state.numOverdue
	a.mu.Unlock()
	return adds, retries, overdue
}

// drain begins a drain and returns a channel that is closed when it is complete.
func (a *Applier[K, C]) drain() <-chan struct{} {
	a.mu.Lock()
	defer a.unlock()
	a.state.drain()
	a.disarm()
	if a.drained == nil {
		a.drained = make(chan struct{})
	}
	return a.drained
}

// now returns the current time for the steps of the state.
func (a *Applier[K, C]) now() instant { return time.Since(a.created) }

// unlock wakes waiters according to the new state, and then unlocks. It keeps two invariants while calls of Get are
// waiting: as many of them are awake as keys may be taken, and the timer is set for the next delay.
func (a *Applier[K, C]) unlock() {
	a.wake()
	if len(a.waiters) > 0 {
		a.arm()
	}
	if n := int64(a.state.holds.len); n != a.holding.Load() { // a load is cheaper
		a.holding.Store(n)
	}
	if a.drained != nil && a.state.ready.len+a.state.running == 0 {
		close(a.drained)
		a.drained = nil
	}
	a.mu.Unlock()
}

// unlockAndReport unlocks, and then calls OnOverdue for the keys that were released after the hold timeout.
func (a *Applier[K, C]) unlockAndReport() {
	overdue := a.state.overdue
	a.state.overdue = nil
	a.unlock()
	if a.OnOverdue == nil {
		return
	}
	for _, o := range overdue {
		a.OnOverdue(o)
	}
}

// finished reports whether no key will be handed out any more.
func (a *Applier[K, C]) finished() bool { return a.state.closed && a.state.ready.len == 0 }

// wake wakes one Get for each key that may be taken, or all of them when no key will be handed out any more.
func (a *Applier[K, C]) wake() {
	for len(a.waiters) > 0 && (a.finished() || a.waking < a.state.available()) {
		last := len(a.waiters) - 1
		a.waiters[last] <- struct{}{} // does not block: a channel in waiters is empty
		a.waiters = a.waiters[:last]
		a.waking++
	}
}

// wait unlocks, waits until it is woken or ctx ends, and locks again.
func (a *Applier[K, C]) wait(ctx context.Context) {
	var woken chan struct{}
	if last := len(a.spare) - 1; last >= 0 {
		woken, a.spare = a.spare[last], a.spare[:last]
	} else {
		woken = make(chan struct{}, 1)
	}
	a.waiters = append(a.waiters, woken)
	a.unlockAndReport()

	signalled := false
	select {
	case <-woken:
		signalled = true
	case <-ctx.Done():
	}

	a.mu.Lock()
	if i := slices.Index(a.waiters, woken); i >= 0 {
		a.waiters = slices.Delete(a.waiters, i, i+1)
	} else {
		a.waking--
		if !signalled {
			<-woken // it was woken at the same time; unlock wakes another one instead
		}
	}
	a.spare = append(a.spare, woken)
}

// arm sets the timer for the next delay, unless it already fires early enough.
func (a *Applier[K, C]) arm() {
	due := a.state.delays.due()
	if due >= a.alarm {
		return
	}
	a.alarm = due
	if in := due - a.now(); a.timer == nil {
		a.timer = time.AfterFunc(in, a.ring)
	} else {
		a.timer.Reset(in)
	}
}

// disarm stops the timer.
func (a *Applier[K, C]) disarm() {
	a.alarm = never
	if a.timer != nil {
		a.timer.Stop()
	}
}

// ring is the callback of the timer.
func (a *Applier[K, C]) ring() {
	a.mu.Lock()
	defer a.unlockAndReport()
	a.alarm = never
	a.state.advance(a.now())
}
