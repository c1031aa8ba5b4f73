// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package middleware holds the layers that a request passes through on its way to the transport.
//
// Write a [Func] to see or change every request of a client; hand it to client.Options.Middleware.
//
//	count := func(next http.RoundTripper) http.RoundTripper {
//		return middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
//			n.Add(1)
//			return next.RoundTrip(r)
//		})
//	}
//
// A layer never changes the request it was given: it clones it first, as net/http.RoundTripper demands.
//
// # Order
//
// A client puts its layers in this order, outermost first: those of client.Options.Middleware in their order, then
// [Log], [UserAgent], [Impersonate], then one of [Bearer], [TokenFile] and [Basic], then the transport. A layer that
// finds its header already set leaves it alone, so a user's layer can override it for one request.
//
// # Concurrency
//
// Layers are called from many goroutines at once.
package middleware
