// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
)

// newClient returns a client of a server that does not exist.
func newClient(t *testing.T) *client.Client {
	t.Helper()
	c, err := client.New(t.Context(), &client.Options{Config: &config.Config{Server: "https://cluster.invalid"}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDirectoryOfFilesIsOpenOnlyDuringRun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "files")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	o := &Options{Name: "example.com/test", Files: dir, Logger: slog.New(slog.DiscardHandler)}
	m, err := New(newClient(t), nil, o)
	if err != nil {
		t.Fatal(err)
	}
	if m.root != nil {
		t.Error("New opens the directory")
	}
	cause := errors.New("on purpose")
	reads := func(context.Context) error {
		if _, err := m.stat("a"); err != nil {
			t.Error(err)
		}
		return cause
	}
	for range 2 {
		if err := m.Run(t.Context(), reads); err != cause {
			t.Errorf("Run = %v, want %v", err, cause)
		}
		if _, err := m.stat("a"); !errors.Is(err, os.ErrClosed) {
			t.Errorf("after Run, the directory is not closed: %v", err)
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	err = m.Run(t.Context(), reads)
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "Options.Files: ") {
		t.Errorf("Run without the directory = %v", err)
	}
}
