// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package middleware

import (
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Log writes one line per HTTP request at debug level: the method, the URL, the status, the time until the response
// header, and the attempt if it is not the first. If logger is nil, Log returns nil. Headers and bodies, which contain
// secrets, are never logged, nor are the command of an exec and the query of a proxied request.
func Log(logger *slog.Logger) Func {
	if logger == nil {
		return nil
	}
	return func(next http.RoundTripper) http.RoundTripper {
		return RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
			start := time.Now()
			resp, err := next.RoundTrip(r)
			if !logger.Enabled(r.Context(), slog.LevelDebug) {
				return resp, err
			}
			attrs := []slog.Attr{
				slog.String("method", r.Method),
				slog.String("url", RedactedURL(r.URL)),
				slog.Duration("took", time.Since(start)),
			}
			if n, _ := AttemptOf(r.Context()); n > 1 {
				attrs = append(attrs, slog.Int("attempt", n))
			}
			if err != nil {
				attrs = append(attrs, slog.Any("err", err))
			} else {
				attrs = append(attrs, slog.Int("status", resp.StatusCode))
			}
			logger.LogAttrs(r.Context(), slog.LevelDebug, "request", attrs...)
			return resp, err
		})
	}
}

const redacted = "redacted"

// RedactedURL returns the URL of a request without secrets: it redacts a password, the arguments of a command, and the
// query of a proxied request or of one whose query is malformed.
func RedactedURL(u *url.URL) string {
	shown := *u
	query, err := url.ParseQuery(u.RawQuery)
	switch {
	case err != nil || strings.HasSuffix(u.Path, "/proxy") || strings.Contains(u.Path, "/proxy/"):
		if u.RawQuery != "" {
			shown.RawQuery = redacted
		}
	case query.Has("command"):
		query["command"] = []string{redacted}
		shown.RawQuery = query.Encode()
	}
	return shown.Redacted()
}

// attr returns a call as a log attribute.
func (c Call) attr() slog.Attr {
	var attrs []any
	for _, a := range []struct{ key, value string }{
		{"verb", c.Verb},
		{"group", c.Group},
		{"resource", c.Resource},
		{"subresource", c.Subresource},
		{"namespace", c.Namespace},
		{"name", c.Name},
	} {
		if a.value != "" {
			attrs = append(attrs, slog.String(a.key, a.value))
		}
	}
	return slog.Group("call", attrs...)
}
