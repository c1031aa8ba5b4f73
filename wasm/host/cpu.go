// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"sync"
	"time"
)

// cpuBurst is the time in which a module that was idle saves its share of a CPU.
const cpuBurst = time.Minute

// cpu limits the time for which the guest of a module runs, over time: a bucket, which each call may empty below zero.
// In package rate, an event can't be larger than the burst. It is safe for concurrent use.
type cpu struct {
	share float64 // of one CPU

	mu   sync.Mutex    // guards the fields below
	left time.Duration // at a time
	at   time.Time
}

func newCPU(share float64, now time.Time) *cpu {
	share = min(share, 1000) // no machine has more
	return &cpu{share: share, at: now, left: time.Duration(share * float64(cpuBurst))}
}

// fill adds what was saved until now. The caller holds c.mu.
func (c *cpu) fill(now time.Time) {
	full := time.Duration(c.share * float64(cpuBurst))
	c.left = min(full, c.left+time.Duration(c.share*float64(now.Sub(c.at))))
	c.at = now
}

// spend records that the guest has run.
func (c *cpu) spend(now time.Time, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fill(now)
	c.left -= took
}

// wait returns the time until the guest may run, or a day if that is later.
func (c *cpu) wait(now time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fill(now); c.left >= 0 {
		return 0
	}
	return time.Duration(min(float64(-c.left)/c.share, float64(24*time.Hour))) + 1
}

// charge counts the time until done is called as if the guest had run: the host needs it for messages of the guest.
func (g *guest) charge() (done func()) {
	begun := time.Now()
	return func() {
		now := time.Now()
		g.cpu.spend(now, now.Sub(begun))
	}
}

// throttleCPU waits until the guest may run, or until it is removed or quarantined, or ctx ends.
func (g *guest) throttleCPU(ctx context.Context) {
	for wait := g.cpu.wait(time.Now()); wait > 0; wait = g.cpu.wait(time.Now()) {
		begun := time.Now()
		timer := time.NewTimer(min(wait, time.Second)) // so that the stats are recent
		select {
		case <-timer.C:
		case <-g.removing:
		case <-ctx.Done():
		}
		timer.Stop()
		g.mu.Lock()
		g.stats.Throttled += time.Since(begun)
		g.mu.Unlock()
		if g.ends() || ctx.Err() != nil {
			return
		}
	}
}

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
