// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/internal/testserver"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
)

// event encodes a watch event with a ConfigMap.
func event(t testing.TB, contentType string, typ core.EventType, name string) []byte {
	t.Helper()
	if contentType == protobufType {
		return frame(t, typ, envelope(t, "ConfigMap", stored(name, "green")))
	}
	return fmt.Appendf(nil, `{"type":%q,"object":%s}`+"\n", typ, configMapJSON(t, name, "green"))
}

// send writes and flushes a part of a stream.
func send(w http.ResponseWriter, parts ...[]byte) {
	for _, part := range parts {
		_, _ = w.Write(part)
	}
	w.(http.Flusher).Flush()
}

func TestWatchOnceYieldsEvents(t *testing.T) {
	t.Run("a kind of k8s.io/api in protobuf", func(t *testing.T) { testWatch(t, builtinWay(protobufType)) })
	t.Run("a kind of k8s.io/api in JSON", func(t *testing.T) { testWatch(t, builtinWay(jsonType)) })
	t.Run("a lean struct", func(t *testing.T) { testWatch(t, leanWay()) })
	t.Run("unstructured", func(t *testing.T) { testWatch(t, dynamicWay()) })
}

func testWatch[K any](t *testing.T, way way[K]) {
	s := testserver.New(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", way.answer+";stream=watch")
		for i, typ := range []core.EventType{core.Added, core.Modified, core.Deleted, core.Bookmark} {
			send(w, event(t, way.answer, typ, fmt.Sprint("o", i)))
		}
	})
	o := &request.WatchOptions{ResourceVersion: "5", Timeout: time.Minute}
	watch := way.api(s.Client(t), "prod").WatchOnce(t.Context(), o)
	*o = request.WatchOptions{} // the options were copied
	for range 2 {               // ranging again sends the request again
		var types []string
		for ev, err := range watch {
			if err != nil {
				t.Fatal(err)
			}
			checkObject(t, way, ev.Object, fmt.Sprint("o", len(types)), "green")
			types = append(types, string(ev.Type))
		}
		if got := strings.Join(types, " "); got != "ADDED MODIFIED DELETED BOOKMARK" {
			t.Errorf("events = %s", got)
		}
	}
	asks := s.Asked()
	const want = "/api/v1/namespaces/prod/configmaps?allowWatchBookmarks=true&resourceVersion=5&timeoutSeconds=60&watch=true"
	if len(asks) != 2 || asks[0].URI != want || asks[1].URI != want {
		t.Errorf("requests = %+v, want two of %s", asks, want)
	}
}

// drain ranges over a watch and returns the names of its objects and the error at its end.
func drain[K any](seq iter.Seq2[core.WatchEvent[K], error]) (names string, err error) {
	for ev, e := range seq {
		if e != nil {
			err = e
			continue // a pair after the error would appear in names
		}
		names += any(ev.Object).(core.Object).GetName()
	}
	return names, err
}

// TestEndOfAWatchIsDistinguished checks all the ways in which a watch ends, in both encodings.
func TestEndOfAWatchIsDistinguished(t *testing.T) {
	for _, contentType := range []string{jsonType, protobufType} {
		for _, tc := range watchEnds(t, contentType) {
			t.Run(tc.name+", "+contentType, func(t *testing.T) {
				s := testserver.New(t, func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Type", contentType)
					tc.answer(w, r)
				})
				names, err := drain(client.Namespaced[corev1.ConfigMap](s.Client(t), "prod").WatchOnce(t.Context(), nil))
				if names != tc.want {
					t.Errorf("objects = %q, want %q", names, tc.want)
				}
				if tc.wantErr == "" && err != nil || tc.wantErr != "" && (err == nil || !strings.HasPrefix(err.Error(), tc.wantErr)) {
					t.Errorf("error = %v, want %q", err, tc.wantErr)
				}
				if tc.is != nil && !errors.Is(err, tc.is) {
					t.Errorf("error = %v, want one that matches %v", err, tc.is)
				}
			})
		}
	}
}

type watchEnd struct {
	name    string
	answer  http.HandlerFunc
	want    string // the names of the objects
	is      error
	wantErr string
}

func watchEnds(t *testing.T, contentType string) []watchEnd {
	first := event(t, contentType, core.Added, "a")
	status := &metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Code:     410, Reason: metav1.StatusReasonExpired, Message: "too old resource version",
	}
	failed := fmt.Appendf(nil, `{"type":"ERROR","object":%s}`, testserver.JSON(t, status))
	if contentType == protobufType {
		failed = frame(t, "ERROR", envelope(t, "Status", status))
	}
	cut := func(w http.ResponseWriter, parts ...[]byte) {
		send(w, parts...)
		panic(http.ErrAbortHandler)
	}
	return []watchEnd{
		{"the server ends it between two events", func(w http.ResponseWriter, _ *http.Request) {
			send(w, first)
		}, "a", nil, ""},
		{"the server ends it before any event", func(w http.ResponseWriter, _ *http.Request) {
			send(w)
		}, "", nil, ""},
		{"the server ends it in the middle of an event", func(w http.ResponseWriter, _ *http.Request) {
			send(w, first, first[:len(first)/2])
		}, "a", io.ErrUnexpectedEOF, "watch configmaps in prod: watch event: "},
		{"the connection is cut in the middle of an event", func(w http.ResponseWriter, _ *http.Request) {
			cut(w, first, first[:len(first)/2])
		}, "a", io.ErrUnexpectedEOF, "watch configmaps in prod: watch event: "},
		{"the connection is cut between two events", func(w http.ResponseWriter, _ *http.Request) {
			cut(w, first)
		}, "a", io.ErrUnexpectedEOF, "watch configmaps in prod: "},
		{"an ERROR event", func(w http.ResponseWriter, _ *http.Request) {
			send(w, first, failed, first)
		}, "a", core.ErrExpired, "watch configmaps in prod: expired: server said: too old resource version"},
		{"an error instead of a stream", func(w http.ResponseWriter, _ *http.Request) {
			testserver.Fail(w, 410, metav1.StatusReasonExpired, "too old resource version")
		}, "", core.ErrExpired, "watch configmaps in prod: expired: server said: too old resource version"},
		{"a kind that is not served", func(w http.ResponseWriter, r *http.Request) {
			http.NotFound(w, r)
		}, "", core.ErrNotFound, "watch configmaps in prod: the server does not serve configmaps in version v1"},
		{"a response that is not a stream", func(w http.ResponseWriter, r *http.Request) {
			testserver.Reply(w, 200, "text/html", []byte("<html>"))
		}, "", nil, `watch configmaps in prod: content type "text/html"`},
	}
}

