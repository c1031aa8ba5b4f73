// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package middleware contains the middleware that a request passes through on its way to the transport.
//
// Write a [Func] to observe or change every request of a client, and pass it in client.Options.Middleware.
//
//	count := func(next http.RoundTripper) http.RoundTripper {
//		return middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
//			n.Add(1)
//			return next.RoundTrip(r)
//		})
//	}
//
// A middleware never changes the request that it receives: it clones it first, as [net/http.RoundTripper] requires.
// [CallOf] returns the description of the request in the terms of Kubernetes.
//
// # Order
//
// A client applies its middleware in this order, outermost first. client.Options can disable or replace each of them:
//
//	Middleware     yours; sees each request once, however often it is sent      leave empty
//	Warnings       reports the warnings of the server                           OnWarning: a function that does nothing
//	Retry          sends a request again if that is safe and may help           Retry.MaxAttempts: 1
//	RateLimit      delays requests, except with WithoutRateLimit                off by default
//	UserAgent      names the program                                            set the header in Middleware
//	Impersonate    names the user to impersonate                                Config.Impersonate
//	credentials    Bearer, TokenFile, Basic, or those of a plugin               set Authorization in Middleware
//	PerAttempt     yours; sees each HTTP request as it is sent                  leave empty
//	Log            logs one line per HTTP request                               Logger: nil
//	header timeout fails requests without a response header in two minutes      ResponseHeaderTimeout
//	the transport  HTTP/2, or HTTP/1.1 for streams                              Transport: a mock, or your own
//
// A middleware that sets a header does not change one that is already set, so your own middleware can override it for a
// request. To replace a middleware, disable it and add yours to Middleware.
//
// # Retries
//
// [Retry] documents which requests are sent again. An error after more than one attempt is a [*RetryError]. Callers
// with their own retries use [WithAttempts], so that the two do not multiply.
//
// # Concurrency
//
// Middleware and the callbacks in their options are called concurrently.
package middleware
