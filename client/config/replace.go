// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// lockWait is how long to wait for a lock, and lockPoll is the interval between attempts.
const (
	lockWait = 10 * time.Second
	lockPoll = 20 * time.Millisecond
)

// locks are the locks of some files. A lock is a file with the suffix .lock, as for kubectl.
type locks struct {
	taken   []string         // lock files
	missing map[string]error // why a file could not be locked
}

// lock takes the locks of files. It skips files in directories without write permission, which cannot be replaced
// either: see held. If none of the files exists, it creates the directory of the last one.
func lock(ctx context.Context, files []string) (*locks, error) {
	l := &locks{missing: map[string]error{}}
	none := !slices.ContainsFunc(files, func(file string) bool {
		_, err := os.Lstat(file)
		return err == nil
	})
	if none {
		file := files[len(files)-1]
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return nil, &FieldError{File: file, Problem: "its directory cannot be created: " + err.Error(), Err: err}
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, lockWait, errLocked)
	defer cancel()
	for _, file := range slices.Sorted(slices.Values(files)) { // a fixed order prevents deadlocks
		err := l.take(ctx, file)
		if ctx.Err() != nil && err != nil {
			return nil, errors.Join(err, l.release())
		}
		if err != nil {
			l.missing[file] = err
		}
	}
	return l, nil
}

var errLocked = errors.New("timed out after ten seconds")

// take takes the lock of one file.
func (l *locks) take(ctx context.Context, file string) error {
	switch info, err := os.Stat(file); {
	case err == nil && !info.Mode().IsRegular():
		return &FieldError{File: file, Problem: "is not a regular file", Remedy: "name a regular file"}
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return &FieldError{File: file, Problem: "cannot be locked: " + err.Error(), Err: err}
	}
	name := file + ".lock"
	for {
		f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0)
		if err == nil {
			l.taken = append(l.taken, name)
			return f.Close()
		}
		if !errors.Is(err, fs.ErrExist) {
			return &FieldError{File: file, Problem: "cannot be locked: " + err.Error(), Err: err}
		}
		select {
		case <-time.After(lockPoll):
		case <-ctx.Done():
			return &FieldError{
				File: file, Problem: fmt.Sprintf("is locked by another program: %v", context.Cause(ctx)),
				Remedy: "try again, or remove " + name + " if no such program is running", Err: context.Cause(ctx),
			}
		}
	}
}

// held returns an error unless a file is locked.
func (l *locks) held(file string) error { return l.missing[file] }

// release releases the locks.
func (l *locks) release() error {
	var errs []error
	for _, name := range l.taken {
		errs = append(errs, os.Remove(name))
	}
	return errors.Join(errs...)
}

// replacement is the new content of a file, in a temporary file in the same directory.
type replacement struct {
	file   string
	target string // the file that file links to, or file itself
	temp   string // empty if there is nothing to discard
	data   []byte
}

// prepare writes the new content of a file to the same directory, with the mode, the owner and, if possible, the group
// of the old file.
func prepare(file string, data []byte) (_ *replacement, err error) {
	r := &replacement{file: file, target: target(file), data: data}
	mode := fs.FileMode(0o600)
	old, err := os.Stat(r.target)
	if err == nil {
		mode = old.Mode().Perm()
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	f, err := os.CreateTemp(filepath.Dir(r.target), filepath.Base(r.target)+".new-*")
	if err != nil {
		return nil, err
	}
	r.temp = f.Name()
	defer func() {
		if err != nil {
			r.discard()
		}
	}()
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil && old != nil {
		var sameGroup bool
		if sameGroup, err = keepOwner(r.temp, old); !sameGroup {
			mode &^= 0o070 // the members of the other group must not get access
		}
	}
	if err == nil {
		err = os.Chmod(r.temp, mode)
	}
	return r, err
}

// target returns the file that a file links to, or the file itself. Neither needs to exist.
func target(file string) string {
	if end, err := filepath.EvalSymlinks(file); err == nil {
		return end
	}
	for range 40 { // a missing file, or links in a circle
		link, err := os.Readlink(file)
		if err != nil {
			break
		}
		if !filepath.IsAbs(link) {
			link = filepath.Join(filepath.Dir(file), link)
		}
		file = link
	}
	return file
}

// commit replaces the file. A file that is mounted alone, as into a container, can't be replaced, so its content is.
func (r *replacement) commit() error {
	err := os.Rename(r.temp, r.target)
	switch {
	case err == nil:
		r.temp = ""
	case errors.Is(err, syscall.EBUSY):
		if err = overwrite(r.target, r.data); err != nil {
			err = fmt.Errorf("%w; its new content is in %s", err, r.temp)
			r.temp = "" // perhaps the only copy
		}
	}
	return err
}

// overwrite writes the new content of a file into the file itself.
func overwrite(file string, data []byte) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// discard removes the temporary file, unless it was committed.
func (r *replacement) discard() {
	if r.temp != "" {
		_ = os.Remove(r.temp) // the caller reports an earlier error
	}
}
