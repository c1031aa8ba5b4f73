// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"os/exec"
	"syscall"
)

// createNoWindow is CREATE_NO_WINDOW of
// https://learn.microsoft.com/en-us/windows/win32/procthread/process-creation-flags.
const createNoWindow = 0x08000000

// detach prevents a window from opening for a process that is not interactive.
func detach(cmd *exec.Cmd, _ bool) {
	cmd.SysProcAttr = &syscall.SysProcAttr{HideWindow: true, CreationFlags: createNoWindow}
}
