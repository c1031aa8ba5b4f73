// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kubeprometheus

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kube-go/sdk/runtime/metrics"
)

// Collector has the metrics of a [metrics.Registry], except for those of the process. It is a prometheus.Collector, and
// reads the current numbers when it is collected. Create one with [NewCollector].
type Collector struct {
	registry *metrics.Registry
	descs    map[string]*prometheus.Desc // by the name of the metric
}

// NewCollector returns a collector of the metrics of a registry, such as that of a manager. The caller registers it.
// Families must be added to r before: each one that is added later is an error of each collection, and a handler of
// package promhttp then serves no metrics unless its HandlerOpts.ErrorHandling is ContinueOnError.
func NewCollector(r *metrics.Registry) *Collector {
	c := &Collector{registry: r, descs: make(map[string]*prometheus.Desc)}
	for _, f := range r.Families() {
		c.descs[f.Name] = prometheus.NewDesc(f.Name, f.Help, f.Labels, nil)
	}
	return c
}

// Describe sends the descriptions of the metrics to a registry.
func (c *Collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		ch <- d
	}
}

// Collect sends the metrics to a registry.
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	for _, f := range c.registry.Families() {
		d := c.descs[f.Name]
		if d == nil {
			err := fmt.Errorf("%s was added to the metrics.Registry after NewCollector: add it before", f.Name)
			ch <- prometheus.NewInvalidMetric(prometheus.NewInvalidDesc(err), err)
			continue
		}
		for i := range f.Samples {
			m, err := metric(d, f.Type, &f.Samples[i])
			if err != nil { // the family has another type or other labels than before
				m = prometheus.NewInvalidMetric(d, err)
			}
			ch <- m
		}
	}
}

// metric returns a sample as a metric of the library.
func metric(d *prometheus.Desc, kind metrics.Type, s *metrics.Sample) (prometheus.Metric, error) {
	switch kind {
	case metrics.Counter:
		return prometheus.NewConstMetric(d, prometheus.CounterValue, s.Value, s.Labels...)
	case metrics.Gauge:
		return prometheus.NewConstMetric(d, prometheus.GaugeValue, s.Value, s.Labels...)
	case metrics.Histogram:
		buckets := make(map[float64]uint64, len(s.Histogram.Buckets))
		for _, b := range s.Histogram.Buckets {
			buckets[b.UpperBound.Seconds()] = b.Count
		}
		return prometheus.NewConstHistogram(d, s.Histogram.Count, s.Histogram.Sum.Seconds(), buckets, s.Labels...)
	}
	return nil, fmt.Errorf("the type %q is invalid: use metrics.Counter, metrics.Gauge or metrics.Histogram", kind)
}
