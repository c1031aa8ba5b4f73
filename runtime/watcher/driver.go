// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
)

// The time without any data from the server after which a request is cancelled.
const (
	// For a paged list. The server's own timeout is one minute, see --request-timeout of
	// https://kubernetes.io/docs/reference/command-line-tools-reference/kube-apiserver/.
	pageSilence = 2 * time.Minute

	// For a streaming list. A busy server may queue the request for up to a quarter of its one-minute timeout.
	streamSilence = 20 * time.Second

	// For a watch, after the time at which the server should have ended it.
	watchSilence = 10 * time.Second
)

// errBreak reports to the source that the consumer has left its loop.
var errBreak = errors.New("break")

// driver sends the requests of a sequence, in the goroutine of its consumer.
type driver struct {
	src   Source
	opts  Options
	yield func(Event, error) bool
	state state
}

// run returns the reason why it ended, or nil if the consumer has left its loop.
func (d *driver) run(ctx context.Context) error {
	for {
		out, err := d.request(ctx)
		switch {
		case err == errBreak:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return err
		}
		if err := pause(ctx, max(jitter(out.delay), out.atLeast)); err != nil {
			return err
		}
	}
}

// request sends the request of the current phase, and reads the response to its end.
func (d *driver) request(parent context.Context) (output, error) {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	w := watchdog{ctx: ctx, cancel: cancel}
	defer w.pause()
	if d.state.phase == paging {
		return d.list(ctx, parent, &w)
	}
	return d.watch(ctx, parent, &w)
}

// list reads one page.
func (d *driver) list(ctx, parent context.Context, w *watchdog) (output, error) {
	w.allow(pageSilence)
	var stop error // why each stopped reading
	meta, err := d.src.List(ctx, d.listOptions(), func(p wire.Packed) error {
		w.pause()
		if parent.Err() != nil {
			stop = context.Cause(parent)
		} else {
			_, stop = d.object(gotObject, p)
		}
		w.allow(pageSilence)
		return stop
	})
	w.pause()
	switch {
	case stop != nil:
		return output{}, stop
	case parent.Err() != nil:
		return output{}, context.Cause(parent)
	case err != nil:
		return d.over(d.ending(w, err))
	}
	in := input{kind: gotPage, rv: meta.ResourceVersion, token: meta.Continue, now: time.Now()}
	return d.take(in, versionEvent(in.rv))
}

func (d *driver) listOptions() *request.ListOptions {
	o := &request.ListOptions{
		LabelSelector: d.opts.LabelSelector,
		FieldSelector: d.opts.FieldSelector,
		Limit:         d.opts.PageSize,
		Continue:      d.state.token,
	}
	if d.state.whole {
		o.Limit = 0
	}
	return o
}

// watch reads one watch, which may begin with a streaming list.
func (d *driver) watch(ctx, parent context.Context, w *watchdog) (output, error) {
	o := d.watchOptions()
	start := time.Now()
	w.allow(d.silence(o))
	for ev, err := range d.src.Watch(ctx, o) {
		w.pause()
		if parent.Err() != nil {
			return output{}, context.Cause(parent)
		}
		if err != nil {
			in := d.ending(w, err)
			in.lived = in.now.Sub(start)
			return d.over(in)
		}
		out, err := d.event(ev)
		if out.done || err != nil {
			return out, err
		}
		w.allow(d.silence(o))
	}
	w.pause()
	if parent.Err() != nil {
		return output{}, context.Cause(parent)
	}
	in := d.ending(w, nil)
	in.lived = in.now.Sub(start)
	return d.over(in)
}

func (d *driver) watchOptions() *request.WatchOptions {
	o := &request.WatchOptions{
		LabelSelector: d.opts.LabelSelector,
		FieldSelector: d.opts.FieldSelector,
		Timeout:       d.opts.Timeout,
	}
	if o.Timeout == 0 {
		o.Timeout = 5*time.Minute + rand.N[time.Duration](300)*time.Second
	}
	if d.state.phase == streaming {
		o.SendInitialEvents = true
	} else {
		o.ResourceVersion = d.state.rv
	}
	return o
}

func (d *driver) silence(o *request.WatchOptions) time.Duration {
	if d.state.phase == streaming {
		return streamSilence
	}
	return o.Timeout + watchSilence
}

// event handles an event of a watch.
func (d *driver) event(ev wire.Event) (output, error) {
	switch ev.Type {
	case core.Added, core.Modified:
		return d.object(gotObject, ev.Object)
	case core.Deleted:
		return d.object(gotDelete, ev.Object)
	case core.Bookmark:
		meta, err := ev.Object.Metadata()
		if err != nil {
			d.trouble(fmt.Errorf("bookmark of %s: %w", d.src.Resource(), err))
			return output{}, nil
		}
		in := input{kind: gotBookmark, rv: meta.ResourceVersion, now: time.Now()}
		if core.InitialEventsEnd(meta) {
			in.kind = gotStart
		}
		return d.take(in, versionEvent(in.rv))
	}
	return output{}, nil
}

// object handles an object. An object without an identity is skipped.
func (d *driver) object(kind inputKind, p wire.Packed) (output, error) {
	head, err := p.Head()
	if err == nil && head.Ref.Name == "" {
		err = errors.New("the name is empty")
	}
	if err != nil {
		d.trouble(fmt.Errorf("skip an object of %s: %w", d.src.Resource(), err))
		return output{}, nil
	}
	return d.take(input{kind: kind, rv: head.ResourceVersion}, Event{Head: head, Object: p})
}

// take runs a step and yields its event to the consumer. The state changes only if the consumer continues its loop.
func (d *driver) take(in input, ev Event) (output, error) {
	next, out := d.state.step(in)
	if out.init && !d.yield(Event{Type: Init}, nil) {
		return out, errBreak
	}
	if out.emit != 0 {
		ev.Type = out.emit
		if !d.yield(ev, nil) {
			return out, errBreak
		}
	}
	d.state = next
	if err := out.trouble; err != nil {
		if f, ok := errors.AsType[fault](err); ok {
			err = fmt.Errorf("watch %s: %w", d.src.Resource(), f)
		}
		d.trouble(err)
	}
	return out, out.fatal
}

// ending returns the input for the end of a request. The error is nil if the server ended the request normally.
func (d *driver) ending(w *watchdog, err error) input {
	in := input{kind: gotEnd, err: err, now: time.Now()}
	switch {
	case w.fired():
		in.kind = gotSilence
		in.err = fmt.Errorf("watch %s: no data from the server for %v", d.src.Resource(), w.limit)
	case err != nil:
		in.kind = gotError
	}
	return in
}

// over handles the end of a request.
func (d *driver) over(in input) (output, error) {
	return d.take(in, Event{})
}

func (d *driver) trouble(err error) { d.opts.OnError(err) }

func versionEvent(rv string) Event {
	return Event{Head: wire.Head{ResourceVersion: rv}}
}
