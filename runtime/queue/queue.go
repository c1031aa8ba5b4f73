// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// ErrClosed is returned by [Queue.Get] when the queue is closed or drained and has no more keys.
var ErrClosed = errors.New("queue closed")

// Priority determines the order of waiting keys: the key with the highest number is next.
type Priority int8

// The priorities that a controller needs. All other numbers are valid priorities, too.
const (
	Low    Priority = -100 // work that can wait, such as the first look at every object after a start
	Normal Priority = 0    // events
	High   Priority = 100  // work that a user is waiting for
)

// Options are the settings of a Queue.
type Options struct {
	// InitialBackoff is the delay before a key's first retry. Each further delay is twice as long. Default: 5 ms.
	InitialBackoff time.Duration
	// MaxBackoff is the longest delay before a retry. Default: 1000 s, or InitialBackoff if that is longer.
	MaxBackoff time.Duration
	// Jitter is the random share of a retry's delay, from 0 to 1. With 0.2, a delay is shortened by up to a fifth, so
	// that keys that failed at the same time are not retried at the same time. Default: 0.
	Jitter float64
	// Aging is how long a key waits behind higher priorities before it gets its share of turns. Default: 1 s.
	Aging time.Duration
}

func (o *Options) withDefaults() Options {
	var d Options
	if o != nil {
		d = *o
	}
	if d.InitialBackoff == 0 {
		d.InitialBackoff = 5 * time.Millisecond
	}
	if d.MaxBackoff == 0 {
		d.MaxBackoff = max(1000*time.Second, d.InitialBackoff)
	}
	if d.Aging == 0 {
		d.Aging = time.Second
	}
	return d
}

func (o Options) valid() bool {
	return o.InitialBackoff > 0 && o.MaxBackoff >= o.InitialBackoff && o.Jitter >= 0 && o.Jitter <= 1 && o.Aging > 0
}

// Item is a key for a worker to process.
type Item[K comparable] struct {
	Key      K
	Priority Priority
	// Failures is the number of consecutive runs of the key that called [Queue.Retry], up to this run.
	Failures int
	// Waited is the time since the key was added, or since its delay ended.
	Waited time.Duration
}

// Stats is a snapshot of a queue's statistics.
type Stats struct {
	Ready   int // keys that are waiting for a worker
	Running int // keys that a worker has, before Done
	Delayed int // keys with a pending delayed add or retry; they may also be waiting or running
	// OldestWait is how long the key that has waited longest has waited, among the first keys of all priorities.
	OldestWait time.Duration
	// Adds counts the adds so far. It includes delayed adds and retries when they are due, but not adds that collapsed.
	Adds uint64
	// Retries counts the calls of Retry so far.
	Retries uint64
}

// Queue hands keys to workers, each key to one worker at a time. Create one with [New]. It is safe for concurrent use.
type Queue[K comparable] struct {
	created time.Time

	mu      sync.Mutex // guards the fields below
	state   state[K]
	waiters []chan struct{} // the waiting calls of Get, last in, first out
	waking  int             // calls of Get that were woken and do not have the lock yet
	spare   []chan struct{} // channels for the next waiters
	timer   *time.Timer     // wakes waiters when a delay is over; nil until first used
	alarm   instant         // when the timer fires, or never
	drained chan struct{}   // closed when no key waits or runs; nil before Drain
}

// New creates an empty queue. It panics if a duration in opts is negative, MaxBackoff is less than InitialBackoff, or Jitter
// is not between 0 and 1.
func New[K comparable](opts *Options) *Queue[K] {
	o := opts.withDefaults()
	if !o.valid() {
		panic("queue: invalid options")
	}
	return &Queue[K]{created: time.Now(), state: newState[K](newBackoff(o), o.Aging), alarm: never}
}

// Add makes the key ready. If the key is already waiting, it gets the higher of the two priorities. If it is running,
// it becomes ready again when it is done. Add does nothing when the queue is closed.
func (q *Queue[K]) Add(key K, p Priority) {
	q.mu.Lock()
	defer q.unlock()
	q.state.add(key, p, q.now())
}

// AddAfter adds the key after the delay. If the key already has a delayed add, the two become one, with the earlier
// time and the higher priority. With a delay of zero or less, AddAfter is Add. It does nothing when the queue is
// closed.
func (q *Queue[K]) AddAfter(key K, p Priority, delay time.Duration) {
	q.mu.Lock()
	defer q.unlock()
	q.state.addAfter(key, p, delay, q.now())
}

// Retry records that the run of the key has failed. It adds the key again after its back-off, or after atLeast if that
// is longer, and returns the delay. Pass the server's Retry-After as atLeast.
//
// Retry replaces a pending retry, and keeps the delayed add of AddAfter. Call it before Done. It does nothing and
// returns 0 when the queue is closed.
func (q *Queue[K]) Retry(key K, p Priority, atLeast time.Duration) time.Duration {
	q.mu.Lock()
	defer q.unlock()
	return q.state.retry(key, p, atLeast, q.now())
}

