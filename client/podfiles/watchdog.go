// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package podfiles

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// stuckAfter is the maximum time for which a tar that has reported an error may read nothing. At the end of the input,
// it may need stuckAtEnd for the rest, which is on the way.
const (
	stuckAfter = 5 * time.Second
	stuckAtEnd = 2 * time.Minute
)

// watchdog is the input of an unpacking tar. Some container runtimes do not notice that a process has ended before its
// input was read, and then wait forever. So a tar that has reported an error and no longer reads is treated as ended. A
// read that waits for the input does not count, since tar waits for it too. But a connection that takes longer than
// stuckAfter to send one piece of the input, of at most 32 KiB, looks like a tar that does not read.
type watchdog struct {
	io.Reader
	said    *complaints
	reading atomic.Bool               // a Read is in progress
	last    atomic.Pointer[time.Time] // the end of the last Read
	ended   atomic.Bool               // the last Read has returned an error, such as io.EOF

	running sync.WaitGroup
	done    chan struct{}
}

// watch returns a watchdog, which cancels the process if it is stuck.
func watch(input io.Reader, said *complaints, cancel context.CancelCauseFunc) *watchdog {
	w := &watchdog{Reader: input, said: said, done: make(chan struct{})}
	w.last.Store(new(time.Now()))
	w.running.Go(func() { w.run(cancel) })
	return w
}

// Read reads from the input.
func (w *watchdog) Read(p []byte) (int, error) {
	w.reading.Store(true)
	n, err := w.Reader.Read(p)
	w.last.Store(new(time.Now()))
	w.ended.Store(err != nil)
	w.reading.Store(false)
	return n, err
}

func (w *watchdog) run(cancel context.CancelCauseFunc) {
	tick := time.NewTicker(stuckAfter / 10)
	defer tick.Stop()
	for {
		select {
		case <-w.done:
			return
		case <-tick.C:
		}
		quiet := w.said.quietSince()
		if quiet.IsZero() || w.reading.Load() {
			continue
		}
		limit := stuckAfter
		if w.ended.Load() {
			limit = stuckAtEnd
		}
		if time.Since(quiet) >= limit && time.Since(*w.last.Load()) >= limit {
			cancel(fmt.Errorf("tar has reported an error and stopped reading: %s", w.said))
			return
		}
	}
}

func (w *watchdog) stop() {
	close(w.done)
	w.running.Wait()
}
