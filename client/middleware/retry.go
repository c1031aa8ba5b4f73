// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package middleware

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/kube-go/sdk/client/internal/backoff"
)

// RetryOptions are the options of [Retry]. The zero value of a field is its default.
type RetryOptions struct {
	// MaxAttempts is the maximum number of times that a request is sent; 1 disables retries. Default: 10. A watch is sent
	// at most twice, because its caller needs retries of its own when the watch ends.
	MaxAttempts int

	// MaxElapsedTime is the maximum time between the first attempt and the start of a retry. Default: 30 s. One retry may
	// be later, if the connection broke or the server did not respond in time: noticing that takes 30 seconds or more, and
	// a new connection may work.
	MaxElapsedTime time.Duration

	// InitialBackoff is the delay after the first attempt. The delay doubles after each further attempt up to MaxBackoff,
	// and varies at random by half. If the server requests a longer delay, that is used. Default: 100 ms and 5 s.
	InitialBackoff, MaxBackoff time.Duration

	// Budget is the maximum burst of retries of all requests together, so that many callers do not overload a server that
	// has just recovered. A tenth of it is the maximum average rate of retries per second. Retries that exceed them are
	// not made. Default: 100.
	Budget int

	// ResponseBytes is the number of bytes of a response that are read before the caller receives it. If the connection
	// breaks within them, the request can still be retried. The rest is streamed. Default: 8 MiB.
	ResponseBytes int64

	// OnRetry is called before the delay of each retry, in the goroutine that sends the request. Default: none.
	OnRetry func(context.Context, Retrying)

	// Logger logs each retry at info level. Default: no logs.
	Logger *slog.Logger
}

// Retrying describes a request that is about to be sent again.
type Retrying struct {
	Call    Call
	Attempt int           // number of times that it was sent
	Status  int           // status of the response; zero if there was none
	Err     error         // reason that there was no response
	Wait    time.Duration // delay until it is sent again
}

// RetryError is the error of a request that failed after it was sent more than once.
type RetryError struct {
	Attempts int
	Elapsed  time.Duration // since the first attempt
	Err      error         // error of the last attempt
}

// Error returns the error of the last attempt with the number of attempts.
func (e *RetryError) Error() string {
	return fmt.Sprintf("%v; sent %d times in %v", e.Err, e.Attempts, e.Elapsed.Round(time.Millisecond))
}

// Unwrap returns Err.
func (e *RetryError) Unwrap() error { return e.Err }

type (
	attemptsKey struct{}
	attemptKey  struct{}
	attempt     struct {
		number int
		first  time.Time
	}
)

// WithAttempts returns a context that lowers the maximum number of attempts of [Retry] to n. Use it with 1 for callers
// with their own retries, whose delays would otherwise multiply, and for callers that need the result immediately.
func WithAttempts(ctx context.Context, n int) context.Context {
	if outer, ok := ctx.Value(attemptsKey{}).(int); ok {
		n = min(n, outer)
	}
	return context.WithValue(ctx, attemptsKey{}, max(1, n))
}

// AttemptOf returns the number of the attempt of the request with the context ctx, starting at 1, and the time of the
// first attempt. The time is zero for the first attempt itself.
func AttemptOf(ctx context.Context) (number int, first time.Time) {
	if a, ok := ctx.Value(attemptKey{}).(attempt); ok {
		return a.number, a.first
	}
	return 1, time.Time{}
}

// Retry sends a request again if that may help and is safe:
//
//   - after 429, and after 503 with Retry-After, because the API server has not done anything yet. This excludes the
//     429 of an eviction, which is caused by a disruption budget, and proxied responses, which do not come from the API
//     server;
//   - if no connection can be opened, but there was a response to an earlier request: without one, the address may be
//     wrong;
//   - if the request is idempotent: after 429, 502, 503 and 504, after 500 with Retry-After, and if the connection
//     breaks before or within the response. A write with a resource version is not idempotent: repeated after a lost
//     response, it would report its own success as a conflict.
//
// Retry waits between attempts, but never beyond the deadline of the request's context: then it returns the last
// response immediately. A body is sent again if the request has GetBody. Responses to idempotent requests are read
// before they are returned, up to RetryOptions.ResponseBytes, so that they can be retried; those to long-running
// requests, see [Call], and those of the last attempt are streamed.
//
// A negative option is an error.
func Retry(o *RetryOptions) (Func, error) {
	opts, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if opts.MaxAttempts == 1 {
		return nil, nil
	}
	shared := retrier{options: opts, budget: newBucket(float64(opts.Budget)/10, opts.Budget), answered: new(atomic.Bool)}
	return func(next http.RoundTripper) http.RoundTripper {
		t := shared
		t.next = next
		return &t
	}, nil
}

