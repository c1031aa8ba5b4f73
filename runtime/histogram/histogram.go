// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package histogram

import "time"

// Histogram is the distribution of durations.
type Histogram struct {
	Number uint64        // of the durations
	Sum    time.Duration // of the durations

	// Buckets has the numbers of the durations that are not longer than a limit, in the order of the limits.
	Buckets []Bucket
}

// Bucket is the number of durations up to a limit.
type Bucket struct {
	Limit  time.Duration
	Number uint64
}
