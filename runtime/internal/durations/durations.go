// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package durations counts durations by their length, for a [histogram.Histogram].
package durations

import (
	"time"

	"github.com/kube-go/sdk/runtime/histogram"
)

// Counter counts durations. Create one with [NewCounter]. It is not safe for concurrent use.
type Counter struct {
	limits  []time.Duration
	sum     time.Duration
	numbers []uint64 // not cumulative; the last one is of durations above all limits
}

// NewCounter returns a counter that has counted nothing. The limits are those of the buckets, in ascending order. They
// must not be changed; several counters may share them.
func NewCounter(limits []time.Duration) *Counter {
	return &Counter{limits: limits, numbers: make([]uint64, len(limits)+1)}
}

// Add counts a duration.
func (c *Counter) Add(d time.Duration) {
	c.sum += d
	i := 0
	for i < len(c.limits) && d > c.limits[i] {
		i++
	}
	c.numbers[i]++
}

// Merge adds the numbers of another counter with the same limits.
func (c *Counter) Merge(o *Counter) {
	c.sum += o.sum
	for i, n := range o.numbers {
		c.numbers[i] += n
	}
}

// Histogram returns the distribution of the durations that were counted.
func (c *Counter) Histogram() histogram.Histogram {
	h := histogram.Histogram{Sum: c.sum, Buckets: make([]histogram.Bucket, len(c.limits))}
	for i, limit := range c.limits {
		h.Count += c.numbers[i]
		h.Buckets[i] = histogram.Bucket{UpperBound: limit, Count: h.Count}
	}
	h.Count += c.numbers[len(c.limits)]
	return h
}
