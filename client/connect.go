// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"reflect"
	"strings"
	"syscall"

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

func connectHint(err error) string {
	if hint := proxyHint(err); hint != "" {
		return hint
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		return "nothing listens on this address: start the server, or correct the address"
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok && dns.IsNotFound {
		return "correct the host name, or the resolver"
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "the server's certificate is not signed by the configured certificate-authority, or by one of this " +
			"machine's if none is configured: use the current certificate authority of the cluster"
	}
	if name, ok := errors.AsType[x509.HostnameError](err); ok {
		return fmt.Sprintf("the server's certificate is not for %s: correct the address, or set tls-server-name", name.Host)
	}
	if inv, ok := errors.AsType[x509.CertificateInvalidError](err); ok && inv.Reason == x509.Expired {
		if strings.Contains(inv.Detail, " is before ") {
			return "correct the clock of this machine, or of the issuer of the certificate"
		}
		return "renew the server's certificate, or correct this machine's clock"
	}
	if alert, ok := alertOf(err); ok {
		return alertHint(alert)
	}
	if _, ok := errors.AsType[*silentError](err); ok {
		return "the server received the request and is busy or stuck: check the server, or increase ResponseHeaderTimeout"
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return "nothing responds at this address: correct the address, or check for a firewall"
	}
	if record, ok := errors.AsType[tls.RecordHeaderError](err); ok && string(record.RecordHeader[:]) == "HTTP/" {
		return "the server uses plain http: correct the port, or write http://"
	}
	if strings.Contains(err.Error(), wantsTLS) {
		return "write https://"
	}
	return ""
}

// alertOf returns the alert with which a server ended a TLS handshake. Package crypto/tls has two types for alerts: the
// exported one is for QUIC.
func alertOf(err error) (tls.AlertError, bool) {
	for ; err != nil; err = errors.Unwrap(err) {
		if v := reflect.ValueOf(err); v.Kind() == reflect.Uint8 && v.Type().PkgPath() == "crypto/tls" {
			return tls.AlertError(v.Uint()), true
		}
	}
	return 0, false
}

// alertHint returns what to do if the server ends the TLS handshake with an alert of RFC 8446.
func alertHint(alert tls.AlertError) string {
	switch alert {
	case 42, 43, 44, 45, 46, 48: // bad, unsupported, revoked, expired, unknown certificate, and unknown authority
		return "the server rejects the client certificate: renew it, or use the one for this cluster"
	case 116:
		return "the server requires a client certificate: configure one"
	case 40: // handshake failure
		return "the server requires a client certificate, or shares no cipher with the client: configure one, or update " +
			"the server"
	case 70, 71: // protocol version, insufficient security
		return "the server supports neither TLS 1.2 nor 1.3, or shares no cipher with the client: update the server"
	case 112:
		return "the server does not know the requested name: correct the address, or set tls-server-name"
	}
	return ""
}

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
			// These errors concern the connection, for example a ping without a response, or a single stream in it.
			if strings.HasPrefix(err.Error(), "http2: ") || strings.HasPrefix(err.Error(), "stream error: ") {
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
