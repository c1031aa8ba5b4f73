// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"

	"github.com/kube-go/sdk/core/request"
)

// Patch changes an object by a patch, such as request.MergePatch(body), and returns it as stored.
//
// Errors: [core.ErrNotFound], [core.ErrInvalid]; [core.ErrConflict] when the patch sets a resource version that is not
// the object's.
func (a *API[K]) Patch(ctx context.Context, name string, p request.Patch, o *request.PatchOptions) (*K, error) {
	t := a.named(name)
	return a.one(ctx, "patch", t, encoded(t, func(t request.Target) (*request.Request, error) {
		return request.PatchObject(t, p, o)
	}))
}
