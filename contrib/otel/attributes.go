// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kubeotel

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-go/sdk/client/middleware"
)

// spanAttributes returns the attributes of a request that are known at its start, for its span.
func spanAttributes(r *http.Request, call middleware.Call) []attribute.KeyValue {
	attrs := append(serverAttributes(r), attribute.String("url.full", middleware.RedactedURL(r.URL)))
	if methodOf(r.Method) == other {
		attrs = append(attrs, attribute.String("http.request.method_original", r.Method))
	}
	if n, _ := middleware.AttemptOf(r.Context()); n > 1 {
		attrs = append(attrs, attribute.Int("http.request.resend_count", n-1))
	}
	for _, a := range []struct{ key, value string }{
		{"kube.verb", call.Verb},
		{"kube.resource", call.GroupResource()},
		{"kube.subresource", call.Subresource},
		{"kube.namespace", call.Namespace},
		{"kube.name", call.Name},
	} {
		if a.value != "" {
			attrs = append(attrs, attribute.String(a.key, a.value))
		}
	}
	return attrs
}

// beginAttributes returns the attributes of a request that are known at its start, for metrics. The slice has no spare
// capacity.
func (t *Telemetry) beginAttributes(r *http.Request, call middleware.Call) []attribute.KeyValue {
	verb, resource, subresource := t.labels.Of(call)
	return slices.Clip(append(serverAttributes(r),
		attribute.String("kube.verb", verb),
		attribute.String("kube.resource", resource),
		attribute.String("kube.subresource", subresource),
	))
}

// serverAttributes returns the method and the server of a request.
func serverAttributes(r *http.Request) []attribute.KeyValue {
	port := 443
	if r.URL.Scheme == "http" {
		port = 80
	}
	if p, err := strconv.Atoi(r.URL.Port()); err == nil {
		port = p
	}
	return []attribute.KeyValue{
		attribute.String("http.request.method", methodOf(r.Method)),
		attribute.String("server.address", r.URL.Hostname()),
		attribute.Int("server.port", port),
	}
}

// endAttributes returns the attributes of a request that are known at its end, for metrics. A status that is not of HTTP
// is left out, so that a server cannot create an unlimited number of series.
func endAttributes(out middleware.Outcome) []attribute.KeyValue {
	var attrs []attribute.KeyValue
	if _, version, ok := strings.Cut(out.Proto, "/"); ok {
		attrs = append(attrs, attribute.String("network.protocol.version", strings.TrimSuffix(version, ".0")))
	}
	known := http.StatusText(out.Status) != ""
	if known {
		attrs = append(attrs, attribute.Int("http.response.status_code", out.Status))
	}
	switch {
	case out.Err != nil:
		attrs = append(attrs, attribute.String("error.type", errorType(out.Err)))
	case out.Status >= 400 && !known:
		attrs = append(attrs, attribute.String("error.type", other))
	case out.Status >= 400:
		attrs = append(attrs, attribute.String("error.type", strconv.Itoa(out.Status)))
	}
	return attrs
}

// errorType returns the type of the innermost error. Its text may contain addresses and names.
func errorType(err error) string {
	switch {
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	}
	for next := err; next != nil; next = errors.Unwrap(next) {
		err = next
	}
	return fmt.Sprintf("%T", err)
}

// other is the method and the type of an error that the semantic conventions do not know.
const other = "_OTHER"

// methodOf returns a standard HTTP method unchanged, GET for an empty one, as package net/http sends it, and other for
// all others.
func methodOf(method string) string {
	switch method {
	case "":
		return http.MethodGet
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodOptions, http.MethodConnect, http.MethodTrace:
		return method
	}
	return other
}
