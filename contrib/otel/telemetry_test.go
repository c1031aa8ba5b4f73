// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kubeotel_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-go/sdk/client/middleware"
	kubeotel "github.com/kube-go/sdk/contrib/otel"
)

// sink receives spans and metrics.
type sink struct {
	spans  *tracetest.InMemoryExporter
	tracer *sdktrace.TracerProvider
	reader *metric.ManualReader
	meter  *metric.MeterProvider
}

func newSink(t *testing.T) *sink {
	s := &sink{spans: tracetest.NewInMemoryExporter(), reader: metric.NewManualReader()}
	s.tracer = sdktrace.NewTracerProvider(sdktrace.WithSyncer(s.spans))
	s.meter = metric.NewMeterProvider(metric.WithReader(s.reader))
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if err := errors.Join(s.tracer.Shutdown(ctx), s.meter.Shutdown(ctx)); err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *sink) telemetry(t *testing.T, resources int) *kubeotel.Telemetry {
	t.Helper()
	telemetry, err := kubeotel.New(&kubeotel.Options{
		TracerProvider: s.tracer, MeterProvider: s.meter, Propagator: propagation.TraceContext{}, MaxResources: resources,
	})
	if err != nil {
		t.Fatal(err)
	}
	return telemetry
}

// metrics returns each point of each metric as a string.
func (s *sink) metrics(t *testing.T) []string {
	t.Helper()
	var data metricdata.ResourceMetrics
	if err := s.reader.Collect(t.Context(), &data); err != nil {
		t.Fatal(err)
	}
	var points []string
	for _, m := range data.ScopeMetrics[0].Metrics {
		switch d := m.Data.(type) {
		case metricdata.Histogram[float64]:
			for _, p := range d.DataPoints {
				points = append(points, fmt.Sprintf("%s %v %s", m.Name, p.Sum, text(p.Attributes.ToSlice())))
			}
		case metricdata.Histogram[int64]:
			for _, p := range d.DataPoints {
				points = append(points, fmt.Sprintf("%s %v %s", m.Name, p.Sum, text(p.Attributes.ToSlice())))
			}
		case metricdata.Sum[int64]:
			for _, p := range d.DataPoints {
				points = append(points, fmt.Sprintf("%s %v %s", m.Name, p.Value, text(p.Attributes.ToSlice())))
			}
		default:
			t.Errorf("%s is a %T", m.Name, d)
		}
	}
	slices.Sort(points)
	return points
}

func text(attrs []attribute.KeyValue) string {
	var words []string
	for _, a := range attrs {
		words = append(words, string(a.Key)+"="+a.Value.String())
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

const path = "/api/v1/namespaces/prod/pods/web-0/exec?command=mysql&command=-phunter2"

// send sends a request and reads its response. Each takes a second.
func send(t *testing.T, rt http.RoundTripper, ctx context.Context, call middleware.Call) { //nolint:revive // the test goes first
	t.Helper()
	r, err := http.NewRequestWithContext(middleware.WithCall(ctx, call), http.MethodGet, "https://cluster.test:6443"+path, nil)
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

// TestRequestsHaveSpansAndMetrics checks the spans and metrics of a request that is retried, and of one without a
// response.
func TestRequestsHaveSpansAndMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSink(t)
		telemetry := s.telemetry(t, 0)
		refused := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
		codesLeft, parents := []int{503, 200, 404, 0}, []string{}
		server := middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
			parents = append(parents, r.Header.Get("Traceparent"))
			<-time.After(time.Second)
			code := codesLeft[0]
			if codesLeft = codesLeft[1:]; code == 0 {
				return nil, refused
			}
			return &http.Response{StatusCode: code, Proto: "HTTP/2.0", Body: io.NopCloser(strings.NewReader("hello")), ContentLength: -1, Request: r}, nil
		})
		retry, err := middleware.Retry(&middleware.RetryOptions{MaxAttempts: 2})
		if err != nil {
			t.Fatal(err)
		}
		rt := middleware.Chain(server, retry, middleware.Observe(telemetry.Observe))
		ctx, parent := s.tracer.Tracer("test").Start(t.Context(), "reconcile")
		send(t, rt, ctx, middleware.Call{Verb: "get", Group: "apps", Resource: "deployments", Subresource: "scale", Namespace: "prod", Name: "web", Idempotent: true})
		send(t, rt, ctx, middleware.Call{Verb: "get", Resource: "pods", Subresource: "log", LongRunning: true})
		send(t, rt, middleware.WithAttempts(ctx, 1), middleware.Call{Verb: "create", Resource: "pods"})
		parent.End()

		const common = "http.request.method=GET kube.name=web kube.namespace=prod kube.resource=deployments.apps kube.subresource=scale kube.verb=get " +
			"network.protocol.version=2 server.address=cluster.test server.port=6443 "
		url := "url.full=https://cluster.test:6443/api/v1/namespaces/prod/pods/web-0/exec?command=redacted"
		want := []string{
			"get deployments.apps/scale 1s Error: error.type=503 " + strings.Replace(common, "http.request.method=GET ", "http.request.method=GET http.response.body.size=5 http.response.status_code=503 ", 1) + url,
			"get deployments.apps/scale 2s Unset: " + strings.Replace(common, "http.request.method=GET ", "http.request.method=GET http.request.resend_count=1 http.response.body.size=5 http.response.status_code=200 ", 1) + url,
			"get pods/log 2s Error: error.type=404 http.request.method=GET http.response.body.size=5 http.response.status_code=404 kube.resource=pods kube.subresource=log kube.verb=get network.protocol.version=2 server.address=cluster.test server.port=6443 " + url,
			"create pods 1s Error: error.type=syscall.Errno http.request.method=GET kube.resource=pods kube.verb=create server.address=cluster.test server.port=6443 " + url,
		}
		var got []string
		for _, span := range s.spans.GetSpans() {
			if span.Name == "reconcile" {
				continue
			}
			got = append(got, fmt.Sprintf("%s %v %v: %s", span.Name, span.EndTime.Sub(span.StartTime), span.Status.Code, text(span.Attributes)))
			if span.SpanKind != trace.SpanKindClient || span.Parent.SpanID() != parent.SpanContext().SpanID() {
				t.Errorf("%s is a %v under %v", span.Name, span.SpanKind, span.Parent.SpanID())
			}
			if !slices.ContainsFunc(parents, func(p string) bool { return strings.Contains(p, span.SpanContext.SpanID().String()) }) {
				t.Errorf("the server did not receive the span %s: %q", span.Name, parents)
			}
			if span.Status.Code == codes.Error && span.Status.Description != "" {
				t.Errorf("the span %s contains the text of the error: %s", span.Name, span.Status.Description)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("spans (-want +got):\n%s", diff)
		}

		const server1 = "server.address=cluster.test server.port=6443"
		scale := " kube.resource=deployments.apps kube.subresource=scale kube.verb=get "
		log := " kube.resource=pods kube.subresource=log kube.verb=get "
		pods := " kube.resource=pods kube.subresource= kube.verb="
		wantMetrics := []string{
			"http.client.active_requests 0 http.request.method=GET" + scale + server1,
			"http.client.active_requests 0 http.request.method=GET" + pods + "create " + server1,
			"http.client.active_requests 0 http.request.method=GET" + log + "" + server1,
			"http.client.request.duration 1 error.type=404 http.request.method=GET http.response.status_code=404" + log + "network.protocol.version=2 " + server1,
			"http.client.request.duration 1 error.type=503 http.request.method=GET http.response.status_code=503" + scale + "network.protocol.version=2 " + server1,
			"http.client.request.duration 1 error.type=syscall.Errno http.request.method=GET" + pods + "create " + server1,
			"http.client.request.duration 2 http.request.method=GET http.response.status_code=200" + scale + "network.protocol.version=2 " + server1,
			"http.client.response.body.size 5 error.type=404 http.request.method=GET http.response.status_code=404" + log + "network.protocol.version=2 " + server1,
			"http.client.response.body.size 5 error.type=503 http.request.method=GET http.response.status_code=503" + scale + "network.protocol.version=2 " + server1,
			"http.client.response.body.size 5 http.request.method=GET http.response.status_code=200" + scale + "network.protocol.version=2 " + server1,
		}
		if diff := cmp.Diff(wantMetrics, s.metrics(t)); diff != "" {
			t.Errorf("metrics (-want +got):\n%s", diff)
		}
	})
}

