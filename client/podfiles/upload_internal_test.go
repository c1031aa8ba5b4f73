// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package podfiles

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// fileInfo describes a file of any size.
type fileInfo struct{ size int64 }

func (i fileInfo) Name() string     { return "large" }
func (i fileInfo) Size() int64      { return i.size }
func (fileInfo) Mode() fs.FileMode  { return 0o640 }
func (fileInfo) ModTime() time.Time { return time.Unix(1_700_000_000, 900_000_000) }
func (fileInfo) IsDir() bool        { return false }
func (fileInfo) Sys() any           { return nil }

// TestLargeFilesHaveTheirSizeInTheirHeader checks that the size of a file is not only in an extended header, which
// BusyBox does not read, and that smaller files keep fractions of seconds.
func TestLargeFilesHaveTheirSizeInTheirHeader(t *testing.T) {
	name := "./" + strings.Repeat("dir/", 60) + "large"
	for _, tc := range []struct {
		size     int64
		kind     byte // of the first header
		modified time.Time
	}{
		{1<<33 - 1, tar.TypeXHeader, fileInfo{}.ModTime()},
		{1 << 33, tar.TypeGNULongName, fileInfo{}.ModTime().Truncate(time.Second)},
		{1 << 40, tar.TypeGNULongName, fileInfo{}.ModTime().Truncate(time.Second)},
	} {
		t.Run(fmt.Sprint(tc.size), func(t *testing.T) {
			header, err := headerOf(name, fileInfo{tc.size}, "")
			if err != nil {
				t.Fatal(err)
			}
			var archive bytes.Buffer
			if err := tar.NewWriter(&archive).WriteHeader(header); err != nil {
				t.Fatal(err)
			}
			raw := archive.Bytes()
			if got := raw[156]; got != tc.kind {
				t.Errorf("the type of the first header is %q, want %q", got, tc.kind)
			}
			got, err := tar.NewReader(bytes.NewReader(raw)).Next()
			if err != nil {
				t.Fatal(err)
			}
			if got.Name != name || got.Size != tc.size || got.Mode != 0o640 || !got.ModTime.Equal(tc.modified) {
				t.Errorf("the header is %+v, want %d bytes, modified %v", got, tc.size, tc.modified)
			}
		})
	}
}

// TestDirectoriesAreClosedAfterTheirFiles checks that a directory in which its owner can't create files has a mode that
// allows it until its files have been unpacked: BusyBox sets the mode when it creates the directory.
func TestDirectoriesAreClosedAfterTheirFiles(t *testing.T) {
	top := filepath.Join(t.TempDir(), "top")
	for _, name := range []string{"a/b/file", "a/c/file", "a-/file", "z/file"} {
		file := filepath.Join(top, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	modes := []struct {
		name string
		mode fs.FileMode
	}{{"a/b", 0o500}, {"a", 0o555}, {"a-", 0o755}, {"z", 0o511}, {".", 0o550}}
	for _, m := range modes {
		if err := os.Chmod(filepath.Join(top, m.name), m.mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for _, m := range slices.Backward(modes) { // so that TempDir can be removed
			_ = os.Chmod(filepath.Join(top, m.name), 0o700) //nolint:gosec // a directory
		}
	})
	var archive bytes.Buffer
	up := &upload{local: top, name: "to", counter: (&Files{}).newCounter()}
	if err := up.pack(t.Context(), &archive); err != nil {
		t.Fatal(err)
	}
	var got []string
	for r := tar.NewReader(&archive); ; {
		header, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s %o", header.Name, header.Mode))
	}
	want := []string{
		"./to/ 750", "./to/a/ 755", "./to/a/b/ 700", "./to/a/b/file 600", "./to/a/b/ 500", "./to/a/c/ 700",
		"./to/a/c/file 600", "./to/a/ 555", "./to/a-/ 755", "./to/a-/file 600", "./to/z/ 711", "./to/z/file 600",
		"./to/z/ 511", "./to/ 550",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the archive has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if up.counter.Files != 10 {
		t.Errorf("the number of files is %d, want 10", up.counter.Files)
	}
}
