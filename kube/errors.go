// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/managed"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/runtime/reflector"
)

// Errors for errors.Is. Package core has one for each reason of the Kubernetes API.
var (
	ErrNotFound         = core.ErrNotFound
	ErrAlreadyExists    = core.ErrAlreadyExists
	ErrConflict         = core.ErrConflict // the object has changed, or another field manager owns a field
	ErrForbidden        = core.ErrForbidden
	ErrUnauthorized     = core.ErrUnauthorized
	ErrInvalid          = core.ErrInvalid // the causes of the [StatusError] name the fields
	ErrExpired          = core.ErrExpired // a resource version or a continue token is too old
	ErrTooManyRequests  = core.ErrTooManyRequests
	ErrMethodNotAllowed = core.ErrMethodNotAllowed
	ErrNotReady         = reflector.ErrNotReady // a [Store] has not synced yet
)

// Errors for errors.AsType.
type (
	// OpError is the error of each verb: Verb, Resource, Ref and the cause Err. See [client.OpError].
	OpError = client.OpError
	// StatusError is an error response of the server: Status, RetryAfter, Body; the method Causes returns the fields
	// that it names. See [core.StatusError].
	StatusError = core.StatusError
	// NotServedError says that the server does not serve a kind or a subresource: Resource, Subresource, Err. See
	// [client.NotServedError].
	NotServedError = client.NotServedError
	// ConnectError says that the server could not be reached, and what to check: Server, Source, Err. See
	// [client.ConnectError].
	ConnectError = client.ConnectError
	// InvalidError says that a request was not sent because it is invalid: Field, Detail. See [request.InvalidError].
	InvalidError = request.InvalidError
)

// IsRetryable reports whether the same request may succeed later. See [core.IsRetryable].
func IsRetryable(err error) bool { return core.IsRetryable(err) }

// Conflicts returns the fields that an apply could not write because other managers own them, each with its Field and
// Manager. See [managed.Conflicts].
func Conflicts(err error) []managed.Conflict { return managed.Conflicts(err) }
