// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/events"
	"github.com/kube-go/sdk/runtime/internal/fakeapi"
)

// document is a kind with a known resource; gadget has none.
type (
	document struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
	}
	gadget struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
	}
)

func (*document) KubeResource() core.Resource {
	return core.Resource{Group: "docs.example.com", Version: "v1", Kind: "Document", Plural: "documents", Namespaced: true}
}

func doc(name string) *document {
	return &document{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: name, UID: "u-1", ResourceVersion: "7"}}
}

// stored is an Event as stored by the server.
type stored struct {
	Metadata struct{ Name, Namespace string }

	Type, Reason, Action, Note             string
	ReportingController, ReportingInstance string
	Regarding                              ref
	Related                                *ref
	EventTime                              time.Time
	Series                                 *struct {
		Count            int
		LastObservedTime time.Time
	}
}

type ref struct{ APIVersion, Kind, Namespace, Name, UID string }

// count returns the number of times that the event happened.
func (s *stored) count() int {
	if s.Series == nil {
		return 1
	}
	return s.Series.Count
}

// server stores events, and validates them like the API server.
type server struct {
	handling func(*http.Request)     // called before each response, if not nil
	refuse   func(method string) int // returns the status code of a rejection or 0, if not nil

	mu       sync.Mutex // guards the fields below
	events   map[string]*stored
	requests []string // "POST default", "PATCH prod"
	lose     bool     // responses are lost
}

// recorder returns a recorder that writes to the server.
func (s *server) recorder(t testing.TB, o *events.Options) *events.Recorder {
	t.Helper()
	return events.NewRecorder(fakeapi.ClientOf(s), o)
}

func (s *server) all() []*stored {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*stored
	for _, ev := range s.events {
		out = append(out, ev)
	}
	return out
}

// one returns the event, and fails the test unless there is exactly one.
func (s *server) one(t testing.TB) *stored {
	t.Helper()
	all := s.all()
	if len(all) != 1 {
		t.Fatalf("%d events on the server, want 1", len(all))
	}
	return all[0]
}

func (s *server) log() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.requests...)
}

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if s.handling != nil {
		s.handling(r)
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	path := strings.Split(strings.TrimPrefix(r.URL.Path, "/apis/events.k8s.io/v1/namespaces/"), "/")
	s.requests = append(s.requests, r.Method+" "+path[0])
	if s.refuse != nil {
		switch code := s.refuse(r.Method); code {
		case 0:
		case http.StatusNotFound: // of a proxy
			return fakeapi.Response(code, "no such page"), nil
		default:
			return fakeapi.Response(code, &metav1.Status{Code: int32(code), Message: "no"}), nil
		}
	}
	code, body := s.handle(r, path)
	if s.lose {
		return nil, io.ErrUnexpectedEOF
	}
	return fakeapi.Response(code, body), nil
}

func (s *server) handle(r *http.Request, path []string) (int, any) {
	fail := func(code int, reason metav1.StatusReason, name, message string) (int, any) {
		return code, &metav1.Status{Reason: reason, Message: message, Details: &metav1.StatusDetails{Kind: "events", Name: name}}
	}
	if s.events == nil {
		s.events = map[string]*stored{}
	}
	ev := new(stored)
	if r.Method == http.MethodPatch {
		old := s.events[path[2]]
		if old == nil {
			return fail(404, metav1.StatusReasonNotFound, path[2], "")
		}
		*ev = *old
		ev.Series = nil
	}
	if err := json.NewDecoder(r.Body).Decode(ev); err != nil {
		return fail(400, metav1.StatusReasonBadRequest, "", err.Error())
	}
	if err := ev.check(path[0]); err != nil {
		return fail(422, metav1.StatusReasonInvalid, ev.Metadata.Name, err.Error())
	}
	if r.Method == http.MethodPost && s.events[ev.Metadata.Name] != nil {
		return fail(409, metav1.StatusReasonAlreadyExists, ev.Metadata.Name, "")
	}
	s.events[ev.Metadata.Name] = ev
	return 200, map[string]any{"kind": "Event", "apiVersion": "events.k8s.io/v1", "metadata": map[string]any{"name": ev.Metadata.Name}}
}

// check validates an event like pkg/apis/core/validation/events.go.
func (s *stored) check(namespace string) error {
	for field, value := range map[string]string{
		"reportingController": s.ReportingController, "reportingInstance": s.ReportingInstance, "action": s.Action, "reason": s.Reason,
	} {
		if value == "" || len(value) > 128 {
			return fmt.Errorf("%s: %q", field, value)
		}
	}
	switch {
	case s.Metadata.Namespace != namespace, s.Regarding.Namespace != namespace && (s.Regarding.Namespace != "" || namespace != "default"):
		return fmt.Errorf("regarding.namespace: %q", s.Regarding.Namespace)
	case len(s.Note) > 1024:
		return fmt.Errorf("note: %d bytes", len(s.Note))
	case s.Type != "Normal" && s.Type != "Warning":
		return fmt.Errorf("type: %q", s.Type)
	case s.EventTime.IsZero():
		return fmt.Errorf("eventTime: required")
	case s.Series != nil && (s.Series.Count < 2 || s.Series.LastObservedTime.IsZero()):
		return fmt.Errorf("series: %+v", *s.Series)
	}
	return nil
}
