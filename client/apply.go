// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"

	"github.com/kube-go/sdk/core/request"
)

// Apply makes the fields that obj sets the field manager's, by server-side apply, and returns the object as stored. The
// object is created when it is not there. Fields that the manager applied before and that obj leaves out are removed.
//
// Errors: [core.ErrConflict] when another manager owns a field with another value and Force is not set; the causes of
// the [*core.StatusError] name the fields and their owners.
func (a *API[K]) Apply(ctx context.Context, obj *K, o *request.ApplyOptions) (*K, error) {
	body, err := copyOf(obj)
	if err != nil {
		return nil, wrap("apply", a.target, err)
	}
	t := a.forObject(body)
	return a.one(ctx, "apply", t, encoded(t, func(t request.Target) (*request.Request, error) {
		return request.Apply(t, body, o)
	}))
}
