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

	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core"
)

// ConnectError says that the server could not be reached, and what to look at.
type ConnectError struct {
	Server string // URL
	Source string // where the URL came from
	Err    error
}

// Error names the server, where its address came from, the cause and a remedy.
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

// wantsTLS is what a server written in Go answers to plain HTTP when it expects TLS.
const wantsTLS = "Client sent an HTTP request to an HTTPS server"

func connectHint(err error) string {
	if hint := proxyHint(err); hint != "" {
		return hint
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		return "nothing listens there: start the server, or correct the address"
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok && dns.IsNotFound {
		return "correct the host name, or the resolver"
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "the server's certificate is not signed by the certificate-authority that is configured, nor, without one, by any " +
			"that this machine knows: take the cluster's current one"
	}
	if name, ok := errors.AsType[x509.HostnameError](err); ok {
		return fmt.Sprintf("the server's certificate is not for %s: correct the address, or set tls-server-name", name.Host)
	}
	if inv, ok := errors.AsType[x509.CertificateInvalidError](err); ok && inv.Reason == x509.Expired {
		if strings.Contains(inv.Detail, " is before ") {
			return "correct this machine's clock, or the server's when it issued the certificate"
		}
		return "renew the server's certificate, or correct this machine's clock"
	}
	if alert, ok := alertOf(err); ok {
		return alertHint(alert)
	}
	if _, ok := errors.AsType[*silentError](err); ok {
		return "the server has the request and is busy or stuck: look at it, or allow more by ResponseHeaderTimeout"
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return "nothing answers there: correct the address, or look for a firewall in between"
	}
	if record, ok := errors.AsType[tls.RecordHeaderError](err); ok && string(record.RecordHeader[:]) == "HTTP/" {
		return "the server speaks plain http: correct the port, or write http://"
	}
	if strings.Contains(err.Error(), wantsTLS) {
		return "write https://"
	}
	return ""
}

// alertOf returns the alert by which a server has ended a TLS handshake. Package crypto/tls has two types for alerts:
// the one that it exports is for QUIC.
func alertOf(err error) (tls.AlertError, bool) {
	for ; err != nil; err = errors.Unwrap(err) {
		if v := reflect.ValueOf(err); v.Kind() == reflect.Uint8 && v.Type().PkgPath() == "crypto/tls" {
			return tls.AlertError(v.Uint()), true
		}
	}
	return 0, false
}

// alertHint says what to do when the server ends the TLS handshake, by the alerts of RFC 8446.
func alertHint(alert tls.AlertError) string {
	switch alert {
	case 42, 43, 44, 45, 46, 48: // bad, unsupported, revoked, expired, unknown certificate, and unknown authority
		return "the server refuses the client certificate: renew it, or take the one for this cluster"
	case 116:
		return "the server wants a client certificate: give one"
	case 40: // handshake failure
		return "the server wants a client certificate, or has no cipher that we have: give one, or update it"
	case 70, 71: // protocol version, insufficient security
		return "the server has no version of TLS from 1.2 on, or no cipher, that we have: update it"
	case 112:
		return "the server does not know the name that it is asked for: correct the address, or set tls-server-name"
	}
	return ""
}

// credentialError is a client certificate that could not be had. It says nothing about the server.
type credentialError struct{ error }

// brokenError is a connection that ended before the answer did.
type brokenError struct{ err error }

// Error says that the connection is at fault.
func (e *brokenError) Error() string { return "connection broke: " + e.err.Error() }

// Unwrap makes the error match io.ErrUnexpectedEOF, by which core.IsRetryable knows it.
func (e *brokenError) Unwrap() []error { return []error{io.ErrUnexpectedEOF, e.err} }

// explain returns the innermost layer, which says what it means when the connection fails. It stands below all other
// layers, so that their errors are not taken for the connection's.
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
			// These are about the connection, as when a ping is not answered, or about the one stream in it.
			if strings.HasPrefix(err.Error(), "http2: ") || strings.HasPrefix(err.Error(), "stream error: ") {
				err = &brokenError{err}
			}
			// The error may quote the start of what the server has sent.
			err = c.sent(r.Context()).Error(err)
			return nil, &ConnectError{Server: c.base.String(), Source: c.config.Source, Err: err}
		}
		if warnings := resp.Header["Warning"]; len(warnings) > 0 { // which are logged
			resp.Header = resp.Header.Clone() // a Transport of the user's may keep it
			sent := c.sent(r.Context())
			for i, warning := range warnings {
				resp.Header["Warning"][i] = sent.Text(warning)
			}
		}
		if resp.Request == nil {
			resp.Request = r
		}
		if resp.StatusCode != http.StatusSwitchingProtocols { // whose body is the connection itself
			resp.Body = &body{resp.Body, r}
		}
		return resp, nil
	})
}

// body is a response's body whose errors say why it ended early.
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
	return n, &brokenError{err}
}

// misdirected recognises the answer of a server that wants TLS, which says so in plain HTTP.
func (c *Client) misdirected(err *core.StatusError) error {
	if c.base.Scheme == "http" && err.Status.Code == http.StatusBadRequest && strings.Contains(err.Status.Message, wantsTLS) {
		return &ConnectError{Server: c.base.String(), Source: c.config.Source, Err: err}
	}
	return err
}
