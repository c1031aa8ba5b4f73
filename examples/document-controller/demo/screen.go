// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// screen prints what happens, line by line, with the time since the start. It is safe for concurrent use.
type screen struct {
	start time.Time

	mu    sync.Mutex // guards what follows
	out   io.Writer
	steps int
}

func newScreen(out io.Writer) *screen { return &screen{out: out, start: time.Now()} }

func (s *screen) title(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.out, "%s\n%s\n", text, strings.Repeat("=", len(text)))
}

// step begins a new part of the story.
func (s *screen) step(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps++
	fmt.Fprintf(s.out, "\n%d. %s\n", s.steps, fmt.Sprintf(format, args...))
}

// say prints one line of the current part.
func (s *screen) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.out, "   %6.1fs  %s\n", time.Since(s.start).Seconds(), fmt.Sprintf(format, args...))
}

// Write prints the progress of the cluster's start, a line at a time.
func (s *screen) Write(p []byte) (int, error) {
	for line := range strings.Lines(string(p)) {
		if line = strings.TrimSpace(line); line != "" {
			s.say("%s", line)
		}
	}
	return len(p), nil
}
