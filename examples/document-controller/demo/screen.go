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

// screen prints lines with the time since the start. It is safe for concurrent use.
type screen struct {
	start time.Time

	mu    sync.Mutex // guards out and steps
	out   io.Writer
	steps int
}

func newScreen(out io.Writer) *screen { return &screen{out: out, start: time.Now()} }

func (s *screen) title(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.out, "%s\n%s\n", text, strings.Repeat("=", len(text)))
}

// step prints the heading of the next step.
func (s *screen) step(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps++
	fmt.Fprintf(s.out, "\n%d. %s\n", s.steps, fmt.Sprintf(format, args...))
}

// say prints one line of the current step.
func (s *screen) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.out, "   %6.1fs  %s\n", time.Since(s.start).Seconds(), fmt.Sprintf(format, args...))
}

// Write prints the progress of the start of the cluster.
func (s *screen) Write(p []byte) (int, error) {
	for line := range strings.Lines(string(p)) {
		if line = strings.TrimSpace(line); line != "" {
			s.say("%s", line)
		}
	}
	return len(p), nil
}
