// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"

	"github.com/kube-go/sdk/core/request"
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
