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

// File is one file as it should be.
type File struct {
	Path    string // absolute
	Content []byte // nil when there should be no such file
}

// Files is the outcome of a run.
type Files struct {
	Files []File // ordered by path

	// Warnings are mistakes that were left out of the files: those in packages of other modules, and with [Options.Lenient]
	// all. They also name the CRDs that servers refuse until somebody adds an annotation.
	Warnings []Problem

	// Notes say what is worth knowing of the files, such as that one is too large for a plain kubectl apply.
	Notes []Problem

	Packages int // how many were read
	Kinds    int // how many are defined in them, each version counted

	dir string
}

// Stale returns the paths of the files that are not as they should be, relative to the directory of the run.
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

// Write brings all files up to date, and returns the paths of those that it changed, relative to the directory of the
// run.
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

func (file File) upToDate() (bool, error) {
	old, err := os.ReadFile(file.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return file.Content == nil, nil
	case err != nil:
		return false, fmt.Errorf("compare with what is there: %w", err)
	}
	return file.Content != nil && bytes.Equal(old, file.Content), nil
}

// write replaces the file in one step, so that nobody sees half of it.
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
	defer os.Remove(tmp.Name()) // nothing is there after the rename
	if err := errors.Join(tmp.Chmod(0o644), writeAll(tmp, file.Content), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), file.Path)
}

func writeAll(f *os.File, b []byte) error {
	_, err := f.Write(b)
	return err
}
