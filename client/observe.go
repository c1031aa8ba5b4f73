// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"

	"github.com/kube-go/sdk/core"
)

// WriteObserver is told of an object that was written: its kind, and the object as the server has answered it. It is
// called before the verb returns, and keeps nothing of the object, which is then the caller's own.
type WriteObserver func(core.Resource, core.Object)

// observerKey is the key of a context's WriteObserver.
type observerKey struct{}

// WithWriteObserver returns a context under which each object that a verb of an [API] or a [Subresource] has created,
// updated, patched or applied is told to an observer, besides those of ctx. Not told are deletes, whose answer has no
// version of the object, and what the server does not store: dry runs, and reviews and their like. It is for who must
// know what a cache has to catch up with.
func WithWriteObserver(ctx context.Context, observe WriteObserver) context.Context {
	told := observe
	if outer, ok := ctx.Value(observerKey{}).(WriteObserver); ok {
		told = func(res core.Resource, obj core.Object) {
			observe(res, obj)
			outer(res, obj)
		}
	}
	return context.WithValue(ctx, observerKey{}, told)
}

func observeWrite(ctx context.Context, res core.Resource, obj core.Object) {
	if observe, ok := ctx.Value(observerKey{}).(WriteObserver); ok && obj.GetResourceVersion() != "" {
		observe(res, obj)
	}
}
