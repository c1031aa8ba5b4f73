// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"net/http"

	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core/request"
)

// RoundTrip sends an HTTP request to the API server and returns any response, whatever its status. Of the URL, only the
// path and the query are used. The request passes through the middleware, which adds the credentials. It is sent once,
// and with HTTP/1.1 if it asks for an upgrade of the connection. So a Client is an [http.RoundTripper]: a proxy such as
// net/http/httputil.ReverseProxy can use it as its transport.
//
// Errors: as [Client.Do], except for responses.
func (c *Client) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx := middleware.WithAttempts(rememberSent(r.Context()), 1)
	if _, ok := middleware.CallOf(ctx); !ok { // for the middleware that treats long-running requests differently
		ctx = middleware.WithCall(ctx, callOf(&request.Request{Method: r.Method, Path: r.URL.Path, Query: r.URL.Query()}))
	}
	out := r.Clone(ctx)
	if out.Header == nil { // the middleware sets headers
		out.Header = http.Header{}
	}
	out.URL.Scheme, out.URL.Host, out.Host = c.base.Scheme, c.base.Host, ""
	out.URL.Path, out.URL.RawPath = c.base.Path+r.URL.Path, c.base.EscapedPath()+r.URL.EscapedPath()
	if out.Header.Get("Upgrade") != "" { // HTTP/2 has no upgrades
		return c.upgrade.RoundTrip(out)
	}
	return c.rt.RoundTrip(out)
}
