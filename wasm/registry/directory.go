// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Extension is the end of the names of modules in a directory.
const Extension = ".wasm"

// maxFiles is the maximum number of modules in a directory.
const maxFiles = 10000

// Directory is a directory with modules, which are the files that end with [Extension]. Create one with [NewDirectory].
// It is not safe for concurrent use.
type Directory struct {
	path   string
	read   func(path string) (*Module, error)
	files  map[string]*file // by name
	polled bool
}

// file is what is known of a file.
type file struct {
	mark   mark
	loaded mark   // the state that was last read; zero if it must be read
	failed string // the error that was reported for the state, or empty
	digest string // of the module that was reported; empty before the first one
}

// mark identifies a state of a file.
type mark struct {
	size  int64
	mtime time.Time
	info  fs.FileInfo // has the identity of the file; nil if it is not known
}

func markOf(info fs.FileInfo) mark { return mark{info.Size(), info.ModTime(), info} }

// same reports whether two states are the same. Another file may have the same size and time, as in archives with
// reproducible times.
func (m mark) same(other mark) bool {
	if m.size != other.size || !m.mtime.Equal(other.mtime) || m.info == nil || other.info == nil {
		return m == other
	}
	return os.SameFile(m.info, other.info)
}

// Change is a change of a module in a directory. Without a module and an error, the module does not exist any more.
type Change struct {
	Name   string // of the file, without the extension
	Module *Module
	Err    error // the file is not a module that can be read; the previous one, if any, is still the current one
}

// NewDirectory returns a directory, whose modules have at most 64 MiB each.
func NewDirectory(path string) *Directory {
	return &Directory{path: path, read: ReadFile, files: make(map[string]*file)}
}

// Poll returns what has changed since the last call. The first call returns all modules. A file that is new or has
// changed since then is read when two calls have found it unchanged: it may still be being written. A file that can't
// be read, such as one without a permission, is read again by the next call; the same error is returned once.
func (d *Directory) Poll() ([]Change, error) {
	found, err := d.list()
	if err != nil {
		return nil, err
	}
	var changes []Change
	for _, name := range d.step(found) {
		c := Change{Name: strings.TrimSuffix(name, Extension)}
		c.Module, c.Err = d.read(filepath.Join(d.path, name))
		if d.files[name].record(c.Module, c.Err) {
			changes = append(changes, c)
		}
	}
	for name, f := range d.files {
		if _, ok := found[name]; !ok {
			delete(d.files, name)
			if f.digest != "" {
				changes = append(changes, Change{Name: strings.TrimSuffix(name, Extension)})
			}
		}
	}
	slices.SortFunc(changes, func(a, b Change) int { return strings.Compare(a.Name, b.Name) })
	return changes, nil
}

// record records what reading the file has returned, and reports whether that is a change.
func (f *file) record(m *Module, err error) bool {
	if err == nil {
		changed := f.digest != m.Digest
		f.failed, f.digest = "", m.Digest
		return changed
	}
	if _, ok := errors.AsType[contentError](err); !ok {
		f.loaded = mark{} // the next attempt may succeed, and does not change the size and the time of the file
	}
	changed := f.failed != err.Error()
	f.failed = err.Error()
	return changed
}

// step records the states of files, and returns those to read.
func (d *Directory) step(found map[string]mark) (read []string) {
	for name, now := range found {
		f := d.files[name]
		if f == nil {
			f = &file{}
			d.files[name] = f
		}
		if !f.mark.same(now) {
			f.failed = ""
		}
		unchanged := f.mark.same(now) || !d.polled
		f.mark = now
		if unchanged && !f.loaded.same(now) {
			f.loaded = now
			read = append(read, name)
		}
	}
	d.polled = true
	return read
}

// list returns the files of the directory.
func (d *Directory) list() (map[string]mark, error) {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return nil, err
	}
	found := make(map[string]mark)
	for _, e := range entries {
		name := e.Name()
		if !strings.HasSuffix(name, Extension) || strings.HasPrefix(name, ".") || name == Extension {
			continue
		}
		info, err := os.Stat(filepath.Join(d.path, name)) // also of what a link leads to, as in mounted ConfigMaps
		state := mark{size: -1}                           // not known: to read the file fails, too
		switch {
		case errors.Is(err, fs.ErrNotExist), err == nil && !info.Mode().IsRegular():
			continue
		case err == nil:
			state = markOf(info)
		}
		if len(found) == maxFiles {
			return nil, fmt.Errorf("%s has more than %d modules", d.path, maxFiles)
		}
		found[name] = state
	}
	return found, nil
}
