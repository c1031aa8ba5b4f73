// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/client/pod"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/runtime/internal/apierr"
	"github.com/kube-go/sdk/runtime/watcher"
)

// Options are the options of [Merge]. The zero value of a field is its default.
type Options struct {
	// LabelSelector and FieldSelector select the pods. Default: all pods.
	LabelSelector string
	FieldSelector string

	// Log has the options of each log. If Container is set, only the containers of that name are read. With Follow, the
	// logs of pods and containers that start later are also read, from their start: Previous, Since, SinceTime and
	// TailLines do not apply to them. Default: the existing lines of all containers.
	Log request.LogOptions

	// MaxLogs is the maximum number of logs that are read at the same time. If there are more, OnError is called. Default:
	// 100.
	MaxLogs int

	// OnError is called when a log can't be read to its end; the others continue. It is called by several goroutines.
	// Default: the first such error ends the sequence.
	OnError func(pod core.ObjectRef, container string, err error)
}

// Merge yields the lines that the containers of many pods have written, ordered by time. With Follow it continues until
// the context ends. It then holds a line back for at most a quarter of a second in case an older line of another log
// arrives. A log whose connection breaks, also that of the API server to the node, is resumed where it broke off,
// unless the node has rotated that line away, see [pod.API.Logs], or the container has restarted. Previous logs are
// read once.
//
// The scope is the API's namespace, or all namespaces for [client.ClusterWide]. Following requires permission to list
// and watch pods.
//
// Errors: as [pod.API.Logs]; the context's cause. A pod that is deleted only ends its log.
func Merge(ctx context.Context, pods *client.API[corev1.Pod], o *Options) iter.Seq2[pod.LogLine, error] {
	var opts Options
	if o != nil {
		opts = *o
	}
	return func(yield func(pod.LogLine, error) bool) {
		var err error
		if opts.MaxLogs < 0 {
			err = &request.InvalidError{Field: "logs.Options.MaxLogs", Detail: "is negative: use 0 for the default"}
		} else {
			err = collect(ctx, pods, &opts, yield)
		}
		if err != nil {
			t := request.Target{Resource: pods.Resource(), Namespace: pods.Namespace()}
			yield(pod.LogLine{}, client.WrapError("logs", t, err))
		}
	}
}

// collect returns the error that ends the sequence, or nil when there are no more lines or the consumer stops.
func collect(ctx context.Context, pods *client.API[corev1.Pod], o *Options, yield func(pod.LogLine, error) bool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c := &logCollector{
		pods: pods, opts: *o, started: map[logKey]bool{}, latest: map[logKey]*logRun{}, merge: newLogMerge(-1),
	}
	if c.opts.MaxLogs == 0 {
		c.opts.MaxLogs = 100
	}
	if o.Log.Follow {
		c.merge.grace = mergeGrace
	}
	c.merge.setOpen(true)
	stop := context.AfterFunc(ctx, func() { c.merge.stop(context.Cause(ctx)) })
	defer stop()
	c.running.Go(func() {
		defer c.merge.setOpen(false)
		if err := c.find(ctx); err != nil {
			c.merge.fail(err)
		}
	})
	defer c.running.Wait()
	defer cancel(nil) // before the wait
	for {
		line, err := c.merge.next()
		switch {
		case err == io.EOF:
			return context.Cause(ctx) // the context also ends the reading of all logs, perhaps before the merge is notified
		case err != nil:
			return err
		}
		if !o.Log.Timestamps {
			line.Time = time.Time{}
		}
		if !yield(line, nil) {
			return nil
		}
	}
}

// logCollector reads the logs of many containers.
type logCollector struct {
	pods    *client.API[corev1.Pod]
	opts    Options
	merge   *logMerge
	running sync.WaitGroup
	reading atomic.Int64 // the number of logs

	started map[logKey]bool    // used only by the goroutine that finds pods, as is latest
	latest  map[logKey]*logRun // of each container; the keys have no number
}

// logKey is one run of one container.
type logKey struct {
	pod                    core.ObjectRef
	uid, container, number string
}

// logRun is a run of a container whose log is read. A log is opened by the name of the container, and the node sends
// that of the current run. So a log that was resumed may be that of a later run.
type logRun struct {
	after    *logRun       // an earlier run whose reader may read the log of this run; or nil
	position logPosition   // of its reader, and then of the next run's
	ended    chan struct{} // closed when the reader ends
	id       string        // of the container
	stopped  chan struct{} // closed by stop
	stop     func()        // records that the container has ended

	mu      sync.Mutex // guards the fields below
	resumed bool       // the log may be that of a later run
	over    bool       // a later run is known
}

