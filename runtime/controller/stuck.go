// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kube-go/sdk/core"
)

const (
	// noticedAfter is the time after which a stop that waits for runs is logged.
	noticedAfter = time.Second

	// stuckAfter is the time after the end of its context in which a run has to return.
	stuckAfter = 10 * time.Second
	// longRun is the time after which a run without a limit is reported.
	longRun = 10 * time.Minute
	// maxStacks is the maximum number of bytes of all stacks of the program that are searched for the one of a run.
	maxStacks = 32 << 20
	// maxNamed is the maximum number of keys in an error.
	maxNamed = 10
)

// timeoutError is the cause of the end of a run's context after [Options.RunTimeout].
type timeoutError struct {
	run   *run
	limit time.Duration
}

func (e *timeoutError) Error() string {
	return fmt.Sprintf("%s has taken longer than Options.RunTimeout, which is %v", e.run, e.limit)
}

func (e *timeoutError) Unwrap() error { return context.DeadlineExceeded }

// RunHealth is the state of one current run of a controller, or of one current call of a function of [Secondary.Map].
type RunHealth struct {
	Key Key // of the reconciled object, or of the changed one

	// Source is the resource of the changed object if it is a call of a function of Map, or the zero value.
	Source core.Resource

	// Cause is the first event since the last run, see [Run].
	Cause Cause

	// Age is the time since the run began.
	Age time.Duration

	// Err is not nil if the run is stuck: it has not returned 10 s after the end of [Options.RunTimeout].
	Err error
}

// runs returns the current runs and calls of Map, the oldest first.
func (s *session) runs() []*run {
	runs := s.pool.runs()
	for _, stage := range s.stages {
		runs = append(runs, stage.runs()...)
	}
	slices.SortFunc(runs, (*run).compare)
	return runs
}

// runHealth returns the state of the current runs and calls of Map, the oldest first.
func (s *session) runHealth() (all []RunHealth) {
	for _, r := range s.runs() {
		key := r.item.Key
		h := RunHealth{Key: key, Source: r.worker.maps, Cause: r.item.Cause.cause(key), Age: time.Since(r.begun)}
		if limit := s.opts.RunTimeout; limit > 0 && h.Age-stuckAfter >= limit {
			h.Err = &timeoutError{r, limit}
		}
		all = append(all, h)
	}
	return all
}

// reportLong logs each run once that takes longer than longRun, until ctx ends. It is for runs without a limit.
func (s *session) reportLong(ctx context.Context) {
	ticker := time.NewTicker(longRun / 10)
	defer ticker.Stop()
	for last := time.Now(); ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := time.Now()
		for _, r := range s.runs() {
			if due := r.begun.Add(longRun); due.After(last) && !due.After(now) {
				s.logRun(r, slog.LevelWarn, "has not returned", "Options.RunTimeout is not set")
			}
		}
		last = now
	}
}

// reportWait logs the runs for which the stop waits.
func (s *session) reportWait() {
	var names []string
	for _, r := range s.pool.runs() {
		names = append(names, r.item.Key.String())
	}
	s.opts.Logger.LogAttrs(context.Background(), slog.LevelInfo, "stop waits for runs", slog.Int("count", len(names)),
		slog.Any("first", names[:min(3, len(names))]), slog.Duration("timeout", s.opts.StopTimeout))
}

// reportLate logs a run that does not return after [Options.RunTimeout].
func (s *session) reportLate(r *run) {
	s.reportStuck(r, "it ignores the end of its context after Options.RunTimeout")
}

// reportStuck logs a run that does not return although it should.
func (s *session) reportStuck(r *run, why string) { s.logRun(r, slog.LevelError, "is stuck", why) }

// logRun logs what a run does, with the stack of its goroutine.
func (s *session) logRun(r *run, level slog.Level, does, why string) {
	message := "run " + does
	if r.worker.maps.Kind != "" {
		message = "call of Map " + does
	}
	attrs := append(r.item.Key.attrs(r.worker.kind), slog.Duration("age", time.Since(r.begun)), slog.String("reason", why))
	attrs = append(attrs, runOf(r.item).causeAttrs()...)
	attrs = append(attrs, slog.String("stack", stackOf(r.worker.goroutine.Load())))
	s.opts.Logger.LogAttrs(context.WithoutCancel(r), level, message, attrs...)
}

// abandon logs the runs that have not returned after the stop, and returns an error that names them.
func (s *session) abandon(runs []*run) error {
	return fmt.Errorf("%s: %s", notReturned(len(runs), "run", "runs"), s.abandonEach(runs))
}

// notReturned says that a number of runs or calls have not returned after the stop.
func notReturned(n int, one, many string) string {
	if n == 1 {
		return fmt.Sprintf("1 %s has not returned %v after the end of its context", one, stuckAfter)
	}
	return fmt.Sprintf("%d %s have not returned %v after the end of their context", n, many, stuckAfter)
}

// abandonEach logs runs that have not returned after the stop, and returns their names.
func (s *session) abandonEach(runs []*run) string {
	var names []string
	for _, r := range runs {
		s.reportStuck(r, "the controller has stopped")
		name := r.item.Key.String()
		if kind := r.worker.maps; kind.Kind != "" {
			name = kind.String() + " " + name
		}
		names = append(names, name)
	}
	slices.Sort(names)
	more := ""
	if len(names) > maxNamed {
		names, more = names[:maxNamed], ", …"
	}
	return strings.Join(names, ", ") + more
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
