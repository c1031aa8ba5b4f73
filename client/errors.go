// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"errors"
	"fmt"
	"strings"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
)

// OpError is the error of an operation. Each verb wraps its error in exactly one.
type OpError struct {
	Verb     string // the RBAC verb, or the name of the method if that is more precise: "apply", "evict", "modify"
	Resource string // the plural with the group, such as deployments.apps, and the subresource
	Ref      core.ObjectRef
	Err      error
}

// Error returns, for example, "get pods prod/web-0: not found".
func (e *OpError) Error() string {
	what := e.Verb + " " + e.Resource
	switch {
	case e.Ref.Name != "":
		what += " " + e.Ref.String()
	case e.Ref.Namespace != "":
		what += " in " + e.Ref.Namespace
	}
	switch {
	case !e.missing():
	case e.mayLackSubresource():
		return what + ": " + core.ErrNotFound.Error() + ", or the kind has no such subresource"
	default:
		return what + ": " + core.ErrNotFound.Error()
	}
	return what + ": " + e.Err.Error()
}

// missing reports whether the server responded that the object does not exist. Its name is already in the text of the
// operation.
func (e *OpError) missing() bool {
	se, ok := e.Err.(*core.StatusError) //nolint:errorlint // a wrapping error contains more information
	plural, _, _ := strings.Cut(e.Resource, "/")
	plural, _, _ = strings.Cut(plural, ".")
	return ok && names(se, plural, e.Ref.Name)
}

// mayLackSubresource reports whether the server's response is the same for a missing object and for a subresource that
// the kind does not have. This is so for the kinds of CustomResourceDefinitions, whose groups contain a dot.
func (e *OpError) mayLackSubresource() bool {
	kind, _, ok := strings.Cut(e.Resource, "/")
	_, group, _ := strings.Cut(kind, ".")
	return ok && strings.Contains(group, ".")
}

// names reports whether the server responded that the object with a name does not exist. Other responses with the same
// code may concern something else, such as those of admission webhooks.
func names(err *core.StatusError, plural, name string) bool {
	d := err.Status.Details
	return name != "" && errors.Is(err, core.ErrNotFound) && d != nil && d.Name == name && d.Kind == plural
}

// Unwrap returns Err.
func (e *OpError) Unwrap() error { return e.Err }

// WrapError returns the error of a verb as an [*OpError], and nil for nil. An error that has one already is returned
// unchanged. It is for code that adds a verb by means of [Client.Do] or [Client.Upgrade].
func WrapError(verb string, t request.Target, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*OpError](err); ok {
		return err
	}
	name := t.Resource.String()
	if t.Resource.Plural == "" {
		name = "objects"
	}
	if t.Subresource != "" {
		name += "/" + t.Subresource
	}
	return &OpError{Verb: verb, Resource: name, Ref: core.ObjectRef{Namespace: t.Namespace, Name: t.Name}, Err: err}
}

// NotServedError is the error of a kind, or of a subresource of a kind, that the server does not serve.
type NotServedError struct {
	Resource    core.Resource
	Subresource string // empty for the kind itself
	Err         error  // the server's response
}

// Error returns the kind and a remedy.
func (e *NotServedError) Error() string {
	what, remedy := e.Resource.String(), "correct the group and version, or enable the API"
	switch {
	case e.Subresource != "":
		what, remedy = what+"/"+e.Subresource, "enable the subresource, or do without it"
	case e.Resource.Group == "" && e.Resource.Version == "v1": // every API server serves it
		remedy = "correct the plural or the group of the kind, or the address, if it is not that of a Kubernetes API server"
	case strings.Contains(e.Resource.Group, "."): // the group of a custom resource has a dot
		remedy = "install its CustomResourceDefinition, enable the API, or correct the group and version"
	}
	return fmt.Sprintf("the server does not serve %s in version %s: %s", what, e.Resource.Version, remedy)
}

// Unwrap returns the server's response, which matches core.ErrNotFound.
func (e *NotServedError) Unwrap() error { return e.Err }

// unknownPath is the message of the Status that API servers send for a path that they do not serve, if its group and
// version exist. For other paths, the response is not a Status.
const unknownPath = "the server could not find the requested resource"

// notServed recognizes the response for a path that the server does not serve. Admission webhooks and aggregated API
// servers send other messages with the same code. The response of a node or a pod to a long-running request, such as
// for logs, may look the same.
func notServed(r *request.Request, err error) error {
	t := r.Target
	if t.Resource.Plural == "" || longRunning(r) && r.Verb != "watch" {
		return err
	}
	se, ok := errors.AsType[*core.StatusError](err) // inside a RetryError if the request was sent more than once
	if !ok || !errors.Is(se, core.ErrNotFound) || isStatus(se) && se.Status.Message != unknownPath {
		return err
	}
	return &NotServedError{Resource: t.Resource, Subresource: t.Subresource, Err: err}
}

// isStatus reports whether the body of a response was a Status.
func isStatus(err *core.StatusError) bool { return err.Body == nil }
