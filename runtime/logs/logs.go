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
	// logs of pods and containers that start later are also read, from their start. Default: the existing lines of all
	// containers.
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
// arrives. A log whose connection breaks is resumed at the line where it ended, unless the node has rotated that line
// away, see [pod.API.Logs].
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

	started map[logKey]bool // used only by the goroutine that finds pods
}

// logKey is one run of one container.
type logKey struct {
	pod                    core.ObjectRef
	uid, container, number string
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
	config := &watcher.Options{
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
			o = request.LogOptions{Container: status.Name, Timestamps: true, Follow: o.Follow}
		}
		source := c.merge.add()
		c.reading.Add(1)
		c.running.Go(func() {
			if o.Follow { // otherwise the limit would depend on the speed of the reads
				defer c.reading.Add(-1)
			}
			defer source.close()
			if err := c.read(ctx, key, o, source); err != nil && ctx.Err() == nil && !errors.Is(err, core.ErrNotFound) {
				c.problem(key, err)
			}
		})
	}
}

// forget removes the containers of a deleted pod.
func (c *logCollector) forget(pod *corev1.Pod) {
	maps.DeleteFunc(c.started, func(key logKey, _ bool) bool { return key.uid == string(pod.UID) })
}

// problem reports a log that can't be read.
func (c *logCollector) problem(key logKey, err error) {
	if c.opts.OnError != nil {
		c.opts.OnError(key.pod, key.container, err)
		return
	}
	c.merge.fail(fmt.Errorf("container %s of pod %s: %w", key.container, key.pod, err))
}

// resumeTries is the maximum number of consecutive times that a followed log is resumed without a new line.
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
			return nil
		}
	}
	return nil
}
