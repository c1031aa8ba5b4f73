// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"context"
	"errors"
	"sync"
	"time"
)

// errSilence is the cause of a request that a watchdog has canceled.
var errSilence = errors.New("silence")

// watchdog cancels a request when no data arrives from the server for too long. It is paused while the consumer works.
//
// Its timer is not moved with each event, which would take a measurable part of the time of an event: when it fires too
// early, it waits for the rest of the time.
type watchdog struct {
	ctx    context.Context //nolint:containedctx // the context of the request, which the watchdog does not outlive
	cancel context.CancelCauseFunc
	limit  time.Duration
	from   time.Time // when the wait began

	mu    sync.Mutex // guards the fields below
	timer *time.Timer
	due   time.Time // when the wait is over; zero while the watchdog is paused
	alarm time.Time // when the timer fires; zero if it does not
}

// allow starts to wait for data, for at most the limit.
func (w *watchdog) allow(limit time.Duration) {
	w.limit, w.from = limit, time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.due = w.from.Add(limit)
	if !w.alarm.IsZero() && !w.alarm.After(w.due) {
		return
	}
	w.alarm = w.due
	if w.timer == nil {
		w.timer = time.AfterFunc(limit, w.fire)
	} else {
		w.timer.Reset(limit)
	}
}

// fire is called by the timer.
func (w *watchdog) fire() {
	w.mu.Lock()
	defer w.mu.Unlock()
	left := time.Until(w.due)
	switch w.alarm = (time.Time{}); {
	case w.due.IsZero(): // paused
	case left > 0:
		w.alarm = w.due
		w.timer.Reset(left)
	default:
		w.cancel(errSilence)
	}
}

// pause ends the wait until allow is called again. It returns how long the wait was.
func (w *watchdog) pause() time.Duration {
	w.mu.Lock()
	w.due = time.Time{}
	w.mu.Unlock()
	return time.Since(w.from)
}

// stop ends the work of the watchdog.
func (w *watchdog) stop() {
	w.pause()
	if w.timer != nil {
		w.timer.Stop()
	}
}

// fired reports whether the watchdog has canceled the request.
func (w *watchdog) fired() bool { return context.Cause(w.ctx) == errSilence }
