// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// The parts of a folder.
const (
	manifests = "manifests"
	modules   = "modules"
)

// folder keeps files by digest. Several processes may use it.
type folder struct {
	root          string
	maxTotalBytes int64
	removal       *sync.Mutex // guards the removal of files
}

func newFolder(root string, maxTotalBytes int64) (folder, error) {
	f := folder{root, maxTotalBytes, new(sync.Mutex)}
	for _, part := range []string{manifests, modules} {
		if err := os.MkdirAll(filepath.Join(root, part), 0o755); err != nil {
			return f, err
		}
	}
	return f, nil
}

func (f folder) path(part, digest string) string {
	return filepath.Join(f.root, part, strings.ReplaceAll(digest, ":", "-"))
}

// read returns a file, unless it does not exist or does not have the digest.
func (f folder) read(part, digest string, maxBytes int64) ([]byte, bool) {
	path := f.path(part, digest)
	file, err := openRegular(path, os.Stat, os.Open)
	if err != nil {
		return nil, false
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxBytes+1))
	if err != nil || int64(len(data)) > maxBytes || digestOf(data) != digest {
		return nil, false
	}
	now := time.Now()
	_ = os.Chtimes(path, now, now) // only the order of removals depends on it
	return data, true
}

// write stores a file, and removes others if there are too many.
func (f folder) write(part, digest string, data []byte) error {
	file, err := os.CreateTemp(filepath.Join(f.root, part), "tmp-")
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), f.path(part, digest)) // other readers see a complete file, or none
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return f.clean()
}

// clean removes the files that were not used for the longest time, until the rest is small enough. The newest one
// stays.
func (f folder) clean() error {
	f.removal.Lock()
	defer f.removal.Unlock()
	type stored struct {
		path string
		size int64
		used time.Time
	}
	var (
		all   []stored
		total int64
	)
	err := filepath.WalkDir(f.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) { // another process has removed it
			return nil
		}
		if err != nil {
			return err
		}
		all = append(all, stored{path, info.Size(), info.ModTime()})
		total += info.Size()
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b stored) int { return a.used.Compare(b.used) })
	for len(all) > 1 && total > f.maxTotalBytes {
		if err := os.Remove(all[0].path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		total -= all[0].size
		all = all[1:]
	}
	return nil
}
