// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package histogram

import "time"

// Histogram is the distribution of durations.
type Histogram struct {
	Count uint64        // the number of the durations
	Sum   time.Duration // of the durations

	// Buckets has the numbers of the durations that are not longer than an upper bound, in the order of the bounds.
	Buckets []Bucket
}

// Bucket is the number of durations up to an upper bound.
type Bucket struct {
	UpperBound time.Duration
	Count      uint64
}
