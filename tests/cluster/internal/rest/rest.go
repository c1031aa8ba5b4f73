// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package rest sends JSON requests to the components of a cluster.
package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// ProbeTimeout is the timeout of a health check: a paused component accepts connections and never responds.
const ProbeTimeout = 2 * time.Second

// maxAnswerBytes is the maximum number of bytes of a response.
const maxAnswerBytes = 10 << 20

// Healthy returns a check that the URL responds with a successful status.
func Healthy(client *http.Client, url string) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, ProbeTimeout)
		defer cancel()
		return Do(ctx, client, http.MethodGet, url, nil, nil)
	}
}

// StatusError is an unsuccessful response.
type StatusError struct {
	Code int
	text string
}

// Error returns the status and the text of the response.
func (e *StatusError) Error() string {
	return fmt.Sprintf("%d %s: %s", e.Code, http.StatusText(e.Code), e.text)
}

// Do sends a request. Its body is in as JSON, or as a merge patch for a PATCH; nil means no body. It decodes the
// response into out, unless that is nil.
//
// Errors: [*StatusError].
func Do(ctx context.Context, client *http.Client, method, url string, in, out any) error {
	var content []byte
	if in != nil {
		var err error
		if content, err = json.Marshal(in); err != nil {
			return err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(content))
	if err != nil {
		return err
	}
	contentType := "application/json"
	if method == http.MethodPatch {
		contentType = "application/merge-patch+json"
	}
	request.Header.Set("Content-Type", contentType)
	request.Header.Set("User-Agent", "kubecluster") // the field manager
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes))
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, url, err)
	}
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %w", method, url, &StatusError{response.StatusCode, summary(answer)})
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("%s %s: %w", method, url, err)
	}
	return nil
}

// summary returns the message of a Status, the failed lines of a health report, or otherwise the text.
func summary(answer []byte) string {
	var status struct{ Message string }
	if json.Unmarshal(answer, &status) == nil && status.Message != "" {
		return status.Message
	}
	var failing []string
	for line := range strings.Lines(string(answer)) {
		if strings.HasPrefix(line, "[-]") {
			failing = append(failing, strings.TrimSpace(line))
		}
	}
	if len(failing) > 0 {
		return strings.Join(failing, ", ")
	}
	text := strings.TrimSpace(string(answer))
	return text[:min(len(text), 500)]
}
