// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/kube-go/sdk/client/config"
)

// TestModifyOfAFileOfAnotherGroup checks that a user can change an own file whose group the user is not a member of,
// such as one that root has copied. The new group gets no permissions that it did not have.
func TestModifyOfAFileOfAnotherGroup(t *testing.T) {
	const user, group = 65534, 54321
	if os.Getuid() != 0 {
		t.Skip("only root can create a file of another user")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "config")
	for _, err := range []error{
		os.WriteFile(file, nil, 0o600),
		os.Chmod(file, 0o640),
		os.Chown(file, user, group),
		os.Chown(dir, user, user),
		os.Chmod(filepath.Dir(dir), 0o755),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine
		if err := syscall.Setfsgid(user); err != nil {
			done <- err
			return
		}
		if err := syscall.Setfsuid(user); err != nil {
			done <- err
			return
		}
		done <- config.Modify(t.Context(), func(k *config.Kubeconfig) error {
			k.CurrentContext = "x"
			return nil
		}, &config.ModifyOptions{Path: file})
	}()
	if err := <-done; err != nil {
		t.Fatalf("Modify() = %v", err)
	}
	checkMode(t, file, 0o600)
	if got := must(config.Read(t.Context(), file)).CurrentContext; got != "x" {
		t.Errorf("current-context = %q, want x", got)
	}
}
