// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package broken provides the error of a connection that ended early.
package broken

import "io"

// Error is the error of a connection that ended before the peer had sent everything. It matches io.ErrUnexpectedEOF, by
// which [github.com/kube-go/sdk/core.IsRetryable] recognizes it.
type Error struct{ Err error }

// Error returns the reason, with a prefix.
func (e *Error) Error() string { return "connection broke: " + e.Err.Error() }

// Unwrap returns io.ErrUnexpectedEOF and the reason.
func (e *Error) Unwrap() []error { return []error{io.ErrUnexpectedEOF, e.Err} }
