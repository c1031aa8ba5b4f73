// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

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
// the requested run still takes place, unless the object is deleted, or another replica owns it. If several runs of an
// object have requested a run, the earliest time counts. The requested run has the priority of the run that requests
// it, see [Run]: those of the initial objects come after changes.
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

// RetryWithin adds the maximum delay of the next run, such as the time until a deadline, to an error: the run takes
// place after d, even if the back-off is longer or the error is [core.Terminal]. An earlier retry or change starts a run
// of its own, as with [RequeueAfter]. RetryWithin returns nil for nil, and the error itself if d is not positive.
func RetryWithin(err error, d time.Duration) error {
	if err == nil || d <= 0 {
		return err
	}
	return &timedError{err, d}
}

type timedError struct {
	err    error
	within time.Duration
}

func (e *timedError) Error() string { return e.err.Error() }
func (e *timedError) Unwrap() error { return e.err }

// PanicError is the error of a run whose reconcile panicked. A reconcile that ends its goroutine with runtime.Goexit,
// as the FailNow of a test does, counts as a panic; the controller replaces the goroutine.
type PanicError struct {
	Value any
	Stack []byte
}

// Error returns the value of the panic. The stack is in Stack.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// errGoexit is the value of the PanicError of a function that neither returned nor panicked.
var errGoexit = errors.New("runtime.Goexit was called")

// try calls f. A panic of f becomes *err. So does runtime.Goexit, which can't be stopped: it runs the deferred
// functions, and ends the goroutine.
func try(err *error, f func()) {
	returned := false
	defer func() {
		if returned {
			return
		}
		v := recover()
		if v == nil {
			v = errGoexit
		}
		*err = &PanicError{Value: v, Stack: debug.Stack()}
	}()
	f()
	returned = true
}
