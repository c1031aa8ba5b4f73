// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"net/http"

	"github.com/kube-go/sdk/client/internal/redact"
	"github.com/kube-go/sdk/core"
)

// sentKey is the context key of the credentials that the attempts of one call have sent. The middleware explain, which
// is below all middleware that sets headers, records them; code that turns a response into an error or a log line
// removes them.
type sentKey struct{}

// rememberSent returns a context that collects the sent credentials. A stream collects them until it ends.
func rememberSent(ctx context.Context) context.Context {
	if _, ok := ctx.Value(sentKey{}).(*redact.Secrets); ok {
		return ctx
	}
	return context.WithValue(ctx, sentKey{}, new(redact.Secrets))
}

// noteSent adds the credentials of a request to those of its call.
func noteSent(r *http.Request) {
	if sent, ok := r.Context().Value(sentKey{}).(*redact.Secrets); ok {
		sent.AddHeader(r.Header)
	}
}

// sent returns the credentials that a call has sent to the server, and to the proxy on the way.
func (c *Client) sent(ctx context.Context) *redact.Secrets {
	sent, ok := ctx.Value(sentKey{}).(*redact.Secrets)
	if !ok {
		sent = new(redact.Secrets)
	}
	addProxyPassword(sent, c.config)
	return sent
}

// sentFor returns the credentials that were sent for a response.
func (c *Client) sentFor(resp *http.Response) *redact.Secrets {
	if resp.Request == nil { // from a Transport or Middleware of the caller
		return c.sent(context.Background())
	}
	return c.sent(resp.Request.Context())
}

// withoutSent returns an error that the server caused without the credentials that were sent to the server.
func withoutSent(sent *redact.Secrets, err error) error {
	if status, ok := errors.AsType[*core.StatusError](err); ok {
		sent.Strings(&status.Status)
	}
	return sent.Error(err)
}
