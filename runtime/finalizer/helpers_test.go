// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package finalizer_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/internal/fakeapi"
)

// document is a kind with nothing but metadata.
type document struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
}

func (*document) KubeResource() core.Resource {
	return core.Resource{Group: "docs.example.com", Version: "v1", Kind: "Document", Plural: "documents", Namespaced: true}
}

func doc(finalizers ...string) *document {
	return as("u1", &document{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "a", Finalizers: finalizers}})
}

func deleted(finalizers ...string) *document {
	d := doc(finalizers...)
	d.DeletionTimestamp = new(metav1.Now())
	return d
}

func as(uid types.UID, d *document) *document {
	d.UID = uid
	return d
}

// server stores one document, and supports the JSON patches that finalizers need.
type server struct {
	stored   *document      // nil: deleted
	refuse   map[string]int // method → status code
	message  string         // of these refusals
	restless bool           // the finalizers change before each request
	busy     int            // the number of patches that conflict with writes of other fields
	requests []string       // methods
}

// api returns the server's API over all namespaces.
func (s *server) api() *client.API[document] {
	return client.ClusterWide[document](fakeapi.ClientOf(s))
}

func (s *server) finalizers() []string {
	if s.stored == nil {
		return nil
	}
	return s.stored.Finalizers
}

// RoundTrip responds to requests for the document. The tests use it from one goroutine.
func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	const path = "/apis/docs.example.com/v1/namespaces/prod/documents/a"
	s.requests = append(s.requests, r.Method)
	if s.restless {
		s.stored.Finalizers = []string{fmt.Sprintf("a/b%d", len(s.requests))}
	}
	if code := s.refuse[r.Method]; code != 0 {
		return fakeapi.Response(code, &metav1.Status{Code: int32(code), Message: s.message}), nil
	}
	if r.Method == http.MethodPatch && s.busy > 0 {
		s.busy--
		return fakeapi.Response(409, &metav1.Status{Reason: metav1.StatusReasonConflict}), nil
	}
	if s.stored == nil || r.URL.Path != path {
		details := &metav1.StatusDetails{Kind: "documents", Name: "a"}
		return fakeapi.Response(404, &metav1.Status{Reason: metav1.StatusReasonNotFound, Details: details}), nil
	}
	found := new(*s.stored)
	if r.Method == http.MethodPatch {
		if err := s.patch(r.Body); err != nil {
			return fakeapi.Response(422, &metav1.Status{Reason: metav1.StatusReasonInvalid, Message: err.Error()}), nil
		}
		found = new(*s.stored)
		if found.DeletionTimestamp != nil && len(found.Finalizers) == 0 {
			s.stored = nil
		}
	}
	return fakeapi.Response(200, found), nil
}

func (s *server) patch(body io.Reader) error {
	var ops []struct {
		Op, Path string
		Value    any
	}
	if err := json.NewDecoder(body).Decode(&ops); err != nil {
		return err
	}
	before := s.stored.Finalizers
	for _, op := range ops {
		current := map[string]any{"/metadata/uid": string(s.stored.UID), "/metadata/finalizers": plain(before)}[op.Path]
		switch {
		case op.Op == "test" && !reflect.DeepEqual(op.Value, current):
			return fmt.Errorf("the test of %s failed: %v is not %v", op.Path, current, op.Value)
		case op.Op == "add", op.Op == "remove":
			s.stored.Finalizers = nil
			for _, f := range asList(op.Value) {
				s.stored.Finalizers = append(s.stored.Finalizers, f.(string))
			}
		}
	}
	if s.stored.DeletionTimestamp != nil && len(s.stored.Finalizers) > len(before) {
		s.stored.Finalizers = before
		return fmt.Errorf("no new finalizers can be added if the object is being deleted")
	}
	return nil
}

// plain returns the list as decoded from JSON, or nil for an empty one.
func plain(list []string) any {
	if len(list) == 0 {
		return nil
	}
	var out []any
	for _, s := range list {
		out = append(out, s)
	}
	return out
}

func asList(v any) []any {
	list, _ := v.([]any)
	return list
}
