// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
)

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
