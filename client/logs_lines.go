// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"time"

	"github.com/kube-go/sdk/core"
)

// LogLine is one line that a container has written.
type LogLine struct {
	Pod       core.ObjectRef
	Container string // empty when none was asked for by name

	// Time is when the line was written, as the node has noted it; zero when no timestamps were asked for. A line that the
	// node itself has added, such as a complaint, has none either.
	Time time.Time

	Text string // without the end of the line

	// Partial says that the line is longer than 64 KiB, and goes on in the next one.
	Partial bool
}

// lineBytes bounds a [LogLine].
const lineBytes = 64 << 10

// logReader cuts a log into lines.
type logReader struct {
	buf     *bufio.Reader
	stamped bool      // each line starts with a time
	goesOn  bool      // the line before was partial
	time    time.Time // of the line before
}

func newLogReader(r io.Reader, stamped bool) *logReader {
	return &logReader{buf: bufio.NewReaderSize(r, lineBytes), stamped: stamped}
}

// next returns the next line. A last line without an end counts as one, unless the reading fails there.
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

// cutTime parses the time at the start of a line. A line without one is returned as it is.
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
