// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package durations_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/runtime/histogram"
	"github.com/kube-go/sdk/runtime/internal/durations"
)

// TestDurationIsInEachBucketWhoseLimitItDoesNotExceed checks limits themselves, durations beside them, and the sums of
// two counters.
func TestDurationIsInEachBucketWhoseLimitItDoesNotExceed(t *testing.T) {
	limits := []time.Duration{time.Millisecond, time.Second}
	c, other := durations.NewCounter(limits), durations.NewCounter(limits)
	for _, d := range []time.Duration{0, time.Millisecond, time.Millisecond + 1, time.Second} {
		c.Add(d)
	}
	for _, d := range []time.Duration{time.Second + 1, time.Hour} {
		other.Add(d)
	}
	c.Merge(other)
	want := histogram.Histogram{
		Count: 6, Sum: time.Hour + 2*time.Second + 2*time.Millisecond + 2,
		Buckets: []histogram.Bucket{{UpperBound: time.Millisecond, Count: 2}, {UpperBound: time.Second, Count: 4}},
	}
	if diff := cmp.Diff(want, c.Histogram()); diff != "" {
		t.Errorf("Histogram() (-want +got):\n%s", diff)
	}
}
