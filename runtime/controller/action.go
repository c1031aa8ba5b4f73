// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import "time"

// Action is what a reconcile that went well asks for next. The zero value is [AwaitChange].
type Action struct {
	requeueAfter time.Duration
}

// AwaitChange asks for nothing: the next run comes with the next change.
func AwaitChange() Action { return Action{} }

// RequeueAfter asks for a run after d, whether or not anything changes. A change before that brings a run of its own
// and leaves this one in place; of the times that an object's runs have asked for the earliest counts. A d of zero or
// less asks for a run at once.
func RequeueAfter(d time.Duration) Action {
	return Action{requeueAfter: max(d, 1)}
}

// String describes the action for logs.
func (a Action) String() string {
	if a.requeueAfter == 0 {
		return "await change"
	}
	return "requeue after " + a.requeueAfter.String()
}
