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
	"time"
)

// lockWait is how long to wait for a lock, and lockPoll how often to look.
const (
	lockWait = 10 * time.Second
	lockPoll = 20 * time.Millisecond
)

// locks are the locks of some files, as kubectl takes them: a file with the suffix .lock.
type locks struct {
	taken   []string         // lock files
	missing map[string]error // why a file could not be locked
}

// lock takes the locks of files. Those in a folder that can't be written to are passed over, as their files can't be
// replaced either: see held. The folder of the last file is made if no file is there.
func lock(ctx context.Context, files []string) (*locks, error) {
	l := &locks{missing: map[string]error{}}
	none := !slices.ContainsFunc(files, func(file string) bool {
		_, err := os.Lstat(file)
		return err == nil
	})
	if none {
		file := files[len(files)-1]
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return nil, &FieldError{File: file, Problem: "its folder cannot be made: " + err.Error(), Err: err}
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, lockWait, errLocked)
	defer cancel()
	for _, file := range slices.Sorted(slices.Values(files)) { // in one order, so that nobody waits for each other
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

var errLocked = errors.New("waited for ten seconds")

// take takes the lock of one file.
func (l *locks) take(ctx context.Context, file string) error {
	switch info, err := os.Stat(file); {
	case err == nil && !info.Mode().IsRegular():
		return &FieldError{File: file, Problem: "is no regular file", Remedy: "name another one to write to"}
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
				File: file, Problem: fmt.Sprintf("another program is writing to it: %v", context.Cause(ctx)),
				Remedy: "try again, or remove " + name + " if there is no such program", Err: context.Cause(ctx),
			}
		}
	}
}

// held returns an error unless a file is locked.
func (l *locks) held(file string) error { return l.missing[file] }

// release gives the locks back.
func (l *locks) release() error {
	var errs []error
	for _, name := range l.taken {
		errs = append(errs, os.Remove(name))
	}
	return errors.Join(errs...)
}

// replacement is the new content of a file, beside it.
type replacement struct {
	file   string
	target string // the file itself, when file is a link to it
	temp   string // empty when there is nothing to discard
}

// prepare writes the new content of a file into the same folder. It gets the mode and the owner of the old one.
func prepare(file string, data []byte) (_ *replacement, err error) {
	r := &replacement{file: file, target: file}
	mode := fs.FileMode(0o600)
	if target, err := filepath.EvalSymlinks(file); err == nil { // else there is none yet
		r.target = target
	}
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
		err = keepOwner(r.temp, old)
	}
	if err == nil {
		err = os.Chmod(r.temp, mode)
	}
	return r, err
}

// commit replaces the file.
func (r *replacement) commit() error {
	err := os.Rename(r.temp, r.target)
	if err == nil {
		r.temp = ""
	}
	return err
}

// discard removes what was not committed.
func (r *replacement) discard() {
	if r.temp != "" {
		_ = os.Remove(r.temp) // the error that led here is the one to report
	}
}
