// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// address returns the URL of a webhook.
func address(c *admissionregistrationv1.WebhookClientConfig) (*url.URL, error) {
	switch {
	case c.URL != nil:
		return url.Parse(*c.URL)
	case c.Service == nil:
		return nil, errors.New("its clientConfig has neither a service nor a url")
	}
	u := &url.URL{Scheme: "https", Host: c.Service.Name + "." + c.Service.Namespace + ".svc", Path: "/"}
	if c.Service.Port != nil && *c.Service.Port != 443 {
		u.Host = net.JoinHostPort(u.Host, strconv.Itoa(int(*c.Service.Port)))
	}
	if c.Service.Path != nil {
		u.Path = "/" + strings.TrimPrefix(*c.Service.Path, "/")
	}
	return u, nil
}

// post sends a review to a webhook and decodes the response. The handler must return when the context of its request
// has ended.
func post(
	ctx context.Context, h http.Handler, c *admissionregistrationv1.WebhookClientConfig, timeout time.Duration,
	review, response any,
) error {
	u, err := address(c)
	if err != nil {
		return err
	}
	u.RawQuery = url.Values{"timeout": {timeout.String()}}.Encode()
	body, err := json.Marshal(review)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	w := httptest.NewRecorder()
	if err := serve(h, w, r); err != nil {
		return err
	}
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("POST %s: %w", u, context.Cause(ctx))
	case w.Code < http.StatusOK || w.Code > http.StatusPartialContent: // as rest.Request of client-go
		text := w.Body.Bytes()
		return fmt.Errorf("POST %s: the response has the code %d: %s", u, w.Code, bytes.TrimSpace(text[:min(len(text), 500)]))
	}
	if err := utiljson.Unmarshal(w.Body.Bytes(), response); err != nil { // names are case-sensitive, as on a server
		return fmt.Errorf("POST %s: the response is not a review: %w", u, err)
	}
	return nil
}

// serve calls a handler, and returns an error if it panics.
func serve(h http.Handler, w http.ResponseWriter, r *http.Request) (err error) {
	defer func() {
		if got := recover(); got != nil {
			err = fmt.Errorf("POST %s: the handler has panicked: %v", r.URL, got)
		}
	}()
	h.ServeHTTP(w, r)
	return nil
}
