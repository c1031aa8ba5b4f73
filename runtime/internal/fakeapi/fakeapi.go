// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package fakeapi is an in-memory API server that clients reach without a socket, so that it works in the bubbles of
// testing/synctest. It lists and watches like package fakesource, including its faults. It is only for the tests of
// this module.
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

// Server is an API server of several kinds. It is safe for concurrent use.
type Server struct {
	kinds map[string]*kind // by the path of the collection, such as "/apis/apps/v1/deployments"; immutable
	lag   atomic.Int64
	end   atomic.Int64
}

// kind is the objects of a kind, both for lists and watches, and as JSON.
type kind struct {
	*fakesource.Server

	mu      sync.Mutex // guards objects, and is held during a change
	objects map[core.ObjectRef]map[string]any
}

// New returns a server of kinds.
func New(kinds ...core.Resource) *Server {
	s := &Server{kinds: make(map[string]*kind, len(kinds))}
	for _, res := range kinds {
		source := fakesource.New(res, wire.JSON)
		source.SpreadUIDs()
		s.kinds[root(res)] = &kind{Server: source, objects: make(map[core.ObjectRef]map[string]any)}
	}
	return s
}

// Kind returns the source of the lists and watches of a kind, to inject faults and to read its log. To change objects,
// use the methods of Server.
func (s *Server) Kind(res core.Resource) *fakesource.Server { return s.kinds[root(res)].Server }

// Lag delays each event of a watch.
func (s *Server) Lag(d time.Duration) { s.lag.Store(int64(d)) }

// SlowEnd delays the end of each watch.
func (s *Server) SlowEnd(d time.Duration) { s.end.Store(int64(d)) }

// Put creates or replaces an object. It returns the new resource version.
func (s *Server) Put(res core.Resource, obj core.Object) string {
	k := s.kinds[root(res)]
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.put(plain(obj))
}

// Delete removes an object if it exists. It returns the new resource version.
func (s *Server) Delete(res core.Resource, ref core.ObjectRef) string {
	k := s.kinds[root(res)]
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.remove(ref)
}

// Client returns a client of the server.
func (s *Server) Client() *client.Client { return ClientOf(s) }

// ClientOf returns a client that sends its requests through a transport.
func ClientOf(transport http.RoundTripper) *client.Client {
	c, err := client.New(context.Background(), &client.Options{
		Config:    &config.Config{Server: "https://cluster.test"},
		Transport: transport,
	})
	if err != nil {
		panic(err)
	}
	return c
}

// Response returns a response with a body in JSON. It completes a Status, which needs only its code and message.
func Response(code int, body any) *http.Response {
	if s, ok := body.(*metav1.Status); ok {
		s.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		s.Status = metav1.StatusFailure
	}
	data, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return response(code, io.NopCloser(bytes.NewReader(data)))
}

// root returns the path of a kind's collection in all namespaces.
func root(res core.Resource) string {
	if res.Group == "" {
		return "/api/" + res.Version + "/" + res.Plural
	}
	return "/apis/" + res.APIVersion() + "/" + res.Plural
}

// target is the object or the collection that a request path identifies.
type target struct {
	*kind
	ref core.ObjectRef // the name is empty for a collection
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
		t.ref.Name = rest[1] // a third part is a subresource, which is written like the whole object
	}
	t.kind = s.kinds["/"+strings.Join(parts[:prefix], "/")+"/"+rest[0]]
	return t, t.kind != nil
}

// RoundTrip responds to a request.
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
		err := fakesource.Status(404, metav1.StatusReasonNotFound)
		err.Status.Message = "the server could not find the requested resource" // of a real server
		return answer(nil, err)
	case r.Method != http.MethodGet:
		obj, created, err := t.write(r)
		resp, err := answer(obj, err)
		if created {
			resp.StatusCode = http.StatusCreated
		}
		return resp, err
	case t.ref.Name != "":
		return answer(t.get())
	case r.URL.Query().Get("watch") == "true":
		return s.watch(r, t)
	default:
		return answer(t.list(r))
	}
}

// answer returns a response with an object or an error.
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