// TestInvalidObjectOfAWatchIsNamed checks the error of an object that does not match its type.
func TestInvalidObjectOfAWatchIsNamed(t *testing.T) {
	s := testserver.New(t, func(w http.ResponseWriter, r *http.Request) {
		testserver.Reply(w, 200, jsonType, []byte(`{"type":"ADDED","object":{"metadata":{"name":"a","namespace":"n"},"data":7}}`))
	})
	_, err := drain(client.Namespaced[leanConfigMap](s.Client(t), "prod").WatchOnce(t.Context(), nil))
	const want = `watch configmaps in prod: n/a: decode json: `
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error = %v, want %s", err, want)
	}
}

// endless responds to a watch with one event, and closes released when the client has disconnected.
func endless(t testing.TB, released chan<- struct{}) http.HandlerFunc {
	t.Helper()
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", jsonType)
		send(w, event(t, jsonType, core.Added, "a"), event(t, jsonType, core.Added, "b"))
		<-r.Context().Done()
		close(released)
	}
}

func TestBreakReleasesTheWatch(t *testing.T) {
	released := make(chan struct{})
	s := testserver.New(t, endless(t, released))
	for _, err := range client.Namespaced[leanConfigMap](s.Client(t), "prod").WatchOnce(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	<-released
}

// TestCancelledWatchYieldsTheCause checks that the last pair has the cause of the context, even before unread events.
func TestCancelledWatchYieldsTheCause(t *testing.T) {
	released := make(chan struct{})
	s := testserver.New(t, endless(t, released))
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	cause := errors.New("enough")
	var names strings.Builder
	var got error
	for ev, err := range client.Namespaced[leanConfigMap](s.Client(t), "prod").WatchOnce(ctx, nil) {
		if got = err; err == nil {
			names.WriteString(ev.Object.Name)
			cancel(cause)
		}
	}
	if names.String() != "a" || !errors.Is(got, cause) || got.Error() != "watch configmaps in prod: enough" {
		t.Errorf("objects = %q, error = %v; want a, then the cause", names.String(), got)
	}
	<-released
}

func TestWatchOfAnEndedContextYieldsTheCause(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	cancel(cause)
	s := testserver.New(t, http.NotFound)
	_, err := drain(client.Namespaced[leanConfigMap](s.Client(t), "prod").WatchOnce(ctx, nil))
	if !errors.Is(err, cause) {
		t.Errorf("error = %v, want the cause", err)
	}
}

// TestFeedWatchYieldsPackedEvents also checks that an invalid feed returns an error.
func TestFeedWatchYieldsPackedEvents(t *testing.T) {
	s := testserver.New(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", protobufType)
		send(w, event(t, protobufType, core.Added, "a"), event(t, protobufType, core.Deleted, "b"))
	})
	c := s.Client(t)
	var got []string
	events, err := client.Namespaced[corev1.ConfigMap](c, "prod").Feed().Watch(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for ev, err := range events {
		if err != nil {
			t.Fatal(err)
		}
		head, err := ev.Object.Head()
		if err != nil || ev.Object.Encoding() != wire.Protobuf {
			t.Errorf("head = %+v, %v of a %v", head, err, ev.Object.Encoding())
		}
		got = append(got, fmt.Sprint(ev.Type, " ", head.Ref, " ", head.ResourceVersion))
	}
	if diff := cmp.Diff([]string{"ADDED prod/a 7", "DELETED prod/b 7"}, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	_, err = client.Namespaced[corev1.ConfigMap](c, "").Feed().Watch(t.Context(), nil)
	if _, ok := errors.AsType[*request.InvalidError](err); !ok {
		t.Errorf("error = %v, want an InvalidError", err)
	}
	if _, err := client.Namespaced[corev1.ConfigMap](c, "").Feed().List(t.Context(), nil, nil); err == nil {
		t.Error("List of the empty namespace returned no error")
	}
}

// TestFeedWatchReturnsWhenTheServerAcceptsIt checks that Watch does not wait for an event, and that the watch ends with
// its context if nobody ranges over the events.
func TestFeedWatchReturnsWhenTheServerAcceptsIt(t *testing.T) {
	ended := make(chan struct{})
	s := testserver.New(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", jsonType)
		send(w)
		<-r.Context().Done()
		close(ended)
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if _, err := client.Namespaced[leanConfigMap](s.Client(t), "prod").Feed().Watch(ctx, nil); err != nil {
		t.Fatal(err)
	}
	cancel()
	<-ended
}
