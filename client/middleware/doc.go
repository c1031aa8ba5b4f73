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
// A layer never changes the request it was given: it clones it first, as net/http.RoundTripper demands. What the request
// asks for, in the words of Kubernetes, is told by [CallOf].
//
// # Order
//
// A client puts its layers in this order, outermost first. Each can be left out or replaced through client.Options:
//
//	Middleware     yours; sees each request once, however often it is sent     leave empty
//	Warnings       tells what the server warns of                              OnWarning: a function that does nothing
//	Retry          sends again what may be sent again                          Retry.Attempts: 1
//	RateLimit      lets requests wait                                          off by default
//	UserAgent      names the program                                           set the header in Middleware
//	Impersonate    names whom to act as                                        Config.Impersonate
//	credentials    Bearer, TokenFile, Basic or a plugin's                      set Authorization in Middleware
//	PerAttempt     yours; sees each HTTP request as it leaves                  leave empty
//	Log            one line per HTTP request                                   Logger: nil
//	patience       gives up what is not answered in two minutes                ResponseHeaderTimeout
//	the transport  HTTP/2, or HTTP/1.1 for streams                             Transport: a mock, or one of your own
//
// A layer that finds its header already set leaves it alone, so a layer of yours can override it for one request. What is
// to replace a layer takes its place in Middleware, with the layer itself left out.
//
// # Retries
//
// See [Retry] for what is sent again. An error that comes after more than one attempt is a [*RetryError]. Callers that
// have retries of their own use [WithAttempts], so that the two do not multiply.
//
// # Concurrency
//
// Layers are called from many goroutines at once, and so are the functions of their options.
package middleware
