// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package middleware

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/kube-go/sdk/client/internal/backoff"
)

// RateLimitOptions are the options of [RateLimit]. The requests for the leases of packages election and sharding are
// not limited, see [WithoutRateLimit]: they are few, and a delay would end the term of a replica.
type RateLimitOptions struct {
	// PerSecond is the maximum average number of requests per second. Required: it must be positive.
	PerSecond float64

	// Burst is the maximum number of requests that are sent without a delay after a pause. Default: PerSecond, rounded up.
	Burst int

	// OnWait is called before the delay of each request that must wait, in the goroutine that sends the request. Default:
	// none.
	OnWait func(context.Context, time.Duration)
}

// RateLimit delays requests so that they do not exceed a rate. A request that could be sent only after the deadline of
// its context fails immediately with an error that matches context.DeadlineExceeded.
//
// API servers protect themselves, see https://kubernetes.io/docs/concepts/cluster-administration/flow-control/.
// RateLimit is for programs that must not use up the share of their user.
func RateLimit(o *RateLimitOptions) (Func, error) {
	if o == nil {
		return nil, nil
	}
	if !(o.PerSecond > 0) || math.IsInf(o.PerSecond, 1) {
		return nil, fmt.Errorf("RateLimitOptions.PerSecond: %v is not a positive number; use nil options for no limit",
			o.PerSecond)
	}
	if o.Burst < 0 {
		return nil, fmt.Errorf("RateLimitOptions.Burst: %d is negative; leave it zero for the default", o.Burst)
	}
	onWait := o.OnWait
	if onWait == nil {
		onWait = func(context.Context, time.Duration) {}
	}
	b := newBucket(o.PerSecond, defaulted(o.Burst, int(math.Ceil(o.PerSecond))))
	return func(next http.RoundTripper) http.RoundTripper {
		return RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
			if r.Context().Value(unlimitedKey{}) == nil {
				if err := b.await(r.Context(), onWait); err != nil {
					closeBody(r)
					return nil, err
				}
			}
			return next.RoundTrip(r)
		})
	}, nil
}

type unlimitedKey struct{}

// WithoutRateLimit returns a context whose requests [RateLimit] neither delays nor counts. Use it for few requests that
// must not wait behind many others, such as the renewal of a lease.
func WithoutRateLimit(ctx context.Context) context.Context {
	return context.WithValue(ctx, unlimitedKey{}, true)
}

// await waits for a token.
func (b *bucket) await(ctx context.Context, onWait func(context.Context, time.Duration)) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	most := time.Duration(math.MaxInt64)
	if deadline, ok := ctx.Deadline(); ok {
		most = time.Until(deadline)
	}
	wait, ok := b.reserve(most)
	if !ok {
		return fmt.Errorf("rate limit: the request would have to wait for %v, which is beyond its deadline: %w",
			wait.Round(time.Millisecond), context.DeadlineExceeded)
	}
	if wait == 0 {
		return nil
	}
	onWait(ctx, wait)
	if err := backoff.Sleep(ctx, wait); err != nil {
		b.put()
		return err
	}
	return nil
}

// closeBody closes the body of a request that is not sent.
func closeBody(r *http.Request) {
	if r.Body != nil {
		r.Body.Close()
	}
}
