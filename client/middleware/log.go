// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package middleware

import (
	"log/slog"
	"net/http"
	"time"
)

// Log writes one line per request at debug level: method, URL, status and time to the response's header. Headers and
// bodies, where secrets travel, are never logged.
func Log(logger *slog.Logger) Func {
	if logger == nil {
		return nil
	}
	return func(next http.RoundTripper) http.RoundTripper {
		return RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
			start := time.Now()
			resp, err := next.RoundTrip(r)
			attrs := []slog.Attr{
				slog.String("method", r.Method),
				slog.String("url", r.URL.Redacted()),
				slog.Duration("took", time.Since(start)),
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
