// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package auth

import (
	"os"
	"os/exec"
	"syscall"
)

// detach lets a process and those that it starts be killed together.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != syscall.ESRCH {
			return err
		}
		return os.ErrProcessDone
	}
}
