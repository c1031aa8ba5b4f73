// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package config

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives file the owner and the group of another file, so that a change by root does not lock its user out. It
// reports whether the groups are equal then: only its members and root can give a file to a group.
func keepOwner(file string, of fs.FileInfo) (sameGroup bool, err error) {
	info, err := os.Stat(file)
	if err != nil {
		return false, err
	}
	have, ok := info.Sys().(*syscall.Stat_t)
	want, ok2 := of.Sys().(*syscall.Stat_t)
	if !ok || !ok2 || have.Uid == want.Uid && have.Gid == want.Gid {
		return true, nil
	}
	err = os.Lchown(file, int(want.Uid), int(want.Gid))
	if have.Uid == want.Uid && errors.Is(err, fs.ErrPermission) {
		return false, nil
	}
	return err == nil, err
}
