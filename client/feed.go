// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
)

// Feed reads the objects of one kind in packed form, for caches and watchers. It sends each request once, because
// callers of a Feed have their own retries.
type Feed struct {
	client *Client
	target request.Target
	setup  error
	rows   func() wire.Rows // nil unless the objects are rows
}

// NewFeed returns the objects of a resource in JSON, in one namespace, or in the whole cluster if it is empty.
func NewFeed(c *Client, res core.Resource, namespace string) *Feed {
	setup := res.Validate()
	if c == nil {
		c, setup = unusable()
	}
	t := request.Target{Resource: res, Namespace: namespace, FieldManager: c.manager}
	return &Feed{client: c, target: t, setup: setup}
}

// Feed returns the objects of the API in packed form.
func (a *API[K]) Feed() *Feed {
	f := &Feed{client: a.client, target: a.target, setup: a.ready()}
	if a.tables != nil {
		f.rows = a.tables.rows
	}
	return f
}

// Resource returns the resource of the kind.
func (f *Feed) Resource() core.Resource { return f.target.Resource }

// List reads one page and calls each for every object as it arrives. The bytes of the object are valid until each
// returns. An error of each ends the list and is returned in the [*OpError].
func (f *Feed) List(
	ctx context.Context,
	o *request.ListOptions,
	each func(wire.Packed) error,
) (metav1.ListMeta, error) {
	return f.page(middleware.WithAttempts(ctx, 1), o, each)
}

// page is List with the retries of the client.
func (f *Feed) page(
	ctx context.Context,
	o *request.ListOptions,
	each func(wire.Packed) error,
) (metav1.ListMeta, error) {
	meta, err := f.list(ctx, o, each)
	return meta, WrapError("list", f.target, err)
}

func (f *Feed) list(
	ctx context.Context,
	o *request.ListOptions,
	each func(wire.Packed) error,
) (metav1.ListMeta, error) {
	if o != nil && o.ShardSelector != "" {
		each = within(o.ShardSelector, each)
	}
	ctx, cancel := limited(ctx, o)
	defer cancel()
	var opts request.ListOptions
	if o != nil {
		opts = *o
	}
	resp, err := f.send(ctx, &opts.OmitManagedFields, func(t request.Target) (*request.Request, error) {
		return request.List(t, &opts)
	})
	if err != nil {
		return metav1.ListMeta{}, err
	}
	defer resp.Body.Close()
	return wire.ReadList(resp.Body, resp.Header.Get("Content-Type"), f.reading(), each)
}

// reading returns the options for reading responses.
func (f *Feed) reading() *wire.ReadOptions {
	o := &wire.ReadOptions{Kind: sentKind(f.target), Limits: f.client.limits}
	if f.rows != nil {
		o.Rows = f.rows()
	}
	return o
}

// noShardsError is the error for an object that is not in the requested shard.
type noShardsError struct{}

func (noShardsError) Error() string {
	return "the server does not know ShardSelector and sends objects of other shards, too: enable its " +
		"feature gate ShardedListAndWatch, or leave the selector out"
}

// Is makes the error match core.ErrNotAcceptable: the server can't respond as requested. Package watcher then selects
// the objects itself.
func (noShardsError) Is(target error) bool { return target == core.ErrNotAcceptable }

// within returns a function that checks that each object is in a shard. Servers confirm the shard only in some
// responses, not in watches or in lists of custom resources.
func within(selector string, each func(wire.Packed) error) func(wire.Packed) error {
	shard, err := core.ParseShard(selector)
	return func(p wire.Packed) error {
		if err != nil {
			return err
		}
		head, err := p.Head()
		switch {
		case err != nil:
			return err
		case !shard.Has(head.UID, head.Ref.Namespace):
			return noShardsError{}
		}
		return each(p)
	}
}

// Watch sends one watch request and returns when the server has accepted it, usually long before the first event. The
// sequence yields the events as they arrive. The bytes of an event are valid until the next one is requested. The
// sequence ends without an error when the server ends the watch. It can be ranged over once; if it is not, the
// response is closed when ctx ends.
func (f *Feed) Watch(ctx context.Context, o *request.WatchOptions) (iter.Seq2[wire.Event, error], error) {
	return f.events(middleware.WithAttempts(ctx, 1), o)
}

// events is Watch with the retries of the client.
func (f *Feed) events(ctx context.Context, o *request.WatchOptions) (iter.Seq2[wire.Event, error], error) {
	var opts request.WatchOptions
	if o != nil {
		opts = *o
	}
	resp, err := f.send(ctx, &opts.OmitManagedFields, func(t request.Target) (*request.Request, error) {
		return request.Watch(t, &opts)
	})
	if err != nil {
		return nil, WrapError("watch", f.target, err)
	}
	unread := context.AfterFunc(ctx, func() { _ = resp.Body.Close() })
	return func(yield func(wire.Event, error) bool) {
		if !unread() {
			yield(wire.Event{}, WrapError("watch", f.target, cmp.Or(context.Cause(ctx), errRanged)))
			return
		}
		if err := f.read(ctx, resp, opts.ShardSelector, yield); err != nil {
			yield(wire.Event{}, WrapError("watch", f.target, err))
		}
	}, nil
}

// errRanged is the error of the second range over a watch.
var errRanged = errors.New("the events have been ranged over: call Watch again")

// send sends a request, which asks the server to omit the managed fields if *omit is true. If the server refuses that,
// send repeats the request without it, and for an hour also sends later requests for the resource without it.
func (f *Feed) send(
	ctx context.Context,
	omit *bool,
	builder func(request.Target) (*request.Request, error),
) (*http.Response, error) {
	if f.setup != nil {
		return nil, f.setup
	}
	b, refused := encoded(f.target, builder), managedFieldsRefusal{f.target.Resource.GroupVersionResource()}
	if f.client.refusals.has(refused) {
		*omit = false
	}
	resp, err := f.client.send(ctx, f.target, b)
	if !*omit || !errors.Is(err, core.ErrNotAcceptable) {
		return resp, err
	}
	*omit = false
	if resp, err = f.client.send(ctx, f.target, b); err == nil {
		f.client.refusals.add(refused)
	}
	return resp, err
}

// read yields the events of a response. It returns the error that ends the sequence, or nil if the server or the
// consumer ends it.
func (f *Feed) read(
	ctx context.Context,
	resp *http.Response,
	shard string,
	yield func(wire.Event, error) bool,
) error {
	defer resp.Body.Close()
	check := func(wire.Packed) error { return nil }
	if shard != "" {
		check = within(shard, check)
	}
	for ev, err := range wire.Events(resp.Body, resp.Header.Get("Content-Type"), f.reading()) {
		switch {
		case err != nil:
		case ctx.Err() != nil:
			err = context.Cause(ctx) // though events that were sent before may still be on their way
		case ev.Type != core.Bookmark:
			err = check(ev.Object)
		}
		if err != nil {
			return withoutSent(f.client.sentFor(resp), err)
		}
		if !yield(ev, nil) {
			return nil
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}
