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

// The time without any data from the server after which a request is canceled. state.silence has that of open watches.
const (
	// For a paged list. The server's own timeout is one minute, see --request-timeout of
	// https://kubernetes.io/docs/reference/command-line-tools-reference/kube-apiserver/.
	pageSilence = 2 * time.Minute

	// For a watch, until the server has accepted it. It is the server's own timeout of other requests, which it does not
	// apply to watches.
	openSilence = time.Minute
)

// errBreak reports to the source that the consumer has left its loop.
var errBreak = errors.New("break")

// driver sends the requests of a sequence, in the goroutine of its consumer.
type driver struct {
	src   Source
	opts  Options
	yield func(Event, error) bool
	state state
	out   output // of the last step

	fields, selector string // of the objects and of the shard that are requested

	waited time.Duration // for the current item or event

	status   Status
	reported time.Time // when OnStatus was last called
}

// run returns the reason why it ended, or nil if the consumer has left its loop.
func (d *driver) run(ctx context.Context) error {
	for {
		err := d.request(ctx)
		switch {
		case err == errBreak:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return err
		}
		if err := pause(ctx, max(jitter(d.out.delay), d.out.atLeast)); err != nil {
			return err
		}
	}
}

// request sends the request of the current phase, and reads the response to its end.
func (d *driver) request(parent context.Context) error {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	w := watchdog{ctx: ctx, cancel: cancel}
	defer w.stop()
	now := time.Now()
	if d.opts.Paged || !d.opts.Server.has(streams, d.src.Resource(), now) {
		d.state = d.state.unstreamed()
	}
	if d.opts.Window != nil {
		end := d.opts.Window.narrow.begin(d, cancel)
		if end == nil {
			return d.take(&input{kind: gotMoved, now: now}, Event{})
		}
		defer end()
	}
	d.report(d.status.request(d.state.phase, now), now)
	if d.state.phase == paging {
		return d.list(ctx, parent, &w)
	}
	return d.watch(ctx, parent, &w)
}

// list reads one page.
func (d *driver) list(ctx, parent context.Context, w *watchdog) error {
	w.allow(pageSilence)
	var stop error // why each stopped reading
	meta, err := d.src.List(ctx, d.listOptions(), func(p wire.Packed) error {
		w.pause()
		if parent.Err() != nil {
			stop = context.Cause(parent)
		} else {
			stop = d.object(gotObject, p)
		}
		w.allow(pageSilence)
		return stop
	})
	w.pause()
	switch {
	case stop != nil:
		return stop
	case parent.Err() != nil:
		return context.Cause(parent)
	case err != nil:
		return d.over(w, err)
	}
	in := &input{kind: gotPage, rv: meta.ResourceVersion, token: meta.Continue, now: time.Now()}
	return d.take(in, versionEvent(in.rv))
}

func (d *driver) listOptions() *request.ListOptions {
	o := &request.ListOptions{
		LabelSelector: d.opts.LabelSelector,
		FieldSelector: d.fields,
		ShardSelector: d.selector,
		Limit:         d.opts.PageSize,
		Continue:      d.state.token,

		OmitManagedFields: d.opts.OmitManagedFields,
	}
	if d.state.whole {
		o.Limit = 0
	}
	return o
}

// watch reads one watch, which may begin with a streaming list.
func (d *driver) watch(ctx, parent context.Context, w *watchdog) error {
	o := d.watchOptions()
	timeout := o.Timeout
	w.allow(min(d.state.silence(timeout), openSilence))
	events, err := d.src.Watch(ctx, o)
	w.pause()
	switch {
	case parent.Err() != nil:
		return context.Cause(parent)
	case err != nil:
		return d.over(w, err)
	}
	if err := d.take(&input{kind: gotOpen, now: time.Now()}, Event{}); err != nil {
		return err
	}
	w.allow(d.state.silence(timeout))
	for ev, err := range events {
		d.waited = w.pause()
		if parent.Err() != nil {
			return context.Cause(parent)
		}
		if err != nil {
			return d.over(w, err)
		}
		if err := d.event(ev); err != nil || d.out.done {
			return err
		}
		w.allow(d.state.silence(timeout))
	}
	w.pause()
	if parent.Err() != nil {
		return context.Cause(parent)
	}
	return d.over(w, nil)
}

