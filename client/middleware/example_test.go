// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"

	"github.com/kube-go/sdk/client/middleware"
)

// show is a transport that prints what reaches it.
func show(headers ...string) http.RoundTripper {
	return middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
		for _, h := range headers {
			fmt.Printf("%s: %s\n", h, r.Header.Get(h))
		}
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
	})
}

func do(rt http.RoundTripper) {
	r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "https://cluster.test/api/v1/pods", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp, err := rt.RoundTrip(r)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()
}

func ExampleChain() {
	do(middleware.Chain(show("User-Agent", "Authorization"), middleware.UserAgent("me/1.0"), middleware.Bearer("abc")))
	// Output:
	// User-Agent: me/1.0
	// Authorization: Bearer abc
}

// A layer that counts requests.
func ExampleRoundTripperFunc() {
	n := 0
	count := func(next http.RoundTripper) http.RoundTripper {
		return middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
			n++
			return next.RoundTrip(r)
		})
	}
	rt := middleware.Chain(show(), count)
	do(rt)
	do(rt)
	fmt.Println(n, "requests")
	// Output: 2 requests
}

func ExampleUserAgent() {
	do(middleware.UserAgent("me/1.0")(show("User-Agent")))
	// Output: User-Agent: me/1.0
}

func ExampleBearer() {
	do(middleware.Bearer("abc")(show("Authorization")))
	// Output: Authorization: Bearer abc
}

func ExampleBasic() {
	do(middleware.Basic("me", "secret")(show("Authorization")))
	// Output: Authorization: Basic bWU6c2VjcmV0
}

func ExampleTokenFile() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "token")
	if err := os.WriteFile(path, []byte("abc\n"), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	do(middleware.TokenFile(path, "")(show("Authorization")))
	// Output: Authorization: Bearer abc
}

func ExampleImpersonate() {
	do(middleware.Impersonate("jane", "", []string{"writers"}, nil)(show("Impersonate-User", "Impersonate-Group")))
	// Output:
	// Impersonate-User: jane
	// Impersonate-Group: writers
}

func ExampleLog() {
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		Level: slog.LevelDebug,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == "took" { // differ each time
				return slog.Attr{}
			}
			return a
		},
	}))
	do(middleware.Log(logger)(show()))
	// Output: level=DEBUG msg=request method=GET url=https://cluster.test/api/v1/pods status=200
}
