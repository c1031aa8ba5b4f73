// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"

	"github.com/kube-go/sdk/core/request"
)

// Create stores a new object and returns it as stored. An object without a name but with metadata.generateName gets a
// name from the server.
//
// Errors: [core.ErrAlreadyExists], [core.ErrInvalid].
func (a *API[K]) Create(ctx context.Context, obj *K, o *request.CreateOptions) (*K, error) {
	body, err := copyOf(obj)
	if err != nil {
		return nil, wrap("create", a.target, err)
	}
	t := a.forObject(body)
	parent := t
	parent.Name = ""
	return a.one(ctx, "create", t, encoded(parent, func(t request.Target) (*request.Request, error) {
		return request.Create(t, body, o)
	}))
}
