// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

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

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
)

// AllLogsOptions are the options of [API.AllLogs].
type AllLogsOptions struct {
	// LabelSelector and FieldSelector select the pods. Default: all of them.
	LabelSelector string
	FieldSelector string

	// Log says what is read of each log. Its Container is the one to read in each pod; default: all that have started. With
	// Follow, pods and containers that start later are read too, from their start.
	Log request.LogOptions

	// MaxLogs is how many logs are read at once. More are an error, told to OnError. Default 100.
	MaxLogs int

	// OnError is told why a log could not be read to its end; the others go on. It is called by several goroutines.
	// Default: the first such error ends the sequence.
	OnError func(pod core.ObjectRef, container string, err error)
}

// AllLogs yields what the containers of many pods have written, ordered by time. With Follow it goes on until the context
// ends; a line is then held back for a quarter of a second at most while an older one may come, so that the order is as
// good as can be. A log whose connection breaks is taken up where it was left, unless the node has rotated that part away
// meanwhile, see [API.Logs].
//
// Errors: as [API.Logs]. A pod that goes away is none: its log just ends.
func (a *API[K]) AllLogs(ctx context.Context, o *AllLogsOptions) iter.Seq2[LogLine, error] {
	var opts AllLogsOptions
	if o != nil {
		opts = *o
	}
	return func(yield func(LogLine, error) bool) {
		err := a.ready()
		if err == nil {
			err = a.only("asked for logs", "pods")
		}
		if err == nil && opts.MaxLogs < 0 {
			err = &request.InvalidError{Field: "AllLogsOptions.MaxLogs", Detail: "is negative; 0 means the default"}
		}
		if err == nil {
			err = collectLogs(ctx, podsIn(a.client, a.target.Namespace), &opts, yield)
		}
		if err != nil {
			yield(LogLine{}, wrap("logs", a.target, err))
		}
	}
}

// collectLogs returns the error that ends the sequence, nil when there is no more or the consumer wants none.
func collectLogs(ctx context.Context, pods *API[podFacts], o *AllLogsOptions, yield func(LogLine, error) bool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c := &logCollector{pods: pods, opts: *o, started: map[logKey]bool{}, merge: newLogMerge(-1)}
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
	defer cancel(nil) // before the waiting
	for {
		line, err := c.merge.next()
		switch {
		case err == io.EOF:
			return context.Cause(ctx) // which ends the reading of all logs, too, perhaps before the merge has heard of it
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
	pods    *API[podFacts]
	opts    AllLogsOptions
	merge   *logMerge
	running sync.WaitGroup
	reading atomic.Int64 // how many logs

	started map[logKey]bool // by the goroutine that finds pods
}

// logKey is one run of one container.
type logKey struct {
	pod                    core.ObjectRef
	uid, container, number string
}

// find starts reading the logs of the pods that there are, and, when it follows, of those that come.
func (c *logCollector) find(ctx context.Context) error {
	for first := true; ; first = false {
		list, err := c.pods.List(ctx, &request.ListOptions{LabelSelector: c.opts.LabelSelector, FieldSelector: c.opts.FieldSelector})
		fatal := err != nil && (first || !core.IsRetryable(err))
		if err == nil {
			c.keep(list.Items)
			for _, pod := range list.Items {
				c.join(ctx, pod, first)
			}
			if !c.opts.Log.Follow {
				return nil
			}
			err = c.watch(ctx, list.ResourceVersion)
			fatal = err != nil && !core.IsRetryable(err) && !outdated(err)
		}
		switch {
		case ctx.Err() != nil:
			return nil // which the merge knows
		case fatal:
			return unwrapped(err)
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
}

// watch joins the pods that come, until the watch ends.
func (c *logCollector) watch(ctx context.Context, resourceVersion string) error {
	for ev, err := range c.pods.Watch(ctx, &request.WatchOptions{
		LabelSelector: c.opts.LabelSelector, FieldSelector: c.opts.FieldSelector, ResourceVersion: resourceVersion,
	}) {
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

// join starts reading the containers of a pod that have started and are not read yet.
func (c *logCollector) join(ctx context.Context, pod *podFacts, first bool) {
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses, pod.Status.EphemeralContainerStatuses) {
		if status.ContainerID == "" || c.opts.Log.Container != "" && c.opts.Log.Container != status.Name {
			continue
		}
		key := logKey{core.RefOf(pod), string(pod.UID), status.Name, status.ContainerID}
		if c.started[key] {
			continue
		}
		c.started[key] = true
		if c.reading.Load() >= int64(c.opts.MaxLogs) {
			c.problem(key, fmt.Errorf("there are more than %d logs; select fewer pods, or raise AllLogsOptions.MaxLogs", c.opts.MaxLogs))
			continue
		}
		o := c.opts.Log
		o.Container, o.Timestamps = status.Name, true
		if !first {
			o = request.LogOptions{Container: status.Name, Timestamps: true, Follow: o.Follow}
		}
		source := c.merge.add()
		c.reading.Add(1)
		c.running.Go(func() {
			if o.Follow { // else it depended on how fast they are whether there are too many
				defer c.reading.Add(-1)
			}
			defer source.close()
			if err := c.read(ctx, key, o, source); err != nil && ctx.Err() == nil && !errors.Is(err, core.ErrNotFound) {
				c.problem(key, err)
			}
		})
	}
}

// forget forgets the containers of a pod that has gone.
func (c *logCollector) forget(pod *podFacts) {
	maps.DeleteFunc(c.started, func(key logKey, _ bool) bool { return key.uid == string(pod.UID) })
}

// keep forgets the containers of all other pods, which have gone while nobody watched.
func (c *logCollector) keep(pods []*podFacts) {
	there := map[string]bool{}
	for _, pod := range pods {
		there[string(pod.UID)] = true
	}
	maps.DeleteFunc(c.started, func(key logKey, _ bool) bool { return !there[key.uid] })
}

// problem tells of a log that can't be read.
func (c *logCollector) problem(key logKey, err error) {
	if c.opts.OnError != nil {
		c.opts.OnError(key.pod, key.container, err)
		return
	}
	c.merge.fail(fmt.Errorf("container %s of pod %s: %w", key.container, key.pod, err))
}

// resumeTries is how often in a row a log that is followed is taken up again without a new line.
const resumeTries = 10

// read reads one log to its end.
func (c *logCollector) read(ctx context.Context, key logKey, o request.LogOptions, source *logSource) error {
	var position logPosition
	for tries := 0; ; tries++ {
		before := position.newest
		err := c.readOnce(ctx, key, &o, source, &position)
		if err == nil || !o.Follow || ctx.Err() != nil || !core.IsRetryable(err) || tries >= resumeTries {
			return err
		}
		if position.newest.After(before) {
			tries = 0
			o.SinceTime, o.Since, o.TailLines = position.since(), 0, nil
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
}

// readOnce reads a log from a position until its end or a failure.
func (c *logCollector) readOnce(ctx context.Context, key logKey, o *request.LogOptions, source *logSource, position *logPosition) error {
	body, err := c.pods.In(key.pod.Namespace).logs(ctx, key.pod.Name, o)
	if err != nil {
		return err
	}
	defer body.Close()
	repeats := position.repeats()
	at := position.newest
	lines := newLogReader(body.ReadCloser, true)
	for {
		line, err := lines.next()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case line.Time.IsZero():
			line.Time = at // the node's word on what has just come
		case repeats(line.Time):
			continue
		default:
			at = line.Time
			position.add(at)
		}
		line.Pod, line.Container = key.pod, key.container
		if !source.push(line) {
			return nil
		}
	}
}