// resume reports whether the reader should open the log again, which it should not if a later run is known.
func (r *logRun) resume() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.resumed = r.resumed || !r.over
	return !r.over
}

// finish records that a later run is known. It reports whether the reader may read the log of that run.
func (r *logRun) finish() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	return r.resumed
}

// mayBeLater reports whether the log may be that of a later run.
func (r *logRun) mayBeLater() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.resumed
}

// find starts reading the logs of the existing pods and, with Follow, of pods that are created later.
func (c *logCollector) find(ctx context.Context) error {
	o := &request.ListOptions{LabelSelector: c.opts.LabelSelector, FieldSelector: c.opts.FieldSelector}
	for pod, err := range c.pods.All(ctx, o) {
		if err != nil {
			return err
		}
		c.join(ctx, pod, true)
	}
	if !c.opts.Log.Follow {
		return nil
	}
	watching, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	config := &watcher.WatchOptions{
		LabelSelector: c.opts.LabelSelector, FieldSelector: c.opts.FieldSelector,
		OnError: func(err error) {
			if apierr.Fatal(err) {
				stop(err)
			}
		},
	}
	for ev, err := range watcher.Watch[corev1.Pod](watching, c.pods.Feed(), config) {
		switch {
		case err != nil:
			return err
		case ev.Type == core.Deleted:
			c.forget(ev.Object)
		case ev.Type != core.Bookmark:
			c.join(ctx, ev.Object, false)
		}
	}
	return nil
}

// join starts reading the logs of the containers that have started since the last call.
func (c *logCollector) join(ctx context.Context, pod *corev1.Pod, first bool) {
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses, pod.Status.EphemeralContainerStatuses) {
		if status.ContainerID == "" || c.opts.Log.Container != "" && c.opts.Log.Container != status.Name {
			continue
		}
		key := logKey{core.RefOf(pod), string(pod.UID), status.Name, status.ContainerID}
		if c.started[key] {
			c.note(key, &status)
			continue
		}
		c.started[key] = true
		if c.reading.Load() >= int64(c.opts.MaxLogs) {
			c.problem(key, fmt.Errorf("there are more than %d logs: select fewer pods, or raise MaxLogs", c.opts.MaxLogs))
			continue
		}
		o := c.opts.Log
		o.Container, o.Timestamps = status.Name, true
		if !first {
			o.Previous, o.Since, o.SinceTime, o.TailLines = false, 0, time.Time{}, nil // from its start
		}
		run := c.begin(key)
		c.note(key, &status)
		source := c.merge.add()
		c.reading.Add(1)
		c.running.Go(func() {
			if o.Follow { // otherwise the limit would depend on the speed of the reads
				defer c.reading.Add(-1)
			}
			defer close(run.ended)
			defer source.close()
			if err := c.read(ctx, key, run, o, source); err != nil && ctx.Err() == nil && !errors.Is(err, core.ErrNotFound) {
				c.problem(key, err)
			}
			if !run.mayBeLater() {
				run.position = logPosition{} // no other reader continues there
			}
		})
	}
}

// begin returns the run of a key, which is now the latest one of its container.
func (c *logCollector) begin(key logKey) *logRun {
	run := &logRun{id: key.number, ended: make(chan struct{}), stopped: make(chan struct{})}
	run.stop = sync.OnceFunc(func() { close(run.stopped) })
	key.number = ""
	if last := c.latest[key]; last != nil {
		last.stop()
		if last.finish() {
			run.after, run.resumed = last, true
		}
	}
	c.latest[key] = run
	return run
}

// note records the end of the container of a run.
func (c *logCollector) note(key logKey, status *corev1.ContainerStatus) {
	key.number = ""
	if run := c.latest[key]; run != nil && run.id == status.ContainerID && status.State.Running == nil {
		run.stop()
	}
}

// forget removes the containers of a deleted pod.
func (c *logCollector) forget(pod *corev1.Pod) {
	maps.DeleteFunc(c.started, func(key logKey, _ bool) bool { return key.uid == string(pod.UID) })
	maps.DeleteFunc(c.latest, func(key logKey, run *logRun) bool {
		if key.uid != string(pod.UID) {
			return false
		}
		run.stop()
		return true
	})
}

