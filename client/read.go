// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"fmt"
	"io"
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
	return typed[K](a.get(ctx, name, o))
}

func (e *endpoint) get(ctx context.Context, name string, o *request.GetOptions) (received, error) {
	t := e.named(name)
	return e.one(ctx, "get", t, encoded(t, func(t request.Target) (*request.Request, error) {
		return request.Get(t, o)
	}))
}

// GetOrNil reads one object from the server, and returns nil without an error if the object does not exist. It returns
// an error if the server does not serve the kind.
func (a *API[K]) GetOrNil(ctx context.Context, name string, o *request.GetOptions) (*K, error) {
	obj, err := a.Get(ctx, name, o)
	if isAbsent(err) {
		return nil, nil
	}
	return obj, err
}

// defaultPage is the default number of objects in a page, the same as in client-go's pager.
const defaultPage = 500

// List reads one page of the collection. Without ListOptions.Limit, the page is the whole collection, within ListBytes
// and ListItems of [wire.Limits]. [API.All] reads page by page.
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

// errBreak ends the reading of a page after the consumer has left its loop.
var errBreak = errors.New("break")

// All iterates over the collection page by page. It decodes each object when it yields it, and holds no list.
// ListOptions.Limit is the size of a page, by default 500.
//
// The response of a page stays open while its objects are yielded, and API servers abort it after one minute. If a loop
// takes longer for a page, and the client has not received the rest of the page until then, the loop ends with an
// error. So slow work on large objects needs a lower Limit.
//
// All pages show the state of the first page while the server keeps that state, usually for five minutes. A longer
// iteration continues at the same position in the current state: it yields an object that exists all the time exactly
// once, and may miss an object that is created or deleted meanwhile. With ResourceVersionMatch Exact, it returns an
// error instead.
//
// Errors: [core.ErrExpired] if the state of the first page is lost and the iteration can't continue.
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
				if next == "" || resumed || opts.ResourceVersionMatch == metav1.ResourceVersionMatchExact {
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

// remainder returns the continue token, sent with the error, with which the rest of the list can be read in the current
// state. Lists are ordered by key, and the token contains the last key.
func remainder(err error) string {
	se, ok := errors.AsType[*core.StatusError](err)
	if !ok || !errors.Is(err, core.ErrExpired) {
		return ""
	}
	return se.Status.Continue
}

// timeoutError is the cause of a context that ended after ListOptions.Timeout.
type timeoutError struct{ after time.Duration }

// Error names the limit.
func (e *timeoutError) Error() string {
	return fmt.Sprintf(
		"no complete response within ListOptions.Timeout of %v; raise it, or list in smaller pages",
		e.after,
	)
}

// Is makes the error match core.ErrTimeout, like the server's response after the same time.
func (*timeoutError) Is(target error) bool { return target == core.ErrTimeout }

// Timeout and Temporary make the error a net.Error, for core.IsRetryable.
func (*timeoutError) Timeout() bool   { return true }
func (*timeoutError) Temporary() bool { return true }

// limited returns a context that ends after ListOptions.Timeout, retries included.
func limited(ctx context.Context, o *request.ListOptions) (context.Context, context.CancelFunc) {
	if o == nil || o.Timeout <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, o.Timeout, &timeoutError{o.Timeout})
}

// OnItemError returns the same API with lists and watches that skip objects which can't be decoded. They call report
// for each, in the goroutine that reads. By default, such an object ends the list or the watch with an error.
func (a *API[K]) OnItemError(report func(*wire.ItemError)) *API[K] {
	tolerant := *a
	tolerant.onItemError = report
	return &tolerant
}

// decode decodes an object. If it can't, it returns an error that names the object, or reports it and returns nil.
func (a *API[K]) decode(p wire.Packed) (*K, error) {
	obj := new(K)
	if ok, err := a.decodeInto(p, asObject(obj)); !ok {
		return nil, err
	}
	return obj, nil
}

// decodeInto decodes an object and reports whether it could.
func (e *endpoint) decodeInto(p wire.Packed, obj core.Object) (bool, error) {
	err := p.Decode(obj)
	if err == nil {
		err = complete(obj, e.target)
	}
	switch {
	case err == nil:
		return true, nil
	case e.onItemError == nil:
		return false, p.ItemError(err)
	}
	e.onItemError(p.ItemError(err))
	return false, nil
}

