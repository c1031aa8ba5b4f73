// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package middleware

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// TestWorthRetrying checks each outcome of an attempt for each kind of request.
func TestWorthRetrying(t *testing.T) {
	response := func(status int, retryAfter string) outcome {
		resp := &http.Response{StatusCode: status, Header: http.Header{}}
		if retryAfter != "" {
			resp.Header.Set("Retry-After", retryAfter)
		}
		return outcomeOf(resp, nil)
	}
	failure := func(err error) outcome { return outcomeOf(nil, fmt.Errorf("reach https://cluster.test: %w", err)) }
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	reset := &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}

	for _, tc := range []struct {
		name string
		in   outcome
		// Whether to retry an idempotent request, another one, an eviction, and an idempotent request to a server without an
		// earlier response. A proxied request is retried after a response only if it is idempotent.
		idempotent, other, eviction, first bool
	}{
		{"success", response(200, ""), false, false, false, false},
		{"a redirect", response(302, "1"), false, false, false, false},
		{"not found", response(404, "1"), false, false, false, false},
		{"a conflict", response(409, "1"), false, false, false, false},
		{"too many requests", response(429, ""), true, true, false, true},
		{"too many requests with Retry-After", response(429, "1"), true, true, false, true},
		{"an internal error", response(500, ""), false, false, false, false},
		{"an internal error with Retry-After", response(500, "1"), true, false, false, true},
		{"not implemented", response(501, "1"), false, false, false, false},
		{"a bad gateway", response(502, ""), true, false, false, true},
		{"unavailable", response(503, ""), true, false, false, true},
		{"unavailable with Retry-After", response(503, "1"), true, true, true, true},
		{"unavailable with a zero Retry-After", response(503, "0"), true, true, true, true},
		{"unavailable with an invalid Retry-After", response(503, "soon"), true, false, false, true},
		{"a gateway timeout", response(504, ""), true, false, false, true},
		{"connection refused", failure(refused), true, true, true, false},
		{"an unreachable proxy", failure(&net.OpError{Op: "proxyconnect", Err: refused}), true, true, true, false},
		{"an unreachable SOCKS proxy", failure(&net.OpError{Op: "socks connect", Err: refused}), true, true, true, false},
		{
			"a proxy whose certificate is not trusted",
			failure(&net.OpError{Op: "proxyconnect", Err: &tls.CertificateVerificationError{Err: errors.New("unknown")}}),
			false, false, false, false,
		},
		{"connection reset", failure(reset), true, false, false, true},
		{"the connection ends before the response", failure(io.EOF), true, false, false, true},
		{"the connection ends within the response", failure(io.ErrUnexpectedEOF), true, false, false, true},
		{"a handshake timeout", failure(&net.DNSError{IsTimeout: true}), true, false, false, true},
		{
			"a rejected certificate", failure(&net.OpError{Op: "remote error", Err: tls.AlertError(42)}), false, false, false,
			false,
		},
		{
			"an untrusted certificate", failure(&tls.CertificateVerificationError{Err: errors.New("unknown")}), false, false,
			false, false,
		},
		{"a plugin timeout", failure(context.DeadlineExceeded), false, false, false, false},
		{"a failed plugin", failure(&exec.ExitError{}), false, false, false, false},
		{"a malformed response", failure(errors.New("malformed HTTP response")), false, false, false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, c := range []struct {
				what  string
				call  Call
				known bool
				want  bool
			}{
				{"an idempotent request", Call{Idempotent: true}, true, tc.idempotent},
				{"another request", Call{}, true, tc.other},
				{"an eviction", Call{Subresource: "eviction"}, true, tc.eviction},
				{"a proxied request", Call{Subresource: "proxy"}, true, tc.other && tc.in.status == 0},
				{"the first request", Call{Idempotent: true}, false, tc.first},
			} {
				if got := tc.in.worthRetrying(c.call, c.known); got != c.want {
					t.Errorf("%s: worth retrying = %v, want %v", c.what, got, c.want)
				}
			}
		})
	}
}

// TestDelay checks that delays double up to the maximum, and vary.
func TestDelay(t *testing.T) {
	mw := retrier{options: RetryOptions{InitialBackoff: 100 * time.Millisecond, MaxBackoff: time.Second}}
	for n, middle := range []time.Duration{
		1: 100 * time.Millisecond, 2: 200 * time.Millisecond, 3: 400 * time.Millisecond, 4: 800 * time.Millisecond,
		5: time.Second, 6: time.Second, 1000: time.Second,
	} {
		if middle == 0 {
			continue
		}
		seen := map[time.Duration]bool{}
		for range 100 {
			d := mw.delay(n)
			if seen[d] = true; d < middle/2 || d >= middle*3/2 {
				t.Errorf("after attempt %d: %v, want about %v", n, d, middle)
			}
		}
		if len(seen) < 50 {
			t.Errorf("after attempt %d: %d different delays of 100", n, len(seen))
		}
	}
}
