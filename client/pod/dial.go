// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package pod

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/coder/websocket"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/internal/channels"
	"github.com/kube-go/sdk/core/request"
)

// dial opens a WebSocket with one of the protocols, and returns it with a function that removes the credentials that
// were sent for it from an error. The context bounds the dialling only.
func dial(
	ctx context.Context, c *client.Client, r *request.Request, protocols []string, incoming []channels.Channel,
) (*channels.Conn, func(error) error, error) {
	h := &handshake{client: c, request: r}
	//nolint:bodyclose // the body is the connection
	ws, resp, err := websocket.Dial(ctx, c.Server(), &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: h}, Subprotocols: protocols,
	})
	switch {
	case h.err != nil:
		return nil, nil, h.err
	case err != nil && ctx.Err() != nil:
		return nil, nil, context.Cause(ctx)
	case err != nil:
		return nil, nil, fmt.Errorf("the server's upgrade to a WebSocket is invalid: %w", h.conn.Redact(err))
	case !slices.Contains(protocols, ws.Subprotocol()):
		_ = ws.CloseNow() // it is of no use
		return nil, nil, h.conn.Redact(fmt.Errorf("the server chose the protocol %q, which is not one of %s",
			resp.Header.Get("Sec-WebSocket-Protocol"), strings.Join(protocols, ", ")))
	}
	return channels.New(ws, h.out, incoming), h.conn.Redact, nil
}

// handshake is the transport of one WebSocket handshake, whose request it sends to the URL of a request of ours.
type handshake struct {
	client  *client.Client
	request *request.Request

	conn *client.Upgraded
	out  *channels.Outbox
	err  error
}

// RoundTrip sends the handshake.
func (h *handshake) RoundTrip(r *http.Request) (*http.Response, error) {
	if h.conn, h.err = h.client.Upgrade(r.Context(), h.request, r.Header); h.err != nil {
		return nil, h.err
	}
	h.out = channels.NewOutbox(h.conn)
	h.conn.Response.Body = h.out
	return h.conn.Response, nil
}
