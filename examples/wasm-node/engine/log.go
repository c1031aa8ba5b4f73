// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"io"
	"sync"
	"time"
)

const (
	maxLog  = 10 << 20 // bytes that the log of an attempt keeps
	maxLine = 16 << 10 // bytes of a line; the rest is a line of its own
	perLine = 64       // bytes that a line needs besides its text
)

// Line is a line of a log, with its end unless it is incomplete.
type Line struct {
	Time time.Time
	Text []byte
}

// Log is the last lines of the output of a container. It is safe for concurrent use.
type Log struct {
	mu    sync.Mutex // guards the fields below
	lines []Line
	first int // the number of the first line
	bytes int
	ended bool
	more  chan struct{} // is closed by the next change
}

func newLog() *Log { return &Log{more: make(chan struct{})} }

// Read returns the lines from a number on, the number of the next line, and whether the log is complete. The channel is
// closed when there is more.
func (l *Log) Read(from int) (lines []Line, next int, complete bool, more <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	next = l.first + len(l.lines)
	skip := min(max(from-l.first, 0), len(l.lines))
	return append(lines, l.lines[skip:]...), next, l.ended, l.more
}

// changed wakes the readers. The caller holds the mutex.
func (l *Log) changed() {
	close(l.more)
	l.more = make(chan struct{})
}

func (l *Log) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	l.changed()
}

func (l *Log) add(text []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, Line{time.Now(), text})
	for l.bytes += len(text) + perLine; l.bytes > maxLog; {
		l.bytes -= len(l.lines[0].Text) + perLine
		l.lines[0] = Line{}
		l.lines = l.lines[1:]
		l.first++
	}
	l.changed()
}

// stream is the standard output or the standard error of a container, which writes in one goroutine.
type stream struct {
	log  *Log
	rest []byte // an incomplete line
}

func (l *Log) stream() *stream { return &stream{log: l} }

// Write adds complete lines to the log.
func (s *stream) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n') + 1
		if end == 0 {
			end = len(p)
		}
		end = min(end, maxLine-len(s.rest))
		s.rest = append(s.rest, p[:end]...)
		if p = p[end:]; s.rest[len(s.rest)-1] == '\n' || len(s.rest) == maxLine {
			s.flush()
		}
	}
	return n, nil
}

// flush adds an incomplete line to the log.
func (s *stream) flush() {
	if len(s.rest) > 0 {
		s.log.add(s.rest)
		s.rest = nil
	}
}

var _ io.Writer = (*stream)(nil)
