// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package pod

import (
	"errors"
	"io"
	"testing"
)

// FuzzOutcome promises that whatever a server says of a process has a meaning, and that only success is success.
func FuzzOutcome(f *testing.F) {
	f.Add([]byte(`{"metadata":{},"status":"Success"}`))
	f.Add([]byte(`{"status":"Failure","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"137"}]}}`))
	f.Add([]byte(`{"status":"Failure","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"-1"}]}}`))
	f.Add([]byte(`{"status":"Failure","reason":"NonZeroExitCode"}`))
	f.Add([]byte("it did not work"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, said []byte) {
		err := outcomeOf(said, io.EOF)
		if err != nil && err.Error() == "" {
			t.Error("the error says nothing")
		}
		if exit, ok := errors.AsType[*ExitError](err); ok && exit.Code <= 0 {
			t.Errorf("exit status %d", exit.Code)
		}
		if err == nil && len(said) == 0 {
			t.Error("nothing is taken for success")
		}
	})
}
