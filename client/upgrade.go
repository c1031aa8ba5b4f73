// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/coder/websocket"

	"github.com/kube-go/sdk/client/internal/channels"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core/request"
)

// dial sends a request that turns its connection into a WebSocket, which then has the channels that are given. The
// context is for the dialling alone. The request passes through the same layers as every other.
func (c *Client) dial(ctx context.Context, r *request.Request, protocols []string, incoming []channels.Channel) (*channels.Conn, error) {
	req, err := c.httpRequest(ctx, r)
	if err != nil {
		return nil, err
	}
	call, _ := middleware.CallOf(req.Context())
	call.Idempotent = false // a GET though it is: a command may have begun, and must not be run twice
	up := &upgrade{client: c}
	//nolint:bodyclose // it is the connection
	ws, resp, err := websocket.Dial(middleware.WithCall(req.Context(), call), req.URL.String(), &websocket.DialOptions{
		HTTPClient:   &http.Client{Transport: up},
		HTTPHeader:   req.Header,
		Subprotocols: protocols,
	})
	switch {
	case up.err != nil:
		return nil, up.err
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, fmt.Errorf("the server's upgrade to a WebSocket is invalid: %w", c.sent(req.Context()).Error(err))
	case !slices.Contains(protocols, ws.Subprotocol()):
		_ = ws.CloseNow() // it was of no use
		return nil, fmt.Errorf("the server speaks none of %s: it has chosen %q",
			strings.Join(protocols, ", "), c.sent(req.Context()).Text(resp.Header.Get("Sec-WebSocket-Protocol")))
	}
	return channels.New(ws, up.out, incoming), nil
}

// upgrade is the transport of one handshake. It keeps what the websocket package does not: why the server said no.
type upgrade struct {
	client *Client
	out    *channels.Outbox
	err    error
}

// RoundTrip sends the handshake.
func (u *upgrade) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := u.client.upgrade.RoundTrip(req)
	if err != nil {
		u.err = err
		return nil, err
	}
	socket, writable := resp.Body.(io.ReadWriteCloser)
	switch {
	case resp.StatusCode != http.StatusSwitchingProtocols:
		u.err = retried(resp, u.client.failure(resp))
	case !writable:
		u.err = errors.New("the Transport or a layer of Middleware hides the connection, which a stream needs: " +
			"leave the Body of a response with status 101 as it is")
	default:
		u.out = channels.NewOutbox(socket)
		resp.Body = u.out
		return resp, nil
	}
	resp.Body.Close()
	return nil, u.err
}
