// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// pool is the workers of a session. Each has one goroutine.
type pool struct {
	surplus atomic.Bool // there are more workers than there should be; stored with mu held

	mu      sync.Mutex     // guards the fields below
	size    int            // the number of workers that there should be
	add     func() *worker // starts a worker; nil before start
	workers []*worker
	stopped bool          // no worker is added
	idle    chan struct{} // closed when the pool has stopped and no worker is left
	after   func()        // called then, without the lock; may be nil
}

func newPool() *pool { return &pool{idle: make(chan struct{})} }

// start starts the workers.
func (p *pool) start(add func() *worker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.add = add
	p.fill()
}

// resize sets the number of workers. Surplus ones leave after their next run.
func (p *pool) resize(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.size = n
	p.fill()
}

func (p *pool) fill() {
	for p.add != nil && !p.stopped && len(p.workers) < p.size {
		p.workers = append(p.workers, p.add())
	}
	p.surplus.Store(len(p.workers) > p.size)
}

// leave removes a worker if it is over or if there are more workers than there should be, and reports whether it did.
func (p *pool) leave(w *worker, over bool) bool {
	if !over && !p.surplus.Load() {
		return false
	}
	left, after := p.remove(w, over)
	if after != nil {
		after()
	}
	return left
}

func (p *pool) remove(w *worker, over bool) (left bool, after func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !over && len(p.workers) <= p.size {
		return false, nil
	}
	p.workers = slices.DeleteFunc(p.workers, func(o *worker) bool { return o == w })
	p.surplus.Store(len(p.workers) > p.size)
	if !p.stopped || len(p.workers) > 0 {
		return true, nil
	}
	close(p.idle)
	return true, p.after
}

// stop returns a channel that is closed when no worker is left.
func (p *pool) stop() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
	if len(p.workers) == 0 {
		close(p.idle)
	}
	return p.idle
}

// whenIdle calls f when no worker of the stopped pool is left: now, or in the goroutine of the last worker.
func (p *pool) whenIdle(f func()) {
	if !p.defers(f) {
		f()
	}
}

// defers makes the last worker call f. It returns false if no worker is left.
func (p *pool) defers(f func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.after = f
	return len(p.workers) > 0
}

// runs returns the current runs, in no order.
func (p *pool) runs() (all []*run) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range p.workers {
		if r := w.current.Load(); r != nil {
			all = append(all, r)
		}
	}
	return all
}

// compare orders runs by their beginning.
func (r *run) compare(other *run) int { return r.begun.Compare(other.begun) }

// oldest returns the age and the key of the oldest run, or zero values.
func (p *pool) oldest() (time.Duration, Key) {
	if all := p.runs(); len(all) > 0 {
		first := slices.MinFunc(all, (*run).compare)
		return time.Since(first.begun), first.item.Key
	}
	return 0, Key{}
}
