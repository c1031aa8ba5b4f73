// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"fmt"
	"runtime/debug"
)

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

// PanicError is a panic of a reconcile, made an error of that one run. A reconcile that ends its goroutine by
// runtime.Goexit, as the FailNow of a test does, counts as a panic: the goroutine is replaced by another.
type PanicError struct {
	Value any
	Stack []byte
}

// Error returns the panic's value; the stack is in Stack.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// errGoexit is the value of the PanicError of what has not returned though nothing has panicked.
var errGoexit = errors.New("runtime.Goexit was called")

// try calls f. A panic of f becomes *err. So does runtime.Goexit, but that can't be stopped: it runs what is deferred,
// and ends the goroutine.
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
