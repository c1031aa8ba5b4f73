// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"sync"
	"time"
)

// slice is the time after which a running guest no longer counts as one of [Options.Workers], so that guests that need
// all of their time do not make others wait. A turn with many short calls ends after this time, too.
const slice = 100 * time.Millisecond

// seat is the place of an instance among the guests that run at the same time. The caller of begin holds a token of the
// host, and holds it again after end.
type seat struct {
	host *Host

	mu    sync.Mutex // guards the fields below
	open  bool       // between begin and end
	held  bool       // the instance has a token of the host
	timer *time.Timer
}

// begin is called before the guest runs.
func (s *seat) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open, s.held = true, true
	s.timer = time.AfterFunc(slice, s.leave)
}

// leave lets another guest run. It does nothing outside of a call of the guest.
func (s *seat) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open && s.held {
		s.held = false
		s.host.release()
	}
}

// back waits until the guest may run again after leave.
func (s *seat) back() {
	s.take()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open {
		s.timer.Reset(slice)
	}
}

// end is called after the guest has run.
func (s *seat) end() {
	s.mu.Lock()
	s.open = false
	s.timer.Stop()
	s.mu.Unlock()
	s.take()
}

func (s *seat) take() {
	s.mu.Lock()
	held := s.held
	s.mu.Unlock()
	if held {
		return
	}
	s.host.acquire()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = true
}
