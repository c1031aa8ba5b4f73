// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package middleware

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"
)

// Observer is told of an HTTP request before it leaves. [CallOf] and [AttemptOf] say what it is; headers may be added to
// it, such as those that carry a trace. It returns the context to send the request with, and what to call once when it
// is over; each may be nil. The modules contrib/otel and contrib/prometheus are observers.
type Observer func(r *http.Request) (context.Context, func(Outcome))

// Outcome is how an HTTP request has ended.
type Outcome struct {
	Status int    // zero when there was no answer
	Proto  string // such as "HTTP/2.0"

	// Err is why there was no answer, or why its body ended early. It is nil when the body was read or closed.
	Err error

	Header time.Duration // until the header of the answer was there
	Total  time.Duration // until its body was read or closed; a watch may take hours
	Bytes  int64         // of the body, as far as it was read, after decompression
}

// Observe tells an observer of each request that passes; nil is no layer. A request that is upgraded to a stream is over
// when the stream begins.
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
			resp, err := next.RoundTrip(r)
			if done == nil {
				return resp, err
			}
			header := time.Since(start)
			if err != nil {
				done(Outcome{Err: err, Header: header, Total: header})
				return nil, err
			}
			out := Outcome{Status: resp.StatusCode, Proto: resp.Proto, Header: header, Total: header}
			if resp.StatusCode == http.StatusSwitchingProtocols { // whose body is the connection itself
				done(out)
				return resp, nil
			}
			resp.Body = &observedBody{ReadCloser: resp.Body, start: start, outcome: out, done: done}
			return resp, nil
		})
	}
}

// observedBody tells when it is over.
type observedBody struct {
	io.ReadCloser
	start time.Time
	done  func(Outcome)

	mu      sync.Mutex // guards what follows: a body may be closed while it is read
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

func (b *observedBody) note(n int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over {
		return
	}
	if b.outcome.Bytes += int64(n); err == nil {
		return
	}
	b.over = true
	if err != io.EOF {
		b.outcome.Err = err
	}
	b.outcome.Total = time.Since(b.start)
	b.done(b.outcome)
}
