// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package core_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
)

func status(reason metav1.StatusReason, code int32) *core.StatusError {
	return &core.StatusError{Status: metav1.Status{Status: "Failure", Reason: reason, Code: code}}
}

func sentinels() []error {
	return []error{
		core.ErrBadRequest, core.ErrUnauthorized, core.ErrForbidden, core.ErrNotFound, core.ErrMethodNotAllowed,
		core.ErrNotAcceptable, core.ErrAlreadyExists, core.ErrConflict, core.ErrGone, core.ErrExpired, core.ErrTooLarge,
		core.ErrUnsupportedMediaType, core.ErrInvalid, core.ErrTooManyRequests, core.ErrInternal, core.ErrServerTimeout,
		core.ErrTimeout, core.ErrUnavailable, core.ErrStoreRead,
	}
}

func TestStatusMatchesTheSentinelOfItsReasonOrCode(t *testing.T) {
	tests := []struct {
		reason    metav1.StatusReason
		code      int32
		want      error // nil: none
		retryable bool
	}{
		{metav1.StatusReasonBadRequest, 400, core.ErrBadRequest, false},
		{metav1.StatusReasonUnauthorized, 401, core.ErrUnauthorized, false},
		{metav1.StatusReasonForbidden, 403, core.ErrForbidden, false},
		{metav1.StatusReasonNotFound, 404, core.ErrNotFound, false},
		{metav1.StatusReasonMethodNotAllowed, 405, core.ErrMethodNotAllowed, false},
		{metav1.StatusReasonNotAcceptable, 406, core.ErrNotAcceptable, false},
		{metav1.StatusReasonAlreadyExists, 409, core.ErrAlreadyExists, false},
		{metav1.StatusReasonConflict, 409, core.ErrConflict, false},
		{metav1.StatusReasonGone, 410, core.ErrGone, false},
		{metav1.StatusReasonExpired, 410, core.ErrExpired, false},
		{metav1.StatusReasonRequestEntityTooLarge, 413, core.ErrTooLarge, false},
		{metav1.StatusReasonUnsupportedMediaType, 415, core.ErrUnsupportedMediaType, false},
		{metav1.StatusReasonInvalid, 422, core.ErrInvalid, false},
		{metav1.StatusReasonTooManyRequests, 429, core.ErrTooManyRequests, true},
		{metav1.StatusReasonInternalError, 500, core.ErrInternal, true},
		{metav1.StatusReasonServerTimeout, 500, core.ErrServerTimeout, true},
		{metav1.StatusReasonTimeout, 504, core.ErrTimeout, true},
		{metav1.StatusReasonServiceUnavailable, 503, core.ErrUnavailable, true},
		{metav1.StatusReasonStoreReadError, 500, core.ErrStoreRead, false},

		// The reason takes precedence over the code.
		{metav1.StatusReasonNotFound, 500, core.ErrNotFound, false},
		{metav1.StatusReasonConflict, 0, core.ErrConflict, false},

		// Without a known reason, the code decides.
		{"", 400, core.ErrBadRequest, false},
		{"", 401, core.ErrUnauthorized, false},
		{"", 403, core.ErrForbidden, false},
		{"", 404, core.ErrNotFound, false},
		{"", 405, core.ErrMethodNotAllowed, false},
		{"", 406, core.ErrNotAcceptable, false},
		{"", 409, core.ErrConflict, false},
		{"", 410, core.ErrExpired, false},
		{"", 413, core.ErrTooLarge, false},
		{"", 415, core.ErrUnsupportedMediaType, false},
		{"", 422, core.ErrInvalid, false},
		{"", 429, core.ErrTooManyRequests, true},
		{"", 500, core.ErrInternal, true},
		{"", 503, core.ErrUnavailable, true},
		{"", 504, core.ErrTimeout, true},
		{metav1.StatusReasonUnknown, 404, core.ErrNotFound, false},
		{"MyOwn", 409, core.ErrConflict, false},

		// Other statuses match no sentinel.
		{"", 0, nil, false},
		{"MyOwn", 0, nil, false},
		{"", 408, nil, true},
		{"", 418, nil, false},
		{"", 501, nil, false},
		{"", 502, nil, true},
		{"", 520, nil, true},
	}
	for _, tt := range tests {
		err := fmt.Errorf("get pods a: %w", status(tt.reason, tt.code))
		for _, s := range sentinels() {
			if got := errors.Is(err, s); got != (s == tt.want) {
				t.Errorf("reason %q, code %d: errors.Is(%q) = %t", tt.reason, tt.code, s, got)
			}
		}
		if got := core.IsRetryable(err); got != tt.retryable {
			t.Errorf("reason %q, code %d: IsRetryable = %t, want %t", tt.reason, tt.code, got, tt.retryable)
		}
	}
}

