// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"context"
	"errors"
	"time"
)

// errSilence is the cause of a request that a watchdog has cancelled.
var errSilence = errors.New("silence")

// watchdog cancels a request when no data arrives from the server for too long. It is paused while the consumer works.
type watchdog struct {
	ctx    context.Context //nolint:containedctx // the context of the request, which the watchdog does not outlive
	cancel context.CancelCauseFunc
	timer  *time.Timer // nil until first used
	limit  time.Duration
	from   time.Time // when the wait began
}

// allow starts to wait for data, for at most the limit.
func (w *watchdog) allow(limit time.Duration) {
	w.limit, w.from = limit, time.Now()
	if w.timer == nil {
		w.timer = time.AfterFunc(limit, func() { w.cancel(errSilence) })
	} else {
		w.timer.Reset(limit)
	}
}

// pause stops the timer until allow is called again. It returns how long the wait was.
func (w *watchdog) pause() time.Duration {
	if w.timer != nil {
		w.timer.Stop()
	}
	return time.Since(w.from)
}

// fired reports whether the watchdog has cancelled the request.
func (w *watchdog) fired() bool { return context.Cause(w.ctx) == errSilence }
