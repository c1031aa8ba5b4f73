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
)

// LimitError says that a download is larger than [Options] allow.
type LimitError struct {
	What  string // "MaxBytes" or "MaxFiles"
	Limit int64
}

// Error names the bound.
func (e *LimitError) Error() string {
	return fmt.Sprintf("there is more than Options.%s allows, %d; raise it if that should be", e.What, e.Limit)
}

// brokenArchive is an archive that can't be read any further.
type brokenArchive struct{ error }

// Unwrap returns why.
func (e *brokenArchive) Unwrap() error { return e.error }

// extraction unpacks an archive that nobody vouches for. Whatever it writes, it writes through an os.Root, which no name
// and no link leads out of.
type extraction struct {
	local    string // the path of what is written
	name     string // what the archive calls it
	maxBytes int64
	maxFiles int
	counter  *counter
	partial  PartialError

	root    *os.Root // the folder itself, or the parent of a file; nil before the first entry
	single  bool     // root is the parent
	folders []*tar.Header
}

func newExtraction(local, name string, o Options) (*extraction, error) {
	local, err := filepath.Abs(local)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Dir(local)); err != nil {
		return nil, err
	}
	x := &extraction{local: local, name: name, maxBytes: o.MaxBytes, maxFiles: o.MaxFiles, counter: &counter{tell: func(Progress) {}}}
	if x.maxBytes <= 0 {
		x.maxBytes = 64 << 30
	}
	if x.maxFiles <= 0 {
		x.maxFiles = 1_000_000
	}
	return x, nil
}

func (x *extraction) close() {
	if x.root != nil {
		_ = x.root.Close() // nothing is written through it any more
	}
}

