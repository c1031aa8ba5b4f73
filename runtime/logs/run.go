// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
)

// podLogs are the logs of the pods of one name: logs are opened by the names of the pod and the container.
type podLogs struct {
	uid     types.UID          // of the last pod
	started map[string]bool    // the IDs of the containers of that pod that have been found
	latest  map[string]*logRun // by the name of the container
	left    bool               // the pod is deleted or no longer selected, which the watch does not distinguish
}

// maxLeft is the number of pods that are remembered after they have left the selection. If a remembered pod returns,
// its logs continue. A busy log needs up to 768 KiB for the times of its last lines.
const maxLeft = 1000

// lateWatch is the time within which the watch is assumed to report a new pod, even if its connection has to be replaced.
const lateWatch = 10 * time.Minute

// runState is the state of a [logRun].
type runState int

const (
	idle    runState = iota // not started, or interrupted
	queued                  // waits because of MaxLogs
	chained                 // waits for the end of the reader of an earlier run
	reading                 // has a reader
	done                    // read to its end or failed
)

// logRun is a run of a container whose log is read. A log is opened by name, and the node sends that of the current
// run. So a log that is opened late, or again, may be that of a later run, also of the next pod of that name.
type logRun struct {
	pod       core.ObjectRef
	uid       types.UID
	container string
	id        string             // of the container
	options   request.LogOptions // of the first request, as valid when the run was found
	limit     int64              // the maximum number of bytes; no limit if it is zero
	found     time.Time          // when the options were valid
	stopped   chan struct{}      // closed by stop
	stop      func()             // records that the container has ended

	// Used by the reader; without a reader, the mutex of the collector guards them.
	position logPosition
	bytes    int64     // of the lines that were read, with line breaks
	tries    int       // the number of requests since the log has made progress
	followed bool      // a request has shown that the log had no lines at first
	resumed  time.Time // when the log was last opened late or again; the reader sets it with the mutex

	// The mutex of the collector guards the fields below.
	state runState
	over  bool    // a later run is known, so the log must not be opened again
	left  bool    // its pod has left the selection, so the log must not be opened until it returns
	next  *logRun // the run that is chained to this one
}

func newRun(pod *corev1.Pod, container, id string, o request.LogOptions) *logRun {
	r := &logRun{
		pod: core.RefOf(pod), uid: pod.UID, container: container, id: id, options: o, limit: o.LimitBytes,
		found: time.Now(), stopped: make(chan struct{}),
	}
	r.options.Container, r.options.Timestamps = container, true
	r.options.LimitBytes = min(o.LimitBytes, 0) // nodes would count the times; a negative number remains an error
	r.stop = sync.OnceFunc(func() { close(r.stopped) })
	return r
}

// mayBeRead reports whether the reader may have read the log of a later run. The time is limited for another pod: its
// node may have another clock, and lines that seem older than the position are skipped.
func (r *logRun) mayBeRead(later *logRun) bool {
	return !r.resumed.IsZero() && (r.uid == later.uid || time.Since(r.resumed) < lateWatch)
}

// follow continues the log of an earlier run without a reader, if that may have read the log of this one.
func (r *logRun) follow(earlier *logRun) {
	if earlier.mayBeRead(r) {
		r.position, r.resumed = earlier.position, earlier.resumed
	}
	earlier.position, earlier.next = logPosition{}, nil
	r.state = idle
}

// join starts reading the logs of the containers that have started since the last call.
func (c *logCollector) join(ctx context.Context, pod *corev1.Pod, first bool) {
	for _, run := range c.joined(ctx, pod, first) {
		c.problem(run, fmt.Errorf("there are more than %d logs: select fewer pods, or raise MaxLogs", c.opts.MaxLogs))
	}
}

// joined does the work of join, and returns the runs that do not fit.
func (c *logCollector) joined(ctx context.Context, pod *corev1.Pod, first bool) (excess []*logRun) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.enter(pod)
	all := &pod.Status
	for _, s := range slices.Concat(all.InitContainerStatuses, all.ContainerStatuses, all.EphemeralContainerStatuses) {
		if s.ContainerID == "" || c.opts.Log.Container != "" && c.opts.Log.Container != s.Name {
			continue
		}
		run := p.latest[s.Name]
		switch {
		case !p.started[s.ContainerID]:
			p.started[s.ContainerID] = true
			o := c.opts.Log
			if !first {
				o.Previous, o.Since, o.SinceTime, o.TailLines = false, 0, time.Time{}, nil // from its start
			}
			run = newRun(pod, s.Name, s.ContainerID, o)
			if !c.begin(ctx, p, run) {
				excess = append(excess, run)
			}
		case run == nil || run.id != s.ContainerID: // an earlier run
			continue
		case run.left:
			run.left = false
			if run.state == idle && !c.start(ctx, run, true) {
				excess = append(excess, run)
			}
		}
		if s.State.Running == nil {
			run.stop()
		}
	}
	return excess
}

