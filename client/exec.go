// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

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
// Errors: [core.ErrNotFound]; [core.ErrBadRequest] for a container that is not there; a [*request.InvalidError] for other
// kinds than pods. That the command can't be run comes from [Process.Wait].
func (a *API[K]) Exec(ctx context.Context, name string, o *ExecOptions) (*Process, error) {
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
