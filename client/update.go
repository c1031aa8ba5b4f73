// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"

	"github.com/kube-go/sdk/core/request"
)

// Update replaces an object and returns it as stored. When obj carries a resource version, the object must still be at
// that version.
//
// Errors: [core.ErrConflict] when the object has changed since it was read, [core.ErrNotFound], [core.ErrInvalid].
func (a *API[K]) Update(ctx context.Context, obj *K, o *request.UpdateOptions) (*K, error) {
	body, err := copyOf(obj)
	if err != nil {
		return nil, wrap("update", a.target, err)
	}
	t := a.forObject(body)
	return a.one(ctx, "update", t, encoded(t, func(t request.Target) (*request.Request, error) {
		return request.Update(t, body, o)
	}))
}
