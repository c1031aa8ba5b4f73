// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kube-go/sdk/wasm/registry"
)

// poll returns the changes of a directory as text.
func poll(t *testing.T, d *registry.Directory) string {
	t.Helper()
	changes, err := d.Poll()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, c := range changes {
		switch {
		case c.Err != nil:
			all = append(all, c.Name+" bad")
		case c.Module == nil:
			all = append(all, c.Name+" removed")
		default:
			all = append(all, c.Name+" "+string(c.Module.Binary[len(c.Module.Binary)-1:]))
		}
	}
	return strings.Join(all, ", ")
}

func TestDirectoryReportsModulesThatAreAddedChangedAndRemoved(t *testing.T) {
	dir := t.TempDir()
	d := registry.NewDirectory(dir)
	clock := time.Now().Add(-time.Hour)
	write := func(name, content string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		clock = clock.Add(time.Second)
		if err := os.Chtimes(path, clock, clock); err != nil {
			t.Fatal(err)
		}
	}
	want := func(what string, texts ...string) {
		t.Helper()
		for _, text := range texts {
			if got := poll(t, d); got != text {
				t.Errorf("%s: the changes are %q, want %q", what, got, text)
			}
		}
	}
	write("a.wasm", string(module("1")))
	write("README", "x")
	write(".hidden.wasm", string(module("1")))
	want("the first call returns all", "a 1", "")
	write("a.wasm", string(module("2")))
	write("b.wasm", string(module("1")))
	want("changed files are read when they are stable", "", "a 2, b 1", "")
	write("a.wasm", string(module("2"))[:5])
	if got := poll(t, d); got != "" {
		t.Errorf("a file that is being written was read: %q", got)
	}
	write("a.wasm", string(module("3")))
	want("a file that was being written", "", "a 3", "")
	write("b.wasm", "garbage")
	want("a bad file is reported once", "", "b bad", "")
	write("b.wasm", string(module("1")))
	want("the module that still runs is not reported again", "", "")
	write("b.wasm", string(module("1")))
	if err := os.Truncate(filepath.Join(dir, "b.wasm"), 64<<20+1); err != nil { // the file has a hole
		t.Fatal(err)
	}
	want("a large file", "", "b bad", "")
	path := filepath.Join(dir, "a.wasm")
	if err := errors.Join(os.Remove(path), os.Symlink(path, path)); err != nil {
		t.Fatal(err)
	}
	want("a file that can't be found for another reason than its absence", "", "a bad", "")
	for _, name := range []string{"a.wasm", "b.wasm"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	want("removed files", "a removed, b removed", "")
	if err := os.Mkdir(filepath.Join(dir, "c.wasm"), 0o700); err != nil {
		t.Fatal(err)
	}
	want("directories are ignored", "", "")
}

func TestReplacedFileOfTheSameSizeAndTimeIsReported(t *testing.T) {
	dir := t.TempDir()
	put := func(content string) {
		t.Helper()
		at, next := time.Unix(1, 0), filepath.Join(dir, "next")
		if err := errors.Join(os.WriteFile(next, module(content), 0o600), os.Chtimes(next, at, at),
			os.Rename(next, filepath.Join(dir, "a.wasm"))); err != nil {
			t.Fatal(err)
		}
	}
	d := registry.NewDirectory(dir)
	put("1")
	if got := poll(t, d); got != "a 1" {
		t.Errorf("the changes are %q, want the module", got)
	}
	put("2")
	if got := poll(t, d) + poll(t, d) + poll(t, d); got != "a 2" {
		t.Errorf("the changes are %q, want the other module", got)
	}
}

func TestFilesOutsideOfARootAreNotRead(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	secret := filepath.Join(outside, "secret.wasm")
	for _, path := range []string{secret, filepath.Join(dir, "a.wasm")} {
		if err := os.WriteFile(path, module("a"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"link.wasm": secret, "inner.wasm": "a.wasm"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	for path, ok := range map[string]bool{
		"a.wasm": true, "inner.wasm": true,
		"link.wasm": false, secret: false, "../secret.wasm": false, ".": false, "none": false,
	} {
		if _, err := registry.ReadFileIn(root, path); (err == nil) != ok {
			t.Errorf("%s: %v", path, err)
		}
	}
}
