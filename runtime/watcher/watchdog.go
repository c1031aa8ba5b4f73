// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"context"
	"errors"
	"time"
)

// errSilence is why a watchdog ends a request.
var errSilence = errors.New("silence")

// watchdog ends a request in which nothing has come from the server for too long. The time that the consumer takes for
// itself does not count: the dog is paused meanwhile.
type watchdog struct {
	ctx    context.Context //nolint:containedctx // it lives as long as the request whose context this is
	cancel context.CancelCauseFunc
	timer  *time.Timer // nil until it is needed
	limit  time.Duration
}

// allow lets nothing come for so long.
func (w *watchdog) allow(limit time.Duration) {
	w.limit = limit
	if w.timer == nil {
		w.timer = time.AfterFunc(limit, func() { w.cancel(errSilence) })
	} else {
		w.timer.Reset(limit)
	}
}

// pause lets nothing come until allow is called again.
func (w *watchdog) pause() {
	if w.timer != nil {
		w.timer.Stop()
	}
}

// fired reports whether it has ended the request.
func (w *watchdog) fired() bool { return context.Cause(w.ctx) == errSilence }
