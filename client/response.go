// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"io"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client/internal/redact"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
)

// The maximum number of bytes that are read of the body of an error response, and that are kept of a body that is not a
// Status.
const (
	errorBytes   = 1 << 20 // by default, see wire.Limits
	keptBytes    = 64 << 10
	messageBytes = 2 << 10
)

// statusError returns the error for a response that is not a success. It removes the credentials that were sent before
// it truncates the text, so that no part of a token remains.
func statusError(resp *http.Response, sent *redact.Secrets, limits *wire.Limits) *core.StatusError {
	limit := int64(errorBytes)
	if limits != nil && limits.ErrorBytes > 0 {
		limit = limits.ErrorBytes
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit)) // the start is useful even if the rest is lost
	status := wire.UnmarshalStatus(body, resp.Header.Get("Content-Type"))
	var kept []byte
	if status == nil {
		redacted := sent.Text
		if err != nil || int64(len(body)) == limit {
			redacted = sent.Start
		}
		text := redacted(string(body))
		status = &metav1.Status{Message: plainMessage(resp, text), Reason: plainReason(resp)}
		kept = []byte(text[:min(len(text), keptBytes)])
	}
	sent.Strings(status)
	if status.Code == 0 {
		status.Code = int32(resp.StatusCode)
	}
	wait, _ := middleware.ParseRetryAfter(resp.Header)
	return &core.StatusError{Status: *status, Body: kept, RetryAfter: wait}
}

// checkContent returns an error if a successful response is not what the request asks for, such as the page of a proxy.
// The response may be empty, and proxied pods, services and nodes may respond as they like.
func checkContent(r *request.Request, resp *http.Response) error {
	best, _, _ := strings.Cut(r.Accept, ",")
	if _, err := wire.EncodingOf(best); err != nil || best == "" || r.Target.Subresource == "proxy" {
		return nil //nolint:nilerr // the request does not ask for an object
	}
	_, err := wire.EncodingOf(resp.Header.Get("Content-Type"))
	if err != nil {
		if n, _ := io.CopyN(io.Discard, resp.Body, 1); n == 0 {
			return nil
		}
	}
	return err
}

// plainReason returns the reason of a response without a Status. Only 409 is ambiguous: for a create it means that the
// object exists. A Status without a reason stays unchanged, because an admission webhook may have chosen its code.
func plainReason(resp *http.Response) metav1.StatusReason {
	if resp.StatusCode != http.StatusConflict || resp.Request == nil {
		return ""
	}
	if call, _ := middleware.CallOf(resp.Request.Context()); call.Verb == "create" && call.Subresource == "" {
		return metav1.StatusReasonAlreadyExists
	}
	return ""
}

// plainMessage returns one line of text from a response that is not a Status.
func plainMessage(resp *http.Response, body string) string {
	if to := resp.Header.Get("Location"); to != "" && resp.StatusCode < 400 {
		return "go to " + to + " (redirects are not followed; correct the server's address)"
	}
	text := strings.ToValidUTF8(body[:min(len(body), messageBytes)], "")
	return strings.Join(strings.Fields(text), " ")
}
