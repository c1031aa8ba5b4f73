// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"

	"github.com/kube-go/sdk/core/request"
)

// Bind assigns a pod that has no node yet to one, as schedulers do.
//
// Errors: [core.ErrNotFound]; [core.ErrConflict] when the pod has a node; a [*request.InvalidError] for other kinds than
// pods.
func (a *API[K]) Bind(ctx context.Context, name, node string, o *request.BindOptions) error {
	t := a.named(name)
	if err := a.only("bound to nodes", "pods"); err != nil {
		return wrap("bind", t, err)
	}
	return a.drop(ctx, "bind", t, encoded(t, func(t request.Target) (*request.Request, error) {
		return request.Bind(t, node, o)
	}))
}
