// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"

	"github.com/kube-go/sdk/client/middleware"
)

// What a client does with every request.
type (
	// RetryOptions say how requests that fail are sent again, see [middleware.RetryOptions].
	RetryOptions = middleware.RetryOptions
	// Retrying is a request that is about to be sent again, see [middleware.Retrying].
	Retrying = middleware.Retrying
	// RetryError says how often a request was sent that has failed in the end, see [middleware.RetryError].
	RetryError = middleware.RetryError
	// RateLimitOptions let requests wait so that not too many leave, see [middleware.RateLimitOptions].
	RateLimitOptions = middleware.RateLimitOptions
	// Warning is what a server says besides its answer, see [middleware.Warning].
	Warning = middleware.Warning
	// Call is what an HTTP request asks for, see [middleware.Call].
	Call = middleware.Call
	// Observer is told of HTTP requests, see [middleware.Observer].
	Observer = middleware.Observer
	// Outcome is how an HTTP request has ended, see [middleware.Outcome].
	Outcome = middleware.Outcome
)

// Observe returns the layer that tells an observer of each request, for ClientOptions.PerAttempt. See
// [middleware.Observe].
func Observe(o Observer) Middleware { return middleware.Observe(o) }

// CallOf returns what the request with the context ctx is, see [middleware.CallOf].
func CallOf(ctx context.Context) (Call, bool) { return middleware.CallOf(ctx) }

// WithAttempts returns a context whose requests are sent at most n times, see [middleware.WithAttempts].
func WithAttempts(ctx context.Context, n int) context.Context { return middleware.WithAttempts(ctx, n) }
