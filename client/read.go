// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
)

// Get reads one object from the server.
//
// Errors: [core.ErrNotFound].
func (a *API[K]) Get(ctx context.Context, name string, o *request.GetOptions) (*K, error) {
	t := a.named(name)
	return a.one(ctx, "get", t, encoded(t, func(t request.Target) (*request.Request, error) {
		return request.Get(t, o)
	}))
}

// GetOrNil reads one object from the server; without an error, nil means that there is none. A kind that the server does
// not know at all is an error.
func (a *API[K]) GetOrNil(ctx context.Context, name string, o *request.GetOptions) (*K, error) {
	obj, err := a.Get(ctx, name, o)
	if isAbsent(err) {
		return nil, nil
	}
	return obj, err
}

// defaultPage is how many objects a page holds when the caller does not say; client-go's pager uses the same.
const defaultPage = 500

// List reads one page of the collection. Without a limit, that is all of it, as far as ListBytes and ListItems of
// [wire.Limits] allow; [API.All] reads page by page.
//
// Errors: [core.ErrExpired] when the continue token is too old; [core.ErrTimeout] after ListOptions.Timeout.
func (a *API[K]) List(ctx context.Context, o *request.ListOptions) (*core.List[K], error) {
	list := &core.List[K]{}
	meta, err := a.Feed().page(ctx, o, func(p wire.Packed) error {
		obj, err := a.decode(p)
		if obj != nil {
			list.Items = append(list.Items, obj)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	list.ListMeta = meta
	return list, nil
}

// errBreak tells a page's reader that the consumer has broken out of its loop.
var errBreak = errors.New("break")

// All iterates over the collection, page after page; each object is decoded when its turn comes, and no list is held.
// ListOptions.Limit is the size of a page, 500 by default.
//
// All pages show the state at which the first was read, as long as the server remembers it; that is five minutes, mostly.
// An iteration that takes longer goes on, where it was, in the state of then: an object that is there all the time is
// yielded exactly once, one that comes or goes in between perhaps. Who asks for one state by ResourceVersionMatch Exact
// gets that or an error.
//
// Errors: [core.ErrExpired] when the server does not say how to go on, or may not, since one exact state was asked for.
func (a *API[K]) All(ctx context.Context, o *request.ListOptions) iter.Seq2[*K, error] {
	var opts request.ListOptions
	if o != nil {
		opts = *o
	}
	if opts.Limit == 0 {
		opts.Limit = defaultPage
	}
	return func(yield func(*K, error) bool) {
		page := opts // the sequence starts over when it is ranged over again
		feed := a.Feed()
		resumed := false // nothing has come since
		for {
			meta, err := feed.page(ctx, &page, func(p wire.Packed) error {
				obj, err := a.decode(p)
				if obj != nil && !yield(obj, nil) {
					err = errBreak
				}
				return err
			})
			next := meta.Continue
			switch {
			case errors.Is(err, errBreak):
				return
			case err != nil:
				next = remainder(err)
				if next == "" || resumed || opts.ResourceVersionMatch == request.Exact {
					yield(nil, err)
					return
				}
				resumed = true
			default:
				resumed = false
			}
			if next == "" {
				return
			}
			page.Continue = next
			page.ResourceVersion, page.ResourceVersionMatch = "", "" // the token holds them
		}
	}
}

// remainder returns the token by which the rest of a list can be read although the state it began with is forgotten; the
// server sends it with the error. Lists are ordered by key, and the token holds the last one.
func remainder(err error) string {
	se, ok := errors.AsType[*core.StatusError](err)
	if !ok || !errors.Is(err, core.ErrExpired) {
		return ""
	}
	return se.Status.Continue
}

// timeoutError is the cause of a context that ended because ListOptions.Timeout had passed.
type timeoutError struct{ after time.Duration }

// Error names the bound.
func (e *timeoutError) Error() string {
	return fmt.Sprintf("no complete response within ListOptions.Timeout of %v; raise it, or list in smaller pages", e.after)
}

// Is makes the error match core.ErrTimeout, as the server's response after the same time does.
func (*timeoutError) Is(target error) bool { return target == core.ErrTimeout }

// Timeout and Temporary make the error a net.Error, which core.IsRetryable knows.
func (*timeoutError) Timeout() bool   { return true }
func (*timeoutError) Temporary() bool { return true }

// limited returns a context that ends after ListOptions.Timeout. Retries end with it.
func limited(ctx context.Context, o *request.ListOptions) (context.Context, context.CancelFunc) {
	if o == nil || o.Timeout <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, o.Timeout, &timeoutError{o.Timeout})
}

// OnItemError returns the same API, whose lists and watches go on without an object that can't be decoded, after telling
// report of it, in the goroutine that reads. Without it, such an object is the error that ends the list or the watch.
func (a *API[K]) OnItemError(report func(*wire.ItemError)) *API[K] {
	tolerant := *a
	tolerant.onItemError = report
	return &tolerant
}

// decode makes an object of its packed form. One that can't be decoded is an error that names it, or else is reported,
// and nil.
func (a *API[K]) decode(p wire.Packed) (*K, error) {
	obj := new(K)
	err := p.Decode(asObject(obj))
	if err == nil {
		err = a.complete(obj, a.target)
	}
	switch {
	case err == nil:
		return obj, nil
	case a.onItemError == nil:
		return nil, p.ItemError(err)
	}
	a.onItemError(p.ItemError(err))
	return nil, nil
}

// WatchOnce sends one watch request and yields its events as they arrive. The sequence ends without an error when the
// server ends the watch, which it does after WatchOptions.Timeout. To watch for longer, use package runtime/watcher, which
// recovers from the end of a request. Ranging over the sequence again sends the request again.
//
// Errors: [core.ErrExpired] when the resource version is too old: list again. Kubernetes before 1.18 and some
// aggregated servers use the reason Gone for that, which is [core.ErrGone].
func (a *API[K]) WatchOnce(ctx context.Context, o *request.WatchOptions) iter.Seq2[core.WatchEvent[K], error] {
	events := a.Feed().events(ctx, o)
	return func(yield func(core.WatchEvent[K], error) bool) {
		for ev, err := range events {
			if err != nil {
				yield(core.WatchEvent[K]{}, err)
				return
			}
			obj, err := a.decode(ev.Object)
			if err != nil {
				yield(core.WatchEvent[K]{}, WrapError("watch", a.target, err))
				return
			}
			if obj != nil && !yield(core.WatchEvent[K]{Type: ev.Type, Object: obj}, nil) {
				return
			}
		}
	}
}

// Metadata returns the same API for the metadata of objects: the server sends nothing else, for any kind. The TypeMeta of
// the results is that of the objects. The API also patches, applies and deletes; a Create or Update would write objects
// that have nothing but metadata, and is refused.
//
// [Of] with metav1.PartialObjectMetadata, or with a struct that does nothing but embed it, returns the same.
func (a *API[K]) Metadata() *API[metav1.PartialObjectMetadata] {
	return &API[metav1.PartialObjectMetadata]{
		client: a.client, target: metadataOf(a.target), oneSpace: a.oneSpace, setup: a.setup, onItemError: a.onItemError,
	}
}

// Metadata returns the feed of the metadata of the same objects, see [API.Metadata].
func (f *Feed) Metadata() *Feed {
	return &Feed{client: f.client, target: metadataOf(f.target), setup: f.setup}
}

// metadataOf returns the target for nothing but the metadata of its objects.
func metadataOf(t request.Target) request.Target {
	t.View, t.Encoding = request.ViewMetadata, wire.Protobuf
	return t
}

// isMetadata reports whether a type holds the metadata of objects of any kind: metav1.PartialObjectMetadata, or a struct
// that does nothing but embed it, so that it can describe its kind.
func isMetadata(t reflect.Type) bool {
	for t.Kind() == reflect.Struct && t.NumField() == 1 && t.Field(0).Anonymous {
		t = t.Field(0).Type
	}
	return t == reflect.TypeFor[metav1.PartialObjectMetadata]()
}

// Table returns objects as the server would have people see them: columns with names, and a row of cells for each object,
// with the object's metadata. It is one page, as [API.List] reads it; a field selector metadata.name=… selects one object.
// The response as a whole is bounded by ObjectBytes of [wire.Limits].
//
// Errors: [core.ErrExpired] when the continue token is too old; [core.ErrNotAcceptable] of a server that makes no tables.
func (a *API[K]) Table(ctx context.Context, o *request.ListOptions) (*metav1.Table, error) {
	t := a.target
	t.View, t.Encoding = request.ViewTable, wire.JSON
	table, err := a.table(ctx, t, o)
	return table, WrapError("list", t, err)
}

func (a *API[K]) table(ctx context.Context, t request.Target, o *request.ListOptions) (*metav1.Table, error) {
	if err := a.ready(); err != nil {
		return nil, err
	}
	if o != nil && o.ShardSelector != "" && o.IncludeObject == request.IncludeNone {
		return nil, &request.InvalidError{
			Field: "ListOptions.IncludeObject", Detail: "None goes with no ShardSelector: which shard a row is of could not be told",
		}
	}
	ctx, cancel := limited(ctx, o)
	defer cancel()
	resp, err := a.client.send(ctx, t, encoded(t, func(t request.Target) (*request.Request, error) {
		return request.List(t, o)
	}))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := wire.ReadBody(resp.Body, a.client.limits)
	if err != nil {
		return nil, err
	}
	table := new(metav1.Table)
	if err := wire.UnmarshalJSON(body, table); err != nil {
		return nil, fmt.Errorf("decode table: %w", err)
	}
	if got, want := table.GroupVersionKind(), metav1.SchemeGroupVersion.WithKind("Table"); got != want {
		return nil, &wire.KindError{Got: got, Want: want}
	}
	return table, checkRows(table, o)
}

// checkRows sees to it that a table of a shard has no other rows.
func checkRows(table *metav1.Table, o *request.ListOptions) error {
	if o == nil || o.ShardSelector == "" {
		return nil
	}
	check := within(o.ShardSelector, func(wire.Packed) error { return nil })
	for _, row := range table.Rows {
		if err := check(wire.NewPacked(wire.JSON, row.Object.Raw)); err != nil {
			return err
		}
	}
	return nil
}
