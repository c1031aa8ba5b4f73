// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/kube-go/sdk/client/internal/channels"
	"github.com/kube-go/sdk/client/internal/redact"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
)

// Defaults and bounds of streams.
const (
	defaultBufferBytes  = 4 << 20
	defaultStallTimeout = 30 * time.Second
	outcomeBytes        = 64 << 10
)

// ErrStalled ends an output of a [Process] that nobody has read for too long while it held up the others.
var ErrStalled = channels.ErrStalled

// ErrNoHalfClose is returned when the input of a [Process] is closed, and the server is too old to be told.
var ErrNoHalfClose = channels.ErrNoHalfClose

// Process is a process in a container, and the streams that connect us with it. Each stream may be used by a goroutine of
// its own; the methods are safe for concurrent use.
//
// [Process.Run] and [Process.Output] do all that there is to do. Who uses the streams by themselves reads those that were
// asked for until they end, and then calls [Process.Wait]; [Process.Close] gives up earlier.
type Process struct {
	// Stdin is the input. Close ends it, or returns [ErrNoHalfClose]. Nil unless it was asked for.
	Stdin io.WriteCloser

	// Stdout and Stderr are the outputs. They end with io.EOF when the process does. Nil when they were declined.
	Stdout, Stderr io.Reader

	conn    *channels.Conn
	tty     bool
	sent    *redact.Secrets
	wrap    func(error) error
	done    chan struct{} // closed when outcome and cut are set
	outcome error
	cut     error // the context's cause, if the context ended the stream after the exit status had arrived
}

// streams says which streams a process shall have.
type streams struct {
	stdin, stdout, stderr, tty bool
	untranslated               bool // see connectTo
	bufferBytes                int
	stallTimeout               time.Duration
}

func (s *streams) check(verb string) error {
	switch {
	case s.bufferBytes < 0:
		return &request.InvalidError{Field: "BufferBytes", Detail: fmt.Sprintf("%d is negative; 0 means the default", s.bufferBytes)}
	case !s.stdin && !s.stdout && !s.stderr:
		return &request.InvalidError{Field: "NoStdout", Detail: "no stream is left to " + verb + " with; ask for one"}
	}
	return nil
}

// incoming returns the channels to read.
func (s *streams) incoming() []channels.Channel {
	size, stall := s.bufferBytes, s.stallTimeout
	if size == 0 {
		size = defaultBufferBytes
	}
	if stall == 0 {
		stall = defaultStallTimeout
	}
	incoming := []channels.Channel{{ID: channels.Status, BufferBytes: outcomeBytes}}
	if s.stdout {
		incoming = append(incoming, channels.Channel{ID: channels.Stdout, BufferBytes: size, StallTimeout: stall})
	}
	if s.stderr {
		incoming = append(incoming, channels.Channel{ID: channels.Stderr, BufferBytes: size, StallTimeout: stall})
	}
	return incoming
}

// process connects with a process in a pod.
func (a *API[K]) process(ctx context.Context, verb, name string, s streams, b func(request.Target) (*request.Request, error)) (*Process, error) {
	ctx = rememberSent(ctx)
	sent := a.client.sent(ctx)
	wrapped := func(err error) error { return wrap(verb, a.named(name), err) }
	conn, err := a.connectTo(ctx, verb, name, s, b)
	if err != nil {
		return nil, wrapped(err)
	}
	p := &Process{conn: conn, tty: s.tty, sent: sent, wrap: wrapped, done: make(chan struct{})}
	if s.stdin {
		p.Stdin = &input{process: p}
	}
	if s.stdout {
		p.Stdout = &output{conn.Incoming(channels.Stdout), wrapped}
	}
	if s.stderr {
		p.Stderr = &output{conn.Incoming(channels.Stderr), wrapped}
	}
	go p.conclude(ctx)
	return p, nil
}

