// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package applier

import "time"

// Level is the keys of one priority that are waiting for a worker.
type Level struct {
	Priority Priority
	Keys     int // their number
}

// Held is a key that is held back.
type Held[K comparable] struct {
	Key    K
	Writes []Write       // that the sources have not observed
	Left   time.Duration // until the key is released anyway
}

// Queue returns the numbers of waiting keys, the highest priority first. Priorities without waiting keys are left out.
func (a *Applier[K, C]) Queue() (all []Level) {
	a.mu.Lock()
	defer a.unlock()
	a.state.advance(a.now())
	for i := range a.state.ready.levels {
		if l := &a.state.ready.levels[i]; l.len > 0 {
			all = append(all, Level{l.priority, l.len})
		}
	}
	return all
}

// Held returns the keys that are held back, at most limit: those that have been held longest.
func (a *Applier[K, C]) Held(limit int) (all []Held[K]) {
	a.mu.Lock()
	defer a.unlock()
	now := a.now()
	a.state.advance(now)
	for e := a.state.held.head; e != nil && len(all) < limit; e = e.next {
		h := Held[K]{Key: e.key, Left: e.extra.freeAt - now}
		for _, x := range e.extra.holds {
			h.Writes = append(h.Writes, x.Write)
		}
		all = append(all, h)
	}
	return all
}
