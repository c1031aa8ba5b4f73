// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strconv"
	"strings"
	"time"
)

const (
	// stuckAfter is the time after the end of its context in which a run has to return.
	stuckAfter = 10 * time.Second
	// maxStacks is the maximum number of bytes of all stacks of the program that are searched for the one of a run.
	maxStacks = 32 << 20
	// maxNamed is the maximum number of keys in an error.
	maxNamed = 10
)

// timeoutError is the cause of the end of a run's context after [Options.RunTimeout].
type timeoutError struct {
	key   Key
	limit time.Duration
}

func (e *timeoutError) Error() string {
	return fmt.Sprintf("the run of %s has taken longer than Options.RunTimeout, which is %v", e.key, e.limit)
}

func (e *timeoutError) Unwrap() error { return context.DeadlineExceeded }

// RunHealth is the state of one current run of a controller.
type RunHealth struct {
	Key Key

	// Cause is the first event since the last run, see [Run].
	Cause Cause

	// Age is the time since the run began.
	Age time.Duration

	// Err is not nil if the run is stuck: it has not returned 10 s after the end of [Options.RunTimeout].
	Err error
}

// runHealth returns the state of the current runs, the oldest first.
func (s *session) runHealth() (all []RunHealth) {
	for _, r := range s.pool.runs() {
		h := RunHealth{Key: r.item.Key, Cause: r.item.Cause.cause(r.item.Key), Age: time.Since(r.begun)}
		if limit := s.opts.RunTimeout; limit > 0 && h.Age >= limit+stuckAfter {
			h.Err = &timeoutError{h.Key, limit}
		}
		all = append(all, h)
	}
	return all
}

// reportStuck logs a run that does not return, with the stack of its goroutine.
func (s *session) reportStuck(r *run, why string) {
	attrs := append(r.item.Key.attrs(s.resource.Kind), slog.Duration("age", time.Since(r.begun)),
		slog.String("reason", why), slog.String("stack", stackOf(r.worker.goroutine.Load())))
	s.opts.Logger.LogAttrs(context.WithoutCancel(r), slog.LevelError, "run is stuck", attrs...)
}

// abandon logs the runs that have not returned after the stop, and returns an error that names them.
func (s *session) abandon(cause error) error {
	var names []string
	for _, r := range s.pool.runs() {
		s.reportStuck(r, "the controller has stopped")
		names = append(names, r.item.Key.String())
	}
	number, more := len(names), ""
	if number > maxNamed {
		names, more = names[:maxNamed], ", …"
	}
	return fmt.Errorf("%w; %d runs have not returned %v after the end of their context: %s%s",
		cause, number, stuckAfter, strings.Join(names, ", "), more)
}

// goroutineID returns the number of the calling goroutine in stack traces.
func goroutineID() int64 {
	var buf [64]byte
	head := strings.Fields(string(buf[:runtime.Stack(buf[:], false)]))
	id, _ := strconv.ParseInt(head[1], 10, 64) // "goroutine 7 [running]:"
	return id
}

// stackOf returns the stack of a goroutine. It stops the program for the time that it takes to write all stacks.
func stackOf(goroutine int64) string {
	buf := make([]byte, 1<<20)
	n := runtime.Stack(buf, true)
	for n == len(buf) && n < maxStacks {
		buf = make([]byte, 2*len(buf))
		n = runtime.Stack(buf, true)
	}
	head := fmt.Appendf(nil, "goroutine %d ", goroutine)
	for stack := range bytes.SplitSeq(buf[:n], []byte("\n\n")) {
		if bytes.HasPrefix(stack, head) {
			return string(stack)
		}
	}
	return ""
}
