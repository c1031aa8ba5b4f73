// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package podfiles

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kube-go/sdk/client/pod"
)

// Upload copies a local file or directory to the path remote in the container.
//
// Errors: [ErrNoTar], [*PartialError]; fs.ErrNotExist if local does not exist. If the container has a shell, also
// fs.ErrNotExist if the parent of remote does not exist, fs.ErrPermission if it may not be entered or remote can't be
// written, and fs.ErrExist if remote is a directory and local is not; otherwise, the error has the message of tar,
// which some servers lose.
//
// If remote is a directory, or a link to one, its permissions stay unchanged. In a container without a shell, they
// become those of local, and a link is replaced.
func (f *Files) Upload(ctx context.Context, local, remote string) (Stats, error) {
	dir, name, err := remotePath(remote)
	if err != nil {
		return Stats{}, err
	}
	info, err := os.Lstat(local)
	if err != nil {
		return Stats{}, err
	}
	there, err := f.check(ctx, dir, name)
	switch {
	case err != nil:
		return Stats{}, err
	case there.folder && !info.IsDir():
		err := fmt.Errorf("%s in the container is a directory: %w; add the name of the file", plain(remote), fs.ErrExist)
		return Stats{}, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p, err := f.exec(ctx, unpackIn(dir, there), true)
	if err != nil {
		return Stats{}, err
	}
	defer p.Close()

	up := &upload{local: local, name: name, below: there.folder, counter: f.newCounter()}
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
	_ = archive.Close() // ends pack if the process has ended early
	packErr := <-packed
	dog.stop()
	switch {
	case err == nil && packErr == nil:
		return up.counter.Stats, up.partial.orNil()
	case packErr != nil && !errors.Is(packErr, io.ErrClosedPipe) && !errors.Is(err, packErr):
		err = packErr
	case err == nil: // servers may lose the exit status
		err = explain(fmt.Errorf("tar ended before it had read the archive: %w", io.ErrUnexpectedEOF), said)
	default:
		err = explain(err, said)
	}
	return up.counter.Stats, errors.Join(err, up.partial.orNil())
}

// unpackIn returns the command that unpacks in a directory. -o: the owner is the user of tar; -p: the permissions are
// those of the archive, whatever the umask.
func unpackIn(dir string, there destination) []string {
	command := []string{"tar", "-x", "-o", "-p", "-f", "-", "-C", dir}
	if there.keepsLinks {
		command = append(command, "--keep-directory-symlink")
	}
	return command
}

// destination describes the remote path of a container.
type destination struct {
	folder     bool // a directory, or a link to one
	keepsLinks bool // tar has the option not to replace the links to directories in it
}

// checkScript tests the arguments dir and name of an upload. Its exit status is one of those below. If dir can't be
// entered, the script looks for the innermost directory in it that exists: one that may not be searched hides the rest.
const checkScript = `command -v tar > /dev/null || exit 3; ` +
	`cd "$0" || { d="${0%/}"; until test -d "$d/"; do case "$d" in */*) d="${d%/*}";; .) exit 4;; *) d=.;; esac; done; ` +
	`test -x "$d/" && exit 4; exit 5; }; ` +
	`test -w . || test -w "./$1" || exit 5; ` +
	`test -d "./$1" || exit 0; case "$(tar --help 2>&1)" in *--keep-directory-symlink*) exit 7; esac; exit 6`

// The exit statuses of checkScript.
const (
	checkNoTar           = 3
	checkNoFolder        = 4
	checkDenied          = 5
	checkFolder          = 6
	checkFolderKeepLinks = 7
)

// check returns an error if the upload can't succeed. Servers may report success for a process that ends without
// reading its input, so it is too late for these errors during the upload. If the container has no shell, only tar is
// tested.
func (f *Files) check(ctx context.Context, dir, name string) (destination, error) {
	err := f.try(ctx, "sh", "-c", checkScript, dir, name)
	if err == nil {
		return destination{}, nil
	}
	if exit, ok := errors.AsType[*pod.ExitError](err); ok {
		switch exit.Code {
		case checkNoTar:
			return destination{}, replace(err, ErrNoTar)
		case checkNoFolder:
			return destination{}, replace(err, fmt.Errorf("%s in the container: %w", plain(dir), fs.ErrNotExist))
		case checkDenied:
			denied := fmt.Errorf("%s in the container: %w, or its file system is read-only", plain(dir), fs.ErrPermission)
			return destination{}, replace(err, denied)
		case checkFolder:
			return destination{folder: true}, nil
		case checkFolderKeepLinks:
			return destination{folder: true, keepsLinks: true}, nil
		}
	}
	if err := f.try(ctx, "tar", "--version"); errors.Is(err, ErrNoTar) {
		return destination{}, err
	}
	return destination{}, nil // the upload will tell
}

// try runs a command without an input.
func (f *Files) try(ctx context.Context, command ...string) error {
	p, err := f.exec(ctx, command, false)
	if err != nil {
		return err
	}
	defer p.Close()
	said := &complaints{}
	return explain(p.Run(nil, nil, said), said)
}

// upload is an upload in progress.
type upload struct {
	local, name string // name is the name in the archive
	below       bool   // the archive does not have the directory itself: it exists, and tar would change it
	counter     *counter
	partial     PartialError

	// closed are the directories whose files are being packed and can't be created with the mode of the directory,
	// outermost first.
	closed []*tar.Header
}

// pack writes the archive. It records the files that cannot be packed, and fails if the archive itself cannot be
// written.
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
		if err := u.finish(archive, u.nameOf(u.counter.Path, false)); err != nil {
			return err
		}
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
	if err == nil {
		err = u.finish(archive, "")
	}
	if err != nil {
		return err
	}
	return archive.Close()
}