func TestStatusErrorHasReasonAndMessage(t *testing.T) {
	tests := []struct {
		name string
		in   metav1.Status
		want string
	}{
		{"a missing object", metav1.Status{Reason: metav1.StatusReasonNotFound, Message: `pods "web" not found`}, `not found: server said: pods "web" not found`},
		{"a reason with a message", metav1.Status{Reason: metav1.StatusReasonForbidden, Message: " no \n"}, "forbidden: server said: no"},
		{"a message with control characters", metav1.Status{Code: 500, Message: "a\x1b[31m\r\nb\u009b0m\a"}, "internal error: server said: a[31m\nb0m"},
		{"a reason alone", metav1.Status{Reason: metav1.StatusReasonConflict}, "conflict"},
		{"a code alone", metav1.Status{Code: 418}, "status 418"},
		{"a long message", metav1.Status{Code: 500, Message: strings.Repeat("x", 1<<20)}, "internal error: server said: " + strings.Repeat("x", 16<<10) + "..."},
		{"a code with a message", metav1.Status{Code: 502, Message: "Bad Gateway"}, "status 502: server said: Bad Gateway"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := (&core.StatusError{Status: tt.in}).Error(); got != tt.want {
				t.Errorf("Error() = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestRetryAfterReturnsTheRequestedDelay(t *testing.T) {
	details := &core.StatusError{Status: metav1.Status{Details: &metav1.StatusDetails{RetryAfterSeconds: 3}}}
	both := &core.StatusError{Status: details.Status, RetryAfter: 2 * time.Second}
	tests := []struct {
		name string
		in   error
		want time.Duration
		ok   bool
	}{
		{"no error", nil, 0, false},
		{"another error", io.EOF, 0, false},
		{"a status without a delay", status(metav1.StatusReasonTooManyRequests, 429), 0, false},
		{"a status with details without a delay", &core.StatusError{Status: metav1.Status{Details: &metav1.StatusDetails{}}}, 0, false},
		{"a status with a delay", details, 3 * time.Second, true},
		{"a header, which takes precedence over the status", fmt.Errorf("wrapped: %w", both), 2 * time.Second, true},
		{"a header with a very long delay", &core.StatusError{RetryAfter: 1e5 * time.Hour}, 5 * time.Minute, true},
		{"details with a very long delay", &core.StatusError{Status: metav1.Status{Details: &metav1.StatusDetails{RetryAfterSeconds: 1e9}}}, 5 * time.Minute, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, ok := core.RetryAfter(tt.in); got != tt.want || ok != tt.ok {
				t.Errorf("RetryAfter = %v, %t; want %v, %t", got, ok, tt.want, tt.ok)
			}
		})
	}
}

// A proxy may add a Retry-After to any response, and some servers add one to all of theirs.
func TestRetryAfterMakesNoResponseRetryable(t *testing.T) {
	for code := int32(300); code < 600; code++ {
		want := code == 408 || code == 429 || code >= 500 && code != 501
		for _, err := range []*core.StatusError{
			{Status: metav1.Status{Code: code}},
			{Status: metav1.Status{Code: code}, RetryAfter: time.Second},
			{Status: metav1.Status{Code: code, Details: &metav1.StatusDetails{RetryAfterSeconds: 1}}},
		} {
			if got := core.IsRetryable(err); got != want {
				t.Errorf("IsRetryable of code %d with RetryAfter %v and details %v = %t, want %t", code, err.RetryAfter, err.Status.Details, got, want)
			}
		}
	}
	for _, reason := range []metav1.StatusReason{
		metav1.StatusReasonUnauthorized, metav1.StatusReasonForbidden, metav1.StatusReasonNotFound, metav1.StatusReasonAlreadyExists,
		metav1.StatusReasonConflict, metav1.StatusReasonGone, metav1.StatusReasonExpired, metav1.StatusReasonInvalid,
		metav1.StatusReasonRequestEntityTooLarge, metav1.StatusReasonStoreReadError,
	} {
		if err := (&core.StatusError{Status: metav1.Status{Reason: reason, Code: 500}, RetryAfter: time.Second}); core.IsRetryable(err) {
			t.Errorf("IsRetryable of reason %s with a Retry-After = true", reason)
		}
	}
}

func TestIsRetryableOfErrorsOfTheClient(t *testing.T) {
	get := func(err error) error { return &url.Error{Op: "Get", URL: "https://example.com", Err: err} }
	missing := filepath.Join(t.TempDir(), "missing")
	_, unreadable := os.Open(missing)
	unstarted := (&exec.Cmd{Path: missing}).Run()
	tests := []struct {
		name string
		in   error
		want bool
	}{
		{"no error", nil, false},
		{"an unknown error", errors.New("no"), false},
		{"the context was cancelled", get(context.Canceled), false},
		{"the deadline of the context has passed", get(context.DeadlineExceeded), false},
		{"the deadline has passed, in a join", fmt.Errorf("b: %w", errors.Join(io.EOF, context.DeadlineExceeded)), false},
		{"the stream broke", fmt.Errorf("read list: %w", io.ErrUnexpectedEOF), true},
		{"the connection was closed", get(io.EOF), true},
		{"the connection was refused", get(&net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}), true},
		{"the connection was reset", &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}, true},
		{"the name server is unavailable", get(&net.DNSError{Err: "server misbehaving", IsTemporary: true}), true},
		{"the deadline of the connection has passed", get(os.ErrDeadlineExceeded), true},
		{"the authority of the certificate is unknown", get(x509.UnknownAuthorityError{}), false},
		{"the certificate is for another host", get(&tls.CertificateVerificationError{Err: x509.HostnameError{Certificate: &x509.Certificate{}, Host: "a"}}), false},
		{"the certificate has expired", get(x509.CertificateInvalidError{Reason: x509.Expired}), false},
		{"the server speaks plain HTTP", get(tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}), false},
		{"the server rejects the client's certificate", get(&net.OpError{Op: "remote error", Err: tls.AlertError(42)}), false},
		{"the token could not be read", get(fmt.Errorf("token: %w", unreadable)), false},
		{"the credential plugin could not be started", get(fmt.Errorf("plugin: %w", unstarted)), false},
		{"an address without a scheme", get(errors.New(`unsupported protocol scheme ""`)), false},
		{"a certificate error wrapped in another error", fmt.Errorf("connect: %w", get(x509.UnknownAuthorityError{})), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := core.IsRetryable(tt.in); got != tt.want {
				t.Errorf("IsRetryable(%v) = %t, want %t", tt.in, got, tt.want)
			}
		})
	}
}

