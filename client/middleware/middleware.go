// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package middleware

import (
	"net/http"
	"slices"
)

// Func is a middleware: it wraps a round tripper in another one.
type Func func(next http.RoundTripper) http.RoundTripper

// RoundTripperFunc is a function that implements http.RoundTripper.
type RoundTripperFunc func(*http.Request) (*http.Response, error)

// RoundTrip calls f.
func (f RoundTripperFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Chain wraps next in middleware, of which the first becomes the outermost. It skips nil middleware.
func Chain(next http.RoundTripper, layers ...Func) http.RoundTripper {
	for _, layer := range slices.Backward(layers) {
		if layer != nil {
			next = layer(next)
		}
	}
	return next
}

// header returns a middleware that sets a header unless it is already set.
func header(name string, value func(*http.Request) (string, error)) Func {
	return func(next http.RoundTripper) http.RoundTripper {
		return RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
			if r.Header.Get(name) != "" {
				return next.RoundTrip(r)
			}
			v, err := value(r)
			if err != nil {
				return nil, err
			}
			r = r.Clone(r.Context())
			r.Header.Set(name, v)
			return next.RoundTrip(r)
		})
	}
}

func constant(s string) func(*http.Request) (string, error) {
	return func(*http.Request) (string, error) { return s, nil }
}