// finish packs the directories again, with their own modes, in which the file with the name next is not.
func (u *upload) finish(archive *tar.Writer, next string) error {
	for n := len(u.closed) - 1; n >= 0 && !strings.HasPrefix(next, u.closed[n].Name); n-- {
		if err := archive.WriteHeader(u.closed[n]); err != nil {
			return err
		}
		u.closed = u.closed[:n]
	}
	return nil
}

// archiveError is the error of an archive that can no longer be written.
type archiveError struct{ error }

// add packs one file.
func (u *upload) add(archive *tar.Writer, file string, entry fs.DirEntry) error {
	if u.below && u.counter.Path == "." {
		return nil
	}
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
		return fmt.Errorf("is not a file, directory or link, but a %v", info.Mode().Type())
	}
	var content *os.File
	if info.Mode().IsRegular() {
		if content, err = os.Open(file); err != nil {
			return err
		}
		defer content.Close()
		if info, err = content.Stat(); err != nil { // of the opened file
			return err
		}
	}
	header, err := headerOf(u.nameOf(u.counter.Path, info.IsDir()), info, link)
	if err != nil {
		return err
	}
	if info.IsDir() && header.Mode&fillable != fillable {
		u.closed = append(u.closed, header)
		first := *header
		first.Mode |= fillable
		header = &first
	}
	if err := archive.WriteHeader(header); err != nil {
		return &archiveError{err}
	}
	if content == nil {
		return nil
	}
	n, err := io.Copy(archive, u.counter.through(io.LimitReader(content, header.Size)))
	if n < header.Size && err == nil {
		err = errors.New("the file became shorter while it was copied")
	}
	if err != nil { // the archive requires the announced size
		return &archiveError{fmt.Errorf("copy %s: %w", file, err)}
	}
	return nil
}

// fillable is the mode that a directory needs for its files. GNU tar and bsdtar set the mode of a directory after they
// have written its files. BusyBox sets it before, and changes it later only if its user is root.
const fillable = 0o700

// maxOctal is the size that the header of a file can't have as an octal number.
const maxOctal = 8 << 30

// headerOf returns the header of a file. PAX keeps long names and fractions of seconds. A large file has the format of
// GNU tar, without these fractions: BusyBox does not read the size in PAX, and takes the content for the next header.
func headerOf(name string, info fs.FileInfo, link string) (*tar.Header, error) {
	header, err := tar.FileInfoHeader(info, link)
	if err != nil {
		return nil, err
	}
	header.Name = name
	header.Mode &= 0o777
	header.Uid, header.Gid, header.Uname, header.Gname = 0, 0, "", ""
	header.Format = tar.FormatPAX
	header.AccessTime, header.ChangeTime = header.ModTime, header.ModTime
	if header.Size >= maxOctal {
		header.Format = tar.FormatGNU
		header.AccessTime, header.ChangeTime = time.Time{}, time.Time{}
	}
	return header, nil
}

// nameOf returns the name of a file in the archive.
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

// reason returns an error without the path of its file, which is reported separately.
func reason(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%s: %w", p.Op, p.Err)
	}
	if l, ok := errors.AsType[*os.LinkError](err); ok {
		return fmt.Errorf("%s: %w", l.Op, l.Err)
	}
	return err
}
