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

// callOf describes a request for its middleware.
func callOf(r *request.Request) middleware.Call {
	t := r.Target
	return middleware.Call{
		Verb: r.Verb, Group: t.Resource.Group, Version: t.Resource.Version, Resource: t.Resource.Plural,
		Subresource: subresourceOf(r), Namespace: t.Namespace, Name: t.Name,
		Idempotent: idempotent(r), LongRunning: longRunning(r),
	}
}

// subresourceOf returns the subresource of a request. It recognizes the path of a proxied request without a resource,
// because the response is not from the API server.
func subresourceOf(r *request.Request) string {
	rest, ok := strings.CutPrefix(r.Path, "/api/v1/")
	if !ok || r.Target.Resource.Plural != "" {
		return r.Target.Subresource
	}
	segments := strings.Split(rest, "/")
	if segments[0] == "namespaces" && len(segments) > 2 {
		segments = segments[2:]
	}
	if len(segments) > 2 && slices.Contains([]string{"pods", "services", "nodes"}, segments[0]) && segments[2] == "proxy" {
		return "proxy"
	}
	return r.Target.Subresource
}

// longRunning reports whether the time of the response has no limit. For a request without a resource, the path
// decides, as on the server.
func longRunning(r *request.Request) bool {
	segments := []string{r.Target.Subresource}
	if r.Target.Resource.Plural == "" {
		segments = strings.Split(r.Path, "/")
		if strings.HasPrefix(r.Path, "/debug/pprof/") {
			return true
		}
	}
	return r.Verb == "watch" || r.Query.Has("watch") || slices.ContainsFunc(segments, func(s string) bool {
		return slices.Contains([]string{"watch", "log", "exec", "attach", "portforward", "proxy"}, s)
	})
}

// idempotent reports whether sending a request twice has the same effect as sending it once. A write that is
// conditional on a resource version is not idempotent: the second request would report the success of the first as a
// conflict.
func idempotent(r *request.Request) bool {
	if subresourceOf(r) == "proxy" { // only reads are known to be safe
		return r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions
	}
	switch r.Verb {
	case "get", "list", "watch", "": // requests for a path have no verb
		return r.Method == http.MethodGet || r.Method == http.MethodHead
	case "update", "apply":
		return !r.Conditional
	case "patch": // a JSON patch may append to a list
		merges := r.ContentType == "application/merge-patch+json" || r.ContentType == "application/strategic-merge-patch+json"
		return merges && !r.Conditional
	case "delete": // without a UID, the second one might delete another object of the same name
		var body struct {
			Preconditions struct{ UID string }
		}
		return !r.Conditional && json.Unmarshal(r.Body, &body) == nil && body.Preconditions.UID != ""
	}
	return false // including streams, which are opened with GET and the verb create
}

// retried adds the number of attempts to the error of a response.
func retried(resp *http.Response, err error) error {
	if resp.Request == nil {
		return err
	}
	if n, first := middleware.AttemptOf(resp.Request.Context()); n > 1 {
		return &middleware.RetryError{Attempts: n, Elapsed: time.Since(first), Err: err}
	}
	return err
}
