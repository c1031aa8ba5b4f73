// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"

	"github.com/kube-go/sdk/client/internal/redact"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core/request"
)

// Upgraded is a connection that speaks another protocol since the server accepted an upgrade. One goroutine may read
// while another one writes, but two must not read, or write, at the same time. Close and Redact are safe for concurrent
// use; Close makes a Read or Write that is in progress return an error.
type Upgraded struct {
	io.ReadWriteCloser

	// Response is the server's response, with status 101. Its body is the connection.
	Response *http.Response

	sent *redact.Secrets
}

// Redact returns an error that the server caused without the credentials that were sent to open the connection, in case
// the server repeats them.
func (u *Upgraded) Redact(err error) error { return withoutSent(u.sent, err) }

// Upgrade sends a request that asks the server to switch the connection to another protocol, and returns the
// connection. The header is added to that of the request; it names the protocol and contains its handshake. The request
// uses HTTP/1.1 and passes through the same middleware as any other, but is not sent again if the server may have
// executed it, since a command may have started. With [Options.Transport], that is up to the Transport: an
// [http.Transport] repeats a request if a reused connection ends, unless DisableKeepAlives is set. Package client/pod
// is built on it.
//
// Errors: as [Client.Do].
func (c *Client) Upgrade(ctx context.Context, r *request.Request, header http.Header) (*Upgraded, error) {
	req, err := c.httpRequest(ctx, r)
	if err != nil {
		return nil, err
	}
	maps.Copy(req.Header, header)
	call, _ := middleware.CallOf(req.Context())
	call.Idempotent = false
	resp, err := c.upgrade.RoundTrip(req.WithContext(middleware.WithCall(req.Context(), call)))
	if err != nil {
		return nil, err
	}
	conn, writable := resp.Body.(io.ReadWriteCloser)
	switch {
	case resp.StatusCode != http.StatusSwitchingProtocols:
		err = retried(resp, c.failure(resp))
	case !writable:
		err = errors.New("the Transport or the Middleware hides the connection, which a stream needs: " +
			"leave the Body of a response with status 101 unchanged")
	case ctx.Err() != nil: // an http.Transport may have closed the connection already
		err = context.Cause(ctx)
	default:
		return &Upgraded{ReadWriteCloser: conn, Response: resp, sent: c.sent(req.Context())}, nil
	}
	resp.Body.Close()
	return nil, err
}
