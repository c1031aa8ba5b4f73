// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"

	"github.com/kube-go/sdk/core/request"
)

// Update replaces an object and returns it as stored. If obj has a resource version, the stored object must still be at
// that version; such an update is not sent again when its response is lost, since it may have succeeded.
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