// WatchOnce sends one watch request and yields its events as they arrive. The sequence ends without an error when the
// server ends the watch, which it does after WatchOptions.Timeout. To watch for longer, use package runtime/watcher,
// which recovers from the end of a request. Ranging over the sequence again sends the request again.
//
// Errors: [core.ErrExpired] when the resource version is too old: list again. Kubernetes before 1.18 and some
// aggregated servers use the reason Gone for that, which is [core.ErrGone].
func (a *API[K]) WatchOnce(ctx context.Context, o *request.WatchOptions) iter.Seq2[core.WatchEvent[K], error] {
	var opts *request.WatchOptions
	if o != nil {
		opts = new(*o) // the caller may change its own
	}
	return func(yield func(core.WatchEvent[K], error) bool) {
		events, err := a.Feed().events(ctx, opts)
		if err != nil {
			yield(core.WatchEvent[K]{}, err)
			return
		}
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

// Metadata returns the same API for metadata: the server sends only the metadata of each object. The results have the
// TypeMeta of the objects. Patch, Apply and Delete work as usual. Create and Update return an error, because they would
// write objects that have only metadata.
//
// [Of] with metav1.PartialObjectMetadata, or with a struct that only embeds it, returns the same.
func (a *API[K]) Metadata() *API[metav1.PartialObjectMetadata] {
	m := &API[metav1.PartialObjectMetadata]{a.endpoint}
	m.tables = nil
	m.target, m.goType = metadataOf(a.target), reflect.TypeFor[metav1.PartialObjectMetadata]()
	return m
}

// Metadata returns the feed of the metadata of the same objects, see [API.Metadata].
func (f *Feed) Metadata() *Feed {
	return &Feed{client: f.client, target: metadataOf(f.target), setup: f.setup}
}

// PreferEncoding returns the feed of the same objects in another encoding, see [API.PreferEncoding].
func (f *Feed) PreferEncoding(e wire.Encoding) *Feed {
	other := *f
	other.target.Encoding = e
	return &other
}

// metadataOf returns the target for the metadata of its objects.
func metadataOf(t request.Target) request.Target {
	t.View, t.Encoding = request.ViewMetadata, wire.Protobuf
	return t
}

// isMetadata reports whether a type holds the metadata of objects: metav1.PartialObjectMetadata, or a struct that only
// embeds it to describe its kind.
func isMetadata(t reflect.Type) bool {
	for t.Kind() == reflect.Struct && t.NumField() == 1 && t.Field(0).Anonymous {
		t = t.Field(0).Type
	}
	return t == reflect.TypeFor[metav1.PartialObjectMetadata]()
}

// Rows returns the same API for rows of tables: for each object, the server sends the cells that kubectl get prints, and
// the metadata. It is only for reads and watches; each write returns an error.
//
// The cells may change when the object does not, since they have ages such as "5m".
//
// Errors: [core.ErrNotAcceptable] from a server without tables.
func (a *API[K]) Rows() *API[core.Row] {
	r := &API[core.Row]{a.endpoint}
	r.target.View, r.target.Encoding, r.goType = request.ViewTable, wire.JSON, reflect.TypeFor[core.Row]()
	r.tables = &tables{wire.NewRows, readRow}
	return r
}

// tables has the functions that read tables, so that only programs with Rows link them.
type tables struct {
	rows func() wire.Rows
	one  func(e *endpoint, body io.Reader, contentType string) (core.Object, error)
}

// readRow reads the table of one object.
func readRow(e *endpoint, body io.Reader, contentType string) (core.Object, error) {
	o := &wire.ReadOptions{Kind: sentKind(e.target), Limits: e.client.limits, Rows: wire.NewRows()}
	var row core.Object
	_, err := wire.ReadList(body, contentType, o, func(p wire.Packed) error {
		if row != nil {
			return errRows
		}
		row = e.blank()
		if err := p.Decode(row); err != nil {
			return err
		}
		return complete(row, e.target)
	})
	switch {
	case err != nil:
		return nil, err
	case row == nil:
		return nil, errRows
	}
	return row, nil
}

// errRows is the error for a response that should be the row of one object.
var errRows = errors.New("the server did not send one row")

// isRow reports whether a type is core.Row. It compares names, because reflect.TypeFor would link the methods of the
// type into each program.
func isRow(t reflect.Type) bool {
	return t.Name() == "Row" && t.PkgPath() == "github.com/kube-go/sdk/core"
}
