// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kubeotel

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/runtime/metrics"
)

// scope is the name of the instrumentation scope of spans and metrics.
const scope = "github.com/kube-go/sdk/contrib/otel"

// Options are the options of [New]. The zero value of a field is its default.
type Options struct {
	// TracerProvider receives the spans. Default: no spans.
	TracerProvider trace.TracerProvider

	// MeterProvider receives the metrics. Default: no metrics.
	MeterProvider metric.MeterProvider

	// Propagator sends the trace of a request to the server, for the server's own spans. Default: none.
	Propagator propagation.TextMapPropagator

	// MaxResources is the maximum number of different resources and subresources in metrics. Default: 200. The SDK of
	// OpenTelemetry has a limit, too: by default, it reports at most 2000 series of each metric, those of buckets
	// included, and all others as one with the attribute otel.metric.overflow; see WithCardinalityLimit of its package
	// metric.
	MaxResources int
}

// Telemetry reports the requests of one or more clients.
type Telemetry struct {
	tracer     trace.Tracer
	propagator propagation.TextMapPropagator
	labels     *middleware.Labels
	meter      metric.Meter

	duration metric.Float64Histogram
	size     metric.Int64Histogram
	active   metric.Int64UpDownCounter

	mu         sync.Mutex // guards registries
	registries []*metrics.Registry
}

// New returns telemetry. It returns an error if the MeterProvider rejects an instrument.
func New(o *Options) (*Telemetry, error) {
	var opts Options
	if o != nil {
		opts = *o
	}
	if opts.TracerProvider == nil {
		opts.TracerProvider = tracenoop.NewTracerProvider()
	}
	if opts.MeterProvider == nil {
		opts.MeterProvider = metricnoop.NewMeterProvider()
	}
	if opts.Propagator == nil {
		opts.Propagator = propagation.NewCompositeTextMapPropagator()
	}
	meter := opts.MeterProvider.Meter(scope)
	duration, err1 := meter.Float64Histogram("http.client.request.duration", metric.WithUnit("s"),
		metric.WithDescription("Duration of HTTP client requests."),
		metric.WithExplicitBucketBoundaries(0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10))
	size, err2 := meter.Int64Histogram("http.client.response.body.size", metric.WithUnit("By"),
		metric.WithDescription("Size of HTTP client response bodies."),
		metric.WithExplicitBucketBoundaries(0, 256, 1<<10, 4<<10, 16<<10, 64<<10, 256<<10, 1<<20, 4<<20, 16<<20, 64<<20))
	active, err3 := meter.Int64UpDownCounter("http.client.active_requests", metric.WithUnit("{request}"),
		metric.WithDescription("Number of active HTTP requests."))
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	return &Telemetry{
		tracer: opts.TracerProvider.Tracer(scope), propagator: opts.Propagator, labels: middleware.NewLabels(opts.MaxResources),
		meter: meter, duration: duration, size: size, active: active,
	}, nil
}

// Observe is a [middleware.Observer]. The metrics of a request are recorded when it ends. They do not have a status that
// HTTP does not define; from 400 on, its error.type is _OTHER.
func (t *Telemetry) Observe(r *http.Request) (context.Context, func(middleware.Outcome)) {
	call, _ := middleware.CallOf(r.Context())
	ctx, span := t.tracer.Start(r.Context(), spanName(r, call),
		trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(spanAttributes(r, call)...))
	t.propagator.Inject(ctx, propagation.HeaderCarrier(r.Header))

	began := t.beginAttributes(r, call)
	active := metric.WithAttributes(began...)
	t.active.Add(ctx, 1, active)
	return ctx, func(out middleware.Outcome) {
		t.active.Add(ctx, -1, active)
		ended := metric.WithAttributes(append(began, endAttributes(out)...)...)
		took := out.Took
		if call.LongRunning {
			took = out.HeaderTook
		}
		t.duration.Record(ctx, took.Seconds(), ended)
		span.SetAttributes(endAttributes(out)...)
		if out.Status != 0 {
			t.size.Record(ctx, out.Bytes, ended)
			span.SetAttributes(attribute.Int("http.response.status_code", out.Status),
				attribute.Int64("http.response.body.size", out.Bytes))
		}
		if out.Status == 0 || out.Status >= 400 || out.Err != nil {
			span.SetStatus(codes.Error, "")
		}
		span.End()
	}
}

// spanName returns the name of a request's span, without names of objects.
func spanName(r *http.Request, call middleware.Call) string {
	if call.Resource == "" {
		if method := methodOf(r.Method); method != other {
			return method
		}
		return "HTTP"
	}
	name := call.Verb + " " + call.GroupResource()
	if call.Subresource != "" {
		name += "/" + call.Subresource
	}
	return name
}
