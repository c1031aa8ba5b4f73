// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package pod

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"time"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
)

// Logs returns the log of a container as a stream of bytes; the caller closes it. The stream ends with io.EOF at the
// end of the log, and with LogOptions.Follow when the container ends, but also when the connection of the API server to
// the node ends: nodes end each one after four hours. Package runtime/logs resumes such a log.
//
// Nodes rotate logs, every 10 MiB by default, and send only the newest file. A reader that follows continues with the
// next file.
//
// The context applies until the stream ends. [API.LogLines] returns the lines of the same log.
//
// Errors: [core.ErrNotFound]; [core.ErrBadRequest] for a container that does not exist or has not started. When the
// connection to the API server breaks, Read returns an error that matches io.ErrUnexpectedEOF.
func (a *API) Logs(ctx context.Context, name string, o *request.LogOptions) (io.ReadCloser, error) {
	body, err := a.logs(ctx, name, o)
	if err != nil {
		return nil, client.WrapError("logs", a.target(name), err)
	}
	return body, nil
}

func (a *API) logs(ctx context.Context, name string, o *request.LogOptions) (*logBody, error) {
	r, err := request.Log(a.target(name), o)
	if err != nil {
		return nil, err
	}
	resp, err := a.client.Do(ctx, r) //nolint:bodyclose // the caller closes it
	if err != nil {
		return nil, err
	}
	return &logBody{resp.Body, func(err error) error { return client.WrapError("logs", a.target(name), err) }}, nil
}

// logBody wraps the errors of a body.
type logBody struct {
	io.ReadCloser
	wrap func(error) error
}

// Read reads from the body.
func (b *logBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = b.wrap(err)
	}
	return n, err
}

// LogLines yields the lines of the log of a container. With LogOptions.Timestamps each line has its time. Ranging over
// the sequence again sends the request again.
//
// Errors: as [API.Logs].
func (a *API) LogLines(ctx context.Context, name string, o *request.LogOptions) iter.Seq2[LogLine, error] {
	var opts request.LogOptions
	if o != nil {
		opts = *o
	}
	return func(yield func(LogLine, error) bool) {
		body, err := a.Logs(ctx, name, &opts)
		if err != nil {
			yield(LogLine{}, err)
			return
		}
		defer body.Close()
		lines := newLogReader(body, opts.Timestamps)
		for {
			line, err := lines.next()
			if err == io.EOF {
				return
			}
			if err != nil {
				yield(LogLine{}, err)
				return
			}
			line.Container = opts.Container
			line.Pod.Namespace, line.Pod.Name = a.namespace, name
			if !yield(line, nil) {
				return
			}
		}
	}
}

// LogLine is one line of the log of a container.
type LogLine struct {
	Pod       core.ObjectRef
	Container string // empty if the options name no container

	// Time is the time at which the node received the line. It is zero without LogOptions.Timestamps, and for messages
	// of the node itself.
	Time time.Time

	Text string // without the end of the line

	// Partial is true if the line is longer than 64 KiB and continues in the next LogLine.
	Partial bool
}

// lineBytes is the maximum size of a [LogLine].
const lineBytes = 64 << 10

// logReader splits a log into lines.
type logReader struct {
	buf     *bufio.Reader
	stamped bool      // each line starts with a time
	goesOn  bool      // the previous line was partial
	time    time.Time // of the previous line
}

func newLogReader(r io.Reader, stamped bool) *logReader {
	return &logReader{buf: bufio.NewReaderSize(r, lineBytes), stamped: stamped}
}

// next returns the next line. The last line may lack a line break, unless the read fails there.
func (l *logReader) next() (LogLine, error) {
	raw, err := l.buf.ReadSlice('\n')
	partial := errors.Is(err, bufio.ErrBufferFull)
	if err != nil && !partial && (err != io.EOF || len(raw) == 0) {
		return LogLine{}, err
	}
	line := LogLine{Partial: partial}
	if !partial {
		raw = bytes.TrimSuffix(bytes.TrimSuffix(raw, []byte("\n")), []byte("\r"))
	}
	switch {
	case l.goesOn:
		line.Time = l.time
	case l.stamped:
		line.Time, raw = cutTime(raw)
	}
	l.goesOn, l.time = partial, line.Time
	line.Text = string(raw)
	return line, nil
}

// cutTime parses the time at the start of a line. It returns a line without a time unchanged.
func cutTime(line []byte) (time.Time, []byte) {
	stamp, rest, ok := bytes.Cut(line, []byte(" "))
	if !ok {
		rest = nil // an empty line may have lost its space
	}
	t, err := time.Parse(time.RFC3339Nano, string(stamp[:min(len(stamp), len("2006-01-02T15:04:05.999999999+00:00"))]))
	if err != nil {
		return time.Time{}, line
	}
	return t, rest
}
