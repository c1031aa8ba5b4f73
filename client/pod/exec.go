// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package pod

import (
	"context"
	"time"

	"github.com/kube-go/sdk/core/request"
)

// ExecOptions are the options of [API.Exec].
type ExecOptions struct {
	// Command is the program with its arguments. No shell comes between.
	Command []string

	// Container is where it runs. Default: the pod's container, if it has just one.
	Container string

	// Stdin gives the process an input: [Process.Stdin].
	Stdin bool

	// TTY gives the process a terminal, which has one output for both: [Process.Stderr] is nil then. The end of the input
	// means nothing to a terminal; "\x04", which is Ctrl-D, does.
	TTY bool

	// NoStdout and NoStderr decline an output.
	NoStdout, NoStderr bool

	// BufferBytes is how much of each output is kept while nobody reads it. Default 4 MiB.
	BufferBytes int

	// StallTimeout is how long a full buffer holds up the rest of the stream. When nobody has read that output until then,
	// it ends with [ErrStalled], and the rest goes on without it. Default 30 seconds; negative: for ever.
	StallTimeout time.Duration
}

// Exec runs a command in a container of a pod.
//
// The context is the process's: when it ends, so does the stream. The process itself is not killed by that, unless it has
// a terminal; one that should end with its stream reads its input until it ends.
//
// Of a process without an input and a terminal all that it writes comes, and its exit status, however slow the reader; else
// there is an error. So ask for them only when they are needed: then two things go wrong on the servers' side. What the process
// writes last may be lost when it ends while megabytes are still on their way to a slow reader: nothing says that the end is
// missing, and an exit status that is lost with it looks like 0. A process whose last output matters waits for the end of
// its input, which is closed when all has come. And containerd does not tell that a process has ended which has left more
// than some 100 KiB of its input unread: the stream then ends with its context, so give that a deadline.
//
// Errors: [core.ErrNotFound]; [core.ErrBadRequest] for a container that does not exist. [Process.Wait] returns the error
// of a command that can't be started.
func (a *API) Exec(ctx context.Context, name string, o *ExecOptions) (*Process, error) {
	if o == nil {
		o = &ExecOptions{}
	}
	s := streams{
		stdin: o.Stdin, stdout: !o.NoStdout, stderr: !o.NoStderr && !o.TTY, tty: o.TTY, untranslated: !o.Stdin && !o.TTY,
		bufferBytes: o.BufferBytes, stallTimeout: o.StallTimeout,
	}
	return a.process(ctx, "exec", name, s, func(t request.Target) (*request.Request, error) {
		return request.Exec(t, &request.ExecOptions{
			Command: o.Command, Container: o.Container,
			Stdin: s.stdin, Stdout: s.stdout, Stderr: s.stderr, TTY: s.tty,
		})
	})
}

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
// Errors: [core.ErrNotFound]; [core.ErrBadRequest] for a container that does not exist, does not run or has no terminal.
func (a *API) Attach(ctx context.Context, name string, o *AttachOptions) (*Process, error) {
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
