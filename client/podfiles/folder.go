// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package podfiles

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// folder is a directory of a download. A download holds all of them until its end, and the container chooses their
// names, which may have a MiB each. So a folder has only the last element of its name, whose length the file system
// limits, and nothing of the header but the permissions and the time.
type folder struct {
	place

	made     bool // the download has created it
	listed   bool // it has an entry
	mode     fs.FileMode
	modified time.Time
}

// place identifies a folder.
type place struct {
	parent *folder // nil for the copied directory itself
	base   string
}

// name returns the name relative to the copied directory.
func (f *folder) name() string {
	if f.parent == nil {
		return "."
	}
	var names []string
	for ; f.parent != nil; f = f.parent {
		names = append(names, f.base)
	}
	slices.Reverse(names)
	return strings.Join(names, "/")
}

// folders are the folders that the archive of a download names.
type folders struct {
	top  *folder // the copied directory itself
	at   map[place]*folder
	list []*folder // parents first
}

func newFolders() *folders {
	top := &folder{}
	return &folders{top: top, at: map[place]*folder{}, list: []*folder{top}}
}

// find returns a folder, and adds it if it is new.
func (s *folders) find(parent *folder, base string) *folder {
	f, ok := s.at[place{parent, base}]
	if !ok {
		f = &folder{place: place{parent, strings.Clone(base)}}
		s.at[f.place] = f
		s.list = append(s.list, f)
	}
	return f
}

// makeParents creates the parent directories of a file, which an archive may omit, and returns the innermost. None of
// them may be a link, because the path of a file below a link would be misleading. Each that has had no entry counts
// towards the maximum number of files. Those that are known are directories: nothing in an archive replaces them.
func (x *extraction) makeParents(name string) (*folder, error) {
	parent := x.folders.top
	for i := range len(name) {
		if name[i] != '/' {
			continue
		}
		f := x.folders.at[place{parent, path.Base(name[:i])}]
		if f == nil {
			var err error
			if f, err = x.makeFolder(parent, name[:i], 0o755); err != nil {
				return nil, err
			}
			x.parents++
			if err := x.checkFiles(); err != nil {
				return nil, err
			}
		}
		parent = f
	}
	return parent, nil
}

// makeFolder creates a directory unless it exists.
func (x *extraction) makeFolder(parent *folder, name string, mode fs.FileMode) (*folder, error) {
	err := x.root.Mkdir(name, mode)
	made := err == nil
	if errors.Is(err, fs.ErrExist) {
		var info fs.FileInfo
		if info, err = x.root.Lstat(name); err == nil && !info.IsDir() {
			err = fmt.Errorf("%s is not a directory", name)
		}
	}
	if err != nil {
		return nil, err
	}
	f := x.folders.find(parent, path.Base(name))
	f.made = f.made || made
	return f, nil
}

// writeFolder creates a writable directory. finishFolders sets its permissions and times. A directory that exists keeps
// its own: it may belong to another user.
func (x *extraction) writeFolder(parent *folder, name string, mode fs.FileMode, modified time.Time) error {
	f := x.folders.top
	if name != "." {
		var err error
		if f, err = x.makeFolder(parent, name, 0o700); err != nil {
			return err
		}
	}
	f.listed, f.mode, f.modified = true, mode, modified
	return nil
}

// finishFolders sets the permissions and times of directories, innermost first.
func (x *extraction) finishFolders() {
	for _, f := range slices.Backward(x.folders.list) {
		if !f.made || !f.listed {
			continue
		}
		name := f.name()
		if err := x.finish(name, f.mode, f.modified); err != nil {
			x.partial.add(name, reason(err))
		}
	}
	x.folders = newFolders()
}
