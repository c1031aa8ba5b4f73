// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package proxy sends requests to pods, services and nodes through the API server.
package proxy

import (
	"context"
	"net/http"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core/request"
)

// Send sends a request once, because only the caller knows what a failure means. It returns the response if it is a
// success.
func Send(ctx context.Context, c *client.Client, t request.Target, o *request.ProxyOptions) (*http.Response, error) {
	r, err := request.Proxy(t, o)
	if err != nil {
		return nil, client.WrapError("proxy", t, err)
	}
	resp, err := c.Do(middleware.WithAttempts(ctx, 1), r)
	return resp, client.WrapError("proxy", t, err)
}
