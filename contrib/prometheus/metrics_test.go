// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kubeprometheus_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/kube-go/sdk/client/middleware"
	kubeprometheus "github.com/kube-go/sdk/contrib/prometheus"
)

// answers is a transport that calls a function for each response, after a second.
func answers(f func(*http.Request) (int, string, error)) http.RoundTripper {
	return middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
		<-time.After(time.Second)
		code, body, err := f(r)
		if err != nil {
			return nil, err
		}
		return &http.Response{StatusCode: code, Body: io.NopCloser(strings.NewReader(body)), ContentLength: -1, Request: r}, nil
	})
}

// send sends a request and reads its response to the end, which takes another second.
func send(t testing.TB, rt http.RoundTripper, call middleware.Call) {
	t.Helper()
	ctx := middleware.WithCall(t.Context(), call)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://cluster.test/api/v1/namespaces/secret-name/pods", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := rt.RoundTrip(r)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	<-time.After(time.Second)
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Error(err)
	}
}

// TestRequestsAreCountedAndTimed checks the metrics of several requests.
func TestRequestsAreCountedAndTimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := kubeprometheus.New(&kubeprometheus.Options{Buckets: []float64{1.5}, Labels: map[string]string{"cluster": "prod"}})
		codes := []int{503, 200}
		rt := answers(func(*http.Request) (int, string, error) {
			code := codes[0]
			if len(codes) > 1 {
				codes = codes[1:]
			}
			return code, "hello", nil
		})
		retry, err := middleware.Retry(nil)
		if err != nil {
			t.Fatal(err)
		}
		rt = middleware.Chain(rt, retry, middleware.Observe(m.Observe))
		send(t, rt, middleware.Call{Verb: "get", Resource: "deployments", Group: "apps", Subresource: "scale", Name: "secret-name", Idempotent: true})
		send(t, rt, middleware.Call{Verb: "watch", Resource: "pods", Namespace: "secret-name", Idempotent: true, LongRunning: true})
		send(t, rt, middleware.Call{Verb: "get", Resource: "pods", Subresource: "log", Idempotent: true, LongRunning: true})
		gone := answers(func(*http.Request) (int, string, error) { return 0, "", errors.New("secret-name is gone") })
		send(t, middleware.Observe(m.Observe)(gone), middleware.Call{Verb: "list", Resource: "pods"})
		m.Waited(context.Background(), 2*time.Second)

		const want = `
# HELP kube_client_rate_limit_wait_seconds Time that requests waited for the client's rate limit.
# TYPE kube_client_rate_limit_wait_seconds histogram
kube_client_rate_limit_wait_seconds_bucket{cluster="prod",le="1.5"} 0
kube_client_rate_limit_wait_seconds_bucket{cluster="prod",le="+Inf"} 1
kube_client_rate_limit_wait_seconds_sum{cluster="prod"} 2
kube_client_rate_limit_wait_seconds_count{cluster="prod"} 1
# HELP kube_client_request_duration_seconds Time until the response of the API server was read, or its header for long-running requests.
# TYPE kube_client_request_duration_seconds histogram
kube_client_request_duration_seconds_bucket{cluster="prod",verb="get",le="1.5"} 3
kube_client_request_duration_seconds_bucket{cluster="prod",verb="get",le="+Inf"} 3
kube_client_request_duration_seconds_sum{cluster="prod",verb="get"} 3
kube_client_request_duration_seconds_count{cluster="prod",verb="get"} 3
kube_client_request_duration_seconds_bucket{cluster="prod",verb="list",le="1.5"} 1
kube_client_request_duration_seconds_bucket{cluster="prod",verb="list",le="+Inf"} 1
kube_client_request_duration_seconds_sum{cluster="prod",verb="list"} 1
kube_client_request_duration_seconds_count{cluster="prod",verb="list"} 1
kube_client_request_duration_seconds_bucket{cluster="prod",verb="watch",le="1.5"} 1
kube_client_request_duration_seconds_bucket{cluster="prod",verb="watch",le="+Inf"} 1
kube_client_request_duration_seconds_sum{cluster="prod",verb="watch"} 1
kube_client_request_duration_seconds_count{cluster="prod",verb="watch"} 1
# HELP kube_client_requests_in_flight HTTP requests to the API server in flight.
# TYPE kube_client_requests_in_flight gauge
kube_client_requests_in_flight{cluster="prod",verb="get"} 0
kube_client_requests_in_flight{cluster="prod",verb="list"} 0
kube_client_requests_in_flight{cluster="prod",verb="watch"} 0
# HELP kube_client_requests_total Completed HTTP requests to the API server.
# TYPE kube_client_requests_total counter
kube_client_requests_total{cluster="prod",code="200",resource="deployments.apps",subresource="scale",verb="get"} 1
kube_client_requests_total{cluster="prod",code="200",resource="pods",subresource="",verb="watch"} 1
kube_client_requests_total{cluster="prod",code="200",resource="pods",subresource="log",verb="get"} 1
kube_client_requests_total{cluster="prod",code="503",resource="deployments.apps",subresource="scale",verb="get"} 1
kube_client_requests_total{cluster="prod",code="error",resource="pods",subresource="",verb="list"} 1
# HELP kube_client_response_bytes_total Bytes read from responses of the API server, after decompression.
# TYPE kube_client_response_bytes_total counter
kube_client_response_bytes_total{cluster="prod",resource="deployments.apps",subresource="scale",verb="get"} 10
kube_client_response_bytes_total{cluster="prod",resource="pods",subresource="",verb="list"} 0
kube_client_response_bytes_total{cluster="prod",resource="pods",subresource="",verb="watch"} 5
kube_client_response_bytes_total{cluster="prod",resource="pods",subresource="log",verb="get"} 5
# HELP kube_client_retries_total HTTP requests to the API server that were not the first attempt.
# TYPE kube_client_retries_total counter
kube_client_retries_total{cluster="prod",resource="deployments.apps",subresource="scale",verb="get"} 1
`
		if err := testutil.CollectAndCompare(m, strings.NewReader(want)); err != nil {
			t.Error(err)
		}
	})
}

