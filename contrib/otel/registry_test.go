// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kubeotel_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/kube-go/sdk/runtime/histogram"
	"github.com/kube-go/sdk/runtime/metrics"
)

// TestMetricsOfARegistryAreReported checks a counter, a gauge and a histogram, and that a sample with the wrong labels is
// counted.
func TestMetricsOfARegistryAreReported(t *testing.T) {
	s, r := newSink(t), metrics.NewRegistry()
	number := 1.0
	family := func(name string, kind metrics.Type, sample metrics.Sample) func() []metrics.Family {
		return func() []metrics.Family {
			sample.Labels, sample.Value = []string{"a"}, number
			return []metrics.Family{{
				Name: name, Help: "Help.", Type: kind, Labels: []string{"label"},
				Samples: []metrics.Sample{sample, {Value: 7}}, // the second one lacks the label
			}}
		}
	}
	three := histogram.Histogram{
		Count: 3, Sum: 4 * time.Second,
		Buckets: []histogram.Bucket{{UpperBound: 500 * time.Millisecond, Count: 1}, {UpperBound: time.Second, Count: 2}},
	}
	for name, kind := range map[string]metrics.Type{
		"c_total": metrics.Counter, "g": metrics.Gauge, "h_seconds": metrics.Histogram,
	} {
		if err := r.AddFamilies(family(name, kind, metrics.Sample{Histogram: three})); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.telemetry(t, 0).AddRegistry(r); err != nil {
		t.Fatal(err)
	}
	number = 2 // the current value counts
	var data metricdata.ResourceMetrics
	if err := s.reader.Collect(t.Context(), &data); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range data.ScopeMetrics[0].Metrics {
		switch d := m.Data.(type) {
		case metricdata.Sum[float64]:
			for _, p := range d.DataPoints {
				got = append(got, fmt.Sprintf("%s counter %v %v %s", m.Name, d.IsMonotonic, p.Value, text(p.Attributes.ToSlice())))
			}
		case metricdata.Gauge[float64]:
			for _, p := range d.DataPoints {
				got = append(got, fmt.Sprintf("%s gauge %v %s", m.Name, p.Value, text(p.Attributes.ToSlice())))
			}
		default:
			t.Errorf("%s is a %T", m.Name, d)
		}
	}
	slices.Sort(got)
	want := []string{
		"c_total counter true 2 label=a",
		"g gauge 2 label=a",
		"h_seconds_bucket counter true 1 label=a le=0.5",
		"h_seconds_bucket counter true 2 label=a le=1",
		"h_seconds_bucket counter true 3 label=a le=+Inf",
		"h_seconds_count counter true 3 label=a",
		"h_seconds_sum counter true 4 label=a",
		"kube_metrics_invalid_samples gauge 1 metric=c_total",
		"kube_metrics_invalid_samples gauge 1 metric=g",
		"kube_metrics_invalid_samples gauge 1 metric=h_seconds",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
	if err := s.telemetry(t, 0).AddRegistry(nil); err == nil {
		t.Error("AddRegistry(nil) returned no error")
	}
}

// TestRegistryIsAddedOnce checks that the values of a registry are not doubled.
func TestRegistryIsAddedOnce(t *testing.T) {
	s, r := newSink(t), metrics.NewRegistry()
	if err := r.AddFamilies(jobs("jobs_total", 3)); err != nil {
		t.Fatal(err)
	}
	telemetry := s.telemetry(t, 0)
	if err := telemetry.AddRegistry(r); err != nil {
		t.Fatal(err)
	}
	if err := telemetry.AddRegistry(r); err == nil || !strings.Contains(err.Error(), "add it once") {
		t.Errorf("AddRegistry() = %v for a registry that was added before", err)
	}
	if diff := cmp.Diff(map[string]float64{"jobs_total": 3}, s.sums(t)); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

// TestLateFamilyDoesNotSuppressOtherMetrics checks that a family that was added after AddRegistry is reported, and that
// all other metrics are exported: a periodic reader exports nothing if a callback returns an error.
func TestLateFamilyDoesNotSuppressOtherMetrics(t *testing.T) {
	var handled []string
	former := otel.GetErrorHandler()
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { handled = append(handled, err.Error()) }))
	t.Cleanup(func() { otel.SetErrorHandler(former) })
	s, r := newSink(t), metrics.NewRegistry()
	if err := r.AddFamilies(jobs("jobs_total", 3)); err != nil {
		t.Fatal(err)
	}
	if err := s.telemetry(t, 0).AddRegistry(r); err != nil {
		t.Fatal(err)
	}
	if err := r.AddFamilies(jobs("late_total", 4)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]float64{"jobs_total": 3}, s.sums(t)); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
	want := []string{"late_total was added to the metrics.Registry after AddRegistry: add it before"}
	if diff := cmp.Diff(want, handled); diff != "" {
		t.Errorf("handled errors (-want +got):\n%s", diff)
	}
}

// jobs returns a function for AddFamilies with one counter.
func jobs(name string, value float64) func() []metrics.Family {
	return func() []metrics.Family {
		return []metrics.Family{{Name: name, Help: "Jobs.", Type: metrics.Counter, Samples: []metrics.Sample{{Value: value}}}}
	}
}

// sums returns the values of the counters without attributes.
func (s *sink) sums(t *testing.T) map[string]float64 {
	t.Helper()
	var data metricdata.ResourceMetrics
	if err := s.reader.Collect(t.Context(), &data); err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, scope := range data.ScopeMetrics {
		for _, m := range scope.Metrics {
			if sum, ok := m.Data.(metricdata.Sum[float64]); ok {
				all[m.Name] = sum.DataPoints[0].Value
			}
		}
	}
	return all
}
