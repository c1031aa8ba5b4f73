// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !unix && !windows

package auth

import "os/exec"

func detach(*exec.Cmd, bool) {}