// unpack reads an archive to its end. What can't be written is noted, and passed over.
func (x *extraction) unpack(r io.Reader) error {
	end := &endMark{Reader: r}
	archive := tar.NewReader(end)
	for {
		header, err := archive.Next()
		if err == io.EOF {
			x.finishFolders()
			if _, err := io.Copy(io.Discard, end); err != nil { // what fills the last block
				return &brokenArchive{err}
			}
			if end.zeros < endBytes { // between two files, where the tar package takes it for the end
				return &brokenArchive{fmt.Errorf("the archive has no end, so something is missing: %w", io.ErrUnexpectedEOF)}
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

// endBytes is how many zeros mark the end of an archive, see
// https://www.gnu.org/software/tar/manual/html_node/Standard.html.
const endBytes = 1024

// endMark reads an archive, and counts the zeros that stand last in what was read.
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

// entry unpacks one entry. The errors that it returns end the whole.
func (x *extraction) entry(header *tar.Header, content io.Reader) error {
	name, err := x.nameOf(header.Name)
	switch {
	case err != nil:
		x.partial.add(header.Name, err)
		return nil
	case x.counter.Files+x.partial.Count >= x.maxFiles:
		return &LimitError{"MaxFiles", int64(x.maxFiles)}
	case header.Size > x.maxBytes-x.counter.Bytes:
		return &LimitError{"MaxBytes", x.maxBytes}
	}
	x.counter.Path = name
	if err := x.open(name, header.Typeflag); err != nil {
		return err
	}
	if x.single {
		if name != "." {
			x.partial.add(name, errors.New("it is said to be in a folder that is none"))
			return nil
		}
		name = filepath.Base(x.local)
	}
	if err := x.write(name, header, content); err != nil {
		if broken, ok := errors.AsType[*brokenArchive](err); ok {
			return broken
		}
		x.partial.add(x.counter.Path, reason(err))
		return nil
	}
	x.counter.done()
	return nil
}

// nameOf returns the name of an entry relative to what is copied.
func (x *extraction) nameOf(name string) (string, error) {
	clean := path.Clean(name)
	rel, below := strings.CutPrefix(clean, x.name+"/")
	switch {
	case strings.ContainsRune(name, 0) || strings.HasPrefix(name, "/") || slices.Contains(strings.Split(name, "/"), ".."):
		return "", errors.New("its name leads out of the folder")
	case clean == x.name:
		return ".", nil
	case !below:
		return "", fmt.Errorf("it is not in %s, which was asked for", x.name)
	}
	return rel, nil
}

// open opens the root when the first entry says whether it is a folder.
func (x *extraction) open(name string, kind byte) (err error) {
	if x.root != nil {
		return nil
	}
	if x.single = name == "." && kind != tar.TypeDir; x.single {
		x.root, err = os.OpenRoot(filepath.Dir(x.local))
		return err
	}
	if err := os.Mkdir(x.local, 0o700); err != nil && !errors.Is(err, fs.ErrExist) { // its mode comes at the end
		return err
	}
	x.root, err = os.OpenRoot(x.local)
	return err
}

func (x *extraction) write(name string, header *tar.Header, content io.Reader) error {
	if err := x.makeParents(path.Dir(name)); err != nil {
		return err
	}
	switch header.Typeflag {
	case tar.TypeDir:
		return x.writeFolder(name, header)
	case tar.TypeReg:
		return x.writeFile(name, header, content)
	case tar.TypeSymlink:
		return x.writeLink(name, header.Linkname)
	case tar.TypeLink:
		target, err := x.nameOf(header.Linkname)
		if err != nil || x.single {
			return fmt.Errorf("it is a link to %s, which is outside", header.Linkname)
		}
		return x.writeHardLink(name, target)
	}
	return fmt.Errorf("it is neither a file nor a folder nor a link, but of type %q", header.Typeflag)
}

// makeParents makes the folders that an archive need not mention. None may be a link: behind one, names mean something
// else than what they say.
func (x *extraction) makeParents(dir string) error {
	if dir == "." {
		return nil
	}
	for i := range len(dir) + 1 {
		if i < len(dir) && dir[i] != '/' {
			continue
		}
		err := x.makeFolder(dir[:i], 0o755)
		if err != nil {
			return err
		}
	}
	return nil
}

// makeFolder makes a folder unless it is there.
func (x *extraction) makeFolder(name string, mode fs.FileMode) error {
	err := x.root.Mkdir(name, mode)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := x.root.Lstat(name)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is no folder", name)
	}
	return err
}

// writeFolder makes a folder that can be written into; what it shall be in the end comes last.
func (x *extraction) writeFolder(name string, header *tar.Header) error {
	if name != "." {
		if err := x.makeFolder(name, 0o700); err != nil {
			return err
		}
	}
	own := *header
	own.Name = name
	x.folders = append(x.folders, &own)
	return nil
}

// finishFolders gives folders their permissions and times, the inner ones first.
func (x *extraction) finishFolders() {
	for _, folder := range slices.Backward(x.folders) {
		if err := x.finish(folder.Name, folder); err != nil {
			x.partial.add(folder.Name, reason(err))
		}
	}
	x.folders = nil
}

func (x *extraction) finish(name string, header *tar.Header) error {
	if err := x.root.Chmod(name, header.FileInfo().Mode().Perm()); err != nil {
		return err
	}
	return x.root.Chtimes(name, time.Time{}, header.ModTime)
}

// writeFile writes a file under another name first, so that under its own there is never half of it.
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
		err = x.finish(temporary, header)
	}
	if err == nil {
		err = x.root.Rename(temporary, name)
	}
	if err != nil {
		_ = x.root.Remove(temporary) // it is of no use
	}
	return err
}

// archiveReader remembers that it was the archive that failed.
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
	if x.single || !filepath.IsLocal(filepath.FromSlash(path.Join(path.Dir(name), target))) || path.IsAbs(target) || turnsBack(target) {
		return fmt.Errorf("it is a link to %s, which is outside", target)
	}
	if err := x.remove(name); err != nil {
		return err
	}
	return x.root.Symlink(target, name)
}

// turnsBack reports whether a path goes up again after it went down. What it went down through may be a link, behind which up
// is somewhere else than the path says.
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

// writeHardLink gives a file another name. A link that gets one could lead out from there, so it is made anew.
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

// remove makes room for a link. A folder stays: links take no folder's place.
func (x *extraction) remove(name string) error {
	info, err := x.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.IsDir():
		return errors.New("there is a folder in its place")
	}
	return x.root.Remove(name)
}