// The errors come from real dials, because their types are not exported. Both match an error of package context.
func TestOnlyTheTimeoutOfADialIsRetryable(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	dialer := &net.Dialer{Timeout: time.Nanosecond}
	_, timeout := dialer.DialContext(t.Context(), "tcp", "127.0.0.1:1")
	_, stopped := dialer.DialContext(cancelled, "tcp", "127.0.0.1:1")
	tests := []struct {
		name        string
		in, matches error
		want        bool
	}{
		{"the dial has timed out", timeout, context.DeadlineExceeded, true},
		{"the context was cancelled", stopped, context.Canceled, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if !errors.Is(tt.in, tt.matches) {
				t.Fatalf("the dial failed with %v, want an error that matches %v", tt.in, tt.matches)
			}
			if got := core.IsRetryable(&url.Error{Op: "Get", URL: "https://example.com", Err: tt.in}); got != tt.want {
				t.Errorf("IsRetryable(%v) = %t, want %t", tt.in, got, tt.want)
			}
		})
	}
}

// The alert of crypto/tls comes from a real handshake, because its type is not exported.
func TestTLSAlertOfTheServerIsNotRetryable(t *testing.T) {
	client, server := net.Pipe()
	defer client.Close()
	var peer sync.WaitGroup
	peer.Go(func() {
		defer server.Close()
		head := make([]byte, 5) // the header of the client's first record, which ends with its length
		_, _ = io.ReadFull(server, head)
		_, _ = io.CopyN(io.Discard, server, int64(head[3])<<8+int64(head[4]))
		_, _ = server.Write([]byte{21, 3, 3, 0, 2, 2, 42}) // a fatal alert: bad certificate
	})
	err := tls.Client(client, &tls.Config{ServerName: "example.com"}).HandshakeContext(t.Context())
	peer.Wait()
	if _, ok := errors.AsType[*net.OpError](err); !ok {
		t.Fatalf("Handshake() = %v (%T), want a *net.OpError", err, err)
	}
	if core.IsRetryable(&url.Error{Op: "Get", URL: "https://example.com", Err: err}) {
		t.Errorf("IsRetryable(%v) = true", err)
	}
}

