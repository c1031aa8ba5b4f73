// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package middleware

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// outcome is the part of the result of an attempt that determines whether to retry.
type outcome struct {
	status int           // zero if there was no response
	asked  time.Duration // the delay in Retry-After
	asks   bool          // Retry-After was set
	unsent bool          // no connection was opened
	broken bool          // the connection broke, or there was no response
}

func outcomeOf(resp *http.Response, err error) outcome {
	switch {
	case err != nil:
		unsent := neverSent(err)
		return outcome{unsent: unsent, broken: !unsent && isBroken(err)}
	case resp.StatusCode < 400:
		return outcome{status: resp.StatusCode}
	}
	o := outcome{status: resp.StatusCode}
	o.asked, o.asks = ParseRetryAfter(resp.Header)
	return o
}

// worthRetrying reports whether another attempt may help and is safe. known reports whether there was a response to an
// earlier request.
func (o outcome) worthRetrying(call Call, known bool) bool {
	switch o.status {
	case 0:
		return o.unsent && known || o.broken && call.Idempotent
	case http.StatusTooManyRequests:
		return call.Subresource != "eviction" && (call.Idempotent || fromAPIServer(call))
	case http.StatusServiceUnavailable:
		return call.Idempotent || o.asks && fromAPIServer(call)
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		return call.Idempotent
	case http.StatusInternalServerError:
		return o.asks && call.Idempotent
	}
	return false
}

// fromAPIServer reports whether the response comes from the API server, which reports that it is busy before it does
// anything. A backend behind the proxy may have done something.
func fromAPIServer(call Call) bool { return call.Subresource != "proxy" }

// neverSent reports whether an attempt failed before there was a connection to the server.
func neverSent(err error) bool {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok { // the certificate of a proxy
		return false
	}
	op, ok := errors.AsType[*net.OpError](err)
	return ok && (op.Op == "dial" || op.Op == "proxyconnect" || strings.HasPrefix(op.Op, "socks "))
}

// isBroken reports whether err is a connection error. TLS errors, such as an invalid certificate or an alert (whose Op
// is "remote error"), are permanent.
func isBroken(err error) bool {
	// These are from a middleware, such as an exec plugin.
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return true
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Op == "read" || op.Op == "write"
	}
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}
