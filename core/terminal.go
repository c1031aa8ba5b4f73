// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package core

import "errors"

// Terminal marks an error that no retry resolves: a controller does not reconcile the object again until something
// changes, and a wait ends. It returns nil for nil.
func Terminal(err error) error { return mark(err, true) }

// NotTerminal removes the mark of [Terminal] from an error and all errors that it wraps, for a caller that can try
// again. The result has the same text and wraps the same errors. NotTerminal returns nil for nil.
func NotTerminal(err error) error { return mark(err, false) }

// IsTerminal reports whether an error is marked by [Terminal], or wraps one that is. The first mark decides, in the
// order of [errors.AsType].
func IsTerminal(err error) bool {
	m, ok := errors.AsType[*marked](err)
	return ok && m.terminal
}

func mark(err error, terminal bool) error {
	if err == nil {
		return nil
	}
	return &marked{err, terminal}
}

// marked is an error that is terminal or not, whatever the marks of the errors that it wraps.
type marked struct {
	err      error
	terminal bool
}

func (m *marked) Error() string { return m.err.Error() }
func (m *marked) Unwrap() error { return m.err }
