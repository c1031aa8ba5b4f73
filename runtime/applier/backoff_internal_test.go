// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package applier

import (
	"math"
	"testing"
	"time"
)

func TestBackoffDelay(t *testing.T) {
	tests := []struct {
		name    string
		options Options
		random  float64
		doubled int
		want    time.Duration
	}{
		{"the first delay is the base", Options{}, 0, 0, 5 * time.Millisecond},
		{"the second is twice as long", Options{}, 0, 1, 10 * time.Millisecond},
		{"the eighteenth is the last below the limit", Options{}, 0, 17, 655360 * time.Millisecond},
		{"the nineteenth is the limit", Options{}, 0, 18, 1000 * time.Second},
		{"doubling does not overflow", Options{}, 0, 62, 1000 * time.Second},
		{"shifting by more than the width does not overflow", Options{}, 0, math.MaxUint8, 1000 * time.Second},
		{"a limit may be the longest duration", Options{Backoff: Backoff{InitialBackoff: 3, MaxBackoff: math.MaxInt64}}, 0, 61, 3 << 61},
		{"a limit that is the longest duration holds", Options{Backoff: Backoff{InitialBackoff: 3, MaxBackoff: math.MaxInt64}}, 0, 62, math.MaxInt64},
		{"a base above the default limit is the limit", Options{Backoff: Backoff{InitialBackoff: time.Hour}}, 0, 9, time.Hour},
		{"a base may equal the limit", Options{Backoff: Backoff{InitialBackoff: time.Second, MaxBackoff: time.Second}}, 0, 3, time.Second},
		{"jitter may be zero", Options{Backoff: Backoff{InitialBackoff: time.Second, Jitter: 0.5}}, 0, 0, time.Second},
		{"jitter subtracts its share", Options{Backoff: Backoff{InitialBackoff: time.Second, Jitter: 0.5}}, 0.5, 1, 1500 * time.Millisecond},
		{"jitter applies to the limit, too", Options{Backoff: Backoff{MaxBackoff: time.Second, Jitter: 1}}, 0.75, 9, 250 * time.Millisecond},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := newBackoff(test.options.withDefaults().Backoff)
			b.random = func() float64 { return test.random }
			if got := b.delay(test.doubled); got != test.want {
				t.Errorf("delay(%d) = %v, want %v", test.doubled, got, test.want)
			}
		})
	}
}
