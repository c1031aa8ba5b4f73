// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package applied is an API server that keeps applied objects in memory.
//
// A [Server] supports what a controller that only applies objects requests: watches of whole collections that begin
// with the existing objects, single objects, and server-side applies, also of subresources. Everything is JSON. An
// apply replaces the top-level fields that it has, and the fields of the metadata that it has.
package applied

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
)

// Server is an API server. It is an [http.Handler], and safe for concurrent use.
type Server struct {
	kinds map[string]core.Resource // by the path of the collection

	mu      sync.Mutex // guards the fields below
	version int
	objects map[path]map[string]any
	changes []change
	news    chan struct{} // closed at the next change
}

// path is the path of an object: that of the collection of all namespaces, and the name.
type path struct{ collection, namespace, name string }

type change struct {
	path
	event core.EventType
	line  []byte // of a watch
}

// New returns a server of kinds, without objects.
func New(kinds ...core.Resource) *Server {
	s := &Server{
		kinds: make(map[string]core.Resource), version: 1, objects: make(map[path]map[string]any), news: make(chan struct{}),
	}
	for _, res := range kinds {
		root := "apis"
		if res.Group == "" {
			root = "api"
		}
		s.kinds[root+"/"+res.APIVersion()+"/"+res.Plural] = res
	}
	return s
}

// Apply creates or changes an object as a request would. The path is that of a request.
func (s *Server) Apply(requestPath string, sent map[string]any) (stored []byte, err error) {
	at, err := parse(requestPath)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	event, obj := core.Modified, maps.Clone(s.objects[at])
	if obj == nil {
		event, obj = core.Added, make(map[string]any)
	}
	meta, _ := obj["metadata"].(map[string]any)
	if meta = maps.Clone(meta); meta == nil {
		meta = map[string]any{
			"uid": fmt.Sprintf("00000000-0000-4000-a000-%012d", s.version), "generation": 1,
			"creationTimestamp": "2026-01-01T00:00:00Z",
		}
	}
	if changed, ok := sent["metadata"].(map[string]any); ok {
		maps.Copy(meta, changed)
	}
	meta["name"], meta["resourceVersion"] = at.name, strconv.Itoa(s.version)
	if at.namespace != "" {
		meta["namespace"] = at.namespace
	}
	maps.Copy(obj, sent)
	obj["metadata"] = meta
	data, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	s.objects[at] = obj
	s.changes = append(s.changes, change{at, event, line(event, data)})
	close(s.news)
	s.news = make(chan struct{})
	return data, nil
}

func line(event core.EventType, object []byte) []byte {
	return fmt.Appendf(nil, "{\"type\":%q,\"object\":%s}\n", event, object)
}

// parse returns the path of an object or of a collection.
func parse(requestPath string) (path, error) {
	parts := strings.Split(strings.Trim(requestPath, "/"), "/")
	root := 3 // apis, the group and the version
	if parts[0] == "api" {
		root = 2
	}
	if len(parts) <= root {
		return path{}, fmt.Errorf("%s is not the path of a resource", requestPath)
	}
	var at path
	rest := parts[root:]
	if rest[0] == "namespaces" && len(rest) > 2 {
		at.namespace, rest = rest[1], rest[2:]
	}
	at.collection = strings.Join(append(parts[:root:root], rest[0]), "/")
	if len(rest) > 1 {
		at.name = rest[1] // a subresource may follow
	}
	return at, nil
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at, err := parse(r.URL.Path)
	if _, ok := s.kinds[at.collection]; !ok && err == nil {
		err = fmt.Errorf("%s is not a kind of the server", at.collection)
	}
	switch {
	case err != nil:
		fail(w, http.StatusNotFound, metav1.StatusReasonNotFound, err)
	case at.name == "" && r.URL.Query().Get("sendInitialEvents") == "true":
		s.watch(w, r, at.collection)
	case at.name != "" && r.Method == http.MethodGet:
		s.get(w, at)
	case at.name != "" && r.Method == http.MethodPatch && strings.Contains(r.Header.Get("Content-Type"), "apply-patch"):
		s.apply(w, r)
	default:
		fail(w, http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed,
			fmt.Errorf("%s %s: the server has only initial watches, single objects and applies", r.Method, r.URL))
	}
}

func (s *Server) get(w http.ResponseWriter, at path) {
	s.mu.Lock()
	data, err := json.Marshal(s.objects[at])
	missing := s.objects[at] == nil
	s.mu.Unlock()
	switch {
	case err != nil:
		fail(w, http.StatusInternalServerError, metav1.StatusReasonInternalError, err)
	case missing:
		send(w, &metav1.Status{
			Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound, Message: at.name + " does not exist",
			Details: &metav1.StatusDetails{Name: at.name, Kind: s.kinds[at.collection].Plural},
		})
	default:
		respond(w, http.StatusOK, data)
	}
}

func (s *Server) apply(w http.ResponseWriter, r *http.Request) {
	var sent map[string]any
	err := json.NewDecoder(r.Body).Decode(&sent)
	if err != nil {
		fail(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, err)
		return
	}
	data, err := s.Apply(r.URL.Path, sent)
	if err != nil {
		fail(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, err)
		return
	}
	respond(w, http.StatusOK, data)
}

func respond(w http.ResponseWriter, code int, data []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(data) // the client may have left
}

func fail(w http.ResponseWriter, code int32, reason metav1.StatusReason, err error) {
	send(w, &metav1.Status{Code: code, Reason: reason, Message: err.Error()})
}

// send responds with a status of a failure.
func send(w http.ResponseWriter, status *metav1.Status) {
	status.APIVersion, status.Kind, status.Status = "v1", "Status", metav1.StatusFailure
	data, _ := json.Marshal(status) // it has no values that can't be encoded
	respond(w, int(status.Code), data)
}

// watch sends the existing objects of a collection, and then each change until the client leaves.
func (s *Server) watch(w http.ResponseWriter, r *http.Request, collection string) {
	lines, sent, err := s.state(collection)
	if err != nil {
		fail(w, http.StatusInternalServerError, metav1.StatusReasonInternalError, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	for {
		for _, line := range lines {
			if _, err := w.Write(line); err != nil {
				return
			}
		}
		if err := http.NewResponseController(w).Flush(); err != nil {
			return
		}
		changes, news := s.after(sent)
		sent += len(changes)
		lines = lines[:0]
		for _, c := range changes {
			if c.collection == collection {
				lines = append(lines, c.line)
			}
		}
		if len(changes) > 0 {
			continue
		}
		select {
		case <-news:
		case <-r.Context().Done():
			return
		}
	}
}

// state returns the lines of a watch for the existing objects, and the number of the changes so far.
func (s *Server) state(collection string) (lines [][]byte, changes int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for at, obj := range s.objects {
		if at.collection != collection {
			continue
		}
		data, err := json.Marshal(obj)
		if err != nil {
			return nil, 0, err
		}
		lines = append(lines, line(core.Added, data))
	}
	slices.SortFunc(lines, func(a, b []byte) int { return strings.Compare(string(a), string(b)) })
	end := fmt.Appendf(nil, `{"apiVersion":%q,"kind":%q,"metadata":{"resourceVersion":"%d","annotations":{%q:"true"}}}`,
		s.kinds[collection].APIVersion(), s.kinds[collection].Kind, s.version, metav1.InitialEventsAnnotationKey)
	return append(lines, line(core.Bookmark, end)), len(s.changes), nil
}

// after returns the changes after some number of them, and a channel that is closed at the next change.
func (s *Server) after(sent int) ([]change, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changes[sent:], s.news
}
