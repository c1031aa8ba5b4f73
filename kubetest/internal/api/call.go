// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/kubetest/internal/rbac"
)

// call is a request for a resource.
type call struct {
	*Server
	*http.Request
	w     http.ResponseWriter
	query url.Values
	user  rbac.User

	kind        *kind
	ref         core.ObjectRef // without a name for a collection
	subresource string
	collection  bool // ref is one object of a collection that is deleted
}

// ServeHTTP responds to a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer s.reportPanic(r)
	r.Body = http.MaxBytesReader(w, r.Body, maxBodyBytes)
	if err := s.serve(w, r); err != nil {
		RespondError(w, err)
	}
}

// reportPanic reports a panic, which package net/http would only log, and cuts the connection.
func (s *Server) reportPanic(r *http.Request) {
	if got := recover(); got != nil {
		s.report(fmt.Sprintf("panic while serving %s %s: %v\n%s", r.Method, r.URL, got, debug.Stack()))
		panic(http.ErrAbortHandler)
	}
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) error {
	user, err := userOf(r)
	if err != nil {
		return err
	}
	path := strings.Trim(r.URL.Path, "/")
	if !isResourcePath(path) {
		if err := s.permitPath(&user, r); err != nil {
			return err
		}
	}
	switch {
	case path == "livez", path == "readyz", path == "healthz":
		_, _ = w.Write([]byte("ok"))
		return nil
	case path == "version":
		respond(w, http.StatusOK, version())
		return nil
	case path == "api", path == "apis":
		return s.discover(w, r, path)
	case path == openAPIPath, strings.HasPrefix(path, openAPIPath+"/"):
		return s.openAPI(w, path)
	}
	c, err := s.target(r)
	if err != nil {
		return err
	}
	c.w, c.user = w, user
	if err := c.permit(); err != nil {
		return err
	}
	if c.kind.custom != nil && c.kind.custom.Deprecation != "" {
		c.warn(c.kind.custom.Deprecation)
	}
	return c.serve()
}

// isResourcePath returns whether a path can be that of a resource.
func isResourcePath(path string) bool {
	parts := strings.Split(path, "/")
	return parts[0] == "api" && len(parts) > 2 || parts[0] == "apis" && len(parts) > 3
}

// target finds what a request is for.
func (s *Server) target(r *http.Request) (*call, error) {
	c := &call{Server: s, Request: r, query: r.URL.Query()}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	var group, version string
	switch {
	case parts[0] == "api" && len(parts) > 2:
		version, parts = parts[1], parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		group, version, parts = parts[1], parts[2], parts[3:]
	default:
		return nil, errNoGroup
	}
	// The namespace is that of the object, except for namespaces and their subresources.
	if parts[0] == "namespaces" && len(parts) > 2 && (len(parts) > 3 || !s.kinds.namespaceSubresource(parts[2])) {
		c.ref.Namespace, parts = parts[1], parts[2:]
	}
	c.kind = s.kinds.find(schema.GroupVersionResource{Group: group, Version: version, Resource: parts[0]})
	if !s.kinds.serves(group, version) {
		return nil, errNoGroup
	}
	if c.kind == nil || len(parts) > 3 || c.kind.Namespaced && c.ref.Namespace == "" && len(parts) > 1 ||
		!c.kind.Namespaced && c.ref.Namespace != "" {
		return nil, noPath()
	}
	if len(parts) > 1 {
		c.ref.Name = parts[1]
	}
	if len(parts) > 2 {
		c.subresource = parts[2]
		if !c.kind.has(c.subresource) && c.kind.custom != nil {
			return nil, apierrors.NewNotFound(c.kind.resource(), c.ref.Name)
		}
		if !c.kind.has(c.subresource) {
			return nil, noPath()
		}
	}
	return c, nil
}

// serve sends the response, unless it returns an error.
func (c *call) serve() error {
	serve := map[string]func() error{
		http.MethodGet:    c.get,
		http.MethodPost:   c.post,
		http.MethodPut:    c.put,
		http.MethodPatch:  c.patch,
		http.MethodDelete: c.delete,
	}[c.Method]
	switch {
	case c.kind.custom != nil && c.kind.Namespaced && c.ref.Namespace == "" && c.Method != http.MethodGet:
		return errNoGroup // as a server, which has no such path for custom kinds
	case serve == nil:
		return notAllowed()
	default:
		return serve()
	}
}

// respond sends an object in the version and the form that the client requests.
func (c *call) respond(code int, obj *unstructured.Unstructured) error {
	obj, err := c.kind.convert(obj)
	if err != nil {
		return err
	}
	f, err := c.form()
	if err != nil {
		return err
	}
	respond(c.w, code, f.of(obj))
	return nil
}
