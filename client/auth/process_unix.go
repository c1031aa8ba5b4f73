// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package auth

import (
	"os"
	"os/exec"
	"syscall"
)

// detach starts a process in its own group, so that it can be killed together with its child processes. A process that
// may ask stays in the group of this program if that has a terminal: many programs ask for a password at /dev/tty,
// whatever their standard input is, and the terminal stops those of another group.
func detach(cmd *exec.Cmd, mayAsk bool) {
	if mayAsk && hasTerminal() {
		return
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != syscall.ESRCH {
			return err
		}
		return os.ErrProcessDone
	}
}

// hasTerminal reports whether this program has a controlling terminal.
func hasTerminal() bool {
	terminal, err := os.OpenFile("/dev/tty", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	terminal.Close()
	return true
}
