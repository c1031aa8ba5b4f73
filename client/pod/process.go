// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package pod

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/internal/channels"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
)

// Defaults and bounds of streams.
const (
	defaultBufferBytes  = 4 << 20
	defaultStallTimeout = 30 * time.Second
	outcomeBytes        = 64 << 10
	messageBytes        = 2 << 10
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
	redact  func(error) error // removes sent credentials
	wrap    func(error) error
	done    chan struct{} // closed when outcome and cut are set
	outcome error
	cut     error // the context's cause, if the context ended the stream after the exit status had arrived
}

// streams says which streams a process shall have.
type streams struct {
	stdin, stdout, stderr, tty bool
	untranslated               bool // see connect
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

// process starts a stream to a process in a pod.
func (a *API) process(ctx context.Context, verb, name string, s streams, b func(request.Target) (*request.Request, error)) (*Process, error) {
	wrapped := func(err error) error { return client.WrapError(verb, a.target(name), err) }
	conn, redact, err := a.connect(ctx, verb, name, s, b)
	if err != nil {
		return nil, wrapped(err)
	}
	p := &Process{conn: conn, tty: s.tty, redact: redact, wrap: wrapped, done: make(chan struct{})}
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

// connect opens the stream. It asks for version 5 of the protocol, which API servers translate to SPDY and back, unless
// the streams are to be untranslated: the translation loses the end of the output if the reader is slow when the process
// ends, and with it the exit status, which then looks like success. Version 4 is passed on unchanged to the container
// runtime, and reports when it breaks off. But version 4 can't end an input, and an input that was not asked for counts as
// ended: container runtimes take that for the wish to leave a terminal, or a process that they are attached to.
func (a *API) connect(
	ctx context.Context, verb, name string, s streams, b func(request.Target) (*request.Request, error),
) (*channels.Conn, func(error) error, error) {
	if err := s.check(verb); err != nil {
		return nil, nil, err
	}
	r, err := b(a.target(name))
	if err != nil {
		return nil, nil, err
	}
	if !s.untranslated {
		return dial(ctx, a.client, r, []string{channels.V5, channels.V4}, s.incoming())
	}
	conn, redact, err := dial(ctx, a.client, r, []string{channels.V4}, s.incoming())
	if refusedProtocol(err) {
		return dial(ctx, a.client, r, []string{channels.V5}, s.incoming())
	}
	return conn, redact, err
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
	p.outcome = p.wrap(p.redact(outcomeOf(said, p.conn.Err())))
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

// Bounds of what [Process.Output] keeps.
const (
	stdoutBytes = 64 << 20
	stderrBytes = 16 << 10
)

// Run connects the streams with a reader and two writers, and waits for the end of the process, as [Process.Wait]
// does. The input ends when in does. A nil writer discards the output; a nil reader is an empty input. When a writer
// fails, Run closes the stream and returns the writer's error. When the context ends before all output has arrived,
// Run returns the context's cause, even if the exit status is 0.
//
// Run does not wait for a Read of in that waits when the process ends, unless in has a SetReadDeadline that works: nothing
// else can stop it. It ends by itself when in has something to read, which is lost.
func (p *Process) Run(in io.Reader, out, errors io.Writer) error {
	if err := p.checkStreams(in, out, errors); err != nil {
		return err
	}
	var copying sync.WaitGroup
	broken := make(chan error, 3)
	copyTo := func(w io.Writer, r io.Reader) {
		if w == nil {
			w = io.Discard
		}
		if err := copyOutput(w, r); err != nil {
			broken <- err
			p.conn.Abort(err)
		}
	}
	for _, stream := range []struct {
		w io.Writer
		r io.Reader
	}{{out, p.Stdout}, {errors, p.Stderr}} {
		if stream.r != nil {
			copying.Go(func() { copyTo(stream.w, stream.r) })
		}
	}
	stopInput := p.feed(in, broken)
	copying.Wait()
	outcome := p.Wait()
	if outcome == nil {
		outcome = p.wrap(p.cut) // the output may be incomplete
	}
	select {
	case err := <-broken:
		outcome = p.wrap(err)
	default:
	}
	stopInput() // what the reader says to that is of no interest
	return outcome
}

func (p *Process) checkStreams(in io.Reader, out, errors io.Writer) error {
	for _, stream := range []struct {
		field  string
		wanted bool
		there  bool
	}{
		{"Stdin", in != nil, p.Stdin != nil},
		{"Stdout", out != nil, p.Stdout != nil},
		{"Stderr", errors != nil && !p.tty, p.Stderr != nil},
	} {
		if stream.wanted && !stream.there {
			return p.wrap(&request.InvalidError{Field: stream.field, Detail: "was not asked for; ask for it in the options, or give nil here"})
		}
	}
	return nil
}

// copyOutput copies until the output ends. An error is what the writer does wrong, its slowness included; why the output
// has ended is said by the outcome of the process.
func copyOutput(w io.Writer, r io.Reader) error {
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			if _, err := w.Write(buf[:n]); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, ErrStalled):
			return err
		case err != nil:
			return nil //nolint:nilerr // see above
		}
	}
}

