// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestFileThatCouldNotBeReadIsReadAgain has read errors that end without a change of the size and the time of the file.
func TestFileThatCouldNotBeReadIsReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a"+Extension)
	write := func(content string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d := NewDirectory(filepath.Dir(path))
	var refused error
	reads := 0
	d.read = func(path string) (*Module, error) {
		reads++
		if refused != nil {
			return nil, &os.PathError{Op: "open", Path: path, Err: refused}
		}
		return ReadFile(path)
	}
	poll := func(what string, err error, want, wantReads int) []Change {
		t.Helper()
		refused, reads = err, 0
		changes, pollErr := d.Poll()
		if pollErr != nil || len(changes) != want || reads != wantReads {
			t.Fatalf("%s: Poll = %v, %v after %d reads, want %d changes after %d",
				what, changes, pollErr, reads, want, wantReads)
		}
		return changes
	}
	write("\x00asm\x01\x00\x00\x00")
	poll("an error", syscall.EMFILE, 1, 1)
	poll("the same error", syscall.EMFILE, 0, 1)
	poll("another error", syscall.EIO, 1, 1)
	poll("the first error again", syscall.EMFILE, 1, 1)
	if c := poll("the end of the errors", nil, 1, 1); c[0].Err != nil || c[0].Module == nil {
		t.Errorf("the change is %+v, want the module", c[0])
	}
	poll("a file that is loaded", syscall.EIO, 0, 0)
	write("garbage")
	poll("a file that has changed", nil, 0, 0)
	poll("a file that is not a module", nil, 1, 1)
	poll("a file that is still not a module", nil, 0, 0)
}
