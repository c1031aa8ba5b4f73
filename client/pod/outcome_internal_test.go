// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package pod

import (
	"errors"
	"io"
	"testing"
)

// TestOutcomeHasExitStatusOfWindows: a process of Windows that crashes has a status with 32 bits.
func TestOutcomeHasExitStatusOfWindows(t *testing.T) {
	const message = `{"status":"Failure","reason":"NonZeroExitCode",` +
		`"details":{"causes":[{"reason":"ExitCode","message":"3221225477"}]}}`
	err := outcomeOf([]byte(message), io.EOF)
	exit, ok := errors.AsType[*ExitError](err)
	if !ok || exit.Code != 3221225477 {
		t.Errorf("outcomeOf() = %v, want an ExitError with the status 3221225477", err)
	}
}

// FuzzOutcome checks that an error has a message, that an exit status is positive, and that an empty status is an
// error.
func FuzzOutcome(f *testing.F) {
	f.Add([]byte(`{"metadata":{},"status":"Success"}`))
	f.Add([]byte(`{"status":"Failure","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"137"}]}}`))
	f.Add([]byte(`{"status":"Failure","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"-1"}]}}`))
	f.Add([]byte(`{"status":"Failure","reason":"NonZeroExitCode"}`))
	f.Add([]byte("no such program"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, message []byte) {
		err := outcomeOf(message, io.EOF)
		if err != nil && err.Error() == "" {
			t.Error("the error has no message")
		}
		if exit, ok := errors.AsType[*ExitError](err); ok && exit.Code <= 0 {
			t.Errorf("exit status = %d, want a positive one", exit.Code)
		}
		if err == nil && len(message) == 0 {
			t.Error("outcomeOf() of an empty status = nil, want an error")
		}
	})
}
