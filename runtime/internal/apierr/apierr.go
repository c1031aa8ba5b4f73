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

// NotFound reports whether the server serves the kind but has no such object. A response that names no object is an
// error, since an admission webhook may deny a write with the same code.
func NotFound(err error) bool {
	se, ok := errors.AsType[*core.StatusError](err)
	if !ok || !errors.Is(se, core.ErrNotFound) || se.Status.Details == nil {
		return false
	}
	return se.Status.Details.Name != "" || se.Status.Details.Kind != ""
}
