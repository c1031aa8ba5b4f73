// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/kube-go/sdk/client/internal/broken"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core"
)

// ConnectError reports that the server could not be reached.
type ConnectError struct {
	Server string // URL
	Source string // origin of the URL, see config.Config
	Err    error
}

// Error returns the server, the origin of its address, the cause and a remedy.
func (e *ConnectError) Error() string {
	msg := "reach " + e.Server
	if e.Source != "" {
		msg += " (" + e.Source + ")"
	}
	msg += ": " + e.Err.Error()
	if hint := connectHint(e.Err); hint != "" {
		msg += "; " + hint
	}
	return msg
}

// Unwrap returns Err.
func (e *ConnectError) Unwrap() error { return e.Err }

// wantsTLS is the response of a Go server to plain HTTP if it expects TLS.
const wantsTLS = "Client sent an HTTP request to an HTTPS server"

// credentialError is the error of a client certificate that could not be obtained. It says nothing about the server.
type credentialError struct{ error }

// explain returns the innermost middleware, which explains the errors of the connection. It is below all other
// middleware, so that their errors are not mistaken for errors of the connection.
func (c *Client) explain(next http.RoundTripper) http.RoundTripper {
	return middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
		noteSent(r)
		resp, err := next.RoundTrip(r)
		switch {
		case err != nil && r.Context().Err() != nil:
			return nil, context.Cause(r.Context())
		case err != nil:
			if cred, ok := errors.AsType[*credentialError](err); ok {
				return nil, cred.error
			}
			if isBroken(err.Error()) {
				err = &broken.Error{Err: err}
			}
			// The error may quote the start of the server's response.
			err = c.sent(r.Context()).Error(err)
			return nil, &ConnectError{Server: c.base.String(), Source: c.config.Source, Err: err}
		}
		if warnings := resp.Header["Warning"]; len(warnings) > 0 { // warnings are logged
			resp.Header = resp.Header.Clone() // a custom Transport may keep it
			sent := c.sent(r.Context())
			for i, warning := range warnings {
				resp.Header["Warning"][i] = sent.Text(warning)
			}
		}
		if resp.Request == nil {
			resp.Request = r
		}
		if resp.StatusCode != http.StatusSwitchingProtocols { // the body is the connection
			resp.Body = &body{resp.Body, r}
		}
		return resp, nil
	})
}

// isBroken recognizes errors of package net/http that have no exported types. They concern the connection, for example
// a ping without a response, a single stream in it, or an idle connection that the server closes while it is chosen.
func isBroken(text string) bool {
	return strings.HasPrefix(text, "http2: ") || strings.HasPrefix(text, "stream error: ") ||
		text == "http: server closed idle connection"
}

// body is the body of a response. Its errors say why it ended early.
type body struct {
	io.ReadCloser
	request *http.Request
}

// Read reads from the body.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	switch ctx := b.request.Context(); {
	case err == nil || err == io.EOF:
		return n, err
	case ctx.Err() != nil:
		return n, context.Cause(ctx)
	}
	return n, &broken.Error{Err: err}
}

// misdirected recognizes the plain HTTP response of a server that expects TLS.
func (c *Client) misdirected(err *core.StatusError) error {
	if c.base.Scheme == "http" && err.Status.Code == http.StatusBadRequest &&
		strings.Contains(err.Status.Message, wantsTLS) {
		return &ConnectError{Server: c.base.String(), Source: c.config.Source, Err: err}
	}
	return err
}
