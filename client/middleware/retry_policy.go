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

// outcome is what one attempt has brought, as far as it matters for another one.
type outcome struct {
	status int           // zero when there was no answer
	asked  time.Duration // by Retry-After
	asks   bool          // whether there was a Retry-After
	unsent bool          // no connection was made
	broken bool          // the connection broke, or was made and never answered
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
	o.asked, o.asks = RetryAfter(resp.Header)
	return o
}

// worthRetrying reports whether another attempt may help and can do no harm; known is whether the server has answered
// before.
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

// fromAPIServer reports whether the answer is the API server's own, who says that he is busy before he does anything.
// Whoever is behind a proxy may have done something.
func fromAPIServer(call Call) bool { return call.Subresource != "proxy" }

// neverSent recognises an attempt that did not get as far as a connection to the server.
func neverSent(err error) bool {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok { // of a proxy
		return false
	}
	op, ok := errors.AsType[*net.OpError](err)
	return ok && (op.Op == "dial" || op.Op == "proxyconnect" || strings.HasPrefix(op.Op, "socks "))
}

// isBroken recognises the errors of a connection. Those of TLS, such as a certificate that does not fit, or an alert, whose Op
// is "remote error", are still there the next time.
func isBroken(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) { // of a layer, such as a plugin's
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