// problem reports a log that can't be read.
func (c *logCollector) problem(key logKey, err error) {
	if c.opts.OnError != nil {
		c.opts.OnError(key.pod, key.container, err)
		return
	}
	c.merge.fail(fmt.Errorf("container %s of pod %s: %w", key.container, key.pod, err))
}

// resumeTries is the maximum number of consecutive times that a followed log is resumed without a new line or a request
// that lasts for quietTime. Such a request is that of a quiet container, unless it has failed more than once.
const (
	resumeTries = 10
	quietTime   = time.Minute
)

// statusDelay is how long after the end of a log the end of its container is usually known.
const statusDelay = 2 * time.Second

// errUnwanted is the error of a log of which the consumer wants no more lines.
var errUnwanted = errors.New("no more lines are wanted")

// read reads the log of one run to its end. If the reader of an earlier run may read the same log, read continues where
// that reader ends, so that no line is read twice. A followed log of a container that still runs has not ended: API
// servers also end the response if their connection to the node breaks, and nodes end each connection after four hours.
func (c *logCollector) read(
	ctx context.Context,
	key logKey,
	run *logRun,
	o request.LogOptions,
	source *logSource,
) error {
	if run.after != nil {
		select {
		case <-run.after.ended:
		case <-ctx.Done():
			return nil
		}
		run.position, run.after = run.after.position, nil
		o.SinceTime = run.position.since()
	}
	start, first := time.Now(), o
	followed := false // a request has shown that the log had no lines at first
	for tries := 0; ; tries++ {
		before, begun := run.position.newest, time.Now()
		err := c.readOnce(ctx, key, &o, source, &run.position)
		_, repeated := errors.AsType[*middleware.RetryError](err)
		quiet := !repeated && time.Since(begun) >= quietTime
		followed = followed || err == nil || quiet
		if quiet || run.position.newest.After(before) {
			tries = 0
		}
		switch {
		case errors.Is(err, errUnwanted):
			return nil
		case !o.Follow || o.Previous || ctx.Err() != nil: // a previous log is complete
			return err
		case err == nil && (o.LimitBytes > 0 || tries >= resumeTries):
			return nil
		case err == nil:
		case errors.Is(err, core.ErrBadRequest) && run.mayBeLater():
			return nil // the container is about to start again, and that run gets a reader of its own
		case errors.Is(err, core.ErrNotFound) && tries < resumeTries: // a kubelet that starts does not know its pods yet
		case !core.IsRetryable(err) || tries >= resumeTries:
			return err
		}
		if !c.pause(ctx, run, err == nil || errors.Is(err, core.ErrNotFound)) {
			return nil
		}
		if run.position.newest.IsZero() {
			o = unread(first, start, followed)
		} else {
			o.SinceTime, o.Since, o.TailLines = run.position.since(), 0, nil
		}
	}
}

// unread returns the options that resume a log of which no line was read. They select the lines that the first request
// at the time start selected, and the later ones. The parameter o has the options of that request. Followed is true if
// the log had no such lines before. Since is used because the clock of the node may differ. Up to two seconds are
// added, because the resolution is a second and a request takes some time.
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

// pause waits before a log is resumed, and reports whether to resume it. A log that has ended without an error, or was
// not found, waits for the end of its container. It does not count for MaxLogs meanwhile, since the next run of the
// container may begin.
func (c *logCollector) pause(ctx context.Context, run *logRun, ended bool) bool {
	var stopped <-chan struct{}
	delay := time.Second
	if ended {
		stopped, delay = run.stopped, statusDelay
		c.reading.Add(-1)
		defer c.reading.Add(1)
	}
	select {
	case <-time.After(delay):
	case <-stopped:
		return false
	case <-ctx.Done():
	}
	return run.resume()
}

// readOnce reads a log from a position until its end or a failure.
func (c *logCollector) readOnce(
	ctx context.Context,
	key logKey,
	o *request.LogOptions,
	source *logSource,
	position *logPosition,
) error {
	repeats := position.repeats()
	at := position.newest
	for line, err := range pod.In(c.pods.Client(), key.pod.Namespace).LogLines(ctx, key.pod.Name, o) {
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
		line.Pod, line.Container = key.pod, key.container
		if !source.push(line) {
			return errUnwanted
		}
	}
	return nil
}
