// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package podfiles

import (
	"archive/tar"
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kube-go/sdk/core/request"
)

// LimitError reports that a download is larger than [Options] allow.
type LimitError struct {
	What  string // "MaxBytes" or "MaxFiles"
	Limit int64
}

// Error returns the name and the value of the limit.
func (e *LimitError) Error() string {
	return fmt.Sprintf("the download exceeds Options.%s, which is %d; increase it to allow more", e.What, e.Limit)
}

// brokenArchive is the error of an archive that cannot be read further.
type brokenArchive struct{ error }

// Unwrap returns the cause.
func (e *brokenArchive) Unwrap() error { return e.error }

// extraction unpacks an untrusted archive. It writes through an os.Root, which neither names nor links can escape.
type extraction struct {
	local    string // the path to write to
	name     string // the name in the archive
	maxBytes int64
	maxFiles int
	counter  *counter
	partial  PartialError

	root    *os.Root // the directory itself, or the parent of a file; nil before the first entry
	single  bool     // root is the parent
	folders *folders
	parents int // the number of folders that counter does not count
}

func newExtraction(local, name string, o Options) (*extraction, error) {
	if o.MaxBytes < 0 || o.MaxFiles < 0 {
		return nil, &request.InvalidError{
			Field: "podfiles.Options", Detail: "MaxBytes or MaxFiles is negative; leave it zero for the default",
		}
	}
	local, err := filepath.Abs(local)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Dir(local)); err != nil {
		return nil, err
	}
	x := &extraction{
		local: local, name: name, maxBytes: o.MaxBytes, maxFiles: o.MaxFiles,
		counter: &counter{tell: func(Progress) {}}, folders: newFolders(),
	}
	if x.maxBytes == 0 {
		x.maxBytes = 64 << 30
	}
	if x.maxFiles == 0 {
		x.maxFiles = 1_000_000
	}
	return x, nil
}

func (x *extraction) close() {
	if x.root != nil {
		_ = x.root.Close() // it is no longer used
	}
}

// unpack reads an archive to its end. It records the files that cannot be written, and continues.
func (x *extraction) unpack(r io.Reader) error {
	end := &endMark{Reader: r}
	archive := tar.NewReader(end)
	for {
		header, err := archive.Next()
		if err == io.EOF {
			x.finishFolders()
			if _, err := io.Copy(io.Discard, end); err != nil { // the padding of the last block
				return &brokenArchive{err}
			}
			if end.zeros < endBytes { // package tar accepts a missing end marker
				return &brokenArchive{fmt.Errorf("the archive is incomplete: %w", io.ErrUnexpectedEOF)}
			}
			return nil
		}
		if err != nil {
			x.finishFolders()
			return &brokenArchive{fmt.Errorf("read the archive: %w", err)}
		}
		if err := x.entry(header, archive); err != nil {
			return err
		}
	}
}

// endBytes is the number of zero bytes that mark the end of an archive, see
// https://www.gnu.org/software/tar/manual/html_node/Standard.html.
const endBytes = 1024

// endMark reads an archive, and counts the zero bytes at the end of the data read so far.
type endMark struct {
	io.Reader
	zeros int
}

// Read reads from the archive.
func (m *endMark) Read(p []byte) (int, error) {
	n, err := m.Reader.Read(p)
	if last := bytes.TrimRight(p[:n], "\x00"); len(last) > 0 {
		m.zeros = n - len(last)
	} else {
		m.zeros += n
	}
	return n, err
}

// entry unpacks one entry. An error that it returns ends the extraction.
func (x *extraction) entry(header *tar.Header, content io.Reader) error {
	if err := x.checkFiles(); err != nil {
		return err
	}
	name, err := x.nameOf(header.Name)
	switch {
	case err != nil:
		x.partial.add(header.Name, err)
		return nil
	case header.Size > x.maxBytes-x.counter.Bytes:
		return &LimitError{"MaxBytes", x.maxBytes}
	}
	x.counter.Path = name
	if err := x.open(name, header.Typeflag); err != nil {
		return err
	}
	if x.single {
		if name != "." {
			x.partial.add(name, errors.New("its parent is not a directory"))
			return nil
		}
		name = filepath.Base(x.local)
	}
	if err := x.write(name, header, content); err != nil {
		if broken, ok := errors.AsType[*brokenArchive](err); ok {
			return broken
		}
		if limit, ok := errors.AsType[*LimitError](err); ok {
			return limit
		}
		x.partial.add(x.counter.Path, reason(err))
		return nil
	}
	x.counter.done()
	return nil
}

// checkFiles returns an error if there can be no further file.
func (x *extraction) checkFiles() error {
	if x.counter.Files+x.partial.Count+x.parents >= x.maxFiles {
		return &LimitError{"MaxFiles", int64(x.maxFiles)}
	}
	return nil
}

