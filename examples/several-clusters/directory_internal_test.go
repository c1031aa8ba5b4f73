// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFilesOfAMountedSecretAreRead checks the entries of a directory, which are links as in a mounted Secret. A link to
// itself can't be read.
func TestFilesOfAMountedSecretAreRead(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"..version", "directory"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range map[string]string{"..version/eu": "eu", "us": "us", ".hidden": "hidden"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{
		"..data": "..version", "eu": "..data/eu", "removed": "..data/removed", "known": "known", "unknown": "unknown",
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	before := map[string]file{
		"known": {content: []byte("known")}, "us": {content: []byte("old")}, "removed": {content: []byte("old")},
	}
	got, err := readFiles(dir, before)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]byte{"eu": []byte("eu"), "us": []byte("us"), "known": []byte("known")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
