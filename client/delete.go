// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"io"
	"net/http"

	"github.com/kube-go/sdk/core/request"
)

// Delete deletes an object. When it returns, the deletion has begun. An object with finalizers or a grace period exists
// for some time afterwards; package runtime/wait waits until it is deleted.
//
// Errors: [core.ErrNotFound]; [core.ErrConflict] when a precondition does not hold.
func (a *API[K]) Delete(ctx context.Context, name string, o *request.DeleteOptions) error {
	return a.delete(ctx, name, o)
}

func (e *endpoint) delete(ctx context.Context, name string, o *request.DeleteOptions) error {
	t := e.named(name)
	observe := func(resp *http.Response) {
		if o == nil || !o.DryRun {
			e.observeDelete(ctx, t, resp)
		}
	}
	return e.drop(ctx, "delete", t, observe, encoded(t, func(t request.Target) (*request.Request, error) {
		return request.Delete(t, o)
	}))
}

// DeleteCollection deletes every object that the list options select, in one namespace or, for a cluster-scoped kind,
// in the cluster. When ListOptions.Timeout ends it, some of them may be deleted already.
//
// Errors: [core.ErrTimeout] after ListOptions.Timeout.
func (a *API[K]) DeleteCollection(ctx context.Context, o *request.DeleteOptions, l *request.ListOptions) error {
	return a.deleteCollection(ctx, o, l)
}

func (e *endpoint) deleteCollection(ctx context.Context, o *request.DeleteOptions, l *request.ListOptions) error {
	ctx, cancel := limited(ctx, l)
	defer cancel()
	ignore := func(*http.Response) {}
	b := encoded(e.target, func(t request.Target) (*request.Request, error) { return request.DeleteCollection(t, o, l) })
	return e.drop(ctx, "deletecollection", e.target, ignore, b)
}

// drop sends a request and discards what observe does not read of the response.
func (e *endpoint) drop(
	ctx context.Context, verb string, t request.Target, observe func(*http.Response), b build,
) error {
	if err := e.ready(); err != nil {
		return WrapError(verb, t, err)
	}
	resp, err := e.client.send(ctx, t, b)
	if err != nil {
		return WrapError(verb, t, err)
	}
	defer resp.Body.Close()
	observe(resp)
	// An HTTP/1.1 connection can be reused if the body was read to its end, which is worth it for a short body.
	_, _ = io.CopyN(io.Discard, resp.Body, drainBytes)
	return nil
}

const drainBytes = 256 << 10
