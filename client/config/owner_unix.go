// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package config

import (
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives file the owner and the group of another file, so that a change by root does not lock its user out.
func keepOwner(file string, of fs.FileInfo) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	have, ok := info.Sys().(*syscall.Stat_t)
	want, ok2 := of.Sys().(*syscall.Stat_t)
	if !ok || !ok2 || have.Uid == want.Uid && have.Gid == want.Gid {
		return nil
	}
	return os.Lchown(file, int(want.Uid), int(want.Gid))
}
