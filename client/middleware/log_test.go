// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/kube-go/sdk/client/middleware"
)

// TestLogRedaction checks that the secrets of a URL are not logged: the command of an exec, and the query of a request that
// is proxied or malformed.
func TestLogRedaction(t *testing.T) {
	const server = "https://cluster.test"
	for _, tc := range []struct{ name, in, want string }{
		{"a list", "/api/v1/pods?limit=1&labelSelector=app%3Dweb", "/api/v1/pods?limit=1&labelSelector=app%3Dweb"},
		{
			"a command", "/api/v1/namespaces/a/pods/b/exec?command=mysql&command=-phunter2&stdin=true",
			"/api/v1/namespaces/a/pods/b/exec?command=redacted&stdin=true",
		},
		{
			"a proxied path", "/api/v1/namespaces/a/pods/b/proxy/login?token=hunter2",
			"/api/v1/namespaces/a/pods/b/proxy/login?redacted",
		},
		{
			"a proxied root", "/api/v1/namespaces/a/services/b/proxy?token=hunter2",
			"/api/v1/namespaces/a/services/b/proxy?redacted",
		},
		{
			"a malformed query", "/api/v1/namespaces/a/pods/b/exec?command=mysql;-phunter2",
			"/api/v1/namespaces/a/pods/b/exec?redacted",
		},
		{"a proxied path without a query", "/api/v1/nodes/a/proxy/healthz", "/api/v1/nodes/a/proxy/healthz"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out strings.Builder
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server+tc.in, nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := middleware.Log(debugLogger(&out))(&end{status: 200}).RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if !strings.Contains(out.String(), "url=\""+server+tc.want+"\"") &&
				!strings.Contains(out.String(), "url="+server+tc.want+" ") {
				t.Errorf("log = %s, want %s", &out, tc.want)
			}
			if strings.Contains(out.String(), "hunter2") {
				t.Errorf("the log shows a secret: %s", &out)
			}
		})
	}
}

func debugLogger(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug}))
}