// TestSpansHaveTheTypeOfAnErrorOnly checks that spans have the type of an error, and no addresses or names, and that
// methods and errors that HTTP does not define are those of the semantic conventions.
func TestSpansHaveTheTypeOfAnErrorOnly(t *testing.T) {
	s := newSink(t)
	telemetry := s.telemetry(t, 0)
	for _, err := range []error{
		fmt.Errorf("secret-name: %w", context.Canceled), fmt.Errorf("secret-name: %w", context.DeadlineExceeded), errors.New("secret-name"),
	} {
		r, reqErr := http.NewRequestWithContext(t.Context(), "BREW", "http://cluster.test", nil)
		if reqErr != nil {
			t.Fatal(reqErr)
		}
		_, done := telemetry.Observe(r)
		done(middleware.Outcome{Err: err})
	}
	for _, status := range []int{799, 299} {
		_, done := telemetry.Observe(mustRequest(t))
		done(middleware.Outcome{Status: status})
	}
	var got []string
	for _, span := range s.spans.GetSpans() {
		got = append(got, span.Name+": "+text(span.Attributes))
	}
	const server = " server.address=cluster.test server.port=80 url.full=http://cluster.test"
	const brew = " http.request.method=_OTHER http.request.method_original=BREW" + server
	const get = "http.request.method=GET http.response.body.size=0 http.response.status_code="
	want := []string{
		"HTTP: error.type=canceled" + brew,
		"HTTP: error.type=timeout" + brew,
		"HTTP: error.type=*errors.errorString" + brew,
		"GET: error.type=_OTHER " + get + "799" + server,
		"GET: " + get + "299" + server,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
}

func mustRequest(t *testing.T) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://cluster.test", nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The number of series is bounded, whatever the program and the server send.
func TestCardinalityIsBounded(t *testing.T) {
	s := newSink(t)
	telemetry := s.telemetry(t, 3)
	for i := range 1000 {
		call := middleware.Call{Verb: fmt.Sprint("verb", i), Resource: fmt.Sprint("things", i), Name: fmt.Sprint(i), Namespace: fmt.Sprint(i)}
		r, err := http.NewRequestWithContext(middleware.WithCall(t.Context(), call), fmt.Sprint("M", i), fmt.Sprint("https://cluster.test/", i), nil)
		if err != nil {
			t.Fatal(err)
		}
		_, done := telemetry.Observe(r)
		done(middleware.Outcome{Status: i})
	}
	if points := s.metrics(t); len(points) > 150 { // about sixty HTTP status codes, twice
		t.Errorf("%d points", len(points))
	}
}

// Telemetry without providers has no effect on requests.
func TestTelemetryWithoutProvidersDoesNothing(t *testing.T) {
	telemetry, err := kubeotel.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	r := mustRequest(t)
	_, done := telemetry.Observe(r)
	done(middleware.Outcome{Status: 200})
	if len(r.Header) > 0 {
		t.Errorf("headers = %v, want no headers", r.Header)
	}
}