// connectTo asks for the newest protocol, whose streams servers translate to SPDY and back, unless they shall be
// untranslated: on that way the end of the output is lost when the reader is slow when the process ends, and the exit status
// with it, which then looks like success. What version 4 carries comes straight from the container runtime, and says so when
// it breaks off. But it can't end an input, and an input that was not asked for is one that has ended: container runtimes
// take that for the wish to leave a terminal, or a process that they are attached to.
func (a *API[K]) connectTo(ctx context.Context, verb, name string, s streams, b func(request.Target) (*request.Request, error)) (*channels.Conn, error) {
	if err := a.ready(); err != nil {
		return nil, err
	}
	done := map[string]string{"exec": "given commands", "attach": "attached to"}
	if err := a.only(done[verb], "pods"); err != nil {
		return nil, err
	}
	if err := s.check(verb); err != nil {
		return nil, err
	}
	r, err := b(a.named(name))
	if err != nil {
		return nil, err
	}
	if !s.untranslated {
		return a.client.dial(ctx, r, []string{channels.V5, channels.V4}, s.incoming())
	}
	conn, err := a.client.dial(ctx, r, []string{channels.V4}, s.incoming())
	if refusedProtocol(err) {
		return a.client.dial(ctx, r, []string{channels.V5}, s.incoming())
	}
	return conn, err
}

// refusedProtocol recognises what servers say that know none of the protocols they were offered: next to nothing. No
// command has begun then.
func refusedProtocol(err error) bool {
	said, ok := errors.AsType[*core.StatusError](err)
	return ok && said.Status.Code == http.StatusForbidden && said.Status.Status == "" && said.Status.Message == ""
}

// farewell is how long a server may be silent after it has said how a process has ended, before the stream is ended here.
const farewell = 5 * time.Second

// conclude waits until the process or the stream ends, and sets the outcome. When the context ends, it ends the stream.
func (p *Process) conclude(ctx context.Context) {
	defer close(p.done)
	told := make(chan []byte, 1)
	go func() { told <- readOutcome(p.conn.Incoming(channels.Status)) }()
	var said []byte
	select {
	case said = <-told:
		p.cut = p.conn.Finish(ctx, farewell)
	case <-ctx.Done():
		p.conn.Abort(context.Cause(ctx))
		said = <-told
	}
	p.outcome = p.wrap(withoutSent(p.sent, outcomeOf(said, p.conn.Err())))
}

// Wait waits until the stream has ended. It returns nil when the exit status is 0, an [*ExitError] when it is another
// number, and an error that says why the exit status is unknown otherwise: the context's cause, or a connection that
// broke. Output that has arrived can still be read.
//
// The stream does not end while unread output holds it up. When the context ends then, Wait returns the exit status
// if it has arrived, and the outputs end with the context's cause.
func (p *Process) Wait() error {
	<-p.done
	return p.outcome
}

// Close ends the stream and frees what it took. The process may go on. Output that was not read is dropped.
func (p *Process) Close() {
	p.conn.Close()
	<-p.done
}

// Resize tells the process how large its terminal is, in characters.
func (p *Process) Resize(width, height uint16) error {
	switch {
	case !p.tty:
		return p.wrap(&request.InvalidError{Field: "TTY", Detail: "was not asked for, so there is no terminal to resize"})
	case width == 0 || height == 0:
		return p.wrap(&request.InvalidError{Field: "size", Detail: fmt.Sprintf("%dx%d has nothing in it", width, height)})
	}
	size, err := json.Marshal(struct{ Width, Height uint16 }{width, height})
	if err == nil {
		_, err = p.conn.Write(channels.Resize, size)
	}
	return p.wrap(err)
}

// input is the input of a process.
type input struct {
	process *Process
	closed  atomic.Bool
}

// Write sends data; it waits while the process takes none.
func (i *input) Write(b []byte) (int, error) {
	if i.closed.Load() {
		return 0, i.process.wrap(os.ErrClosed)
	}
	n, err := i.process.conn.Write(channels.Stdin, b)
	return n, i.process.wrap(closedPipe(err))
}

// Close says that the input has ended.
func (i *input) Close() error {
	if i.closed.Swap(true) {
		return nil
	}
	err := i.process.conn.End(channels.Stdin)
	if errors.Is(err, io.ErrClosedPipe) || errors.Is(err, net.ErrClosed) {
		return nil // the process has ended, and needs none
	}
	return i.process.wrap(err)
}

// closedPipe makes what a stream of the standard library says of what a connection says.
func closedPipe(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("the stream was closed: %w", io.ErrClosedPipe)
	}
	return err
}

// output is an output of a process.
type output struct {
	*channels.Buffer
	wrap func(error) error
}

// Read reads what has come.
func (o *output) Read(p []byte) (int, error) {
	n, err := o.Buffer.Read(p)
	if err != nil && err != io.EOF {
		err = o.wrap(err)
	}
	return n, err
}
