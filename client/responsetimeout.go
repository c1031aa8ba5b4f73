// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/kube-go/sdk/client/internal/responsetime"
	"github.com/kube-go/sdk/client/middleware"
)

// headerTimeout is twice the default of the API server's flag --request-timeout.
const headerTimeout = 2 * time.Minute

// silentError is the error of a server that does not respond to a request, though it may respond to pings.
type silentError struct{ after time.Duration }

// Error returns the time without a response.
func (e *silentError) Error() string { return fmt.Sprintf("no response for %v", e.after) }

// Timeout and Temporary implement net.Error, so that an idempotent request is retried, once after more than
// RetryOptions.MaxElapsedTime.
func (*silentError) Timeout() bool   { return true }
func (*silentError) Temporary() bool { return true }

// limitHeaderTime returns the middleware that fails a request if the header of its response does not arrive in time. It
// is directly above the connection, so that only the time of the server counts, also for the limit of the request's
// context. It does not limit long-running requests.
func limitHeaderTime(limit time.Duration) middleware.Func {
	return func(next http.RoundTripper) http.RoundTripper {
		return middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
			responsetime.Start(r.Context())
			if call, _ := middleware.CallOf(r.Context()); call.LongRunning || r.Header.Get("Upgrade") != "" {
				return next.RoundTrip(r)
			}
			ctx, cancel := context.WithCancel(r.Context())
			timer := time.AfterFunc(limit, cancel)
			resp, err := next.RoundTrip(r.WithContext(ctx))
			inTime := timer.Stop()
			if err != nil || !inTime {
				cancel()
			}
			switch {
			case !inTime && err == nil: // its body ended with the context
				resp.Body.Close()
				return nil, &silentError{limit}
			case !inTime:
				return nil, &silentError{limit}
			case err != nil:
				return nil, err
			}
			resp.Request = r
			resp.Body = &timedBody{resp.Body, cancel}
			return resp, nil
		})
	}
}

// timedBody is the body of a response that arrived in time.
type timedBody struct {
	io.ReadCloser
	done context.CancelFunc // releases the context
}

// Close closes the body.
func (b *timedBody) Close() error {
	err := b.ReadCloser.Close()
	b.done()
	return err
}
