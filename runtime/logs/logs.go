// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"context"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"sync"
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
	// logs of pods and containers that start later are also read, from their start: Previous, Since, SinceTime and
	// TailLines do not apply to them. LimitBytes counts the text and the line breaks of each log, but no times, and cuts
	// the last line. Default: the existing lines of all containers.
	Log request.LogOptions

	// MaxLogs is the maximum number of logs that are read at the same time. If there are more, OnError is called once for
	// each of the others. With Follow, these start when another log ends, with the lines that Log.TailLines selects at that
	// time; otherwise they are not read. Default: 100.
	MaxLogs int

	// OnError is called when a log can't be read to its end, or not yet because of MaxLogs; the others continue. It is
	// called by several goroutines. Default: the first such error ends the sequence.
	OnError func(pod core.ObjectRef, container string, err error)
}

// Merge yields the lines that the containers of many pods have written, ordered by time. With Follow it continues until
// the context ends. The oldest line then waits for at most a quarter of a second in case an older line of another log
// arrives. It does not wait while 256 lines of a log have arrived, if the logs without lines have been quiet for that
// time. A log whose connection breaks, also that of the API server to the node, is resumed where it broke off,
// unless the node has rotated that line away, see [pod.API.Logs], or the container has restarted. Previous logs are
// read once.
//
// The scope is the API's namespace, or all namespaces for [client.ClusterWide]. Following requires permission to list
// and watch pods.
//
// The log of a pod that leaves the selection is read until its connection ends; if the pod returns, its log continues
// after the last line.
//
// Without Follow, the sequence is empty if no pod is selected or no container has started; with Follow, it waits for
// them. Neither is an error. A program that reads the logs of a pod by its name gets the pod first.
//
// Errors: as [pod.API.Logs]; the context's cause. A pod that is deleted only ends its log. Errors of the watch for pods
// are logged as warnings to [slog.Default] if the watch recovers from them.
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

// collect returns the error that ends the sequence, or nil after the last line or if the consumer stops.
func collect(ctx context.Context, pods *client.API[corev1.Pod], o *Options, yield func(pod.LogLine, error) bool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c := &logCollector{pods: pods, opts: *o, merge: newLogMerge(-1), found: map[core.ObjectRef]*podLogs{}}
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

	mu      sync.Mutex // guards the fields below
	found   map[core.ObjectRef]*podLogs
	left    []core.ObjectRef // the found pods that are no longer selected, in the order in which they have left
	waiting []*logRun        // the logs that wait because of MaxLogs, in order
	reading int              // the number of readers
	paused  int              // the number of readers that wait for the end of their container
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
				return
			}
			slog.Warn("watch error", slog.String("resource", c.pods.Resource().String()), slog.Any("err", err))
		},
	}
	for ev, err := range watcher.Watch[corev1.Pod](watching, c.pods.Feed(), config) {
		switch {
		case err != nil:
			return err
		case ev.Type == core.Deleted:
			c.leave(ev.Object)
		case ev.Type != core.Bookmark:
			c.join(ctx, ev.Object, false)
		}
	}
	return nil
}

// problem reports a log that can't be read. It is called without the mutex.
func (c *logCollector) problem(run *logRun, err error) {
	if c.opts.OnError != nil {
		c.opts.OnError(run.pod, run.container, err)
		return
	}
	c.merge.fail(fmt.Errorf("container %s of pod %s: %w", run.container, run.pod, err))
}