func (o *RetryOptions) withDefaults() (RetryOptions, error) {
	var d RetryOptions
	if o != nil {
		d = *o
	}
	switch {
	case d.MaxAttempts < 0:
		return d, fmt.Errorf("RetryOptions.MaxAttempts: %d is negative; use 1 to send each request once", d.MaxAttempts)
	case d.MaxElapsedTime < 0 || d.InitialBackoff < 0 || d.MaxBackoff < 0:
		return d, errors.New("RetryOptions: MaxElapsedTime, InitialBackoff or MaxBackoff is negative; leave it zero for " +
			"the default")
	case d.Budget < 0:
		return d, fmt.Errorf("RetryOptions.Budget: %d is negative; use MaxAttempts: 1 to send each request once", d.Budget)
	case d.ResponseBytes < 0:
		return d, fmt.Errorf("RetryOptions.ResponseBytes: %d is negative; use 1 to stream responses", d.ResponseBytes)
	}
	d.MaxAttempts = defaulted(d.MaxAttempts, 10)
	d.MaxElapsedTime = defaulted(d.MaxElapsedTime, 30*time.Second)
	d.InitialBackoff = defaulted(d.InitialBackoff, 100*time.Millisecond)
	d.MaxBackoff = max(d.InitialBackoff, defaulted(d.MaxBackoff, 5*time.Second))
	d.Budget = defaulted(d.Budget, 100)
	d.ResponseBytes = defaulted(d.ResponseBytes, 8<<20)
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	return d, nil
}

// defaulted returns value, or byDefault if value is zero.
func defaulted[T comparable](value, byDefault T) T {
	var zero T
	if value == zero {
		return byDefault
	}
	return value
}

// retrier is the middleware. The values that it points to are shared by all chains that contain it.
type retrier struct {
	next     http.RoundTripper
	options  RetryOptions
	budget   *bucket
	answered *atomic.Bool // whether there was ever a response
}

// RoundTrip sends a request until it succeeds, or until a retry cannot help or would be too late. After MaxElapsedTime,
// one retry is made if the connection broke.
func (t *retrier) RoundTrip(r *http.Request) (*http.Response, error) {
	call, start := callOf(r), time.Now()
	most := t.attempts(r.Context(), call)
	this, late := r, false
	for n := 1; ; n++ {
		resp, err := t.next.RoundTrip(this)
		if err == nil && call.Idempotent && !call.LongRunning && n < most {
			err = keep(resp, t.options.ResponseBytes)
		}
		out := outcomeOf(resp, err)
		known := t.answered.Load()
		if err == nil && !known {
			t.answered.Store(true)
		}
		if n >= most || r.Context().Err() != nil || !out.worthRetrying(call, known) || !replayable(r) {
			return finish(resp, err, n, start)
		}
		wait := max(out.asked, t.delay(n))
		wasLate := late
		late = wait > t.options.MaxElapsedTime-time.Since(start) // a sum could overflow
		if late && (wasLate || !out.broken) || !t.mayWait(r.Context(), call, wait) {
			return finish(resp, err, n, start)
		}
		t.tell(r.Context(), Retrying{Call: call, Attempt: n, Status: out.status, Err: err, Wait: wait})
		discard(resp)
		if err := backoff.Sleep(r.Context(), wait); err != nil {
			return nil, err
		}
		if this, err = again(r, n+1, start); err != nil {
			return nil, err
		}
	}
}

// attempts returns the maximum number of attempts of a request.
func (t *retrier) attempts(ctx context.Context, call Call) int {
	most := t.options.MaxAttempts
	if call.Verb == "watch" {
		most = min(2, most)
	}
	if n, ok := ctx.Value(attemptsKey{}).(int); ok {
		most = min(n, most)
	}
	return most
}

// delay returns the delay after the n-th attempt.
func (t *retrier) delay(n int) time.Duration {
	return backoff.Delay(n, t.options.InitialBackoff, t.options.MaxBackoff)
}

// mayWait reports whether there is time for the delay before the deadline, and a token for the next attempt.
func (t *retrier) mayWait(ctx context.Context, call Call, wait time.Duration) bool {
	deadline, ok := ctx.Deadline()
	switch {
	case ok && time.Until(deadline) <= wait:
		return false
	case !t.budget.take():
		t.options.Logger.LogAttrs(ctx, slog.LevelInfo, "request not sent again: the retry budget is exhausted", call.attr())
		return false
	}
	return true
}

func (t *retrier) tell(ctx context.Context, r Retrying) {
	why := slog.Int("status", r.Status)
	if r.Err != nil {
		why = slog.Any("err", r.Err)
	}
	t.options.Logger.LogAttrs(ctx, slog.LevelInfo, "request will be sent again", r.Call.attr(),
		slog.Int("attempt", r.Attempt), slog.Duration("wait", r.Wait), why)
	if t.options.OnRetry != nil {
		t.options.OnRetry(ctx, r)
	}
}

// again returns the request for the n-th attempt.
func again(r *http.Request, n int, first time.Time) (*http.Request, error) {
	next := r.Clone(context.WithValue(r.Context(), attemptKey{}, attempt{n, first}))
	if r.GetBody != nil {
		body, err := r.GetBody()
		if err != nil {
			return nil, fmt.Errorf("send the body again: %w", err)
		}
		next.Body = body
	}
	return next, nil
}

func replayable(r *http.Request) bool {
	return r.Body == nil || r.Body == http.NoBody || r.GetBody != nil
}

// finish returns the result of an attempt, with the number of attempts in its error.
func finish(resp *http.Response, err error, n int, start time.Time) (*http.Response, error) {
	if err == nil {
		return resp, nil
	}
	discard(resp)
	if n > 1 {
		err = &RetryError{Attempts: n, Elapsed: time.Since(start), Err: err}
	}
	return nil, err
}