func (d *driver) watchOptions() *request.WatchOptions {
	o := &request.WatchOptions{
		LabelSelector: d.opts.LabelSelector,
		FieldSelector: d.fields,
		ShardSelector: d.selector,
		Timeout:       d.opts.Timeout,

		OmitManagedFields: d.opts.OmitManagedFields,
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

// event handles an event of a watch.
func (d *driver) event(ev wire.Event) error {
	switch ev.Type {
	case core.Added:
		return d.object(gotObject, ev.Object)
	case core.Modified:
		return d.object(gotModified, ev.Object)
	case core.Deleted:
		return d.object(gotDelete, ev.Object)
	case core.Bookmark:
		meta, err := ev.Object.Metadata()
		if err != nil {
			d.trouble(fmt.Errorf("bookmark of %s: %w", d.src.Resource(), err))
			return nil
		}
		in := &input{kind: gotBookmark, rv: meta.ResourceVersion, now: time.Now(), waited: d.waited}
		if core.InitialEventsEnd(meta) {
			in.kind = gotStart
		}
		return d.take(in, versionEvent(in.rv))
	}
	return nil
}

// object handles an object. An object without an identity is skipped.
func (d *driver) object(kind inputKind, p wire.Packed) error {
	head, err := p.Head()
	if err == nil && head.Ref.Name == "" {
		err = errors.New("the name is empty")
	}
	if err != nil {
		d.trouble(fmt.Errorf("skip an object of %s: %w", d.src.Resource(), err))
		return nil
	}
	in := &input{kind: kind, rv: head.ResourceVersion, now: time.Now(), waited: d.waited}
	in.foreign = d.opts.Window != nil && !d.opts.Window.narrow.has(head.UID, head.Ref.Namespace)
	return d.take(in, Event{Head: head, Object: p})
}

// take runs a step and yields its event to the consumer. The state changes only if the consumer continues its loop.
func (d *driver) take(in *input, ev Event) error {
	var next state
	next, d.out = d.state.step(*in)
	if d.out.forget {
		d.opts.Server.forget()
	}
	if d.out.refused {
		d.opts.Server.refuse(streams, d.src.Resource(), in.now)
	}
	if d.out.init && !d.yield(Event{Type: Init}, nil) {
		return errBreak
	}
	if d.out.emit != 0 {
		ev.Type = d.out.emit
		if !d.yield(ev, nil) {
			return errBreak
		}
	}
	d.state = next
	if d.out.emit == InitDone && d.opts.Window != nil {
		d.opts.Window.source.Listed()
	}
	if f, ok := errors.AsType[fault](d.out.trouble); ok {
		d.out.trouble = fmt.Errorf("watch %s: %w", d.src.Resource(), f)
	}
	d.report(d.status.step(&d.state, in, &d.out), in.now)
	if d.out.trouble != nil {
		d.trouble(d.out.trouble)
	}
	return d.out.fatal
}

// report calls OnStatus if the status has changed, or some time after it last did.
func (d *driver) report(changed bool, now time.Time) {
	if d.opts.OnStatus != nil && (changed || now.Sub(d.reported) >= statusInterval) {
		d.reported = now
		d.opts.OnStatus(d.status)
	}
}

// over handles the end of a request. The error is nil if the server ended it normally.
func (d *driver) over(w *watchdog, err error) error {
	in := &input{kind: gotEnd, err: err, now: time.Now()}
	switch {
	case w.fired():
		in.kind = gotSilence
		in.err = fmt.Errorf("watch %s: no data from the server for %v", d.src.Resource(), w.limit)
	case d.opts.Window != nil && d.opts.Window.narrow.over(d, w, in):
	case err != nil:
		in.kind = gotError
	}
	return d.take(in, Event{})
}

func (d *driver) trouble(err error) { d.opts.OnError(err) }

func versionEvent(rv string) Event {
	return Event{Head: wire.Head{ResourceVersion: rv}}
}
