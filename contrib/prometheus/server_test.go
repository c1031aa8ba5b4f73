// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kubeprometheus_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"path"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/machine"
	"github.com/kube-go/sdk/runtime/fsm"
)

// database is the kind of the tests.
type database struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Status struct {
		machine.Status `json:",inline"`
	} `json:"status"`
}

func (*database) KubeResource() core.Resource {
	return core.Resource{Group: "example.com", Version: "v1", Kind: "Database", Plural: "databases", Namespaced: true}
}

// The states of the tests. A database stays in Provision if its name is "slow".
type (
	Provision struct{}
	Serve     struct{}

	fromProvision interface{ fromProvision() }
)

func (Serve) fromProvision() {}

func (Provision) Step(c *fsm.Ctx[database], to fsm.To[fromProvision]) fsm.Result[fromProvision] {
	if c.Obj.Name == "slow" {
		return to.Stay("waiting for replicas", time.Hour)
	}
	return to.Go(Serve{})
}

func (Serve) Step(_ *fsm.Ctx[database], to fsm.To[fsm.Terminal]) fsm.Result[fsm.Terminal] {
	return fsm.Done(to)
}

func newMachine(c *client.Client) *fsm.Machine[database] {
	m := fsm.New[database](c, "example.com/database", &fsm.Options{StuckAfter: time.Hour})
	fsm.Add(m, Provision{})
	fsm.Add(m, Serve{})
	return m
}

// server is a server of databases without sockets. It sends the objects to each watch, and merges each patch.
type server struct {
	mu      sync.Mutex // guards the fields below
	version int
	objects map[string]map[string]any
	changed chan struct{} // closed at the next change
}

func newServer(names ...string) *server {
	s := &server{objects: map[string]map[string]any{}, changed: make(chan struct{})}
	for _, name := range names {
		s.put(name, map[string]any{
			"apiVersion": "example.com/v1", "kind": "Database",
			"metadata": map[string]any{"namespace": "prod", "name": name, "uid": name},
		})
	}
	return s
}

// client returns a client of the server.
func (s *server) client() *client.Client {
	c, err := client.New(context.Background(), &client.Options{
		Config: &config.Config{Server: "https://cluster.test"}, Transport: s,
	})
	if err != nil {
		panic(err)
	}
	return c
}

func (s *server) put(name string, obj map[string]any) {
	s.version++
	obj = maps.Clone(obj)
	meta := maps.Clone(obj["metadata"].(map[string]any))
	meta["resourceVersion"] = strconv.Itoa(s.version)
	obj["metadata"] = meta
	s.objects[name] = obj
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	resp := &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Request: r, ContentLength: -1,
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Method == http.MethodGet {
		resp.Body = s.watch(r.Context())
		return resp, nil
	}
	name := path.Base(path.Dir(r.URL.Path)) // of …/databases/NAME/status
	var sent map[string]any
	if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
		return nil, err
	}
	obj := maps.Clone(s.objects[name])
	obj["status"] = sent["status"]
	s.put(name, obj)
	data, err := json.Marshal(s.objects[name])
	resp.Body = io.NopCloser(bytes.NewReader(data))
	return resp, err
}

// watch returns a stream of the objects, and of all objects after each change. It ends with ctx.
func (s *server) watch(ctx context.Context) io.ReadCloser {
	r, w := io.Pipe()
	go func() { // ends with ctx, which closes the pipe
		end := func() { _ = w.CloseWithError(context.Cause(ctx)) }
		defer end()
		defer context.AfterFunc(ctx, end)() // during a write
		kind, out := "ADDED", json.NewEncoder(w)
		for {
			s.mu.Lock()
			all, version, changed := maps.Clone(s.objects), s.version, s.changed
			s.mu.Unlock()
			for _, obj := range all {
				if out.Encode(map[string]any{"type": kind, "object": obj}) != nil {
					return
				}
			}
			bookmark := map[string]any{
				"apiVersion": "example.com/v1", "kind": "Database",
				"metadata": map[string]any{
					"resourceVersion": strconv.Itoa(version),
					"annotations":     map[string]string{metav1.InitialEventsAnnotationKey: "true"},
				},
			}
			if out.Encode(map[string]any{"type": "BOOKMARK", "object": bookmark}) != nil {
				return
			}
			kind = "MODIFIED"
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	}()
	return r
}
