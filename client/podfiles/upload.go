// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package podfiles

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Upload copies a local file or folder into the container, where it gets the path remote.
//
// Errors: [ErrNoTar], [*PartialError]; fs.ErrNotExist when there is nothing at local.
func (f *Files) Upload(ctx context.Context, local, remote string) (Stats, error) {
	dir, name, err := remotePath(remote)
	if err != nil {
		return Stats{}, err
	}
	if _, err := os.Lstat(local); err != nil {
		return Stats{}, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p, err := f.exec(ctx, unpackIn(dir), true)
	if err != nil {
		return Stats{}, err
	}
	defer p.Close()

	up := &upload{local: local, name: name, counter: f.newCounter()}
	archive, sink := io.Pipe()
	packed := make(chan error, 1)
	go func() {
		err := up.pack(ctx, sink)
		sink.CloseWithError(err)
		packed <- err
	}()
	said := &complaints{}
	dog := watch(archive, said, cancel)
	err = p.Run(dog, nil, said)
	_ = archive.Close() // which ends the packing, if the process has ended early
	packErr := <-packed
	dog.stop()
	switch {
	case err == nil && packErr == nil:
		return up.counter.Stats, up.partial.orNil()
	case packErr != nil && !errors.Is(packErr, io.ErrClosedPipe) && !errors.Is(err, packErr):
		err = packErr
	default:
		err = explain(err, said)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) && said.String() == "" {
		err = cmp.Or(f.probe(ctx), f.tryFolder(ctx, up, dir), err)
	}
	if errors.Is(err, ErrNoTar) {
		return Stats{}, err
	}
	return up.counter.Stats, errors.Join(err, up.partial.orNil())
}

// unpackIn is the command that unpacks in a folder. -o: the owner is whoever runs tar; -p: the permissions are those of the
// archive, whatever the umask.
func unpackIn(dir string) []string { return []string{"tar", "-x", "-o", "-p", "-f", "-", "-C", dir} }

// probe returns [ErrNoTar] if the container has no tar: servers lose the reason when a command that can't be run is given
// an input.
func (f *Files) probe(ctx context.Context) error {
	p, err := f.exec(ctx, []string{"tar", "--version"}, false)
	if err != nil {
		return nil //nolint:nilerr // there is an error already
	}
	defer p.Close()
	said := &complaints{}
	if err := explain(p.Run(nil, nil, said), said); errors.Is(err, ErrNoTar) {
		return err
	}
	return nil
}

// tryFolder uploads the folder of an upload without its content, and returns what tar says against that: servers may also
// lose the reason when a process ends that has left much of its input unread.
func (f *Files) tryFolder(ctx context.Context, up *upload, dir string) error {
	info, err := os.Lstat(up.local)
	if err != nil || !info.IsDir() {
		return nil //nolint:nilerr // there is an error already
	}
	var archive bytes.Buffer
	alone := &upload{local: up.local, name: up.name, counter: &counter{}}
	alone.counter.Path = "."
	w := tar.NewWriter(&archive)
	if err := errors.Join(alone.add(w, up.local, fs.FileInfoToDirEntry(info)), w.Close()); err != nil {
		return nil //nolint:nilerr // as above
	}
	p, err := f.exec(ctx, unpackIn(dir), true)
	if err != nil {
		return nil //nolint:nilerr // as above
	}
	defer p.Close()
	said := &complaints{}
	if err := explain(p.Run(&archive, nil, said), said); said.String() != "" {
		return err
	}
	return nil
}

// upload is one upload under way.
type upload struct {
	local, name string // the name is that in the archive
	counter     *counter
	partial     PartialError
}

// pack writes the archive. What can't be packed is noted, unless the archive itself can't be written.
func (u *upload) pack(ctx context.Context, w io.Writer) error {
	archive := tar.NewWriter(w)
	err := filepath.WalkDir(u.local, func(file string, entry fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(u.local, file)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case relErr != nil:
			return relErr
		case err != nil:
			u.partial.add(rel, reason(err))
			return nil
		}
		u.counter.Path = filepath.ToSlash(rel)
		if err := u.add(archive, file, entry); err != nil {
			if broken, ok := errors.AsType[*archiveError](err); ok {
				return broken.error
			}
			u.partial.add(u.counter.Path, reason(err))
			return nil
		}
		u.counter.done()
		return nil
	})
	if err != nil {
		return err
	}
	return archive.Close()
}

// archiveError is an archive that can't be written any more.
type archiveError struct{ error }

// add packs one file.
func (u *upload) add(archive *tar.Writer, file string, entry fs.DirEntry) error {
	info, err := entry.Info()
	if err != nil {
		return err
	}
	var link string
	switch info.Mode().Type() {
	case 0, fs.ModeDir:
	case fs.ModeSymlink:
		if link, err = os.Readlink(file); err != nil {
			return err
		}
	default:
		return fmt.Errorf("is neither a file nor a folder nor a link, but a %v", info.Mode().Type())
	}
	var content *os.File
	if info.Mode().IsRegular() {
		if content, err = os.Open(file); err != nil {
			return err
		}
		defer content.Close()
		if info, err = content.Stat(); err != nil { // of what was opened
			return err
		}
	}
	header, err := tar.FileInfoHeader(info, link)
	if err != nil {
		return err
	}
	header.Name = u.nameOf(u.counter.Path, info.IsDir())
	header.Mode &= 0o777
	header.Uid, header.Gid, header.Uname, header.Gname = 0, 0, "", ""
	header.Format = tar.FormatPAX // long names and fractions of seconds
	header.AccessTime, header.ChangeTime = header.ModTime, header.ModTime
	if err := archive.WriteHeader(header); err != nil {
		return &archiveError{err}
	}
	if content == nil {
		return nil
	}
	n, err := io.Copy(archive, u.counter.through(io.LimitReader(content, header.Size)))
	if n < header.Size && err == nil {
		err = errors.New("it has become shorter meanwhile")
	}
	if err != nil { // the archive wants what was announced
		return &archiveError{fmt.Errorf("copy %s: %w", file, err)}
	}
	return nil
}

// nameOf returns the name in the archive of a file.
func (u *upload) nameOf(rel string, folder bool) string {
	name := u.name
	if rel != "." {
		name += "/" + rel
	}
	if folder {
		name += "/"
	}
	return "./" + name
}

// reason returns what is wrong with a file, without its path, which is named besides.
func reason(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%s: %w", p.Op, p.Err)
	}
	if l, ok := errors.AsType[*os.LinkError](err); ok {
		return fmt.Errorf("%s: %w", l.Op, l.Err)
	}
	return err
}
