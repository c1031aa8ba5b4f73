// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wait_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/runtime/internal/fakeapi"
	"github.com/kube-go/sdk/runtime/wait"
)

// running returns nil if the phase is Running.
func running(d *document) error {
	if d.Status.Phase != "Running" {
		return fmt.Errorf("phase is %s", d.Status.Phase)
	}
	return nil
}

func TestAwaitReturnsTheObjectOnceTheConditionHolds(t *testing.T) {
	tests := []struct {
		name         string
		start        *document
		change       func(*server) // when Await waits; nil: it must not wait
		wantUID      string
		wantRequests string
	}{
		{
			name:  "the condition holds at the start",
			start: doc("u1", "Running"), wantUID: "u1", wantRequests: "list",
		},
		{
			name:  "the condition holds later",
			start: doc("u1", "Pending"), change: func(s *server) {
				s.put(doc("u1", "Starting"))
				s.put(doc("u1", "Running"))
			}, wantUID: "u1", wantRequests: "list",
		},
		{
			name: "the object is created later",
			change: func(s *server) {
				s.put(doc("u1", "Running"))
			}, wantUID: "u1", wantRequests: "list",
		},
		{
			name:  "another object takes the name",
			start: doc("u1", "Pending"), change: func(s *server) {
				s.put(nil)
				s.put(doc("u2", "Pending"))
				s.put(doc("u2", "Running"))
			}, wantUID: "u2", wantRequests: "list",
		},
		{
			name:  "a watch that ends is resumed",
			start: doc("u1", "Pending"), change: func(s *server) {
				s.put(doc("u1", "Starting"))
				synctest.Wait()
				s.cut(nil)
				s.put(doc("u1", "Running"))
			}, wantUID: "u1", wantRequests: "list, watch 2",
		},
		{
			name:  "a watch that breaks is resumed",
			start: doc("u1", "Pending"), change: func(s *server) {
				s.cut(io.ErrUnexpectedEOF)
				s.put(doc("u1", "Running"))
			}, wantUID: "u1", wantRequests: "list, watch 1",
		},
		{
			name:  "an expired resource version leads to a new list",
			start: doc("u1", "Pending"), change: func(s *server) {
				s.forget()
				s.cut(nil)
				s.put(doc("u1", "Running"))
			}, wantUID: "u1", wantRequests: "list, watch 1, list",
		},
		{
			name:  "an unavailable server is retried",
			start: doc("u1", "Pending"), change: func(s *server) {
				s.fail(503, 429, 500)
				s.cut(io.ErrUnexpectedEOF)
				s.put(doc("u1", "Running"))
			}, wantUID: "u1", wantRequests: "list, watch 1, watch 1, watch 1, watch 1",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{}
				if tt.start != nil {
					s.put(tt.start)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				if tt.change != nil {
					go func() {
						time.Sleep(time.Minute)
						tt.change(s)
					}()
				}
				start := time.Now()
				got, err := wait.Await(ctx, s.docs(t), "a", running, nil)
				if err != nil || string(got.UID) != tt.wantUID || got.Status.Phase != "Running" || got.Kind != "Document" {
					t.Fatalf("Await() = %+v, %v; want the document %s", got, err, tt.wantUID)
				}
				if waited := time.Since(start) >= time.Minute; waited != (tt.change != nil) {
					t.Errorf("Await() returned after %v", time.Since(start))
				}
				if got := s.log(); got != tt.wantRequests {
					t.Errorf("requests = %q, want %q", got, tt.wantRequests)
				}
				synctest.Wait()
				if n := s.watching(); n > 0 {
					t.Errorf("%d watches are open after Await()", n)
				}
			})
		})
	}
}

func TestAwaitSendsOneRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		s.put(doc("u1", "Pending"))
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
		defer cancel()
		if _, err := wait.Await(ctx, s.docs(t), "a", running, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Await() = %v", err)
		}
		if got := s.log(); got != "list" {
			t.Errorf("requests = %q, want one", got)
		}
	})
}

func TestConditionIsCalledOncePerChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		s.put(doc("u1", "Pending"))
		go func() {
			time.Sleep(time.Second)
			s.bookmark()
			s.put(doc("u1", "Starting"))
			s.put(doc("u1", "Running"))
		}()
		var asked []string
		_, err := wait.Await(t.Context(), s.docs(t), "a", func(d *document) error {
			asked = append(asked, d.Status.Phase)
			return running(d)
		}, nil)
		if got := fmt.Sprint(asked); err != nil || got != "[Pending Starting Running]" {
			t.Errorf("the condition was called with %s, Await() = %v", got, err)
		}
	})
}

func TestAwaitEndsIfTheObjectDoesNotDecode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		s.put(doc("u1", "Running"))
		api := client.Namespaced[mistaken](fakeapi.ClientOf(s), "prod")
		_, err := wait.Await(t.Context(), api, "a", wait.Exists[mistaken](), nil)
		if err == nil || !strings.Contains(err.Error(), "await documents.docs.example.com prod/a: decode") {
			t.Errorf("Await() = %v, want a decoding error", err)
		}
	})
}

func TestGoneReturnsOnceTheObjectIsDeleted(t *testing.T) {
	tests := []struct {
		name   string
		start  *document
		uid    types.UID
		change func(*server) // when Gone waits; nil: it must not wait
	}{
		{name: "the object does not exist", uid: "u1"},
		{name: "another object has the name", start: doc("u2", ""), uid: "u1"},
		{
			name: "the object is deleted", start: doc("u1", ""), uid: "u1",
			change: func(s *server) { s.put(nil) },
		},
		{
			name: "the object is replaced between two watches", start: doc("u1", ""), uid: "u1",
			change: func(s *server) {
				s.fail(503)
				s.cut(nil)
				s.put(nil)
				s.put(doc("u2", ""))
				s.forget()
			},
		},
		{
			name: "the object is deleted between two watches", start: doc("u1", ""), uid: "u1",
			change: func(s *server) {
				s.fail(503)
				s.cut(nil)
				s.put(nil)
				s.forget()
			},
		},
		{
			name: "without a UID, every object of the name counts", start: doc("u2", ""),
			change: func(s *server) { s.put(nil) },
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{}
				if tt.start != nil {
					s.put(tt.start)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				if tt.change != nil {
					go func() {
						time.Sleep(time.Minute)
						tt.change(s)
					}()
				}
				start := time.Now()
				if err := wait.Gone(ctx, s.docs(t), "a", tt.uid, nil); err != nil {
					t.Errorf("Gone() = %v", err)
				}
				if waited := time.Since(start) >= time.Minute; waited != (tt.change != nil) {
					t.Errorf("Gone() returned after %v", time.Since(start))
				}
			})
		})
	}
}

func TestDeadlineErrorHasTheLastState(t *testing.T) {
	terminating := doc("u1", "")
	terminating.DeletionTimestamp, terminating.Finalizers = new(metav1.Now()), []string{"a/b", "c/d"}
	graceful := doc("u1", "")
	graceful.DeletionTimestamp = new(metav1.Now())
	await := func(ctx context.Context, api *client.API[document]) error {
		_, err := wait.Await(ctx, api, "a", running, nil)
		return err
	}
	gone := func(ctx context.Context, api *client.API[document]) error {
		return wait.Gone(ctx, api, "a", "u1", nil)
	}
	tests := []struct {
		name  string
		start *document
		fail  int // the number of requests that fail
		wait  func(context.Context, *client.API[document]) error
		want  string
	}{
		{
			name: "the error of the condition", start: doc("u1", "Pending"), wait: await,
			want: "await documents.docs.example.com prod/a: context deadline exceeded; last seen: phase is Pending",
		},
		{
			name: "the object does not exist", wait: await,
			want: "await documents.docs.example.com prod/a: context deadline exceeded; last seen: it does not exist",
		},
		{name: "the object is not being deleted", start: doc("u1", ""), wait: gone, want: "; last seen: it exists and is not being deleted"},
		{name: "finalizers delay the deletion", start: terminating, wait: gone, want: "; last seen: it is being deleted and waits for the finalizers a/b, c/d"},
		{name: "the grace period delays the deletion", start: graceful, wait: gone, want: "; last seen: it is being deleted"},
		{name: "the first request fails", fail: 10, wait: await, want: "context deadline exceeded; last failure: watch documents.docs.example.com in prod: service unavailable: server said: no"},
		{name: "a failure before a success is omitted", start: doc("u1", "Pending"), fail: 1, wait: await, want: "; last seen: phase is Pending"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{}
				if tt.start != nil {
					s.put(tt.start)
				}
				for range tt.fail {
					s.fail(503)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				defer cancel()
				err := tt.wait(ctx, s.docs(t))
				if !errors.Is(err, context.DeadlineExceeded) || !strings.HasSuffix(err.Error(), tt.want) {
					t.Errorf("error = %v, want it to contain %q", err, tt.want)
				}
			})
		})
	}
}

func TestAwaitReturnsTheCauseOfTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		s.put(doc("u1", "Pending"))
		quit := errors.New("the user has quit")
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			time.Sleep(time.Second)
			cancel(quit)
		}()
		if _, err := wait.Await(ctx, s.docs(t), "a", running, nil); !errors.Is(err, quit) {
			t.Errorf("Await() = %v, want %v", err, quit)
		}
		if _, err := wait.Await(ctx, s.docs(t), "a", running, nil); !errors.Is(err, quit) {
			t.Errorf("Await() with a context that has ended = %v, want %v", err, quit)
		}
	})
}

func TestPermanentFailureEndsTheWait(t *testing.T) {
	failed := errors.New("phase is Failed")
	tests := []struct {
		name      string
		refuse    int
		object    string // the name of the object
		namespace string
		condition wait.Condition[document]
		want      error
		wantMsg   string
	}{
		{name: "a missing permission", refuse: 403, object: "a", namespace: "prod", want: core.ErrForbidden, wantMsg: "await documents.docs.example.com prod/a: watch"},
		{name: "invalid credentials", refuse: 401, object: "a", namespace: "prod", want: core.ErrUnauthorized},
		{name: "a kind that is not served", refuse: 404, object: "a", namespace: "prod", want: core.ErrNotFound},
		{name: "no name", namespace: "prod", wantMsg: "name: is empty"},
		{name: "no namespace", object: "a", wantMsg: "choose one with API.In"},
		{
			name: "a condition that will never hold", object: "a", namespace: "prod",
			condition: func(*document) error { return core.Terminal(failed) },
			want:      failed, wantMsg: "await documents.docs.example.com prod/a: phase is Failed.",
		},
		{
			name: "a condition that will never hold, with an error that is otherwise retried", object: "a", namespace: "prod",
			condition: func(*document) error { return core.Terminal(&core.StatusError{Status: metav1.Status{Code: 503}}) },
			want:      core.ErrUnavailable,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{}
				s.put(doc("u1", "Failed"))
				s.fail(tt.refuse)
				api := client.ClusterWide[document](fakeapi.ClientOf(s))
				if tt.namespace != "" {
					api = api.In(tt.namespace)
				}
				condition := tt.condition
				if condition == nil {
					condition = running
				}
				start := time.Now()
				got, err := wait.Await(t.Context(), api, tt.object, condition, nil)
				if got != nil || err == nil || !strings.Contains(err.Error()+".", tt.wantMsg) || tt.want != nil && !errors.Is(err, tt.want) {
					t.Errorf("Await() = %v, %v; want %v with %q", got, err, tt.want, tt.wantMsg)
				}
				if _, invalid := errors.AsType[*request.InvalidError](err); invalid != (tt.object == "" || tt.namespace == "") {
					t.Errorf("Await() = %#v", err)
				}
				if took := time.Since(start); took > 0 {
					t.Errorf("Await() took %v", took)
				}
			})
		})
	}
}

func TestTheErrorOfAWaitIsNotTerminalForAController(t *testing.T) {
	failed := core.Terminal(&core.StatusError{Status: metav1.Status{Code: 409}})
	for _, tt := range []struct {
		name      string
		condition wait.Condition[document]
		want      string
	}{
		{"a final condition", func(*document) error { return failed }, "await documents.docs.example.com prod/a: conflict"},
		{
			"a condition that wraps a final one", func(*document) error { return errors.Join(fmt.Errorf("the copy: %w", failed)) },
			"await documents.docs.example.com prod/a: the copy: conflict",
		},
		{"the cause of the context", nil, "await documents.docs.example.com prod/a: conflict"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{}
				s.put(doc("u1", "Failed"))
				ctx, stop := context.WithCancelCause(t.Context())
				condition := tt.condition
				if condition == nil {
					stop(failed)
					condition = running
				}
				defer stop(nil)
				_, err := wait.Await(ctx, s.docs(t), "a", condition, nil)
				if core.IsTerminal(err) {
					t.Errorf("Await() = %v, a terminal error", err)
				}
				if err == nil || err.Error() != tt.want {
					t.Errorf("Await() = %v, want %s", err, tt.want)
				}
				if status, ok := errors.AsType[*core.StatusError](err); !ok || status.Status.Code != 409 || !errors.Is(err, core.ErrConflict) {
					t.Errorf("Await() = %v, without its cause", err)
				}
			})
		})
	}
}

// The error comes from a real dial, because its type is not exported.
func TestTimeoutOfADialIsRetried(t *testing.T) {
	_, timeout := (&net.Dialer{Timeout: time.Nanosecond}).DialContext(t.Context(), "tcp", "127.0.0.1:1")
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		c, err := client.New(t.Context(), &client.Options{
			Config: &config.Config{Server: "https://cluster.test"},
			Transport: middleware.RoundTripperFunc(func(*http.Request) (*http.Response, error) {
				if time.Since(begun) < 10*time.Minute {
					return nil, timeout
				}
				return fakeapi.Response(200, map[string]any{
					"kind": "DocumentList", "apiVersion": "docs.example.com/v1", "metadata": map[string]any{"resourceVersion": "1"},
					"items": []*document{doc("u1", "Running")},
				}), nil
			}),
		})
		if err != nil {
			t.Fatal(err)
		}
		o := &wait.Options{Logger: slog.New(slog.DiscardHandler)}
		_, err = wait.Await(t.Context(), client.Namespaced[document](c, "prod"), "a", running, o)
		if took := time.Since(begun); err != nil || took < 10*time.Minute {
			t.Errorf("Await() = %v after %v, want success after the server is reachable", err, took)
		}
	})
}

func TestRetriedFailureIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := &server{}
		s.put(doc("u1", "Running"))
		s.fail(503)
		o := &wait.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}
		if _, err := wait.Await(t.Context(), s.docs(t), "a", wait.Exists[document](), o); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(log.String(), "documents.docs.example.com prod/a") || !strings.Contains(log.String(), "service unavailable") {
			t.Errorf("log = %q", log.String())
		}
	})
}
