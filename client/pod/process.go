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

// ErrStalled ends an output of a [Process] that was not read for too long and blocked the other output.
var ErrStalled = channels.ErrStalled

// ErrNoHalfClose is the error of closing the input of a [Process] if the server is too old to transmit the end of an
// input.
var ErrNoHalfClose = channels.ErrNoHalfClose

// Process is a process in a container with its streams. Each stream may be used by its own goroutine; the methods are
// safe for concurrent use.
//
// Most callers use [Process.Run] or [Process.Output]. A caller that uses the streams directly reads each output to its
// end and then calls [Process.Wait], or calls [Process.Close] to stop earlier.
type Process struct {
	// Stdin is the input, or nil if it was not requested. Close ends it, or returns [ErrNoHalfClose].
	Stdin io.WriteCloser

	// Stdout and Stderr are the outputs, or nil if they were omitted. They end with io.EOF when the process ends.
	Stdout, Stderr io.Reader

	conn    *channels.Conn
	tty     bool
	redact  func(error) error // removes sent credentials
	wrap    func(error) error
	done    chan struct{} // closed when outcome and cut are set
	outcome error
	cut     error // the context's cause, if the context ended the stream
}

// streams describes the requested streams of a process.
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
		return &request.InvalidError{Field: "NoStdout", Detail: verb + " needs at least one stream; request one"}
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

// connect opens the stream. It requests version 5 of the protocol, which API servers translate to SPDY and back, unless
// the streams are to be untranslated: the translation loses the end of the output if the reader is slow when the
// process ends, and with it the exit status, which then looks like success. API servers pass version 4 on unchanged to
// the container runtime, and a connection that breaks is an error. But version 4 can't end an input, and an input that
// was not requested counts as ended: a container runtime then detaches from a terminal or from an attached process.
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

// refusedProtocol recognizes the response of a server that supports none of the offered protocols: 403 without a
// message. The command has not started.
func refusedProtocol(err error) bool {
	se, ok := errors.AsType[*core.StatusError](err)
	return ok && se.Status.Code == http.StatusForbidden && se.Status.Status == "" && se.Status.Message == ""
}

// farewell is the maximum time between the exit status and the end of the stream. After that, the client ends the
// stream.
const farewell = 5 * time.Second

// conclude waits until the process or the stream ends, and sets the outcome. When the context ends, it ends the stream.
func (p *Process) conclude(ctx context.Context) {
	defer close(p.done)
	received := make(chan []byte, 1)
	go func() { received <- readOutcome(p.conn.Incoming(channels.Status)) }()
	var message []byte
	select {
	case message = <-received:
		p.cut = p.conn.Finish(ctx, farewell)
	case <-ctx.Done():
		if p.conn.Abort(context.Cause(ctx)) {
			p.cut = context.Cause(ctx)
		}
		message = <-received // it may have arrived before
	}
	p.outcome = p.wrap(p.redact(outcomeOf(message, p.conn.Err())))
}

// Wait waits until the stream ends. It returns nil if the exit status is 0, an [*ExitError] for another exit status,
// and otherwise the reason why the exit status is unknown: the context's cause, or a broken connection. Output that has
// arrived can still be read.
//
// Unread output can block the stream. If the context ends meanwhile, Wait returns the exit status if it has arrived,
// and the outputs end with the context's cause.
func (p *Process) Wait() error {
	<-p.done
	return p.outcome
}

// Close ends the stream and frees its resources. The process may continue. Unread output is lost.
func (p *Process) Close() {
	p.conn.Close()
	<-p.done
}

// Resize sets the size of the terminal, in characters.
func (p *Process) Resize(width, height uint16) error {
	switch {
	case !p.tty:
		detail := "was not requested, so there is no terminal to resize"
		return p.wrap(&request.InvalidError{Field: "TTY", Detail: detail})
	case width == 0 || height == 0:
		detail := fmt.Sprintf("%dx%d is empty; set a positive width and height", width, height)
		return p.wrap(&request.InvalidError{Field: "size", Detail: detail})
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

// Write sends data. It blocks while the process does not read.
func (i *input) Write(b []byte) (int, error) {
	if i.closed.Load() {
		return 0, i.process.wrap(os.ErrClosed)
	}
	n, err := i.process.conn.Write(channels.Stdin, b)
	return n, i.process.wrap(closedPipe(err))
}

// Close ends the input.
func (i *input) Close() error {
	if i.closed.Swap(true) {
		return nil
	}
	err := i.process.conn.End(channels.Stdin)
	if errors.Is(err, io.ErrClosedPipe) || errors.Is(err, net.ErrClosed) {
		return nil // the process has ended and needs no input
	}
	return i.process.wrap(err)
}

// closedPipe replaces the error of a closed connection with that of a closed pipe.
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

// Read reads the received data.
func (o *output) Read(p []byte) (int, error) {
	n, err := o.Buffer.Read(p)
	if err != nil && err != io.EOF {
		err = o.wrap(err)
	}
	return n, err
}

// The number of bytes that [Process.Output] keeps of each output.
const (
	stdoutBytes = 64 << 20
	stderrBytes = 16 << 10
)

// Run copies in to the input and the outputs to out and errors, and waits for the end of the process like
// [Process.Wait]. The input ends when in ends. A nil writer discards the output; a nil reader is an empty input. If a
// writer fails, Run closes the stream and returns the error of the writer. If the context ends before all output has
// arrived, Run returns the context's cause, even if the exit status is 0.
//
// When the process ends, a blocked Read of in is interrupted by its SetReadDeadline, if in has one. Otherwise Run
// returns without waiting for it, and the data that it reads later is lost.
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
	stopInput() // the error of the interrupted Read does not matter
	return outcome
}

func (p *Process) checkStreams(in io.Reader, out, errors io.Writer) error {
	for _, stream := range []struct {
		field  string
		given  bool
		exists bool
	}{
		{"Stdin", in != nil, p.Stdin != nil},
		{"Stdout", out != nil, p.Stdout != nil},
		{"Stderr", errors != nil && !p.tty, p.Stderr != nil},
	} {
		if stream.given && !stream.exists {
			detail := "was not requested; request it in the options, or pass nil"
			return p.wrap(&request.InvalidError{Field: stream.field, Detail: detail})
		}
	}
	return nil
}

// copyOutput copies until the output ends. It returns the error of a writer that fails or is too slow. Other errors are
// part of the outcome of the process.
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

// feed copies in to the process until the returned function is called.
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
		default: // the goroutine is blocked in Read, and ends after it
		}
	}
}