// feed copies in to the process. The function it returns stops that.
func (p *Process) feed(in io.Reader, broken chan<- error) (stop func()) {
	if p.Stdin == nil {
		return func() {}
	}
	if in == nil {
		in = bytes.NewReader(nil)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := feedInput(p.Stdin, in); err != nil {
			broken <- err
			p.conn.Abort(err)
		}
	}()
	return func() {
		if d, ok := in.(interface{ SetReadDeadline(time.Time) error }); ok && d.SetReadDeadline(time.Now()) == nil {
			<-done
			_ = d.SetReadDeadline(time.Time{}) // it worked before
			return
		}
		select {
		case <-done:
		default: // it reads, and ends when it has read
		}
	}
}

// feedInput copies until the input ends, or the process does. Only what the reader does wrong, and an end that can't be
// told, is an error.
func feedInput(w io.WriteCloser, r io.Reader) error {
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			if _, err := w.Write(buf[:n]); err != nil {
				return nil //nolint:nilerr // the process has ended, or the stream: the outcome says why
			}
		}
		switch {
		case err == io.EOF:
			return w.Close()
		case err != nil:
			return fmt.Errorf("read the input: %w", err)
		}
	}
}

// Output waits for the end of the process, with an input that is empty, and returns what it has written to its first
// output, 64 MiB at most. An [*ExitError] has the start of what it has written to the second.
func (p *Process) Output() ([]byte, error) {
	out, errs := &bounded{left: stdoutBytes}, &bounded{left: stderrBytes, cut: true}
	var stderr, stdout io.Writer
	if p.Stderr != nil {
		stderr = errs
	}
	if p.Stdout != nil {
		stdout = out
	}
	err := p.Run(nil, stdout, stderr)
	if exit, ok := errors.AsType[*ExitError](err); ok {
		exit.Stderr = errs.Bytes()
	}
	return out.Bytes(), err
}

// bounded is a buffer that takes so many bytes.
type bounded struct {
	bytes.Buffer
	left int
	cut  bool // drop what is more; else that is an error
}

func (b *bounded) Write(p []byte) (int, error) {
	if len(p) > b.left && !b.cut {
		return 0, fmt.Errorf("the output is larger than %d bytes; let Run write it somewhere", stdoutBytes)
	}
	taken := p[:min(len(p), b.left)]
	b.left -= len(taken)
	b.Buffer.Write(taken)
	return len(p), nil
}

// ExitError is a process that has ended with another exit status than 0.
type ExitError struct {
	Code int

	// Stderr is what the process has written to its second output, cut after 16 KiB. Only [Process.Output] sets it.
	Stderr []byte
}

// Error returns, for example, "exit status 2".
func (e *ExitError) Error() string { return fmt.Sprintf("exit status %d", e.Code) }

// noOutcome is a stream that ended in good order, but without an outcome.
type noOutcome struct{}

func (noOutcome) Error() string {
	return "the server has closed the stream without saying how the process has ended"
}

// Unwrap makes the error match io.ErrUnexpectedEOF.
func (noOutcome) Unwrap() error { return io.ErrUnexpectedEOF }

// readOutcome reads what a server says of the end of a process: one status, or whatever it says until the stream ends.
func readOutcome(r io.Reader) []byte {
	var said []byte
	for buf := make([]byte, messageBytes); ; {
		n, err := r.Read(buf)
		said = append(said, buf[:n]...)
		var status metav1.Status
		complete := wire.UnmarshalJSON(said, &status) == nil && status.Status != ""
		if err != nil || complete || len(said) > outcomeBytes {
			return said
		}
	}
}

// outcomeOf says how a process has ended, from what the server has said of it and from why the stream has ended.
func outcomeOf(said []byte, ended error) error {
	var status metav1.Status // its kind is left out
	switch err := wire.UnmarshalJSON(said, &status); {
	case err == nil && status.Status == metav1.StatusSuccess:
		return nil
	case err == nil && status.Status == metav1.StatusFailure:
		return failureOf(status)
	case errors.Is(ended, net.ErrClosed):
		return errors.New("the stream was closed before the process had ended")
	case ended != io.EOF:
		return ended
	case len(said) > 0: // plain text, as the oldest servers do it
		text := strings.ToValidUTF8(string(said[:min(len(said), messageBytes)]), "")
		return &core.StatusError{Status: metav1.Status{
			Status: metav1.StatusFailure, Code: 500, Message: strings.Join(strings.Fields(text), " "),
		}}
	}
	return noOutcome{}
}

// failureOf returns an [*ExitError] when a status says what the exit status is. See
// https://github.com/kubernetes/kubernetes/blob/master/staging/src/k8s.io/apimachinery/pkg/util/remotecommand/constants.go.
func failureOf(status metav1.Status) error {
	if status.Reason == "NonZeroExitCode" && status.Details != nil {
		for _, cause := range status.Details.Causes {
			if code, err := strconv.ParseUint(cause.Message, 10, 31); cause.Type == "ExitCode" && err == nil && code > 0 {
				return &ExitError{Code: int(code)}
			}
		}
	}
	return &core.StatusError{Status: status}
}
