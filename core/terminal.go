// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package core

import "slices"

// Terminal marks an error that no retry resolves: a controller does not reconcile the object again until something
// changes, and a wait ends. It returns nil for nil.
func Terminal(err error) error {
	if err == nil {
		return nil
	}
	return &terminalError{err}
}

type terminalError struct{ err error }

func (e *terminalError) Error() string  { return e.err.Error() }
func (e *terminalError) Unwrap() error  { return e.err }
func (e *terminalError) Terminal() bool { return true }

// IsTerminal reports whether an error was marked by [Terminal], or wraps one that was.
//
// An error with the method Terminal() bool decides for itself and for the errors that it wraps. So the error of a wait
// that ended with a terminal error is not terminal: the awaited object may be repaired later.
func IsTerminal(err error) bool {
	switch e := any(err).(type) {
	case interface{ Terminal() bool }:
		return e.Terminal()
	case interface{ Unwrap() error }:
		return IsTerminal(e.Unwrap())
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(e.Unwrap(), IsTerminal)
	}
	return false
}
