// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"

	"github.com/kube-go/sdk/core"
)

// Write is an object that a server has written.
type Write struct {
	Server   string // its URL, see [Client.Server]
	Resource core.Resource
	Object   core.Object // as the server has answered it; it belongs to the caller of the verb
}

// observerKey is the key of a context's observer of writes.
type observerKey struct{}

// WithWriteObserver returns a context under which each object that a verb of an [API] or a [Subresource] has created,
// updated, patched or applied is told to an observer, besides those of ctx, before the verb returns; the observer keeps
// nothing of the object. Not told are deletes, whose answer has no version of the object, and what the server does not
// store: dry runs, and reviews and their like. It is for who must know what a cache has to catch up with.
func WithWriteObserver(ctx context.Context, observe func(Write)) context.Context {
	told := observe
	if outer, ok := ctx.Value(observerKey{}).(func(Write)); ok {
		told = func(w Write) {
			observe(w)
			outer(w)
		}
	}
	return context.WithValue(ctx, observerKey{}, told)
}

// tellObserver tells the observer of ctx, if there is one.
func (c *Client) tellObserver(ctx context.Context, res core.Resource, obj core.Object) {
	if observe, ok := ctx.Value(observerKey{}).(func(Write)); ok && obj.GetResourceVersion() != "" {
		observe(Write{Server: c.Server(), Resource: res, Object: obj})
	}
}
