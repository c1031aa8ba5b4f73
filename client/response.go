// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"io"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
)

// Bounds of what is read of the body of an answer that is not a success, and of what is kept of it when it is no Status.
const (
	statusBytes  = 1 << 20
	keptBytes    = 64 << 10
	messageBytes = 2 << 10
)

// statusError makes an error of a response that is not a success.
func statusError(resp *http.Response) *core.StatusError {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, statusBytes)) // what was read says most of it, even if the rest is lost
	status := wire.UnmarshalStatus(body, resp.Header.Get("Content-Type"))
	var kept []byte
	if status == nil {
		status = &metav1.Status{Message: plainMessage(resp, body)}
		kept = bytes.Clone(body[:min(len(body), keptBytes)])
	}
	if status.Code == 0 {
		status.Code = int32(resp.StatusCode)
	}
	wait, _ := middleware.RetryAfter(resp.Header)
	return &core.StatusError{Status: *status, Body: kept, RetryAfter: wait}
}

// plainMessage makes one line of an answer that was not written by an API server's own code.
func plainMessage(resp *http.Response, body []byte) string {
	if to := resp.Header.Get("Location"); to != "" && resp.StatusCode < 400 {
		return "go to " + to + " (redirects are not followed; correct the server's address)"
	}
	text := strings.ToValidUTF8(string(body[:min(len(body), messageBytes)]), "")
	return strings.Join(strings.Fields(text), " ")
}
