// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import "time"

// Action is what a reconcile that succeeded asks for next. The zero value is [AwaitChange].
type Action struct {
	requeueAfter time.Duration // 0: no run; asBackoffAllows: a run after the back-off
}

// asBackoffAllows stands for every delay that is too short to be waited for exactly.
const asBackoffAllows time.Duration = -1

// shortestRequeue is the shortest delay that [RequeueAfter] takes literally.
const shortestRequeue = time.Millisecond

// AwaitChange asks for nothing: the next run comes with the next change.
func AwaitChange() Action { return Action{} }

// RequeueAfter asks for a run after d, whether or not anything changes. A change before that brings a run of its own
// and leaves this one in place. Of the times that an object's runs have asked for, the earliest counts.
//
// A d of less than a millisecond, zero and negative ones included, asks for a run as soon as the object's back-off
// allows: after the delay that a failed run would wait, which [Options.Retry] sets and which grows with every such run
// in a row. The delays start over after a run that neither fails nor asks for this. So a reconcile that always returns
// RequeueAfter(0) slows down instead of spinning, and so does one that has lost a unit, as in RequeueAfter(30).
// [Result.RetryIn] is the delay.
func RequeueAfter(d time.Duration) Action {
	if d < shortestRequeue {
		d = asBackoffAllows
	}
	return Action{requeueAfter: d}
}

// String describes the action for logs.
func (a Action) String() string {
	if a.requeueAfter == 0 {
		return "await change"
	}
	if a.requeueAfter == asBackoffAllows {
		return "requeue after back-off"
	}
	return "requeue after " + a.requeueAfter.String()
}
