// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/client/podfiles"
	"github.com/kube-go/sdk/kube"
)

// testFiles checks that a directory is copied to a container and back unchanged, and that errors say why a copy fails.
func testFiles(t *testing.T, pods *kube.API[corev1.Pod]) {
	var last podfiles.Progress
	files := podfiles.In(podVerbs(pods), "talker", &podfiles.Options{
		Container: "web", Progress: func(p podfiles.Progress) { last = p },
	})
	from, to := filepath.Join(t.TempDir(), "from"), filepath.Join(t.TempDir(), "to")
	plant(t, from)
	up, err := files.Upload(limit(t), from, "/tmp/copy")
	if err != nil {
		t.Fatal(err)
	}
	if last.Stats != up || up.Files != 6 || up.Bytes != 8<<20+5 {
		t.Errorf("uploaded %+v, the last progress was %+v", up, last)
	}
	down, err := files.Download(limit(t), "/tmp/copy", to)
	if err != nil || down != up {
		t.Errorf("downloaded %+v, %v, want %+v", down, err, up)
	}
	if diff := cmp.Diff(survey(t, from), survey(t, to)); diff != "" {
		t.Errorf("downloaded directory (-sent +got):\n%s", diff)
	}

	none := filepath.Join(t.TempDir(), "none")
	_, err = files.Download(limit(t), "/tmp/none", none)
	if err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("Download of a missing file: %v, want no such file", err)
	}
	if _, err := os.Stat(none); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Stat after a failed download: %v, want ErrNotExist", err)
	}
	if _, err := files.Upload(limit(t), from, "/none/copy"); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("Upload to a missing directory: %v, want no such file", err)
	}
	fixed := podfiles.In(podVerbs(pods), "talker", &podfiles.Options{Container: "fixed"})
	_, err = fixed.Upload(limit(t), from, "/tmp/copy")
	if err == nil || !strings.Contains(err.Error(), "read-only file system") {
		t.Errorf("Upload to a read-only file system: %v", err)
	}
	bare := podfiles.In(podVerbs(pods), "talker", &podfiles.Options{Container: "bare"})
	if _, err := bare.Upload(limit(t), from, "/tmp/copy"); !errors.Is(err, podfiles.ErrNoTar) {
		t.Errorf("Upload to a container without tar: %v, want ErrNoTar", err)
	}
	if _, err := bare.Download(limit(t), "/tmp", none); !errors.Is(err, podfiles.ErrNoTar) {
		t.Errorf("Download from a container without tar: %v, want ErrNoTar", err)
	}
}

// plant creates a directory with files of several modes and sizes, a subdirectory and a symbolic link.
func plant(t *testing.T, dir string) {
	t.Helper()
	old := time.Date(2001, 2, 3, 4, 5, 6, 789_000_000, time.UTC)
	if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"program": "hello", "sub/large": strings.Repeat("0123456789abcdef", 512<<10),
		"sub/" + strings.Repeat("long ", 40): "",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("sub/large", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]fs.FileMode{"program": 0o755, "sub/large": 0o400, "sub": 0o550, ".": 0o751} {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.Chmod(file, mode), os.Chtimes(file, old, old)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(file, 0o700) }) // so that the cleanup can remove it
	}
}

// survey returns a description of each file in a directory, by path: its mode, modification time and content.
func survey(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		desc, content := info.Mode().String(), []byte(nil)
		switch {
		case info.Mode().IsRegular():
			content, err = os.ReadFile(file)
			desc += " " + info.ModTime().UTC().String() + " " + string(content)
		case info.IsDir():
			desc += " " + info.ModTime().UTC().String()
		default:
			var target string
			target, err = os.Readlink(file)
			desc += " " + target
		}
		rel, relErr := filepath.Rel(dir, file)
		all[rel] = desc
		return errors.Join(err, relErr)
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
