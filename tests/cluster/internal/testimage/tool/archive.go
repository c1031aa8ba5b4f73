// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"
)

// archive does the part of tar's work that copying files needs:
//
//	tar -x -o -p -f - -C DIR           unpack standard input in a folder
//	tar -c -f - -C DIR NAME            pack a file or a folder of that folder to standard output
func archive(_ context.Context, args []string, std streams) error {
	options := []string{"-o", "-p"}
	switch pack := args[0] == "-c"; {
	case pack && slices.Equal(args[1:4], []string{"-f", "-", "-C"}) && len(args) == 6:
		return packInto(std.out, args[4], args[5])
	case args[0] == "-x" && len(args) == 7 && slices.Equal(args[1:6], append(options, "-f", "-", "-C")):
		return unpackFrom(std.in, args[6])
	}
	return usageError("usage: `tar -x -o -p -f - -C DIR` or `tar -c -f - -C DIR NAME`")
}

func packInto(w io.Writer, dir, name string) error {
	out := tar.NewWriter(w)
	err := filepath.WalkDir(filepath.Join(dir, name), func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		link := ""
		if info.Mode().Type() == fs.ModeSymlink {
			if link, err = os.Readlink(file); err != nil {
				return err
			}
		}
		header, err := tar.FileInfoHeader(info, link)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		if header.Name = "./" + rel; info.IsDir() {
			header.Name += "/"
		}
		header.Format = tar.FormatPAX
		if err := out.WriteHeader(header); err != nil || !info.Mode().IsRegular() {
			return err
		}
		content, err := os.Open(file)
		if err != nil {
			return err
		}
		defer content.Close()
		_, err = io.Copy(out, content)
		return err
	})
	return errors.Join(err, out.Close())
}

func unpackFrom(r io.Reader, dir string) error {
	in := tar.NewReader(r)
	var folders []*tar.Header
	for {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		file := path.Join(dir, path.Clean("/"+header.Name))
		switch header.Typeflag {
		case tar.TypeDir:
			err = os.Mkdir(file, 0o700)
			if errors.Is(err, fs.ErrExist) {
				err = nil
			}
			header.Name = file
			i := slices.IndexFunc(folders, func(f *tar.Header) bool { return f.Name == file })
			if i < 0 {
				folders = append(folders, header)
			} else {
				folders[i] = header // the last one counts, as for other programs
			}
		case tar.TypeReg:
			err = unpackFile(in, file, header)
		case tar.TypeSymlink:
			_ = os.Remove(file) // it may not exist
			err = os.Symlink(header.Linkname, file)
		default:
			err = fmt.Errorf("%s is of type %q", header.Name, header.Typeflag)
		}
		if err != nil {
			return err
		}
	}
	for _, folder := range slices.Backward(folders) {
		if err := finish(folder.Name, folder); err != nil {
			return err
		}
	}
	return nil
}

func unpackFile(content io.Reader, name string, header *tar.Header) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	return finish(name, header)
}

func finish(name string, header *tar.Header) error {
	if err := os.Chmod(name, header.FileInfo().Mode().Perm()); err != nil {
		return err
	}
	return os.Chtimes(name, time.Time{}, header.ModTime)
}
