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

// stuckAfter is how long a tar that has complained may take nothing.
const stuckAfter = 5 * time.Second

// watchdog is the input of a tar that unpacks. Some container runtimes do not notice that a process has ended before its
// input was read, and then wait for ever. So a tar that has complained, and takes nothing any more, is taken for ended.
type watchdog struct {
	io.Reader
	said *complaints
	last atomic.Pointer[time.Time] // when tar took something

	running sync.WaitGroup
	done    chan struct{}
}

// watch returns a watchdog, which cancels the process when that is stuck.
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
			cancel(fmt.Errorf("tar has complained, and does not go on: %s", w.said))
			return
		}
	}
}

func (w *watchdog) stop() {
	close(w.done)
	w.running.Wait()
}
