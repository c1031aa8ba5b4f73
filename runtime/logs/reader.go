// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"context"
	"errors"
	"time"

	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/client/pod"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
)

// resumeTries is the maximum number of consecutive times that a followed log is resumed without a new line or a request
// that lasts for quietTime. Such a request is that of a quiet container, unless it has failed more than once.
const (
	resumeTries = 10
	quietTime   = time.Minute
)

// statusDelay is how long after the end of a log the end of its container is usually known.
const statusDelay = 2 * time.Second

// errUnwanted is the error of a log of which the consumer or the options want no more lines.
var errUnwanted = errors.New("no more lines are wanted")

// read reads the log of a run from its position to its end. It reports whether the reading was interrupted because the
// log must not be opened now. A followed log of a container that still runs has not ended: API servers also end the
// response if their connection to the node breaks, and nodes end each connection after four hours.
func (c *logCollector) read(ctx context.Context, run *logRun, source *logSource) (interrupted bool, err error) {
	for ; ; run.tries++ {
		o := run.request()
		before, begun := run.position.newest, time.Now()
		err := c.readOnce(ctx, run, &o, source)
		_, repeated := errors.AsType[*middleware.RetryError](err)
		quiet := !repeated && time.Since(begun) >= quietTime
		run.followed = run.followed || err == nil || quiet
		if quiet || run.position.newest.After(before) {
			run.tries = 0
		}
		switch {
		case errors.Is(err, errUnwanted):
			return false, nil
		case !o.Follow || o.Previous || ctx.Err() != nil: // a previous log is complete
			return false, err
		case err == nil && run.tries >= resumeTries:
			return false, nil
		case err == nil:
		case errors.Is(err, core.ErrBadRequest) && !run.resumed.IsZero():
			return false, nil // the container is about to start again, and that run gets a reader of its own
		case errors.Is(err, core.ErrNotFound) && run.tries < resumeTries: // a kubelet that starts does not know its pods yet
		case !core.IsRetryable(err) || run.tries >= resumeTries:
			return false, err
		}
		if c.stops(ctx, run, err == nil || errors.Is(err, core.ErrNotFound)) {
			return false, nil
		}
		if !c.resume(run) {
			return true, nil
		}
	}
}

// stops waits before a log is resumed, and reports whether its container stops meanwhile. A log that has ended without
// an error, or was not found, waits for the end of its container. It makes room for another log meanwhile, unless logs
// wait, since the next run of the container may begin.
func (c *logCollector) stops(ctx context.Context, run *logRun, ended bool) bool {
	var stopped <-chan struct{}
	delay := time.Second
	if ended {
		stopped, delay = run.stopped, statusDelay
		c.pause(1)
		defer c.pause(-1)
	}
	select {
	case <-time.After(delay):
		return false
	case <-stopped:
		return true
	case <-ctx.Done():
		return true
	}
}

// request returns the options of the next request for the log.
func (r *logRun) request() request.LogOptions {
	o := r.options
	switch {
	case !r.position.newest.IsZero():
		o.SinceTime, o.Since, o.TailLines = r.position.since(), 0, nil
	case !r.resumed.IsZero():
		o = unread(o, r.found, r.followed)
	}
	return o
}

// count counts the bytes of a line, and cuts it at the limit. It reports whether the limit is reached.
func (r *logRun) count(line *pod.LogLine) (full bool) {
	if r.limit <= 0 {
		return false
	}
	if left := r.limit - r.bytes; int64(len(line.Text)) >= left {
		line.Text, line.Partial = line.Text[:left], false
		return true
	}
	r.bytes += int64(len(line.Text))
	if !line.Partial {
		r.bytes++
	}
	return r.bytes == r.limit
}

// unread returns the options that resume a log of which no line was read. They select the lines that the first request
// at the time start selected, and the later ones; but TailLines selects the last lines before the new request. The
// parameter o has the options of that request. Followed is true if the log had no such lines before. Since is used
// because the clock of the node may differ. Up to two seconds are added, because the resolution is a second and a
// request takes some time.
func unread(o request.LogOptions, start time.Time, followed bool) request.LogOptions {
	age := time.Since(start).Truncate(time.Second) + 2*time.Second
	switch {
	case o.TailLines != nil && (followed || *o.TailLines == 0):
		o.TailLines = nil
		if !o.SinceTime.After(start) {
			o.SinceTime, o.Since = time.Time{}, age
		}
	case o.Since > 0:
		o.Since += age
	}
	return o
}

// readOnce reads a log from a position until its end or a failure.
func (c *logCollector) readOnce(
	ctx context.Context,
	run *logRun,
	o *request.LogOptions,
	source *logSource,
) error {
	position := &run.position
	repeats := position.repeats()
	at := position.newest
	for line, err := range pod.In(c.pods.Client(), run.pod.Namespace).LogLines(ctx, run.pod.Name, o) {
		switch {
		case err != nil:
			return err
		case line.Time.IsZero():
			line.Time = at // a message of the node about the line before
		case repeats(line.Time):
			continue
		default:
			at = line.Time
			position.add(at)
		}
		line.Pod, line.Container = run.pod, run.container
		full := run.count(&line)
		if !source.push(line) || full {
			return errUnwanted
		}
	}
	return nil
}
