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
	// Command is the program and its arguments. It is not run by a shell. Required.
	Command []string

	// Container is the container to run it in. Default: the only container of the pod.
	Container string

	// Stdin requests an input, which is [Process.Stdin]. Default: no input.
	Stdin bool

	// TTY runs the process in a terminal. A terminal has one output, so [Process.Stderr] is nil. The end of the input
	// has no effect in a terminal; write "\x04", which is Ctrl-D, instead. Default: no terminal.
	TTY bool

	// NoStdout and NoStderr omit an output. Default: both outputs, or one if TTY is set.
	NoStdout, NoStderr bool

	// BufferBytes is the number of bytes of each output that are buffered while nothing reads them. Default: 4 MiB.
	BufferBytes int

	// StallTimeout is the maximum time that a full buffer blocks the stream. If the output is not read in this time, it
	// ends with [ErrStalled], and the stream continues without it. Default: 30 s. Negative: no limit.
	StallTimeout time.Duration
}

// Exec runs a command in a container of a pod, and returns the process with its streams.
//
// The stream ends when the context ends. This does not kill the process, unless it has a terminal. To end a process
// with its stream, let it read its input to the end.
//
// Without Stdin and TTY, all output and the exit status arrive, however slowly they are read; otherwise there is an
// error. Request an input or a terminal only if you need it, because servers then have two faults. If the process ends
// while megabytes of output are in transit to a slow reader, the end of the output may be lost without an error, and an
// exit status that is lost with it looks like 0; let the process wait for the end of its input if its last output
// matters. And containerd does not report the end of a process that left more than about 100 KiB of its input unread,
// so the stream lasts until its context ends; give the context a deadline.
//
// Without Stdin and TTY, the stream breaks if the process writes no output for a long time: container runtimes end it
// after four hours without data by default. A process that is silent for longer needs an input.
//
// Errors: [core.ErrNotFound]; [core.ErrBadRequest] for a container that does not exist. [Process.Wait] returns the
// error of a command that can't be started.
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
	// Container is the container of the process. Default: the only container of the pod.
	Container string

	// Stdin requests the input of the process, which is [Process.Stdin]. The container must have been created with
	// stdin. Default: no input.
	Stdin bool

	// TTY states that the container was created with a terminal. A terminal has one output, so [Process.Stderr] is nil.
	// Default: false.
	TTY bool

	// NoStdout and NoStderr omit an output. Default: both outputs, or one if TTY is set.
	NoStdout, NoStderr bool

	// BufferBytes is the number of bytes of each output that are buffered while nothing reads them. Default: 4 MiB.
	BufferBytes int

	// StallTimeout is the maximum time that a full buffer blocks the stream. If the output is not read in this time, it
	// ends with [ErrStalled], and the stream continues without it. Default: 30 s. Negative: no limit.
	StallTimeout time.Duration
}

// Attach connects to the main process of a container, and returns it with its streams. Its earlier output is in the
// log, see [API.Logs].
//
// The stream ends when the context ends; the process continues. Therefore [Process.Wait] returns nil even if the
// process failed; its exit status is in the status of the pod.
//
// If the process ends while megabytes of output are in transit to a slow reader, the end of the output may be lost
// without an error, as in an [API.Exec] with an input. The log of the container has all of it.
//
// Errors: [core.ErrNotFound]; [core.ErrBadRequest] for a container that does not exist, does not run or has no
// terminal.
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
