// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/client/middleware"
	kubeotel "github.com/kube-go/sdk/contrib/otel"
	kubeprometheus "github.com/kube-go/sdk/contrib/prometheus"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/kube"
)

// telemetry collects the spans and the metrics of a client.
type telemetry struct {
	spans    *tracetest.InMemoryExporter
	tracer   *sdktrace.TracerProvider
	registry *prometheus.Registry
	observes []kube.Middleware
}

func newTelemetry(t *testing.T) *telemetry {
	t.Helper()
	tel := &telemetry{spans: tracetest.NewInMemoryExporter(), registry: prometheus.NewPedanticRegistry()}
	tel.tracer = sdktrace.NewTracerProvider(sdktrace.WithSyncer(tel.spans))
	t.Cleanup(func() {
		if err := tel.tracer.Shutdown(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	traces, err := kubeotel.New(&kubeotel.Options{TracerProvider: tel.tracer})
	if err != nil {
		t.Fatal(err)
	}
	metrics := kubeprometheus.New(nil)
	if err := tel.registry.Register(metrics); err != nil {
		t.Fatal(err)
	}
	tel.observes = []kube.Middleware{middleware.Observe(traces.Observe), middleware.Observe(metrics.Observe)}
	return tel
}

// ended returns a line for each request that has ended, in the order in which they ended.
func (tel *telemetry) ended() []string {
	var lines []string
	for _, span := range tel.spans.GetSpans() {
		line := []string{span.Name}
		for _, a := range span.Attributes {
			switch a.Key {
			case "http.response.status_code", "http.request.resend_count", "network.protocol.version":
				_, last, _ := strings.Cut(string(a.Key), ".")
				line = append(line, last+"="+a.Value.String())
			}
		}
		if span.Status.Code == codes.Error {
			line = append(line, "failed")
		}
		lines = append(lines, strings.Join(line, " "))
	}
	return lines
}

// counters returns the counters, except those of bytes, and the gauges whose value is not zero.
func (tel *telemetry) counters(t *testing.T) map[string]float64 {
	t.Helper()
	families, err := tel.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			var name strings.Builder
			name.WriteString(strings.TrimPrefix(f.GetName(), "kube_client_"))
			for _, key := range slices.Sorted(maps.Keys(labels)) {
				if labels[key] != "" {
					name.WriteString(" " + labels[key])
				}
			}
			if c := m.GetCounter(); c != nil && !strings.Contains(name.String(), "bytes") {
				got[name.String()] = c.GetValue()
			}
			if g := m.GetGauge(); g != nil && g.GetValue() != 0 {
				got[name.String()] = g.GetValue()
			}
		}
	}
	return got
}

// TestTelemetryObservesEachAttempt checks that OpenTelemetry and Prometheus observe the requests that were really sent:
// each attempt, including one whose response was cut off, a watch until its end, and an error response.
func TestTelemetryObservesEachAttempt(t *testing.T) {
	t.Parallel()
	direct := connect(t, nil)
	ns := newNamespace(t, direct)
	create(t, kube.Namespaced[corev1.ConfigMap](direct, ns), "web", strings.Repeat("0123456789abcdef", 4<<10))
	tel := newTelemetry(t)
	wire, cfg := newProxy(t, loadConfig(t, ""))
	cfg.DisableCompression = true
	c := connect(t, &kube.ClientOptions{Config: cfg, PerAttempt: tel.observes})
	configMaps := kube.Namespaced[corev1.ConfigMap](c, ns)

	list, err := configMaps.List(limit(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	seen := make(chan string, 10)
	stop := background(t, func(ctx context.Context) error {
		for ev, err := range configMaps.WatchOnce(ctx, &request.WatchOptions{ResourceVersion: list.ResourceVersion}) {
			if err != nil {
				return err
			}
			seen <- ev.Object.Name
		}
		return nil
	})
	create(t, kube.Namespaced[corev1.ConfigMap](direct, ns), "more", "")
	awaitValue(t, seen, "more")
	if n := tel.counters(t)["requests_in_flight watch"]; n != 1 {
		t.Errorf("%v watches are in flight, want 1", n)
	}
	if err := stop(); !errors.Is(err, errStopped) {
		t.Errorf("the watch ended with %v, want the cause of its context", err)
	}
	dropped := wire.dropAfter(20 << 10)
	if _, err := configMaps.Get(limit(t), "web", nil); err != nil {
		t.Error(err)
	}
	<-dropped
	if _, err := configMaps.Get(limit(t), "none", nil); !errors.Is(err, kube.ErrNotFound) {
		t.Errorf("get of a missing object: %v, want ErrNotFound", err)
	}

	wantSpans := []string{
		"list configmaps protocol.version=2 response.status_code=200",
		"watch configmaps protocol.version=2 response.status_code=200 failed",
		"get configmaps protocol.version=2 response.status_code=200 failed",
		"get configmaps request.resend_count=1 protocol.version=2 response.status_code=200",
		"get configmaps protocol.version=2 response.status_code=404 failed",
	}
	if diff := cmp.Diff(wantSpans, tel.ended()); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
	wantCounters := map[string]float64{
		"requests_total 200 configmaps list": 1, "requests_total 200 configmaps watch": 1,
		"requests_total 200 configmaps get": 2, "requests_total 404 configmaps get": 1, "retries_total configmaps get": 1,
	}
	if diff := cmp.Diff(wantCounters, tel.counters(t)); diff != "" {
		t.Errorf("counters (-want +got):\n%s", diff)
	}
}
