// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
)

// sequence is a source that sends the events itself, such as a watch that several programs share: it needs no lists.
// [Events] returns its sequence.
type sequence interface {
	Events(ctx context.Context, o *Options) iter.Seq2[Event, error]
}

// Recover yields the events of the sequences that open returns, one after another, as [Events] does. Each sequence
// begins with a list, and ends with an error, which Options.OnError receives. The next one is opened after a delay. The
// result ends with the cause of ctx, or with a [*request.InvalidError] of a sequence. Of the options, it uses OnError
// and OnStatus.
func Recover(
	ctx context.Context, res core.Resource, o *Options, open func(context.Context) iter.Seq2[Event, error],
) iter.Seq2[Event, error] {
	opts := o.withDefaults(res)
	return func(yield func(Event, error) bool) {
		r := recovery{opts: &opts}
		for {
			again, err := r.once(ctx, open, yield)
			if !again {
				return
			}
			if err == nil {
				err = pause(ctx, jitter(r.failed()))
			}
			if err != nil {
				yield(Event{}, err)
				return
			}
		}
	}
}

// recovery is the state of [Recover].
type recovery struct {
	opts     *Options
	backoff  backoff
	status   Status
	reported time.Time
	err      error // of the last sequence
}

// once yields one sequence. It returns false if the consumer has left its loop, and an error that ends everything.
func (r *recovery) once(
	ctx context.Context, open func(context.Context) iter.Seq2[Event, error], yield func(Event, error) bool,
) (again bool, err error) {
	now := time.Now()
	r.report(r.status.enter(Listing, now), now)
	r.err = errEnded
	for ev, err := range open(ctx) {
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			r.err = err
			break
		}
		if !yield(ev, nil) {
			return false, nil
		}
		now := time.Now()
		r.report(r.status.event(ev, now), now)
	}
	if ctx.Err() != nil {
		return true, context.Cause(ctx)
	}
	if _, ok := errors.AsType[*request.InvalidError](r.err); ok {
		return true, r.err
	}
	return true, nil
}

// errEnded is the error of a sequence without an error.
var errEnded = errors.New("the watch has ended")

// failed handles the end of a sequence, and returns the delay before jitter.
func (r *recovery) failed() (delay time.Duration) {
	now := time.Now()
	r.backoff, delay = r.backoff.next(now)
	if delay == firstDelay {
		r.status.Failures = 0
	}
	r.status.Failures++
	r.status.Err = r.err
	r.status.enter(BackingOff, now)
	r.report(true, now)
	r.opts.OnError(r.err)
	return delay
}

// report calls OnStatus if the status has changed, or some time after it last did.
func (r *recovery) report(changed bool, now time.Time) {
	if r.opts.OnStatus != nil && (changed || now.Sub(r.reported) >= statusInterval) {
		r.reported = now
		r.opts.OnStatus(r.status)
	}
}

// event updates the status after an event of a sequence. It reports whether more has changed than the version and the
// time of the last data.
func (st *Status) event(ev Event, now time.Time) (changed bool) {
	st.LastData = now
	if st.Err != nil {
		st.Err, changed = nil, true
	}
	switch ev.Type {
	case InitApply, Apply, Delete: // they change no status
	case Init:
		return st.enter(Listing, now) || changed
	case InitDone:
		st.Lists++
		st.ResourceVersion = ev.Head.ResourceVersion
		st.enter(Watching, now)
		return true
	case Bookmark:
		st.ResourceVersion = ev.Head.ResourceVersion
	}
	return changed
}
