// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"fmt"
	"time"
)

// Action is what a reconcile that went well asks for next. The zero value is [AwaitChange].
type Action struct {
	requeueAfter time.Duration
}

// AwaitChange asks for nothing: the next run comes with the next change.
func AwaitChange() Action { return Action{} }

// RequeueAfter asks for a run after d, whether or not anything changes. A change before that brings a run of its own
// and leaves this one in place. A d of zero or less asks for a run at once.
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

// Terminal marks an error that trying again does not mend: the key runs again only when something changes.
// A nil error stays nil.
func Terminal(err error) error {
	if err == nil {
		return nil
	}
	return &terminalError{err}
}

type terminalError struct{ err error }

func (e *terminalError) Error() string { return e.err.Error() }
func (e *terminalError) Unwrap() error { return e.err }

// IsTerminal reports whether an error was marked by [Terminal].
func IsTerminal(err error) bool {
	_, ok := errors.AsType[*terminalError](err)
	return ok
}

// PanicError is a panic of a reconcile, made an error of that one run.
type PanicError struct {
	Value any
	Stack []byte
}

// Error returns the panic's value; the stack is in Stack.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }
