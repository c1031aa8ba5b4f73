// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wait_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/internal/fakeapi"
	"github.com/kube-go/sdk/runtime/wait"
)

// deleter adds get and delete of the document to a server.
type deleter struct {
	*server
	deleted []types.UID                    // the precondition of each deletion
	delete  func(n int, uid types.UID) int // the status code of the response to the nth deletion; 0: the response is lost
}

func (d *deleter) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.URL.Path, "/documents/a") {
		return d.server.RoundTrip(r)
	}
	code := 200
	if r.Method == http.MethodDelete {
		var o struct{ Preconditions struct{ UID types.UID } }
		_ = json.NewDecoder(r.Body).Decode(&o)
		d.deleted = append(d.deleted, o.Preconditions.UID)
		if code = d.delete(len(d.deleted), o.Preconditions.UID); code == 0 {
			return nil, io.ErrUnexpectedEOF
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	var body any = map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Success"}
	switch {
	case code == 200 && r.Method == http.MethodGet && d.current != nil:
		meta := map[string]any{"name": "a", "namespace": "prod", "uid": d.current.UID}
		body = map[string]any{"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": meta}
	case code == 200 && r.Method == http.MethodGet, code == 404:
		code = 404
		body = map[string]any{
			"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404, "reason": "NotFound",
			"details": map[string]any{"name": "a", "kind": "documents", "group": "docs.example.com"},
		}
	case code == 409:
		body = map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 409, "reason": "Conflict"}
	}
	data, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	header := http.Header{"Content-Type": {"application/json"}}
	return &http.Response{StatusCode: code, Header: header, Body: io.NopCloser(strings.NewReader(string(data))), Request: r}, nil
}

func TestDeleteAndWaitReturnsOnceTheObjectIsDeleted(t *testing.T) {
	tests := []struct {
		name    string
		start   *document
		options *request.DeleteOptions
		delete  func(d *deleter) func(n int, uid types.UID) int
		deleted string // the UIDs of the deletions
		want    string
		is      error
	}{
		{
			name: "the object is deleted at once", start: doc("u1", ""), deleted: "u1",
			delete: func(d *deleter) func(int, types.UID) int {
				return func(int, types.UID) int { d.put(nil); return 200 }
			},
		},
		{
			name: "the object is deleted later", start: doc("u1", ""), deleted: "u1",
			delete: func(d *deleter) func(int, types.UID) int {
				return func(int, types.UID) int {
					time.AfterFunc(time.Second, func() { d.put(nil) })
					return 200
				}
			},
		},
		{
			name: "another object takes the name", start: doc("u1", ""), deleted: "u1",
			delete: func(d *deleter) func(int, types.UID) int {
				return func(int, types.UID) int { d.put(nil); d.put(doc("u2", "")); return 200 }
			},
		},
		{
			name: "the object is replaced before the deletion", start: doc("u1", ""), deleted: "u1",
			delete: func(d *deleter) func(int, types.UID) int {
				return func(int, types.UID) int { d.put(nil); d.put(doc("u2", "")); return 409 }
			},
		},
		{
			name: "the object is replaced after a deletion whose response is lost", start: doc("u1", ""), deleted: "u1 u1",
			delete: func(d *deleter) func(int, types.UID) int {
				return func(n int, _ types.UID) int {
					if n > 1 {
						return 409
					}
					d.put(nil)
					d.put(doc("u2", ""))
					return 0
				}
			},
		},
		{
			name: "the object does not exist after a conflict", start: doc("u1", ""), deleted: "u1",
			delete: func(d *deleter) func(int, types.UID) int {
				return func(int, types.UID) int { d.put(nil); return 409 }
			},
		},
		{
			name: "the object is deleted after a conflict", start: doc("u1", ""), deleted: "u1 u1",
			delete: func(d *deleter) func(int, types.UID) int {
				return func(n int, _ types.UID) int {
					if n == 1 {
						return 409
					}
					d.put(nil)
					return 200
				}
			},
		},
		{
			name: "each deletion conflicts", start: doc("u1", ""), deleted: "u1 u1 u1", is: core.ErrConflict,
			delete: func(*deleter) func(int, types.UID) int { return func(int, types.UID) int { return 409 } },
		},
		{
			name: "another client deletes the object first", start: doc("u1", ""), deleted: "u1",
			delete: func(d *deleter) func(int, types.UID) int {
				return func(int, types.UID) int { d.put(nil); return 404 }
			},
		},
		{
			name: "the UID is another object's", start: doc("u2", ""), options: &request.DeleteOptions{UID: "u1"}, deleted: "u1",
			is:     core.ErrConflict,
			delete: func(*deleter) func(int, types.UID) int { return func(int, types.UID) int { return 409 } },
		},
		{
			name: "the object of the UID does not exist", options: &request.DeleteOptions{UID: "u1"}, deleted: "u1",
			delete: func(*deleter) func(int, types.UID) int { return func(int, types.UID) int { return 404 } },
		},
		{name: "the object does not exist", want: "get documents.docs.example.com prod/a: not found", is: core.ErrNotFound},
		{
			name: "the object is not deleted", start: doc("u1", ""), deleted: "u1", is: errEnough,
			want:   "await documents.docs.example.com prod/a: enough; last seen: it exists and is not being deleted",
			delete: func(*deleter) func(int, types.UID) int { return func(int, types.UID) int { return 200 } },
		},
		{
			name: "a dry run", start: doc("u1", ""), options: &request.DeleteOptions{DryRun: true},
			want: "delete documents.docs.example.com prod/a: request not sent: DeleteOptions.DryRun: a dry run deletes no object to wait for: use Delete",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &deleter{server: &server{}}
				if tt.delete != nil {
					d.delete = tt.delete(d)
				}
				if tt.start != nil {
					d.put(tt.start)
				}
				c := fakeapi.ClientOf(d)
				ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errEnough)
				defer cancel()
				err := wait.DeleteAndWait(ctx, client.Namespaced[document](c, "prod"), "a", tt.options)
				if (err == nil) != (tt.want == "" && tt.is == nil) || tt.is != nil && !errors.Is(err, tt.is) ||
					tt.want != "" && (err == nil || err.Error() != tt.want) {
					t.Errorf("error = %v, want %q, %v", err, tt.want, tt.is)
				}
				uids := make([]string, len(d.deleted))
				for i, uid := range d.deleted {
					uids[i] = string(uid)
				}
				if got := strings.Join(uids, " "); got != tt.deleted {
					t.Errorf("deleted UIDs = %q, want %q", got, tt.deleted)
				}
			})
		})
	}
}

// TestObjectsOfARemovedKindAreDeleted checks that a wait for a deletion ends when the kind is deleted, which deletes
// its objects, and that it does not take other responses for that.
func TestObjectsOfARemovedKindAreDeleted(t *testing.T) {
	const other = `{"metadata": {"name": "docs.example.com"}, "versions": [{"version": "v2", "resources": [
		{"resource": "documents", "responseKind": {"group": "docs.example.com", "version": "v2", "kind": "Document"},
		"scope": "Namespaced", "verbs": ["get"]}]}]}`
	for _, tt := range []struct {
		name   string
		uid    types.UID
		exists bool     // when the wait begins
		groups []string // of the responses to discovery; the last one repeats
		want   bool     // the object counts as deleted
	}{
		{"the object was observed", "", true, []string{""}, true},
		{"the UID is known", "u1", false, []string{""}, true},
		{"nothing is known", "", false, []string{""}, false},
		{"discovery is behind", "", true, []string{other, other, ""}, true},
		{"another version is served", "", true, []string{other}, false},
		{"discovery fails", "", true, []string{"no"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var found atomic.Int32 // requests for /apis
				var served atomic.Bool
				served.Store(tt.exists)
				s := &server{}
				s.put(doc("u1", ""))
				transport := middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
					switch {
					case r.URL.Path == "/api" || r.URL.Path == "/apis":
						group := ""
						if r.URL.Path == "/apis" {
							group = tt.groups[min(int(found.Add(1)), len(tt.groups))-1]
						}
						body := `{"kind": "APIGroupDiscoveryList", "items": [` + group + `]}`
						return &http.Response{
							StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
							Body: io.NopCloser(strings.NewReader(body)), Request: r,
						}, nil
					case served.Load():
						return s.RoundTrip(r)
					}
					return &http.Response{
						StatusCode: http.StatusNotFound, Header: http.Header{"Content-Type": {"text/plain"}},
						Body: io.NopCloser(strings.NewReader("404 page not found\n")), Request: r,
					}, nil
				})
				c := fakeapi.ClientOf(transport)
				if tt.exists {
					time.AfterFunc(time.Minute, func() {
						served.Store(false)
						s.cut(nil)
					})
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				docs := client.Namespaced[document](c, "prod")
				err := wait.Gone(ctx, docs, "a", tt.uid, nil)
				if err == nil && tt.uid != "" {
					err = wait.DeleteAndWait(ctx, docs, "a", &request.DeleteOptions{UID: tt.uid})
				}
				if _, notServed := errors.AsType[*client.NotServedError](err); notServed == tt.want || (err == nil) != tt.want {
					t.Errorf("Gone = %v, want the object to count as deleted: %t", err, tt.want)
				}
			})
		})
	}
}

func TestDeletionOfANamespaceSaysWhatDelaysIt(t *testing.T) {
	discovery := map[string]any{
		"type": "NamespaceDeletionDiscoveryFailure", "status": "True", "reason": "DiscoveryFailed",
		"message": "Discovery failed for some groups: metrics.k8s.io/v1beta1: stale GroupVersion discovery",
	}
	long := map[string]any{"type": "NamespaceContentRemaining", "status": "True", "message": strings.Repeat("é", 5000)}
	content := map[string]any{"type": "NamespaceDeletionContentFailure", "status": "False", "message": "All content is deleted"}
	const (
		failure = "it is being deleted and waits for the finalizers kubernetes of its spec; " +
			"condition NamespaceDeletionDiscoveryFailure is True: DiscoveryFailed: Discovery failed for some groups: " +
			"metrics.k8s.io/v1beta1: stale GroupVersion discovery"
		prefix = "await namespaces prod: enough; last seen: "
	)
	tests := []struct {
		name       string
		finalizers []any
		conditions []any
		want       string // the error, or its beginning if it ends with …
	}{
		{"a group of the API is not available", []any{"kubernetes"}, []any{discovery, content}, prefix + failure},
		{"the text is bounded", []any{"kubernetes"}, []any{discovery, long}, prefix + failure + "; condition NamespaceContentRemaining is True: éé…"},
		{"nothing is known", nil, nil, prefix + "it is being deleted"},
	}
	for _, tt := range tests {
		namespace := map[string]any{
			"kind": "Namespace", "apiVersion": "v1",
			"metadata": map[string]any{"name": "prod", "uid": "n1", "resourceVersion": "1", "deletionTimestamp": "2026-01-01T00:00:00Z"},
			"spec":     map[string]any{"finalizers": tt.finalizers},
			"status":   map[string]any{"phase": "Terminating", "conditions": tt.conditions},
		}
		t.Run(tt.name, func(t *testing.T) {
			check := func(t *testing.T, call func(context.Context, *client.Client) error) {
				t.Helper()
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errEnough)
					defer cancel()
					err := call(ctx, fakeapi.ClientOf(terminating(namespace)))
					begin, cut := strings.CutSuffix(tt.want, "…")
					got := message(err)
					bounded := cut && strings.HasPrefix(got, begin) && strings.HasSuffix(got, "é…") && len(got) < 2200
					if got != tt.want && !bounded {
						t.Errorf("error = %q, want %q", got, tt.want)
					}
				})
			}
			check(t, func(ctx context.Context, c *client.Client) error {
				return wait.DeleteAndWait(ctx, client.ClusterWide[corev1.Namespace](c), "prod", nil)
			})
			check(t, func(ctx context.Context, c *client.Client) error {
				return wait.Gone(ctx, client.ClusterWide[corev1.Namespace](c).PreferEncoding(wire.JSON), "prod", "n1", nil)
			})
		})
	}
}

// terminating returns a server with a namespace that is being deleted.
func terminating(namespace map[string]any) http.RoundTripper {
	return middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
		switch {
		case r.Method == http.MethodDelete:
			return fakeapi.Response(200, namespace), nil
		case strings.HasSuffix(r.URL.Path, "/prod"):
			return fakeapi.Response(200, map[string]any{
				"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": namespace["metadata"],
			}), nil
		case r.URL.Query().Get("watch") != "true":
			return refusal(405, "this server has streaming lists only"), nil
		}
		w := &watch{events: make(chan event, 2)}
		w.events <- event{Type: core.Added, Object: namespace}
		w.events <- bookmark(1, map[string]string{metav1.InitialEventsAnnotationKey: "true"})
		body, pipe := io.Pipe()
		go func() { pipe.CloseWithError(w.stream(r, pipe)) }()
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: body}, nil
	})
}

var errEnough = errors.New("enough")
