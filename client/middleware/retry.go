// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package middleware

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"time"
)

// RetryOptions are the options of [Retry]. The zero value of a field is its default.
type RetryOptions struct {
	// Attempts is the maximum number of times that a request is sent; 1 disables retries. Default: 10. A watch is sent
	// at most twice, because its caller needs retries of its own when the watch ends.
	Attempts int

	// MaxElapsedTime is the maximum time between the first attempt and the start of a retry. Default: 30 s.
	MaxElapsedTime time.Duration

	// InitialBackoff is the delay after the first attempt. The delay doubles after each further attempt up to
	// MaxBackoff, and varies at random by half. If the server requests a longer delay, that is used. Default: 100 ms
	// and 5 s.
	InitialBackoff, MaxBackoff time.Duration

	// Budget is the maximum burst of retries of all requests together, and BudgetPerSecond their maximum average rate,
	// so that many callers do not overload a server that has just recovered. Retries that exceed them are not made.
	// Default: 100 and 10.
	Budget          int
	BudgetPerSecond float64

	// ResponseBytes is the number of bytes of a response that are read before the caller receives it. If the connection
	// breaks within them, the request can still be retried. The rest is streamed. Default: 8 MiB.
	ResponseBytes int64

	// OnRetry is called before the delay of each retry, in the goroutine that sends the request.
	OnRetry func(context.Context, Retrying)

	// Logger logs each retry at info level. Default: no log.
	Logger *slog.Logger
}

// Retrying is a request that is about to be sent again.
type Retrying struct {
	Call    Call
	Attempt int           // how often it was sent
	Status  int           // the server's answer; zero when there was none
	Err     error         // why there was no answer
	Wait    time.Duration // until it is sent again
}

// RetryError says how often a request was sent that has failed in the end. A request that was sent once has none.
type RetryError struct {
	Attempts int
	Elapsed  time.Duration // since it was sent first
	Err      error         // of the last attempt
}

// Error returns the last attempt's error with the number of attempts.
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

// WithAttempts returns a context that lowers the maximum number of attempts of [Retry] to n. It is for
// callers that come back by themselves, whose own waits would otherwise be multiplied, and for those that want to know
// at once: they ask for 1.
func WithAttempts(ctx context.Context, n int) context.Context {
	return context.WithValue(ctx, attemptsKey{}, max(1, n))
}

// AttemptOf returns how often the request with the context ctx is being sent, from 1, and when it was sent first; that
// is zero for the first attempt.
func AttemptOf(ctx context.Context) (number int, first time.Time) {
	if a, ok := ctx.Value(attemptKey{}).(attempt); ok {
		return a.number, a.first
	}
	return 1, time.Time{}
}

