// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"net/http"

	"github.com/kube-go/sdk/client/middleware"
)

// RoundTrip sends an HTTP request to the API server and returns any response, whatever its status. Of the URL, only the
// path and the query are used. The request passes through the middleware, which adds the credentials. It is sent once.
// So a Client is an [http.RoundTripper]: a proxy such as net/http/httputil.ReverseProxy can use it as its transport.
//
// Errors: as [Client.Do], except for responses.
func (c *Client) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx := middleware.WithAttempts(rememberSent(r.Context()), 1)
	out := r.Clone(ctx)
	out.URL.Scheme, out.URL.Host, out.Host = c.base.Scheme, c.base.Host, ""
	out.URL.Path, out.URL.RawPath = c.base.Path+r.URL.Path, c.base.EscapedPath()+r.URL.EscapedPath()
	return c.rt.RoundTrip(out)
}
