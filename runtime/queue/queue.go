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

// ErrClosed is returned by [Queue.Get] when the queue is closed or drained and has no key left to hand out.
var ErrClosed = errors.New("queue closed")

// Priority says which of the waiting keys goes first: the one with the higher number.
type Priority int8

// The priorities a controller needs. Any number between or beyond them is a priority too.
const (
	Low    Priority = -100 // work that can wait, like looking at every object once after a start
	Normal Priority = 0    // events
	High   Priority = 100  // work somebody is waiting for
)

// Options are the settings of a Queue.
type Options struct {
	// BaseDelay is the delay of a key's first retry; each further one waits twice as long. Default 5 ms.
	BaseDelay time.Duration
	// MaxDelay is the longest delay of a retry. Default 1000 s, or BaseDelay if that is longer.
	MaxDelay time.Duration
	// Jitter is the share of a retry's delay, from 0 to 1, that is at random: with 0.2 the delay is shortened by up to
	// a fifth, so that keys which failed together do not come back together. Default 0.
	Jitter float64
	// Aging is how long a key waits behind higher priorities before it gets turns of its own. Default 1 s.
	Aging time.Duration
}

func (o *Options) withDefaults() Options {
	var d Options
	if o != nil {
		d = *o
	}
	if d.BaseDelay == 0 {
		d.BaseDelay = 5 * time.Millisecond
	}
	if d.MaxDelay == 0 {
		d.MaxDelay = max(1000*time.Second, d.BaseDelay)
	}
	if d.Aging == 0 {
		d.Aging = time.Second
	}
	return d
}

func (o Options) valid() bool {
	return o.BaseDelay > 0 && o.MaxDelay >= o.BaseDelay && o.Jitter >= 0 && o.Jitter <= 1 && o.Aging > 0
}

// Item is a key that is to be worked on.
type Item[K comparable] struct {
	Key      K
	Priority Priority
	// Failures is how many runs of the key in a row before this one have called [Queue.Retry].
	Failures int
	// Waited is how long ago the key was added or a delay of it ended.
	Waited time.Duration
}

// Stats describes a queue at one moment.
type Stats struct {
	Ready   int // keys that wait for a worker
	Running int // keys that a worker has and that are not done
	Delayed int // keys with a delayed add or a retry ahead of them, whether or not they also wait or run
	// OldestWait is how long the first key in line has waited, taking the longest of all priorities.
	OldestWait time.Duration
	// Adds counts the adds so far, delayed ones and retries once they are due, without those that collapsed into others.
	Adds uint64
	// Retries counts the calls of Retry so far.
	Retries uint64
}

// Queue hands keys to workers, each key to one worker at a time. Make one with [New].
// It is safe for concurrent use.
type Queue[K comparable] struct {
	created time.Time

	mu      sync.Mutex // guards all below
	state   state[K]
	waiters []chan struct{} // the waiting calls of Get, the last to come first to go
	waking  int             // calls of Get that were woken and have not looked yet
	spare   []chan struct{} // channels for the next waiters
	timer   *time.Timer     // wakes waiters when a delay is over; nil until one is needed
	alarm   instant         // when the timer fires, or never
	drained chan struct{}   // closed when nothing waits or runs; nil while nobody asks
}

// New makes an empty queue. It panics if a duration in opts is negative, MaxDelay is less than BaseDelay, or Jitter is
// not between 0 and 1.
func New[K comparable](opts *Options) *Queue[K] {
	o := opts.withDefaults()
	if !o.valid() {
		panic("queue: invalid options")
	}
	return &Queue[K]{created: time.Now(), state: newState[K](newBackoff(o), o.Aging), alarm: never}
}

// Add makes the key ready to be handed out. While the key waits already, the higher of the priorities counts; while it
// runs, it is handed out again once it is done. Closed queues ignore it.
func (q *Queue[K]) Add(key K, p Priority) {
	q.mu.Lock()
	defer q.unlock()
	q.state.add(key, p, q.now())
}

// AddAfter adds the key once the delay is over. If there is a delayed add of the key already, one remains, with the
// earlier of the times and the higher of the priorities. A delay of zero or less is an Add. Closed queues ignore it.
func (q *Queue[K]) AddAfter(key K, p Priority, delay time.Duration) {
	q.mu.Lock()
	defer q.unlock()
	q.state.addAfter(key, p, delay, q.now())
}

// Retry says that the run of the key has failed and adds the key again after its back-off, or after atLeast if that is
// longer; that is the place for what a server asked for with Retry-After. It returns the delay.
// It replaces a retry that is pending, and leaves alone what AddAfter asked for. Call it before Done.
// Closed queues ignore it and return 0.
func (q *Queue[K]) Retry(key K, p Priority, atLeast time.Duration) time.Duration {
	q.mu.Lock()
	defer q.unlock()
	return q.state.retry(key, p, atLeast, q.now())
}

// Get waits for a key that is ready and hands it out. The caller works on it and then calls Done.
// When ctx has ended Get returns its cause, even if keys are ready; no key is lost by that.
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

// Done ends the run of the key. If it was added in the meantime it is ready again. Unless Retry was called during the
// run, the key's back-off starts afresh and its pending retry is cancelled.
// For a key that is not running it does nothing.
func (q *Queue[K]) Done(key K) {
	q.mu.Lock()
	defer q.unlock()
	var now instant // the time matters, and the clock is worth reading, only when something may have become due
	if q.state.delays.len() > 0 {
		now = q.now()
	}
	q.state.done(key, now)
}

// Drain takes no more adds, drops the delayed keys, and returns when the workers have got and done all others. When
// ctx ends before, it returns the cause and the workers may go on. It may be called more than once, and after Close.
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

// Close takes no more adds and drops all keys that are not running. It does not wait for those that are; Drain does.
// It may be called more than once.
func (q *Queue[K]) Close() {
	q.mu.Lock()
	defer q.unlock()
	q.state.close()
	q.disarm()
}

// Stats describes the queue as it is now.
func (q *Queue[K]) Stats() Stats {
	q.mu.Lock()
	defer q.unlock()
	return q.state.stats(q.now())
}

// drain begins a drain and returns the channel that is closed at its end.
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

// now is the time that the steps of the state go by.
func (q *Queue[K]) now() instant { return time.Since(q.created) }

// unlock wakes whoever the new state concerns and then unlocks. It keeps two promises: while calls of Get wait, as
// many of them are awake as keys are ready, and the timer is set for the next delay.
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

// wake wakes a Get for each key that is ready, or all of them when the queue is closed.
func (q *Queue[K]) wake() {
	for len(q.waiters) > 0 && (q.state.closed || q.waking < q.state.ready.len) {
		last := len(q.waiters) - 1
		q.waiters[last] <- struct{}{} // has room: a channel in waiters is empty
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
			<-woken // it was woken all the same; unlock wakes another in its place
		}
	}
	q.spare = append(q.spare, woken)
}

// arm sets the timer for the next delay, unless it fires early enough.
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

// ring is what the timer does.
func (q *Queue[K]) ring() {
	q.mu.Lock()
	defer q.unlock()
	q.alarm = never
	q.state.advance(q.now())
}