// Get waits for a ready key and returns it. The caller processes the key and then calls Done. When ctx has ended, Get
// returns its cause, even if keys are ready; they stay in the queue.
//
// Errors: [ErrClosed], or the cause of ctx.
func (q *Queue[K]) Get(ctx context.Context) (Item[K], error) {
	q.mu.Lock()
	defer q.unlock()
	for {
		if ctx.Err() != nil {
			return Item[K]{}, context.Cause(ctx)
		}
		if item, ok := q.state.take(q.now()); ok {
			return item, nil
		}
		if q.state.closed {
			return Item[K]{}, ErrClosed
		}
		q.wait(ctx)
	}
}

// Done ends the run of the key. If the key was added during the run, it becomes ready again. Unless the run called
// Retry, Done resets the key's back-off and cancels its pending retry. Done does nothing for a key that is not running.
func (q *Queue[K]) Done(key K) {
	q.mu.Lock()
	defer q.unlock()
	var now instant // read only if a delay may have ended: the clock is expensive
	if q.state.delays.len() > 0 {
		now = q.now()
	}
	q.state.done(key, now)
}

// Drain closes the queue to new keys, drops the delayed keys, and returns when the workers are done with all others. If
// ctx ends first, Drain returns its cause, and the workers may continue. Drain may be called more than once, and after
// Close.
func (q *Queue[K]) Drain(ctx context.Context) error {
	drained := q.drain()
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

// Close closes the queue to new keys and drops all keys that are not running. It does not wait for running keys; Drain
// does. Close may be called more than once.
func (q *Queue[K]) Close() {
	q.mu.Lock()
	defer q.unlock()
	q.state.close()
	q.disarm()
}

// Stats returns the current statistics of the queue.
func (q *Queue[K]) Stats() Stats {
	q.mu.Lock()
	defer q.unlock()
	return q.state.stats(q.now())
}

// drain begins a drain and returns a channel that is closed when it is complete.
func (q *Queue[K]) drain() <-chan struct{} {
	q.mu.Lock()
	defer q.unlock()
	q.state.drain()
	q.disarm()
	if q.drained == nil {
		q.drained = make(chan struct{})
	}
	return q.drained
}

// now returns the current time for the steps of the state.
func (q *Queue[K]) now() instant { return time.Since(q.created) }

// unlock wakes waiters according to the new state, and then unlocks. It keeps two invariants while calls of Get are
// waiting: as many of them are awake as keys are ready, and the timer is set for the next delay.
func (q *Queue[K]) unlock() {
	q.wake()
	if len(q.waiters) > 0 {
		q.arm()
	}
	if q.drained != nil && q.state.ready.len+q.state.running == 0 {
		close(q.drained)
		q.drained = nil
	}
	q.mu.Unlock()
}

// wake wakes one Get for each ready key, or all of them when the queue is closed.
func (q *Queue[K]) wake() {
	for len(q.waiters) > 0 && (q.state.closed || q.waking < q.state.ready.len) {
		last := len(q.waiters) - 1
		q.waiters[last] <- struct{}{} // does not block: a channel in waiters is empty
		q.waiters = q.waiters[:last]
		q.waking++
	}
}

// wait unlocks, waits until it is woken or ctx ends, and locks again.
func (q *Queue[K]) wait(ctx context.Context) {
	var woken chan struct{}
	if last := len(q.spare) - 1; last >= 0 {
		woken, q.spare = q.spare[last], q.spare[:last]
	} else {
		woken = make(chan struct{}, 1)
	}
	q.waiters = append(q.waiters, woken)
	q.unlock()

	signalled := false
	select {
	case <-woken:
		signalled = true
	case <-ctx.Done():
	}

	q.mu.Lock()
	if i := slices.Index(q.waiters, woken); i >= 0 {
		q.waiters = slices.Delete(q.waiters, i, i+1)
	} else {
		q.waking--
		if !signalled {
			<-woken // it was woken at the same time; unlock wakes another one instead
		}
	}
	q.spare = append(q.spare, woken)
}

// arm sets the timer for the next delay, unless it already fires early enough.
func (q *Queue[K]) arm() {
	due := q.state.delays.due()
	if due >= q.alarm {
		return
	}
	q.alarm = due
	if in := due - q.now(); q.timer == nil {
		q.timer = time.AfterFunc(in, q.ring)
	} else {
		q.timer.Reset(in)
	}
}

// disarm stops the timer.
func (q *Queue[K]) disarm() {
	q.alarm = never
	if q.timer != nil {
		q.timer.Stop()
	}
}

// ring is the callback of the timer.
func (q *Queue[K]) ring() {
	q.mu.Lock()
	defer q.unlock()
	q.alarm = never
	q.state.advance(q.now())
}
