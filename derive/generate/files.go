// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// File is the desired state of a file.
type File struct {
	Path    string // absolute
	Content []byte // nil if the file should not exist
}

// Files is the result of a run.
type Files struct {
	Files []File // ordered by path

	// Warnings are mistakes that the files do not contain: those in packages of other modules, and with [Options.Lenient]
	// all. They also name the CRDs that servers reject until an annotation is added.
	Warnings []Problem

	// Notes are remarks about the files, such as that one is too large for kubectl apply without --server-side.
	Notes []Problem

	Packages int // the number of packages that were read
	Kinds    int // the number of versions of kinds in them

	dir string
}

// Stale returns the paths of the files that are missing, outdated or left over, relative to the directory of the run.
func (f *Files) Stale() ([]string, error) {
	var stale []string
	for _, file := range f.Files {
		ok, err := file.upToDate()
		if err != nil {
			return nil, err
		}
		if !ok {
			stale = append(stale, relative(f.dir, file.Path))
		}
	}
	return stale, nil
}

// Write brings all files up to date, and returns the paths of those that it has changed, relative to the directory of
// the run.
func (f *Files) Write() ([]string, error) {
	var written []string
	for _, file := range f.Files {
		ok, err := file.upToDate()
		if err != nil {
			return written, err
		}
		if ok {
			continue
		}
		if err := file.write(); err != nil {
			return written, err
		}
		written = append(written, relative(f.dir, file.Path))
	}
	return written, nil
}

// upToDate reports whether the file on disk has the content. Its line endings may be those of Windows, as Git may write
// them.
func (file File) upToDate() (bool, error) {
	old, err := os.ReadFile(file.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return file.Content == nil, nil
	case err != nil:
		return false, fmt.Errorf("compare with the existing file: %w", err)
	}
	return file.Content != nil && bytes.Equal(bytes.ReplaceAll(old, []byte("\r\n"), []byte("\n")), file.Content), nil
}

// write replaces the file atomically.
func (file File) write() error {
	if file.Content == nil {
		return os.Remove(file.Path)
	}
	dir := filepath.Dir(file.Path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, ".kube-derive-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // fails after the rename
	if err := errors.Join(tmp.Chmod(0o644), writeAll(tmp, file.Content), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), file.Path)
}

func writeAll(f *os.File, b []byte) error {
	_, err := f.Write(b)
	return err
}
