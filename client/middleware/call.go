// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package middleware

import (
	"context"
	"net/http"
)

// Call describes an HTTP request to an API server in the terms of Kubernetes. A request for a path that is not a
// resource, such as /version, has no Resource.
type Call struct {
	Verb        string // such as "list", as for RBAC; "apply" for server-side apply; "create" for exec and the like
	Group       string // empty for the core group
	Version     string
	Resource    string // plural
	Subresource string
	Namespace   string
	Name        string

	// Idempotent reports whether sending the request twice has the same effect as sending it once. Such a request may be
	// sent again if its outcome is unknown.
	Idempotent bool

	// LongRunning reports whether the response may take any time and is streamed: a watch, a log, a stream, a proxied
	// request, or a profile of the server. API servers do not limit the time of these either.
	LongRunning bool
}

// GroupResource returns the plural name with its group, such as deployments.apps, or pods in the core group.
func (c Call) GroupResource() string {
	if c.Group == "" {
		return c.Resource
	}
	return c.Resource + "." + c.Group
}

type callKey struct{}

// WithCall returns a context that describes the requests that are sent with it. A client sets it for each request
// before the first middleware.
func WithCall(ctx context.Context, call Call) context.Context {
	return context.WithValue(ctx, callKey{}, call)
}

// CallOf returns the description of the request with the context ctx, and reports whether it is set.
func CallOf(ctx context.Context) (Call, bool) {
	call, ok := ctx.Value(callKey{}).(Call)
	return call, ok
}

// callOf returns the description of a request. Without one, the HTTP method determines whether the request is
// idempotent.
func callOf(r *http.Request) Call {
	call, ok := CallOf(r.Context())
	if !ok {
		safe := r.Method == http.MethodGet || r.Method == http.MethodHead
		call.Idempotent = safe && r.Header.Get("Upgrade") == ""
	}
	return call
}
