// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"

	"github.com/kube-go/sdk/core"
)

// Write is a successful write of an object.
type Write struct {
	Server   string // its URL, see [Client.Server]
	Resource core.Resource
	Object   core.Object // the object in the response; it belongs to the caller of the verb
}

// observerKey is the key of a context's observer of writes.
type observerKey struct{}

// WithWriteObserver returns a context with an observer of writes, in addition to the observers of ctx. The verbs of
// [API] and [Subresource] that create, update, patch or apply an object call it before they return; it must not retain
// the object. It is not called for deletions, whose response has no resource version, or for objects that the server
// does not store, such as dry runs and reviews. It is for code that must know which writes a cache has to observe.
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

// tellObserver calls the observer of ctx, if any.
func (c *Client) tellObserver(ctx context.Context, res core.Resource, obj core.Object) {
	if observe, ok := ctx.Value(observerKey{}).(func(Write)); ok && obj.GetResourceVersion() != "" {
		observe(Write{Server: c.Server(), Resource: res, Object: obj})
	}
}
