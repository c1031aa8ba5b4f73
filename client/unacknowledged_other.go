// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux && !wasip1

package client

import "syscall"

// limitUnacknowledged returns no function: only Linux needs one.
func limitUnacknowledged(bool) func(string, string, syscall.RawConn) error { return nil }
