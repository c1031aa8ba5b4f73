// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
)

// maxBytes is the maximum size of a module in a file, and the default of Options.MaxBytes.
const maxBytes = 64 << 20

// Module is a WebAssembly module.
type Module struct {
	Digest string // sha256:…
	Binary []byte
}

// newModule returns a module, or an error if the data is not a core module.
func newModule(data []byte) (*Module, error) {
	switch {
	case len(data) < 8 || !bytes.HasPrefix(data, []byte("\x00asm")):
		return nil, errors.New("not a WebAssembly module: the first bytes are not those of one")
	case data[6] != 0:
		return nil, errors.New("a WebAssembly component: build a core module, such as with GOOS=wasip1 and " +
			"-buildmode=c-shared")
	}
	return &Module{Digest: digestOf(data), Binary: data}, nil
}

func digestOf(data []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(data)) }

// ReadFile reads a module of at most 64 MiB from a file.
func ReadFile(path string) (*Module, error) {
	f, err := openRegular(path, os.Stat, os.Open)
	if err != nil {
		return nil, err
	}
	return readModule(f, path)
}

// ReadFileIn is [ReadFile] for a path in a root: the file must be in the root, even if links lead to it.
func ReadFileIn(root *os.Root, path string) (*Module, error) {
	f, err := openRegular(path, root.Stat, root.Open)
	if err != nil {
		return nil, err
	}
	return readModule(f, path)
}

// openRegular opens a file. Anything else, such as a pipe, might never end.
func openRegular(
	path string, stat func(string) (os.FileInfo, error), open func(string) (*os.File, error),
) (*os.File, error) {
	info, err := stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	return open(path)
}

// contentError is an error of the content of a file: reading the file again returns the same one.
type contentError struct{ error }

// Unwrap returns the error.
func (e contentError) Unwrap() error { return e.error }

// readModule reads a module, and closes the file.
func readModule(f *os.File, path string) (*Module, error) {
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) > maxBytes:
		return nil, contentError{fmt.Errorf("%s has more than %d bytes, the maximum size of a module", path, maxBytes)}
	}
	m, err := newModule(data)
	if err != nil {
		return nil, contentError{fmt.Errorf("%s: %w", path, err)}
	}
	return m, nil
}
