// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import "time"

// Action is the next run that a successful reconcile requests. The zero value is [AwaitChange].
type Action struct {
	requeueAfter time.Duration // 0: no run; asBackoffAllows: a run after the back-off
}

// asBackoffAllows stands for every delay that is too short to be exact.
const asBackoffAllows time.Duration = -1

// shortestRequeue is the shortest exact delay of [RequeueAfter].
const shortestRequeue = time.Millisecond

// AwaitChange requests no run: the next run follows the next change.
func AwaitChange() Action { return Action{} }

// RequeueAfter requests a run after d, whether or not anything changes. An earlier change starts a run of its own, and
// the requested run still takes place. If several runs of an object have requested a run, the earliest time counts.
//
// If d is less than a millisecond, zero or negative, RequeueAfter requests a run as soon as the object's back-off
// allows: after the delay of a failed run, which [Options.Retry] sets and which grows with every consecutive run of
// this kind. A run that neither fails nor requests this resets the delay. So a reconcile that always returns
// RequeueAfter(0) slows down instead of spinning, as does one that has forgotten the unit, as in RequeueAfter(30).
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
