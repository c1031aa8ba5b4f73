// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
)

// defaultPage is how many objects a page holds when the caller does not say; client-go's pager uses the same.
const defaultPage = 500

// List reads one page of the collection. Without a limit, that is all of it; [API.All] reads page by page.
//
// Errors: [core.ErrExpired] when the continue token is too old.
func (a *API[K]) List(ctx context.Context, o *request.ListOptions) (*core.List[K], error) {
	list := &core.List[K]{}
	meta, err := a.Feed().List(ctx, o, func(p wire.Packed) error {
		obj, err := a.decode(p)
		if err == nil {
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
// Errors: [core.ErrExpired] when the iteration takes so long that the server forgets where it was; start over.
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
		for {
			meta, err := feed.List(ctx, &page, func(p wire.Packed) error {
				obj, err := a.decode(p)
				if err == nil && !yield(obj, nil) {
					err = errBreak
				}
				return err
			})
			if errors.Is(err, errBreak) {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if meta.Continue == "" {
				return
			}
			page.Continue = meta.Continue
			page.ResourceVersion, page.ResourceVersionMatch = "", "" // the token holds them
		}
	}
}

// decode makes an object of its packed form. An object that can't be decoded is named.
func (a *API[K]) decode(p wire.Packed) (*K, error) {
	obj := new(K)
	if err := p.Decode(asObject(obj)); err != nil {
		head, _ := p.Head() // as much as can be told
		return nil, fmt.Errorf("object %q: %w", head.Ref, err)
	}
	a.complete(obj)
	return obj, nil
}
