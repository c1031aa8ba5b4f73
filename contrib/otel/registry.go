// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kubeotel

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/kube-go/sdk/runtime/metrics"
)

// AddRegistry reports the metrics of a registry, such as that of a manager, whenever the MeterProvider collects. The
// names are those of package metrics. A histogram becomes three counters, with the suffixes _count, _sum and _bucket;
// the last one has the attribute le, an upper bound in seconds or +Inf. Exporters for Prometheus add _total to the names
// of these counters. For histograms of OpenTelemetry, which keep their names, use an exporter for OTLP, and instead of
// AddRegistry the collector of contrib/prometheus with the package go.opentelemetry.io/contrib/bridges/prometheus.
//
// It returns an error if the MeterProvider rejects an instrument, or if r was added before, since OpenTelemetry would
// add up the values of both. Families must be added to r before: those that are added later are left out, and each
// collection reports them to the error handler of OpenTelemetry.
func (t *Telemetry) AddRegistry(r *metrics.Registry) error {
	if r == nil {
		return errors.New("the metrics.Registry is nil")
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if slices.Contains(t.registries, r) {
		return errors.New("the metrics.Registry was added before: add it once")
	}
	known := instruments{}
	var errs []error
	add := func(name, help string, kind metrics.Type) {
		var err error
		if kind == metrics.Gauge {
			known[name], err = t.meter.Float64ObservableGauge(name, metric.WithDescription(help))
		} else {
			known[name], err = t.meter.Float64ObservableCounter(name, metric.WithDescription(help))
		}
		errs = append(errs, err)
	}
	for _, f := range r.Families() {
		if f.Type != metrics.Histogram {
			add(f.Name, f.Help, f.Type)
			continue
		}
		for _, suffix := range []string{count, sum, bucket} {
			add(f.Name+suffix, f.Help, f.Type)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	all := make([]metric.Observable, 0, len(known))
	for _, i := range known {
		all = append(all, i)
	}
	_, err := t.meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		if err := known.observe(o, r.Families()); err != nil {
			otel.Handle(err) // because of an error of a callback, a reader may export no metric at all
		}
		return nil
	}, all...)
	if err == nil {
		t.registries = append(t.registries, r)
	}
	return err
}

// The suffixes of the counters of a histogram.
const (
	count  = "_count"
	sum    = "_sum"
	bucket = "_bucket"
)

// instruments are the observable instruments by name.
type instruments map[string]metric.Float64Observable

// observe reports the samples of families.
func (known instruments) observe(o metric.Observer, families []metrics.Family) error {
	var errs []error
	for _, f := range families {
		first := f.Name
		if f.Type == metrics.Histogram {
			first += count
		}
		if known[first] == nil {
			errs = append(errs, fmt.Errorf("%s was added to the metrics.Registry after AddRegistry: add it before", f.Name))
			continue
		}
		for _, s := range f.Samples {
			labels := make([]attribute.KeyValue, len(f.Labels), len(f.Labels)+1)
			for i, name := range f.Labels {
				labels[i] = attribute.String(name, s.Labels[i])
			}
			with := metric.WithAttributes(labels...)
			if f.Type != metrics.Histogram {
				o.ObserveFloat64(known[f.Name], s.Value, with)
				continue
			}
			o.ObserveFloat64(known[f.Name+count], float64(s.Histogram.Count), with)
			o.ObserveFloat64(known[f.Name+sum], s.Histogram.Sum.Seconds(), with)
			below := func(limit float64, n uint64) {
				le := attribute.String("le", strconv.FormatFloat(limit, 'g', -1, 64))
				o.ObserveFloat64(known[f.Name+bucket], float64(n), metric.WithAttributes(append(labels, le)...))
			}
			for _, b := range s.Histogram.Buckets {
				below(b.UpperBound.Seconds(), b.Count)
			}
			below(math.Inf(1), s.Histogram.Count)
		}
	}
	return errors.Join(errs...)
}
