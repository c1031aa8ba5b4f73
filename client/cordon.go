// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"

	"github.com/kube-go/sdk/core/request"
)

// Cordon marks a node so that no new pods are scheduled to it, and returns it as stored. Those that run there go on; see
// package client/drain for moving them away.
//
// Errors: [core.ErrNotFound]; a [*request.InvalidError] for other kinds.
func (a *API[K]) Cordon(ctx context.Context, name string, o *request.PatchOptions) (*K, error) {
	return a.setUnschedulable(ctx, "cordon", name, true, o)
}

// Uncordon lets new pods be scheduled to a node again, and returns it as stored.
//
// Errors: [core.ErrNotFound]; a [*request.InvalidError] for other kinds.
func (a *API[K]) Uncordon(ctx context.Context, name string, o *request.PatchOptions) (*K, error) {
	return a.setUnschedulable(ctx, "uncordon", name, nil, o)
}

// setUnschedulable sets the mark, or takes it away when it is nil.
func (a *API[K]) setUnschedulable(ctx context.Context, verb, name string, mark any, o *request.PatchOptions) (*K, error) {
	if err := a.only(verb+"ed", "nodes"); err != nil {
		return nil, wrap(verb, a.named(name), err)
	}
	return a.Patch(ctx, name, request.MergePatch(map[string]any{"spec": map[string]any{"unschedulable": mark}}), o)
}
