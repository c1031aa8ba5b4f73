// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package pod

import (
	"context"
	"io"
	"net/http"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/internal/channels"
	"github.com/kube-go/sdk/core/request"
)

// dial opens a WebSocket with one of the protocols. It returns the WebSocket with a function that removes the sent
// credentials from a message of the server; the errors of the WebSocket have none. The context applies to the dialling
// only.
func dial(
	ctx context.Context, c *client.Client, r *request.Request, protocols []string, incoming []channels.Channel,
) (*channels.Conn, func(error) error, error) {
	var upgraded *client.Upgraded
	upgrade := func(header http.Header) (_ io.ReadWriteCloser, _ http.Header, err error) {
		if upgraded, err = c.Upgrade(ctx, r, header); err != nil {
			return nil, nil, err
		}
		return upgraded, upgraded.Response.Header, nil
	}
	redact := func(err error) error { return upgraded.Redact(err) }
	conn, err := channels.Dial(protocols, incoming, upgrade, redact)
	if err != nil {
		return nil, nil, err
	}
	return conn, redact, nil
}
