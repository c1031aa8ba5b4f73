// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"time"

	"github.com/kube-go/sdk/core/request"
)

// AttachOptions are the options of [API.Attach].
type AttachOptions struct {
	// Container is whose process it is. Default: the pod's container, if it has just one.
	Container string

	// Stdin asks for the input of the process: [Process.Stdin]. The container must have been made with one.
	Stdin bool

	// TTY says that the container was made with a terminal, which has one output for both: [Process.Stderr] is nil then.
	TTY bool

	// NoStdout and NoStderr decline an output.
	NoStdout, NoStderr bool

	// BufferBytes is how much of each output is kept while nobody reads it. Default 4 MiB.
	BufferBytes int

	// StallTimeout is how long a full buffer holds up the rest of the stream. When nobody has read that output until then,
	// it ends with [ErrStalled], and the rest goes on without it. Default 30 seconds; negative: for ever.
	StallTimeout time.Duration
}

// Attach connects with the main process of a container, from now on: for what it has written before, see [API.Logs].
//
// The context is the stream's. The process goes on when the stream ends; so [Process.Wait] returns nil whether the
// process has ended well or not. How it has ended is in the pod's status.
//
// What the process writes last may be lost, and nothing says so: when it ends while megabytes are still on their way to a slow
// reader, as with an [API.Exec] that has an input. All of it is in the log of the container.
//
// Errors: [core.ErrNotFound]; [core.ErrBadRequest] for a container that is not there, does not run or has no terminal;
// a [*request.InvalidError] for other kinds than pods.
func (a *API[K]) Attach(ctx context.Context, name string, o *AttachOptions) (*Process, error) {
	if o == nil {
		o = &AttachOptions{}
	}
	s := streams{
		stdin: o.Stdin, stdout: !o.NoStdout, stderr: !o.NoStderr && !o.TTY, tty: o.TTY,
		bufferBytes: o.BufferBytes, stallTimeout: o.StallTimeout,
	}
	return a.process(ctx, "attach", name, s, func(t request.Target) (*request.Request, error) {
		return request.Attach(t, &request.AttachOptions{
			Container: o.Container, Stdin: s.stdin, Stdout: s.stdout, Stderr: s.stderr, TTY: s.tty,
		})
	})
}
