// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package auth

import (
	"os"
	"os/exec"
	"syscall"
)

// detach starts a process in its own group, so that it can be killed together with its child processes.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != syscall.ESRCH {
			return err
		}
		return os.ErrProcessDone
	}
}
