// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/kube-go/sdk/client/middleware"
)

// show is a transport that prints headers of the request.
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

// A middleware that counts requests.
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

// A busy server asks the client to retry later.
func ExampleRetry() {
	busy := 2
	server := middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
		status := http.StatusOK
		if busy--; busy >= 0 {
			status = http.StatusTooManyRequests
		}
		return &http.Response{StatusCode: status, Body: http.NoBody, Request: r}, nil
	})
	retry, err := middleware.Retry(&middleware.RetryOptions{
		InitialBackoff: time.Millisecond,
		OnRetry: func(_ context.Context, r middleware.Retrying) {
			fmt.Println("attempt", r.Attempt, "got status", r.Status)
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	do(retry(server))
	// Output:
	// attempt 1 got status 429
	// attempt 2 got status 429
}

// Programs with their own retries send a request once.
func ExampleWithAttempts() {
	n := 0
	server := middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
		n++
		return &http.Response{StatusCode: http.StatusServiceUnavailable, Body: http.NoBody, Request: r}, nil
	})
	retry, err := middleware.Retry(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	once := func(next http.RoundTripper) http.RoundTripper {
		return middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
			return next.RoundTrip(r.WithContext(middleware.WithAttempts(r.Context(), 1)))
		})
	}
	do(middleware.Chain(server, once, retry))
	fmt.Println(n, "attempt")
	// Output: 1 attempt
}

func ExampleRateLimit() {
	limit, err := middleware.RateLimit(&middleware.RateLimitOptions{
		PerSecond: 1000, Burst: 1,
		OnWait: func(context.Context, time.Duration) { fmt.Println("the second request waits") },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	rt := limit(show())
	do(rt)
	do(rt)
	// Output: the second request waits
}

func ExampleWarnings() {
	server := middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
		header := http.Header{"Warning": {`299 - "v1 Endpoints is deprecated in v1.33+"`}}
		return &http.Response{StatusCode: http.StatusOK, Header: header, Body: http.NoBody, Request: r}, nil
	})
	do(middleware.Warnings(func(_ context.Context, w middleware.Warning) { fmt.Println(w.Text) })(server))
	// Output: v1 Endpoints is deprecated in v1.33+
}

func ExampleObserve() {
	observer := func(r *http.Request) (context.Context, func(middleware.Outcome)) {
		return nil, func(o middleware.Outcome) { fmt.Println(r.Method, r.URL.Path, o.Status, o.Err) }
	}
	do(middleware.Observe(observer)(show()))
	// Output: GET /api/v1/pods 200 <nil>
}

func ExampleCallOf() {
	ctx := middleware.WithCall(context.Background(), middleware.Call{Verb: "list", Resource: "pods"})
	if call, ok := middleware.CallOf(ctx); ok { // a middleware uses the context of the request
		fmt.Println(call.Verb, call.Resource)
	}
	// Output: list pods
}

func ExampleParseRetryAfter() {
	wait, asked := middleware.ParseRetryAfter(http.Header{"Retry-After": {"30"}})
	fmt.Println(wait, asked)
	// Output: 30s true
}

func ExampleLogWarnings() {
	logger := slog.New(slog.NewTextHandler(os.Stdout,
		&slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}}))
	warn := middleware.LogWarnings(logger)
	for range 3 { // it is logged once
		warn(context.Background(), middleware.Warning{Code: 299, Agent: "-", Text: "v1 Endpoints is deprecated"})
	}
	// Output: level=WARN msg="the server warns: v1 Endpoints is deprecated"
}

func ExampleRedactedURL() {
	u, err := url.Parse("https://cluster.test/api/v1/namespaces/a/pods/b/exec?command=mysql&command=-psecret")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(middleware.RedactedURL(u))
	// Output: https://cluster.test/api/v1/namespaces/a/pods/b/exec?command=redacted
}
