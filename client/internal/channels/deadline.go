// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package channels

import (
	"sync"
	"time"
)

// deadline is a point in time that wakes those who wait for a condition.
type deadline struct {
	passed bool // guarded, as all of it, by the condition's lock
	timer  *time.Timer
}

// set moves the deadline and wakes those who wait. The condition's lock must not be held.
func (d *deadline) set(t time.Time, changed *sync.Cond) {
	changed.L.Lock()
	defer changed.L.Unlock()
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	left := time.Until(t)
	d.passed = !t.IsZero() && left <= 0
	if !t.IsZero() && left > 0 {
		var own *time.Timer
		own = time.AfterFunc(left, func() {
			changed.L.Lock()
			defer changed.L.Unlock()
			d.passed = d.passed || d.timer == own // it may have been moved meanwhile
			changed.Broadcast()
		})
		d.timer = own
	}
	changed.Broadcast()
}
