// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
)

// ModifyOptions are the options of [Modify]. The zero value of a field is its default.
type ModifyOptions struct {
	// Path is the kubeconfig to change. It may be missing. Default: the files listed in KUBECONFIG, or ~/.kube/config if
	// that is not set.
	Path string
}

// Modify changes kubeconfig files. It reads and merges them as [Read] does, calls change with the result, and writes
// the differences. If change returns an error, Modify returns that error and writes nothing.
//
// Each cluster, user, context and single value is written to the file that it came from. A new stanza is written to the
// first file that exists or, if KUBECONFIG lists several files, to the file that its Origin names. A deleted stanza is
// deleted from all files, so that a stanza that it hid does not take effect. Reading the files afterwards returns the
// kubeconfig that change left. Files without changes are not written. In the other files, all data that did not change
// keeps its meaning: unknown fields, extensions, and paths relative to the file. Comments and formatting are lost, as
// with kubectl.
//
// A file is replaced as a whole or not at all, except for one that is mounted alone, as into a container: only its
// content can be replaced, so programs that read it at the same time may see a part of it. New files and directories are
// accessible only to their owner. Modify holds the same locks as kubectl (FILE.lock), so that programs that write at the
// same time do not lose each other's changes. It waits for a lock until the context ends, or for ten seconds.
//
// Errors: [FieldError].
func Modify(ctx context.Context, change func(*Kubeconfig) error, o *ModifyOptions) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if o == nil {
		o = &ModifyOptions{}
	}
	return osEnv().modify(ctx, change, o.Path)
}

func (e env) modify(ctx context.Context, change func(*Kubeconfig) error, path string) (err error) {
	files, err := e.filesToModify(path)
	if err != nil {
		return err
	}
	locks, err := lock(ctx, files)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, locks.release()) }()
	m, err := e.newModification(files)
	if err != nil {
		return err
	}
	if err := change(m.after); err != nil {
		return err
	}
	if err := m.distribute(); err != nil {
		return err
	}
	return m.write(locks)
}

// filesToModify returns the files in their order of precedence.
func (e env) filesToModify(path string) ([]string, error) {
	files := []string{path}
	if list := e.getenv("KUBECONFIG"); path == "" && list != "" {
		files = slices.DeleteFunc(filepath.SplitList(list), func(file string) bool { return file == "" })
		if len(files) == 0 {
			return nil, fmt.Errorf("KUBECONFIG is %q, which names no file: correct it", list)
		}
	} else if path == "" {
		home, err := e.homeDir()
		if err != nil {
			return nil, fmt.Errorf("the home directory is unknown: set KUBECONFIG, or name a file: %w", err)
		}
		files = []string{filepath.Join(home, ".kube", "config")}
	}
	var unique, targets []string
	for _, file := range files {
		abs, err := filepath.Abs(file)
		if err != nil {
			return nil, err
		}
		if end := target(abs); !slices.Contains(targets, end) { // the second name of a file adds nothing
			unique, targets = append(unique, abs), append(targets, end)
		}
	}
	return unique, nil
}

// modification is a change to the content of some files.
type modification struct {
	parts         []*Kubeconfig // one for each file, its only origin
	changed       []bool        // of parts
	fallback      int           // the part that new stanzas are added to
	before, after *Kubeconfig
}

func (e env) newModification(files []string) (*modification, error) {
	m := &modification{changed: make([]bool, len(files)), fallback: -1}
	var errs []error
	again := make([]*Kubeconfig, len(files)) // a second copy, which can be changed without changing the parts
	for i, file := range files {
		data, err := e.readFile(file)
		switch {
		case err == nil && m.fallback < 0:
			m.fallback = i
		case errors.Is(err, fs.ErrNotExist):
			data = nil
		case err != nil:
			errs = append(errs, readError(file, err))
			continue
		}
		part, err := Parse(data, file)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		m.parts = append(m.parts, part)
		if again[i], err = Parse(data, file); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if m.fallback < 0 {
		m.fallback = len(files) - 1
	}
	m.before, m.after = Merge(m.parts...), Merge(again...)
	return m, nil
}

// write replaces the files whose parts have changed. It prepares all files before it replaces the first.
func (m *modification) write(locks *locks) error {
	var ready []*replacement
	defer func() {
		for _, r := range ready {
			r.discard()
		}
	}()
	for i, part := range m.parts {
		if !m.changed[i] {
			continue
		}
		file := part.Origins[0]
		if err := locks.held(file); err != nil {
			return err
		}
		part.APIVersion, part.Kind = "v1", "Config"
		data, err := part.Encode()
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		r, err := prepare(file, data)
		if err != nil {
			return &FieldError{File: file, Problem: "cannot be written: " + err.Error(), Err: err}
		}
		ready = append(ready, r)
	}
	for _, r := range ready {
		if err := r.commit(); err != nil {
			return &FieldError{File: r.file, Problem: "cannot be written: " + err.Error(), Err: err}
		}
	}
	return nil
}
