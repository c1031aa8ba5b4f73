// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package middleware

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

// Observer is called with an HTTP request before it is sent. [CallOf] and [AttemptOf] describe the request; the
// observer may add headers to it, such as those that carry a trace. It returns the context to send the request with,
// and a callback that is called once when the request ends. Each may be nil. The modules contrib/otel and
// contrib/prometheus contain observers.
type Observer func(r *http.Request) (context.Context, func(Outcome))

// Outcome describes how an HTTP request ended.
type Outcome struct {
	Status int    // zero if there was no response
	Proto  string // such as "HTTP/2.0"

	// Err is the reason that there was no response, or that its body ended early. It is nil if the body was read or
	// closed.
	Err error

	HeaderTook time.Duration // until the response header was received
	Took       time.Duration // until the response body was read or closed; a watch may take hours
	Bytes      int64         // bytes of the body that were read, after decompression
}

// Observe calls observe for each request. If observe is nil, Observe returns nil. A request that is upgraded to a
// stream ends when the stream begins.
func Observe(observe Observer) Func {
	if observe == nil {
		return nil
	}
	return func(next http.RoundTripper) http.RoundTripper {
		return RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
			r = r.Clone(r.Context())
			if r.Header == nil {
				r.Header = http.Header{}
			}
			start := time.Now()
			ctx, done := observe(r)
			if ctx != nil {
				r = r.WithContext(ctx)
			}
			if done == nil {
				return next.RoundTrip(r)
			}
			returned := false
			defer func() {
				if !returned {
					took := time.Since(start)
					done(Outcome{Err: errPanicked, HeaderTook: took, Took: took})
				}
			}()
			resp, err := next.RoundTrip(r)
			returned = true
			header := time.Since(start)
			if err != nil {
				done(Outcome{Err: err, HeaderTook: header, Took: header})
				return nil, err
			}
			out := Outcome{Status: resp.StatusCode, Proto: resp.Proto, HeaderTook: header, Took: header}
			if resp.StatusCode == http.StatusSwitchingProtocols { // the body is the connection
				done(out)
				return resp, nil
			}
			resp.Body = &observedBody{ReadCloser: resp.Body, start: start, outcome: out, done: done}
			return resp, nil
		})
	}
}

// errPanicked is the error of a request whose RoundTripper has panicked.
var errPanicked = errors.New("the RoundTripper has panicked")

// observedBody reports when the body ends.
type observedBody struct {
	io.ReadCloser
	start time.Time
	done  func(Outcome)

	mu      sync.Mutex // guards the fields below: a body may be closed while it is read
	over    bool
	outcome Outcome
}

// Read reads from the body.
func (b *observedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.note(n, err)
	return n, err
}

// Close closes the body.
func (b *observedBody) Close() error {
	err := b.ReadCloser.Close()
	b.note(0, io.EOF)
	return err
}

// note counts n bytes that were read, and calls the callback at the end, which is the first error.
func (b *observedBody) note(n int, err error) {
	if out, ended := b.noted(n, err); ended {
		b.done(out) // without the mutex: the callback may take time, and may use the body
	}
}

// noted returns the outcome if the body has just ended.
func (b *observedBody) noted(n int, err error) (out Outcome, ended bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over {
		return Outcome{}, false
	}
	b.outcome.Bytes += int64(n)
	if b.over = err != nil; !b.over {
		return Outcome{}, false
	}
	if err != io.EOF {
		b.outcome.Err = err
	}
	b.outcome.Took = time.Since(b.start)
	return b.outcome, true
}
