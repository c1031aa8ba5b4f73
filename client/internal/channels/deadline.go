// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package channels

import (
	"sync"
	"time"
)

// deadline is a time at which all waiters for a condition are woken.
type deadline struct {
	passed bool // guarded by the lock of the condition, as is timer
	timer  *time.Timer
}

// set moves the deadline and wakes all waiters. The caller must not hold the lock of the condition.
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
