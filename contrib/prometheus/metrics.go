// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kubeprometheus

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kube-go/sdk/client/middleware"
)

// Options are the options of [New]. The zero value of a field is its default.
type Options struct {
	// Buckets are the upper bounds of the histograms, in seconds, in ascending order. Default: from 5 ms to 60 s.
	Buckets []float64

	// MaxResources is the maximum number of different resources and subresources with their own series. Default: 200.
	MaxResources int

	// Labels are constant labels of each series, such as the name of a cluster.
	Labels map[string]string
}

// Metrics are the metrics of one or more clients. They are a prometheus.Collector.
type Metrics struct {
	requests, retries, bytes *prometheus.CounterVec
	duration                 *prometheus.HistogramVec
	inFlight                 *prometheus.GaugeVec
	waits                    prometheus.Histogram
	labels                   *middleware.Labels
}

// New returns metrics. The caller registers them. New panics if the Buckets are not in ascending order, or if the Labels
// have the name le, which is that of the buckets.
func New(o *Options) *Metrics {
	if o == nil {
		o = &Options{}
	}
	buckets := slices.Clone(o.Buckets) // the library keeps them
	if len(buckets) == 0 {
		buckets = []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60}
	}
	name := func(name, help string) prometheus.Opts {
		return prometheus.Opts{Namespace: "kube", Subsystem: "client", Name: name, Help: help, ConstLabels: o.Labels}
	}
	counter := func(n, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(
			prometheus.CounterOpts(name(n, help)),
			append([]string{"verb", "resource", "subresource"}, labels...),
		)
	}
	histogram := func(n, help string) prometheus.HistogramOpts {
		return prometheus.HistogramOpts{
			Namespace: "kube", Subsystem: "client", Name: n, Help: help, ConstLabels: o.Labels, Buckets: buckets,
		}
	}
	return &Metrics{
		requests: counter("requests_total", "Completed HTTP requests to the API server.", "code"),
		retries:  counter("retries_total", "HTTP requests to the API server that were not the first attempt."),
		bytes:    counter("response_bytes_total", "Bytes read from responses of the API server, after decompression."),
		duration: prometheus.NewHistogramVec(histogram("request_duration_seconds",
			"Time until the response of the API server was read, or its header for long-running requests."), []string{"verb"}),
		inFlight: prometheus.NewGaugeVec(prometheus.GaugeOpts(name("requests_in_flight",
			"HTTP requests to the API server in flight.")), []string{"verb"}),
		waits: prometheus.NewHistogram(
			histogram("rate_limit_wait_seconds", "Time that requests waited for the client's rate limit."),
		),
		labels: middleware.NewLabels(o.MaxResources),
	}
}

// Describe sends the descriptions of the metrics to a registry.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, c := range m.collectors() {
		c.Describe(ch)
	}
}

// Collect sends the metrics to a registry.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	for _, c := range m.collectors() {
		c.Collect(ch)
	}
}

func (m *Metrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.requests, m.retries, m.bytes, m.duration, m.inFlight, m.waits}
}

// Observe is a [middleware.Observer].
func (m *Metrics) Observe(r *http.Request) (context.Context, func(middleware.Outcome)) {
	call, _ := middleware.CallOf(r.Context())
	verb, resource, sub := m.labels.Of(call)
	if n, _ := middleware.AttemptOf(r.Context()); n > 1 {
		m.retries.WithLabelValues(verb, resource, sub).Inc()
	}
	inFlight := m.inFlight.WithLabelValues(verb)
	inFlight.Inc()
	return nil, func(out middleware.Outcome) {
		inFlight.Dec()
		m.requests.WithLabelValues(verb, resource, sub, codeOf(out)).Inc()
		m.bytes.WithLabelValues(verb, resource, sub).Add(float64(out.Bytes))
		took := out.Took
		if call.LongRunning {
			took = out.HeaderTook
		}
		m.duration.WithLabelValues(verb).Observe(took.Seconds())
	}
}

// Waited is a callback for [middleware.RateLimitOptions].OnWait.
func (m *Metrics) Waited(_ context.Context, d time.Duration) { m.waits.Observe(d.Seconds()) }

// codeOf returns the HTTP status of a response, or "error".
func codeOf(out middleware.Outcome) string {
	switch {
	case out.Status == 0:
		return "error"
	case http.StatusText(out.Status) == "":
		return middleware.Other
	}
	return strconv.Itoa(out.Status)
}