func TestCauseOfFindsACauseByType(t *testing.T) {
	tooLarge := metav1.StatusCause{Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version"}
	invalid := metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: "spec.a"}
	both := &core.StatusError{Status: metav1.Status{Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{invalid, tooLarge}}}}
	tests := []struct {
		name string
		in   error
		want metav1.StatusCause // empty: none
	}{
		{"no error", nil, metav1.StatusCause{}},
		{"another error", io.EOF, metav1.StatusCause{}},
		{"a status without details", status(metav1.StatusReasonTimeout, 504), metav1.StatusCause{}},
		{"a status with another cause", &core.StatusError{Status: metav1.Status{Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{invalid}}}}, metav1.StatusCause{}},
		{"a status with the cause among others", fmt.Errorf("list pods: %w", both), tooLarge},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := core.CauseOf(tt.in, metav1.CauseTypeResourceVersionTooLarge)
			if got != tt.want || ok != (tt.want.Type != "") {
				t.Errorf("CauseOf = %v, %t; want %v", got, ok, tt.want)
			}
		})
	}
	if got := both.Causes(); len(got) != 2 {
		t.Errorf("Causes() = %v, want both", got)
	}
}

// Every reason of apimachinery has its own sentinel, also after an upgrade.
func TestEveryReasonHasASentinel(t *testing.T) {
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}}", "k8s.io/apimachinery/pkg/apis/meta/v1").Output()
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "types.go"))
	if err != nil {
		t.Fatal(err)
	}
	reasons := regexp.MustCompile(`\n\tStatusReason\w+ +StatusReason = "(\w+)"`).FindAllSubmatch(source, -1)
	if len(reasons) < 19 {
		t.Fatalf("only %d reasons found", len(reasons))
	}
	matched := map[error]string{}
	for _, match := range reasons {
		reason := string(match[1])
		i := slices.IndexFunc(sentinels(), func(s error) bool { return errors.Is(status(metav1.StatusReason(reason), 0), s) })
		if i < 0 {
			t.Errorf("reason %s has no sentinel", reason)
			continue
		}
		if other := matched[sentinels()[i]]; other != "" {
			t.Errorf("reasons %s and %s have the same sentinel", other, reason)
		}
		matched[sentinels()[i]] = reason
	}
}
