// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core/request"
)

// callOf says what a request is, for the layers that it passes through.
func callOf(r *request.Request) middleware.Call {
	t := r.Target
	return middleware.Call{
		Verb: r.Verb, Group: t.Resource.Group, Version: t.Resource.Version, Resource: t.Resource.Plural,
		Subresource: t.Subresource, Namespace: t.Namespace, Name: t.Name,
		Idempotent: idempotent(r), LongRunning: longRunning(r),
	}
}

// longRunning reports whether an answer may take as long as it likes. Of a request that was written by hand, the path
// says it, as it does to the server.
func longRunning(r *request.Request) bool {
	segments := []string{r.Target.Subresource}
	if r.Target.Resource.Plural == "" {
		segments = strings.Split(r.Path, "/")
	}
	return r.Verb == "watch" || r.Query.Has("watch") || slices.ContainsFunc(segments, func(s string) bool {
		return slices.Contains([]string{"watch", "log", "exec", "attach", "portforward", "proxy"}, s)
	})
}

// idempotent reports whether sending a request twice does no more than sending it once. An update is idempotent even
// when it names a resource version: the second one is refused then.
func idempotent(r *request.Request) bool {
	if r.Target.Subresource == "proxy" { // what the other side makes of it is known for reading only
		return r.Verb == "get"
	}
	switch r.Verb {
	case "get", "list", "watch", "": // the last are written by hand
		return r.Method == http.MethodGet || r.Method == http.MethodHead
	case "update", "apply":
		return true
	case "patch": // to add to a list is not
		return r.ContentType == "application/merge-patch+json" || r.ContentType == "application/strategic-merge-patch+json"
	case "delete": // without preconditions, what has the name the second time may be another object
		var body struct {
			Preconditions struct{ UID, ResourceVersion string }
		}
		return json.Unmarshal(r.Body, &body) == nil && body.Preconditions.UID+body.Preconditions.ResourceVersion != ""
	}
	return false // also for streams, which are asked for by GET and create
}

// retried says in the error of an answer how often the request was sent.
func retried(resp *http.Response, err error) error {
	if resp.Request == nil {
		return err
	}
	if n, first := middleware.AttemptOf(resp.Request.Context()); n > 1 {
		return &middleware.RetryError{Attempts: n, Elapsed: time.Since(first), Err: err}
	}
	return err
}
