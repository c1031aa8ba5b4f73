// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package fakeapi is an API server in memory that a client reaches without a socket, so that it can be used in the
// bubbles of testing/synctest. Its lists and watches are those of package fakesource, faults included. It is for the
// tests of this module; users test with an API server of their own.
package fakeapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/internal/fakesource"
)

// Server is an API server of some kinds. It is safe for concurrent use.
type Server struct {
	kinds map[string]*kind // by the path of the collection, such as "/apis/apps/v1/deployments"; never changed
	lag   atomic.Int64
	end   atomic.Int64
}

// kind is the objects of a kind: what lists and watches tell of them, and what they are.
type kind struct {
	*fakesource.Server

	mu      sync.Mutex // guards objects, and is held while one is changed
	objects map[core.ObjectRef]map[string]any
}

// New returns a server of kinds.
func New(kinds ...core.Resource) *Server {
	s := &Server{kinds: make(map[string]*kind, len(kinds))}
	for _, res := range kinds {
		s.kinds[root(res)] = &kind{
			Server:  fakesource.New(res, wire.JSON),
			objects: make(map[core.ObjectRef]map[string]any),
		}
	}
	return s
}

// Kind returns what answers the lists and watches of a kind, for their faults and their log. To change objects, use the
// server's own methods.
func (s *Server) Kind(res core.Resource) *fakesource.Server { return s.kinds[root(res)].Server }

// Lag makes each event of a watch come so late.
func (s *Server) Lag(d time.Duration) { s.lag.Store(int64(d)) }

// SlowEnd makes it take so long to close a watch.
func (s *Server) SlowEnd(d time.Duration) { s.end.Store(int64(d)) }

// Put creates or replaces an object. It returns the version.
func (s *Server) Put(res core.Resource, obj core.Object) string {
	k := s.kinds[root(res)]
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.put(plain(obj))
}

// Delete removes an object if it is there. It returns the version.
func (s *Server) Delete(res core.Resource, ref core.ObjectRef) string {
	k := s.kinds[root(res)]
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.remove(ref)
}

// Client returns a client of the server.
func (s *Server) Client() *client.Client {
	c, err := client.New(context.Background(), &client.Options{
		Config:    &config.Config{Server: "https://cluster.test"},
		Transport: s,
	})
	if err != nil {
		panic(err)
	}
	return c
}

// root returns the path of a kind's collection in the whole cluster.
func root(res core.Resource) string {
	if res.Group == "" {
		return "/api/" + res.Version + "/" + res.Plural
	}
	return "/apis/" + res.APIVersion() + "/" + res.Plural
}

// target is what the path of a request means.
type target struct {
	*kind
	ref core.ObjectRef // without a name for the collection
}

func (s *Server) target(path string) (target, bool) {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	prefix := 3 // apis, group, version
	if parts[0] == "api" {
		prefix = 2
	}
	if len(parts) <= prefix {
		return target{}, false
	}
	rest, t := parts[prefix:], target{}
	if rest[0] == "namespaces" && len(rest) > 2 {
		t.ref.Namespace, rest = rest[1], rest[2:]
	}
	if len(rest) > 1 {
		t.ref.Name = rest[1] // a third part is a subresource, which is written as the whole is
	}
	t.kind = s.kinds["/"+strings.Join(parts[:prefix], "/")+"/"+rest[0]]
	return t, t.kind != nil
}

// RoundTrip answers a request.
func (s *Server) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer r.Body.Close()
	}
	if r.Context().Err() != nil {
		return nil, context.Cause(r.Context())
	}
	t, ok := s.target(r.URL.Path)
	switch {
	case !ok:
		return answer(nil, fakesource.Status(404, metav1.StatusReasonNotFound))
	case r.Method != http.MethodGet:
		return answer(t.write(r))
	case t.ref.Name != "":
		return answer(t.get())
	case r.URL.Query().Get("watch") == "true":
		return s.watch(r, t)
	default:
		return answer(t.list(r))
	}
}

// answer makes a response of an object, or of an error.
func answer(obj any, err error) (*http.Response, error) {
	code := http.StatusOK
	if err != nil {
		status, ok := errors.AsType[*core.StatusError](err)
		if !ok {
			return nil, err
		}
		code, obj = int(status.Status.Code), statusObject(status)
	}
	body, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	return response(code, io.NopCloser(bytes.NewReader(body))), nil
}

func response(code int, body io.ReadCloser) *http.Response {
	return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {wire.MediaTypeJSON}}, Body: body}
}

func statusObject(e *core.StatusError) *metav1.Status {
	status := e.Status
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	return &status
}
