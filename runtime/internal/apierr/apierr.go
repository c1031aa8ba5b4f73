// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package apierr

import (
	"errors"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
)

// Fatal reports whether the caller of a watcher should give up after an error: the server understood the request and
// refused it, or its identity can't be verified. The watcher itself never gives up, because a missing permission or
// kind may be added later; a caller with one task does.
func Fatal(err error) bool {
	if core.IsRetryable(err) || errors.Is(err, core.ErrExpired) || errors.Is(err, core.ErrGone) {
		return false
	}
	_, refused := errors.AsType[*core.StatusError](err)
	_, unreachable := errors.AsType[*client.ConnectError](err)
	return refused || unreachable
}

// NotFound reports whether the server serves the kind but has no such object.
func NotFound(err error) bool {
	_, notServed := errors.AsType[*client.NotServedError](err)
	return errors.Is(err, core.ErrNotFound) && !notServed
}