// enter returns the logs of a pod that is selected.
func (c *logCollector) enter(pod *corev1.Pod) *podLogs {
	ref := core.RefOf(pod)
	p := c.found[ref]
	if p == nil {
		p = &podLogs{latest: map[string]*logRun{}}
		c.found[ref] = p
	}
	if p.left {
		p.left = false
		c.left = slices.DeleteFunc(c.left, func(other core.ObjectRef) bool { return other == ref })
	}
	if p.uid != pod.UID {
		p.uid, p.started = pod.UID, map[string]bool{}
		for _, run := range p.latest {
			c.finish(run)
		}
	}
	return p
}

// leave handles a pod that is deleted or no longer selected. Its logs are read to the end of their connections, since
// the last lines may still arrive, but are not opened again.
func (c *logCollector) leave(pod *corev1.Pod) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ref := core.RefOf(pod)
	p := c.found[ref]
	if p == nil || p.uid != pod.UID || p.left {
		return
	}
	p.left = true
	for _, run := range p.latest {
		run.left = true
		c.unqueue(run)
	}
	if c.left = append(c.left, ref); len(c.left) <= maxLeft {
		return
	}
	if i := slices.IndexFunc(c.left, func(ref core.ObjectRef) bool { return c.found[ref].unread() }); i >= 0 {
		delete(c.found, c.left[i])
		c.left = slices.Delete(c.left, i, i+1)
	}
}

// unread reports whether no log has a reader.
func (p *podLogs) unread() bool {
	for _, run := range p.latest {
		if run.state == reading || run.state == chained {
			return false
		}
	}
	return true
}

// begin starts a run, which is now the latest one of its container. It returns false if the limit is reached.
func (c *logCollector) begin(ctx context.Context, p *podLogs, run *logRun) bool {
	last := p.latest[run.container]
	p.latest[run.container] = run
	if last == nil {
		return c.start(ctx, run, false)
	}
	if i := slices.Index(c.waiting, last); i >= 0 { // the run takes its place
		c.waiting[i], run.state, last.state = run, queued, idle
		c.finish(last)
		return true
	}
	c.finish(last)
	switch {
	case last.state == chained || last.state == reading && (last.mayBeRead(run) || len(c.waiting) > 0):
		last.next, run.state = run, chained // it gets the room of the last run, before those that wait
		return true
	case last.mayBeRead(run):
		run.follow(last)
		return c.start(ctx, run, true)
	}
	return c.start(ctx, run, false)
}

// finish records that a later run than the given one is known.
func (c *logCollector) finish(run *logRun) {
	run.over = true
	run.stop()
	c.unqueue(run)
}

// unqueue removes a run from those that wait because of MaxLogs.
func (c *logCollector) unqueue(run *logRun) {
	if run.state == queued {
		run.state = idle
		c.waiting = slices.DeleteFunc(c.waiting, func(other *logRun) bool { return other == run })
	}
}

// start starts the reader of a run, or returns false if the limit is reached. With Follow, the run then waits for room.
// Late is true if the log was opened before, or could not be opened when the run was found. A reader that waits for the
// end of its container makes room for a new log, which may be that of its next run. It makes no room for logs that wait
// already, because it usually continues.
func (c *logCollector) start(ctx context.Context, run *logRun, late bool) bool {
	if len(c.waiting) == 0 && c.reading-c.paused < c.opts.MaxLogs {
		c.reading++
		c.launch(ctx, run, late)
		return true
	}
	run.state = done
	if c.opts.Log.Follow {
		run.state = queued
		c.waiting = append(c.waiting, run)
	}
	return false
}

// launch runs the reader of a run, which is counted already.
func (c *logCollector) launch(ctx context.Context, run *logRun, late bool) {
	run.state = reading
	if late {
		run.resumed = time.Now()
	}
	source := c.merge.add()
	c.running.Go(func() {
		interrupted, err := c.read(ctx, run, source)
		if err != nil && ctx.Err() == nil && !errors.Is(err, core.ErrNotFound) {
			c.problem(run, err)
		}
		source.close() // after the report, since the sequence may end now
		c.end(ctx, run, interrupted)
	})
}

// end handles the end of a reader. Without Follow, its log counts for MaxLogs until the end of the sequence, because
// the limit would otherwise depend on the speed of the reads.
func (c *logCollector) end(ctx context.Context, run *logRun, interrupted bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	run.state = done
	if interrupted {
		run.state = idle
	}
	if run.state == done && run.resumed.IsZero() {
		run.position = logPosition{} // no other reader continues there
	}
	run.position.compact()
	next := run
	for next.next != nil {
		earlier := next
		next = earlier.next
		next.follow(earlier)
	}
	switch {
	case !c.opts.Log.Follow:
		return
	case next.state == idle && !next.over && !next.left && ctx.Err() == nil:
		c.launch(ctx, next, true)
		return
	}
	c.reading--
	for len(c.waiting) > 0 && c.reading < c.opts.MaxLogs && ctx.Err() == nil {
		run, c.waiting = c.waiting[0], c.waiting[1:]
		c.reading++
		c.launch(ctx, run, true)
	}
}

// resume reports whether a reader should open its log again.
func (c *logCollector) resume(run *logRun) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if run.over || run.left {
		return false
	}
	run.resumed = time.Now()
	return true
}

// pause changes the number of paused readers.
func (c *logCollector) pause(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paused += n
}
