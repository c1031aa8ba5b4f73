// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wait_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/internal/fakeapi"
)

// document is a kind with a status. bare is the same kind with its metadata only, and mistaken declares a wrong type
// for its status.
type (
	document struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Status            struct {
			Phase              string             `json:"phase,omitempty"`
			ObservedGeneration int64              `json:"observedGeneration,omitempty"`
			Conditions         []metav1.Condition `json:"conditions,omitempty"`
		} `json:"status"`
	}
	bare struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
	}
	mistaken struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Status            int `json:"status"`
	}
)

func (*document) KubeResource() core.Resource {
	return core.Resource{Group: "docs.example.com", Version: "v1", Kind: "Document", Plural: "documents", Namespaced: true}
}

func (*bare) KubeResource() core.Resource { return (*document)(nil).KubeResource() }

func (*mistaken) KubeResource() core.Resource { return (*document)(nil).KubeResource() }

func doc(uid types.UID, phase string) *document {
	d := &document{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "a", UID: uid}}
	d.Status.Phase = phase
	return d
}

// server stores one document and the history of its changes.
type server struct {
	mu       sync.Mutex // guards the fields below
	version  int
	oldest   int // older versions are expired
	current  *document
	history  []event
	watches  map[*watch]struct{}
	requests []string // "list", "watch 3"; a list is the streaming one
	refuse   []int    // status codes for the next requests, 0: handle the request
}

type event struct {
	version int
	Type    core.EventType `json:"type"`
	Object  any            `json:"object"`
}

type watch struct {
	events chan event
	end    chan error
}

func (s *server) docs(t testing.TB) *client.API[document] {
	t.Helper()
	return client.Namespaced[document](fakeapi.ClientOf(s), "prod")
}

// put stores the document; nil deletes it.
func (s *server) put(d *document) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	ev := event{version: s.version, Type: core.Modified, Object: d}
	switch {
	case d == nil:
		last := new(*s.current)
		last.ResourceVersion = fmt.Sprint(s.version)
		ev.Type, ev.Object = core.Deleted, last
	case s.current == nil:
		ev.Type = core.Added
	}
	if d != nil {
		d.ResourceVersion = fmt.Sprint(s.version)
	}
	s.current = d
	s.history = append(s.history, ev)
	for w := range s.watches {
		w.events <- ev
	}
}

// cut ends all watches, cleanly or with an error.
func (s *server) cut(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.watches {
		w.end <- err
	}
	clear(s.watches)
}

// bookmark sends a bookmark to all watches.
func (s *server) bookmark() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.watches {
		w.events <- bookmark(s.version, nil)
	}
}

func bookmark(version int, annotations map[string]string) event {
	return event{Type: core.Bookmark, Object: &metav1.PartialObjectMetadata{
		ObjectMeta: metav1.ObjectMeta{ResourceVersion: fmt.Sprint(version), Annotations: annotations},
	}}
}

// forget expires all versions up to now.
func (s *server) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	s.oldest, s.history = s.version, nil
}

func (s *server) log() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.requests, ", ")
}

func (s *server) fail(codes ...int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = append(s.refuse, codes...)
}

func (s *server) watching() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.watches)
}

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q := r.URL.Query()
	if q.Get("fieldSelector") != "metadata.name=a" || r.URL.Path != "/apis/docs.example.com/v1/namespaces/prod/documents" {
		return refusal(400, "unexpected request "+r.URL.String()), nil
	}
	if q.Get("watch") != "true" {
		return refusal(405, "this server has streaming lists only"), nil
	}
	initial := q.Get("sendInitialEvents") == "true"
	if initial {
		s.requests = append(s.requests, "list")
	} else {
		s.requests = append(s.requests, "watch "+q.Get("resourceVersion"))
	}
	if len(s.refuse) > 0 {
		code := s.refuse[0]
		s.refuse = s.refuse[1:]
		if code != 0 {
			return refusal(code, "no"), nil
		}
	}
	w := &watch{events: make(chan event, 100), end: make(chan error, 1)}
	if initial {
		s.list(w)
	} else if err := s.replay(w, q.Get("resourceVersion")); err != nil {
		return refusal(410, err.Error()), nil
	}
	return s.watch(r, w), nil
}

// list sends the existing object, then the bookmark that ends the list. The caller holds the lock.
func (s *server) list(w *watch) {
	if s.current != nil {
		w.events <- event{Type: core.Added, Object: s.current}
	}
	w.events <- bookmark(s.version, map[string]string{metav1.InitialEventsAnnotationKey: "true"})
}

// replay sends the changes since a version. The caller holds the lock.
func (s *server) replay(w *watch, from string) error {
	since, err := strconv.Atoi(from)
	if err == nil && since < s.oldest {
		err = fmt.Errorf("too old resource version: %s", from)
	}
	for _, ev := range s.history {
		if ev.version > since {
			w.events <- ev
		}
	}
	return err
}

// watch streams events until the request or the server ends it. The caller holds the lock.
func (s *server) watch(r *http.Request, w *watch) *http.Response {
	if s.watches == nil {
		s.watches = map[*watch]struct{}{}
	}
	s.watches[w] = struct{}{}
	body, pipe := io.Pipe()
	go func() {
		pipe.CloseWithError(w.stream(r, pipe))
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watches, w)
	}()
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: body}
}

func (w *watch) stream(r *http.Request, to io.Writer) error {
	enc := json.NewEncoder(to)
	for {
		select {
		case ev := <-w.events:
			if err := enc.Encode(ev); err != nil {
				return err
			}
		case err := <-w.end:
			return err
		case <-r.Context().Done():
			return r.Context().Err()
		}
	}
}

func refusal(code int, message string) *http.Response {
	return fakeapi.Response(code, &metav1.Status{
		Code: int32(code), Message: message, Details: &metav1.StatusDetails{Kind: "documents"},
	})
}