// A request is in flight until its response was read.
func TestRequestIsInFlightUntilItsResponseIsRead(t *testing.T) {
	m := kubeprometheus.New(nil)
	r, err := http.NewRequestWithContext(middleware.WithCall(t.Context(), middleware.Call{Verb: "watch"}), http.MethodGet, "https://cluster.test", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, done := m.Observe(r)
	gauge := func(value string) string {
		return "# HELP kube_client_requests_in_flight HTTP requests to the API server in flight.\n" +
			"# TYPE kube_client_requests_in_flight gauge\nkube_client_requests_in_flight{verb=\"watch\"} " + value + "\n"
	}
	if err := testutil.CollectAndCompare(m, strings.NewReader(gauge("1")), "kube_client_requests_in_flight"); err != nil {
		t.Error(err)
	}
	done(middleware.Outcome{Status: 200})
	if err := testutil.CollectAndCompare(m, strings.NewReader(gauge("0")), "kube_client_requests_in_flight"); err != nil {
		t.Error(err)
	}
}

// The number of series is bounded, whatever the program and the server send.
func TestCardinalityIsBounded(t *testing.T) {
	m := kubeprometheus.New(&kubeprometheus.Options{MaxResources: 3})
	for i := range 1000 {
		call := middleware.Call{Verb: fmt.Sprint("verb", i), Resource: fmt.Sprint("things", i), Name: fmt.Sprint(i), Namespace: fmt.Sprint(i)}
		r, err := http.NewRequestWithContext(middleware.WithCall(t.Context(), call), http.MethodGet, fmt.Sprint("https://cluster.test/", i), nil)
		if err != nil {
			t.Fatal(err)
		}
		_, done := m.Observe(r)
		done(middleware.Outcome{Status: i})
	}
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(m); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	series := 0
	for _, f := range families {
		series += len(f.GetMetric())
	}
	if series > 90 { // about sixty HTTP status codes
		t.Errorf("%d series", series)
	}
}

// Two clients with different labels can share a registry, and the metric names follow the rules of Prometheus.
func TestTwoClientsShareARegistry(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	for _, cluster := range []string{"a", "b"} {
		m := kubeprometheus.New(&kubeprometheus.Options{Labels: map[string]string{"cluster": cluster}})
		if err := registry.Register(m); err != nil {
			t.Fatal(err)
		}
		m.Waited(t.Context(), time.Second)
		problems, err := testutil.CollectAndLint(m)
		if err != nil || len(problems) > 0 {
			t.Errorf("lint: %v, %v", problems, err)
		}
	}
	if _, err := registry.Gather(); err != nil {
		t.Error(err)
	}
}

// TestBucketsAreCopied checks that the caller may change its buckets, and that no buckets are the default ones.
func TestBucketsAreCopied(t *testing.T) {
	for name, tc := range map[string]struct {
		buckets []float64
		want    string // one of the buckets
	}{
		"own":   {[]float64{1, 2}, `le="2"`},
		"empty": {[]float64{}, `le="60"`},
	} {
		m := kubeprometheus.New(&kubeprometheus.Options{Buckets: tc.buckets})
		clear(tc.buckets)
		_, done := m.Observe(newRequest(t, middleware.Call{Verb: "get"}))
		done(middleware.Outcome{Status: 200})
		if got := series(t, m); !strings.Contains(got, `request_duration_seconds_bucket{verb="get",`+tc.want+"} 1\n") {
			t.Errorf("%s: the histogram does not have the bucket %s:\n%s", name, tc.want, got)
		}
	}
}

func newRequest(t *testing.T, call middleware.Call) *http.Request {
	t.Helper()
	ctx := middleware.WithCall(t.Context(), call)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://cluster.test", nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
