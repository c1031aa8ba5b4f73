// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/kube-go/sdk/core/request"
)

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
