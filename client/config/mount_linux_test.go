// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/kube-go/sdk/client/config"
)

// TestModifyOfAMountedFile checks that a file that is mounted alone, as into a container, can be changed: it can't be
// replaced by another file.
func TestModifyOfAMountedFile(t *testing.T) {
	dir := t.TempDir()
	source, file := filepath.Join(dir, "source"), filepath.Join(dir, "mounted", "config")
	if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	long := kubeconfigOf("old") + "# " + strings.Repeat("x", 1<<16) + "\n"
	for _, err := range []error{os.WriteFile(source, []byte(long), 0o640), os.WriteFile(file, nil, 0o600)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mount(source, file, "", syscall.MS_BIND, ""); err != nil {
		t.Skip("needs the permission to mount: ", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(file, 0); err != nil {
			t.Error(err)
		}
	})
	err := config.Modify(t.Context(), func(k *config.Kubeconfig) error {
		k.CurrentContext = "x"
		return nil
	}, &config.ModifyOptions{Path: file})
	if err != nil {
		t.Fatalf("Modify() = %v", err)
	}
	if got := must(config.Read(t.Context(), source)).CurrentContext; got != "x" {
		t.Errorf("current-context = %q, want x", got)
	}
	checkMode(t, source, 0o640)
	if entries, err := os.ReadDir(filepath.Dir(file)); err != nil || len(entries) != 1 {
		t.Errorf("files beside the kubeconfig: %v, %v, want none", entries, err)
	}
}