// Retry sends a request again when that may help and can do no harm:
//
//   - after 429 and after a 503 that asks for it by Retry-After, since the API server has not done anything yet. The 429 of
//     an eviction speaks of a disruption budget and is an answer; a proxied answer is not the API server's own;
//   - when no connection can be made, but there was an answer to an earlier request: before, the address may be wrong;
//   - when the request is idempotent, after 429, 502, 503 and 504, after a 500 that asks for it, and when the connection breaks
//     before the response arrives, or within it. A write that names a resource version is not idempotent: repeated after a
//     lost response, it would report its own success as a conflict.
//
// It waits in between, never beyond the deadline of the request's context: then the last answer is returned at once. A
// body is sent again if the request has GetBody. Therefore answers to idempotent requests are read here, up to
// RetryOptions.ResponseBytes; those of long-running requests, see [Call], and of the last attempt are handed on as they
// come.
//
// A negative option is an error.
func Retry(o *RetryOptions) (Func, error) {
	opts, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if opts.Attempts == 1 {
		return nil, nil
	}
	shared := retrier{options: opts, budget: newBucket(opts.BudgetPerSecond, opts.Budget), answered: new(atomic.Bool)}
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
	case d.Attempts < 0:
		return d, fmt.Errorf("RetryOptions.Attempts: %d is negative; 1 sends each request once", d.Attempts)
	case d.MaxElapsedTime < 0 || d.InitialBackoff < 0 || d.MaxBackoff < 0:
		return d, errors.New("RetryOptions: MaxElapsedTime, InitialBackoff or MaxBackoff is negative; leave it out for its default")
	case d.Budget < 0 || d.BudgetPerSecond < 0:
		return d, errors.New("RetryOptions: Budget or BudgetPerSecond is negative; Attempts: 1 sends each request once")
	case d.ResponseBytes < 0:
		return d, fmt.Errorf("RetryOptions.ResponseBytes: %d is negative; 1 hands on answers as they come", d.ResponseBytes)
	}
	d.Attempts = defaulted(d.Attempts, 10)
	d.MaxElapsedTime = defaulted(d.MaxElapsedTime, 30*time.Second)
	d.InitialBackoff = defaulted(d.InitialBackoff, 100*time.Millisecond)
	d.MaxBackoff = max(d.InitialBackoff, defaulted(d.MaxBackoff, 5*time.Second))
	d.Budget = defaulted(d.Budget, 100)
	d.BudgetPerSecond = defaulted(d.BudgetPerSecond, 10)
	d.ResponseBytes = defaulted(d.ResponseBytes, 8<<20)
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	return d, nil
}

// defaulted returns value, or its default when it is zero.
func defaulted[T comparable](value, byDefault T) T {
	var zero T
	if value == zero {
		return byDefault
	}
	return value
}

// retrier is the layer. What it points to is shared by the chains that it stands in.
type retrier struct {
	next     http.RoundTripper
	options  RetryOptions
	budget   *bucket
	answered *atomic.Bool // whether the server has ever answered
}

// RoundTrip sends a request until it succeeds or there is no use or no time.
func (t *retrier) RoundTrip(r *http.Request) (*http.Response, error) {
	call, start := callOf(r), time.Now()
	most := t.attempts(r.Context(), call)
	this := r
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
		if !t.mayWait(r.Context(), call, start, wait) {
			return finish(resp, err, n, start)
		}
		t.tell(r.Context(), Retrying{Call: call, Attempt: n, Status: out.status, Err: err, Wait: wait})
		discard(resp)
		if err := sleep(r.Context(), wait); err != nil {
			return nil, err
		}
		if this, err = again(r, n+1, start); err != nil {
			return nil, err
		}
	}
}

// attempts returns how often a request may be sent.
func (t *retrier) attempts(ctx context.Context, call Call) int {
	most := t.options.Attempts
	if call.Verb == "watch" {
		most = min(2, most)
	}
	if n, ok := ctx.Value(attemptsKey{}).(int); ok {
		most = min(n, most)
	}
	return most
}

// delay returns the back-off after the n-th attempt.
func (t *retrier) delay(n int) time.Duration {
	d := t.options.InitialBackoff
	for i := 1; i < n && d < t.options.MaxBackoff; i++ {
		d *= 2
	}
	d = min(d, t.options.MaxBackoff)
	return d/2 + rand.N(d)
}

// mayWait reports whether there is time for the wait, and a token for the attempt after it.
func (t *retrier) mayWait(ctx context.Context, call Call, start time.Time, wait time.Duration) bool {
	deadline, ok := ctx.Deadline()
	switch {
	case ok && time.Until(deadline) <= wait:
		return false
	case wait > t.options.MaxElapsedTime-time.Since(start): // a sum could overflow
		return false
	case !t.budget.take():
		t.options.Logger.LogAttrs(ctx, slog.LevelInfo, "request not sent again: the budget for retries is spent", call.attr())
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

// again returns the request for its n-th attempt.
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

// finish returns what an attempt has brought, with the number of attempts in its error.
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

// sleep waits, or returns the cause for which ctx ended.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