// feedInput copies until the input or the process ends. It returns the error of the reader, and [ErrNoHalfClose].
func feedInput(w io.WriteCloser, r io.Reader) error {
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			if _, err := w.Write(buf[:n]); err != nil {
				return nil //nolint:nilerr // the process or the stream has ended, and the outcome has the reason
			}
		}
		switch {
		case err == io.EOF:
			if err := w.Close(); errors.Is(err, ErrNoHalfClose) {
				return err
			}
			return nil // any other error has the reason that a failed Write has: the stream or the process has ended
		case err != nil:
			return fmt.Errorf("read the input: %w", err)
		}
	}
}

// Output waits for the end of the process with an empty input, and returns its standard output, of at most 64 MiB. An
// [*ExitError] has the start of its standard error.
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

// bounded is a buffer of limited size.
type bounded struct {
	bytes.Buffer
	left int
	cut  bool // drop excess bytes; otherwise they are an error
}

func (b *bounded) Write(p []byte) (int, error) {
	if len(p) > b.left && !b.cut {
		return 0, fmt.Errorf("the output is larger than %d bytes; call Run with a writer", stdoutBytes)
	}
	taken := p[:min(len(p), b.left)]
	b.left -= len(taken)
	b.Buffer.Write(taken)
	return len(p), nil
}

// ExitError is the error of a process that ended with an exit status other than 0.
type ExitError struct {
	Code int

	// Stderr is the start of the standard error, of at most 16 KiB. Only [Process.Output] sets it.
	Stderr []byte
}

// Error returns, for example, "exit status 2".
func (e *ExitError) Error() string { return fmt.Sprintf("exit status %d", e.Code) }

// noOutcome is the error of a stream that ended normally but without an outcome.
type noOutcome struct{}

func (noOutcome) Error() string {
	return "the server closed the stream without reporting how the process ended"
}

// Unwrap makes the error match io.ErrUnexpectedEOF.
func (noOutcome) Unwrap() error { return io.ErrUnexpectedEOF }

// readOutcome reads the outcome of a process: one Status, or everything up to the end of the stream.
func readOutcome(r io.Reader) []byte {
	var message []byte
	for buf := make([]byte, messageBytes); ; {
		n, err := r.Read(buf)
		message = append(message, buf[:n]...)
		var status metav1.Status
		complete := wire.UnmarshalJSON(message, &status) == nil && status.Status != ""
		if err != nil || complete || len(message) > outcomeBytes {
			return message
		}
	}
}

// outcomeOf returns the outcome of a process from the message of the server and from the reason why the stream ended.
func outcomeOf(message []byte, ended error) error {
	var status metav1.Status // servers omit its kind
	switch err := wire.UnmarshalJSON(message, &status); {
	case err == nil && status.Status == metav1.StatusSuccess:
		return nil
	case err == nil && status.Status == metav1.StatusFailure:
		return failureOf(status)
	case errors.Is(ended, net.ErrClosed):
		return errors.New("the stream was closed before the process had ended")
	case ended != io.EOF:
		return ended
	case len(message) > 0: // old servers send plain text
		text := strings.ToValidUTF8(string(message[:min(len(message), messageBytes)]), "")
		return &core.StatusError{Status: metav1.Status{
			Status: metav1.StatusFailure, Code: 500, Message: strings.Join(strings.Fields(text), " "),
		}}
	}
	return noOutcome{}
}

// failureOf returns an [*ExitError] if the Status contains the exit status. See
// https://github.com/kubernetes/kubernetes/blob/master/staging/src/k8s.io/apimachinery/pkg/util/remotecommand/constants.go.
func failureOf(status metav1.Status) error {
	if status.Reason == "NonZeroExitCode" && status.Details != nil {
		for _, cause := range status.Details.Causes {
			// On Windows, a crash has a status with 32 bits, such as 3221225477.
			if code, err := strconv.Atoi(cause.Message); cause.Type == "ExitCode" && err == nil && code > 0 {
				return &ExitError{Code: code}
			}
		}
	}
	return &core.StatusError{Status: status}
}
