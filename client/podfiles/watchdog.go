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

// stuckAfter is how long a tar that has reported an error may read nothing.
const stuckAfter = 5 * time.Second

// watchdog is the input of an unpacking tar. Some container runtimes do not notice that a process has ended before its
// input was read, and then wait forever. So a tar that has reported an error and no longer reads is treated as ended.
type watchdog struct {
	io.Reader
	said *complaints
	last atomic.Pointer[time.Time] // time of the last read

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
	w.last.Store(new(time.Now()))
	return w.Reader.Read(p)
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
		if !quiet.IsZero() && time.Since(quiet) >= stuckAfter && time.Since(*w.last.Load()) >= stuckAfter {
			cancel(fmt.Errorf("tar has reported an error and stopped reading: %s", w.said))
			return
		}
	}
}

func (w *watchdog) stop() {
	close(w.done)
	w.running.Wait()
}
