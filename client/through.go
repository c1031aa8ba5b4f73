// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"net/http"

	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core/request"
)

// Proxy sends a request to a pod, a service or a node by way of the API server, and returns its answer when that is a
// success; the caller closes its body. The other side sees neither the client's credentials nor its address. The request
// is sent once, since only the caller knows what a failure of the other side means. For connections that are no single
// requests see [API.PortForward].
//
// Errors: [*core.StatusError] for any other answer, with its Body, whoever it comes from;
// [core.ErrUnavailable] when nothing answers there; a [*request.InvalidError] for other kinds.
func (a *API[K]) Proxy(ctx context.Context, name string, o *request.ProxyOptions) (*http.Response, error) {
	t := a.named(name)
	resp, err := a.proxy(ctx, t, o)
	return resp, wrap("proxy", t, err)
}

func (a *API[K]) proxy(ctx context.Context, t request.Target, o *request.ProxyOptions) (*http.Response, error) {
	if err := a.ready(); err != nil {
		return nil, err
	}
	if err := a.only("sent requests", "pods", "services", "nodes"); err != nil {
		return nil, err
	}
	r, err := request.Proxy(t, o)
	if err != nil {
		return nil, err
	}
	return a.client.Do(middleware.WithAttempts(ctx, 1), r)
}