// nameOf returns the name of an entry relative to the copied directory.
func (x *extraction) nameOf(name string) (string, error) {
	clean := path.Clean(name)
	rel, below := strings.CutPrefix(clean, x.name+"/")
	switch {
	case strings.ContainsRune(name, 0) || strings.HasPrefix(name, "/") || slices.Contains(strings.Split(name, "/"), ".."):
		return "", errors.New("its name leads outside of the directory")
	case clean == x.name:
		return ".", nil
	case !below:
		return "", fmt.Errorf("it is not in %s", x.name)
	}
	return rel, nil
}

// open opens the root. The first entry determines whether it is a directory.
func (x *extraction) open(name string, kind byte) (err error) {
	if x.root != nil {
		return nil
	}
	if x.single = name == "." && kind != tar.TypeDir; x.single {
		x.root, err = os.OpenRoot(filepath.Dir(x.local))
		return err
	}
	switch err := os.Mkdir(x.local, 0o700); { // the mode is set at the end
	case err == nil:
		x.folders.top.made = true
	case !errors.Is(err, fs.ErrExist):
		return err
	}
	x.root, err = os.OpenRoot(x.local)
	return err
}

func (x *extraction) write(name string, header *tar.Header, content io.Reader) error {
	parent, err := x.makeParents(name)
	if err != nil {
		return err
	}
	switch header.Typeflag {
	case tar.TypeDir:
		return x.writeFolder(parent, name, header.FileInfo().Mode(), header.ModTime)
	case tar.TypeReg, tar.TypeGNUSparse:
		return x.writeFile(name, header, content)
	case tar.TypeSymlink:
		return x.writeLink(name, header.Linkname)
	case tar.TypeLink:
		target, err := x.nameOf(header.Linkname)
		if err != nil || x.single {
			return fmt.Errorf("it is a link to %s, which is outside of the directory", header.Linkname)
		}
		return x.writeHardLink(name, target)
	}
	return fmt.Errorf("it is not a file, directory or link, but of type %q", header.Typeflag)
}

// finish sets the permissions and the time of a file or directory.
func (x *extraction) finish(name string, mode fs.FileMode, modified time.Time) error {
	if err := x.root.Chmod(name, mode.Perm()); err != nil {
		return err
	}
	return x.root.Chtimes(name, time.Time{}, modified)
}

// writeFile writes a file under a temporary name first, so that its own name never refers to an incomplete file.
func (x *extraction) writeFile(name string, header *tar.Header, content io.Reader) error {
	temporary := path.Join(path.Dir(name), "."+rand.Text()+".part")
	file, err := x.root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	source := &archiveReader{Reader: x.counter.through(content)}
	_, err = io.Copy(file, source)
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if source.err != nil {
		err = &brokenArchive{fmt.Errorf("read %s from the archive: %w", x.counter.Path, source.err)}
	}
	if err == nil {
		err = x.finish(temporary, header.FileInfo().Mode(), header.ModTime)
	}
	if err == nil {
		err = x.root.Rename(temporary, name)
	}
	if err != nil {
		_ = x.root.Remove(temporary) // it is incomplete
	}
	return err
}

// archiveReader records the errors of the archive.
type archiveReader struct {
	io.Reader
	err error
}

func (r *archiveReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && err != io.EOF {
		r.err = err
	}
	return n, err
}

func (x *extraction) writeLink(name, target string) error {
	if x.single || !filepath.IsLocal(filepath.FromSlash(path.Join(path.Dir(name), target))) || path.IsAbs(target) ||
		turnsBack(target) {
		return fmt.Errorf("it is a link to %s, which is outside of the directory", target)
	}
	if err := x.remove(name); err != nil {
		return err
	}
	return x.root.Symlink(target, name)
}

// turnsBack reports whether a path contains ".." after another name. That name may be a link, and the path would then
// lead somewhere else.
func turnsBack(target string) bool {
	down := false
	for part := range strings.SplitSeq(target, "/") {
		switch part {
		case "", ".":
		case "..":
			if down {
				return true
			}
		default:
			down = true
		}
	}
	return false
}

// writeHardLink creates a hard link. A hard link to a symbolic link could lead outside from its new place, so a new
// symbolic link is checked and created instead.
func (x *extraction) writeHardLink(name, target string) error {
	info, err := x.root.Lstat(target)
	if err != nil {
		return err
	}
	if info.Mode().Type() == fs.ModeSymlink {
		to, err := x.root.Readlink(target)
		if err != nil {
			return err
		}
		return x.writeLink(name, filepath.ToSlash(to))
	}
	if err := x.remove(name); err != nil {
		return err
	}
	return x.root.Link(target, name)
}

// remove removes a file to make room for a link. It does not remove a directory.
func (x *extraction) remove(name string) error {
	info, err := x.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.IsDir():
		return errors.New("a directory with its name exists")
	}
	return x.root.Remove(name)
}
