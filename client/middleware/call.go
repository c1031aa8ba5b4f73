// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package middleware

import (
	"context"
	"net/http"
)

// Call is what an HTTP request asks of an API server, in the server's own words. A path that is none of a resource's,
// such as /version, has no Resource.
type Call struct {
	Verb        string // the RBAC verb, such as "list"; "apply" for server-side apply
	Group       string // empty for the core group
	Version     string
	Resource    string // plural
	Subresource string
	Namespace   string
	Name        string

	// Idempotent says that sending the request twice does no more than sending it once, so that it may be sent again
	// when nobody knows what has become of it.
	Idempotent bool

	// LongRunning says that the answer may take as long as it likes, and is handed on as it comes: a watch, a log, a
	// stream, and what somebody else answers through the server. API servers set these no limit either.
	LongRunning bool
}

// GroupResource returns the plural with its group, such as deployments.apps, or pods of the core group.
func (c Call) GroupResource() string {
	if c.Group == "" {
		return c.Resource
	}
	return c.Resource + "." + c.Group
}

type callKey struct{}

// WithCall returns a context that says what the requests made under it are. A client does so for each request that it
// sends, before the first layer sees it.
func WithCall(ctx context.Context, call Call) context.Context {
	return context.WithValue(ctx, callKey{}, call)
}

// CallOf returns what the request with the context ctx is, and whether anybody has said so.
func CallOf(ctx context.Context) (Call, bool) {
	call, ok := ctx.Value(callKey{}).(Call)
	return call, ok
}

// callOf returns what a request is. Of one that nobody has described, HTTP knows whether it is safe to repeat.
func callOf(r *http.Request) Call {
	call, ok := CallOf(r.Context())
	if !ok {
		safe := r.Method == http.MethodGet || r.Method == http.MethodHead
		call.Idempotent = safe && r.Header.Get("Upgrade") == ""
	}
	return call
}
