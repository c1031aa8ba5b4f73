// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"sync"
	"time"
)

// firstRetry is the delay after a failed attempt. It doubles with each one in succession.
const firstRetry = time.Second

// work is what a job does. It may take minutes.
type work func(ctx context.Context) (value string, err error)

// jobs runs the slow work of steps, one job of each object at a time. A step starts a job or gets its result, and the
// end of a job causes the next pass. It is safe for concurrent use.
type jobs struct {
	wake func(name string)

	mu      sync.Mutex      // guards the fields below
	ctx     context.Context //nolint:containedctx // of the jobs; ends with Run
	all     map[string]*job // the last job of each object
	running sync.WaitGroup
}

// job is a piece of work for an object, with its last result. Its fields are guarded by jobs.mu.
type job struct {
	id     string
	stop   context.CancelFunc
	ended  chan struct{} // closed when the attempt has ended
	active bool
	value  string
	err    error // of the last attempt
	failed int   // attempts in succession
	known  bool  // a step has got err
	alone  bool  // no step gets the result
	retry  time.Time
	limit  time.Duration // of the delay after a failed attempt
}

// result is what a step learns of a job.
type result struct {
	done  bool // it has succeeded
	value string
	err   error         // of the last attempt, also while another one is active
	fresh bool          // no step has got err before
	wait  time.Duration // until the next attempt; 0 while one is active
}

// errReplaced is why a job ends when the object needs another one.
var errReplaced = errors.New("the object has changed")

func newJobs(wake func(name string)) *jobs { return &jobs{wake: wake, all: make(map[string]*job)} }

// begin lets jobs run until ctx ends.
func (j *jobs) begin(ctx context.Context) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ctx = ctx
}

// end waits until all jobs have ended, and forgets them. The context of begin has ended.
func (j *jobs) end() {
	j.mu.Lock()
	j.ctx = nil
	j.mu.Unlock()
	j.running.Wait()
	j.mu.Lock()
	defer j.mu.Unlock()
	clear(j.all)
}

// do returns the result of the job of an object with an id. It starts the job if the last job of the object had another
// id, or if another attempt is due. The previous job ends before. Limit is the maximum delay after a failed attempt.
func (j *jobs) do(name, id string, limit time.Duration, f work) result {
	return j.preempt(name, id, limit, nil, f)
}

// preempt is do for a job with a part that does not wait for the end of the previous job.
func (j *jobs) preempt(name, id string, limit time.Duration, atOnce func(), f work) result {
	j.mu.Lock()
	defer j.mu.Unlock()
	now, last := time.Now(), j.all[name]
	current := last
	switch {
	case j.ctx == nil || j.ctx.Err() != nil: // the program is stopping; what has failed meanwhile is no error
		return result{}
	case last == nil || last.id != id:
		if last != nil {
			last.stop()
		}
		current = &job{id: id, limit: limit}
		j.all[name] = current
	case last.active:
		last.alone = false
		return result{err: last.err}
	case last.err == nil:
		return result{done: true, value: last.value}
	case now.Before(last.retry):
		fresh := !last.known
		last.known = true
		return result{err: last.err, fresh: fresh, wait: last.retry.Sub(now)}
	}
	var before chan struct{}
	if last != nil {
		before = last.ended
	}
	j.start(name, current, before, atOnce, f)
	return result{err: current.err}
}

// start starts an attempt: atOnce, if it is not nil, and f after the previous job has ended. The caller holds j.mu.
func (j *jobs) start(name string, current *job, before chan struct{}, atOnce func(), f work) {
	ctx, stop := context.WithCancelCause(j.ctx)
	current.stop = func() { stop(errReplaced) }
	current.active, current.ended = true, make(chan struct{})
	ended := current.ended
	j.running.Go(func() {
		defer close(ended)
		defer stop(nil)
		if atOnce != nil {
			atOnce()
		}
		if before != nil {
			<-before
		}
		var value string
		err := context.Cause(ctx)
		if err == nil {
			value, err = f(ctx)
		}
		j.mu.Lock()
		defer j.mu.Unlock()
		current.finish(time.Now(), value, err)
		switch {
		case j.all[name] != current:
		case current.alone:
			delete(j.all, name)
		default:
			j.wake(name)
		}
	})
}

// finish records the result of an attempt.
func (c *job) finish(now time.Time, value string, err error) {
	c.active, c.known, c.value, c.err = false, false, value, err
	if err == nil {
		c.failed = 0
		return
	}
	wait := firstRetry
	for range c.failed {
		wait = min(2*wait, c.limit)
	}
	c.failed++
	c.retry = now.Add(wait)
}

// active reports whether the job of an object has not ended.
func (j *jobs) active(name string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	last := j.all[name]
	return last != nil && last.active
}

// forget removes the job of an object that does not exist, when it has ended.
func (j *jobs) forget(name string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch last := j.all[name]; {
	case last == nil:
	case last.active:
		last.alone = true
	default:
		delete(j.all, name)
	}
}

// wakes is a set of objects that need a pass. The same object is in it at most once.
type wakes struct {
	mu    sync.Mutex // guards names
	names map[string]bool
	more  chan struct{} // has an element if there are names
}

func newWakes() *wakes { return &wakes{names: make(map[string]bool), more: make(chan struct{}, 1)} }

func (w *wakes) add(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.names[name] = true
	select {
	case w.more <- struct{}{}:
	default:
	}
}

// take returns the names, and removes them.
func (w *wakes) take() map[string]bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	names := w.names
	w.names = make(map[string]bool)
	return names
}
