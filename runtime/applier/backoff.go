// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package applier

import (
	"math/rand/v2"
	"time"
)

// backoff computes the delays of retries.
type backoff struct {
	base, limit time.Duration
	jitter      float64
	random      func() float64 // in [0, 1)
}

func newBackoff(o Backoff) backoff {
	return backoff{base: o.InitialBackoff, limit: o.MaxBackoff, jitter: o.Jitter, random: rand.Float64}
}

// delay is base doubled so many times, at most limit, less the jitter. It does not overflow.
func (b backoff) delay(doubled int) time.Duration {
	d := b.limit
	if b.base <= b.limit>>doubled {
		d = b.base << doubled
	}
	if b.jitter > 0 {
		d -= time.Duration(b.jitter * b.random() * float64(d))
	}
	return d
}
