// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/internal/testserver"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
)

// listBody encodes a page of ConfigMaps. Its items have no kind, as in responses of API servers.
func listBody(t testing.TB, contentType, next string, names ...string) []byte {
	t.Helper()
	list := &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: "9", Continue: next}}
	for _, name := range names {
		list.Items = append(list.Items, *stored(name, "green"))
	}
	if contentType == protobufType {
		return envelope(t, "ConfigMapList", list)
	}
	list.APIVersion, list.Kind = "v1", "ConfigMapList"
	return testserver.JSON(t, list)
}

func TestListReturnsOnePage(t *testing.T) {
	t.Run("a kind of k8s.io/api in protobuf", func(t *testing.T) { testList(t, builtinWay(protobufType)) })
	t.Run("a kind of k8s.io/api in JSON", func(t *testing.T) { testList(t, builtinWay(jsonType)) })
	t.Run("a lean struct", func(t *testing.T) { testList(t, leanWay()) })
	t.Run("unstructured", func(t *testing.T) { testList(t, dynamicWay()) })
}

func testList[K any](t *testing.T, w way[K]) {
	s := testserver.New(t, func(rw http.ResponseWriter, r *http.Request) {
		testserver.Reply(rw, 200, w.answer, listBody(t, w.answer, "more", "a", "b"))
	})
	list, err := w.api(s.Client(t), "prod").List(t.Context(), &request.ListOptions{LabelSelector: "app=web", Limit: 2})
	if err != nil {
		t.Fatal(err)
	}
	if list.ResourceVersion != "9" || list.Continue != "more" || len(list.Items) != 2 {
		t.Fatalf("list = %+v, want two items of version 9 with a continue token", list)
	}
	checkObject(t, w, list.Items[0], "a", "green")
	checkObject(t, w, list.Items[1], "b", "green")
	if got, want := s.Asked()[0].URI, "/api/v1/namespaces/prod/configmaps?labelSelector=app%3Dweb&limit=2"; got != want {
		t.Errorf("URI = %s, want %s", got, want)
	}
}

// pages responds to lists with two pages of two items and one page of one.
func pages(t testing.TB) http.HandlerFunc {
	t.Helper()
	return func(w http.ResponseWriter, r *http.Request) {
		names, next := []string{"a", "b"}, "p2"
		switch r.URL.Query().Get("continue") {
		case "p2":
			names, next = []string{"c", "d"}, "p3"
		case "p3":
			names, next = []string{"e"}, ""
		case "old":
			testserver.Fail(w, 410, metav1.StatusReasonExpired, "The provided continue parameter is too old")
			return
		}
		testserver.Reply(w, 200, jsonType, listBody(t, jsonType, next, names...))
	}
}

func collect[K any](seq func(func(*K, error) bool)) (names []string, err error) {
	for obj, e := range seq {
		if e != nil {
			err = e
			continue // a pair after the error would appear in names
		}
		names = append(names, any(obj).(core.Object).GetName())
	}
	return names, err
}

func TestAllFollowsThePages(t *testing.T) {
	s := testserver.New(t, pages(t))
	maps := client.Namespaced[leanConfigMap](s.Client(t), "prod")
	o := &request.ListOptions{
		ResourceVersion: "5", ResourceVersionMatch: metav1.ResourceVersionMatchExact, FieldSelector: "metadata.name!=x",
	}
	all := maps.All(t.Context(), o)
	*o = request.ListOptions{Limit: 1} // the options were copied
	for range 2 {                      // the sequence starts over
		names, err := collect(all)
		if err != nil || strings.Join(names, "") != "abcde" {
			t.Fatalf("All = %v, %v; want a to e", names, err)
		}
	}
	const path = "/api/v1/namespaces/prod/configmaps?"
	round := []string{
		path + "fieldSelector=metadata.name%21%3Dx&limit=500&resourceVersion=5&resourceVersionMatch=Exact",
		path + "continue=p2&fieldSelector=metadata.name%21%3Dx&limit=500",
		path + "continue=p3&fieldSelector=metadata.name%21%3Dx&limit=500",
	}
	var got []string
	for _, a := range s.Asked() {
		got = append(got, a.URI)
	}
	if diff := cmp.Diff(slices.Concat(round, round), got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestAllStartsAtAContinueToken(t *testing.T) {
	s := testserver.New(t, pages(t))
	seq := client.Namespaced[leanConfigMap](s.Client(t), "prod").All(t.Context(), &request.ListOptions{Limit: 2, Continue: "p3"})
	if names, err := collect(seq); err != nil || strings.Join(names, "") != "e" {
		t.Errorf("All from the third page = %v, %v; want e", names, err)
	}
	if got, want := s.Asked()[0].URI, "/api/v1/namespaces/prod/configmaps?continue=p3&limit=2"; got != want {
		t.Errorf("URI = %s, want %s", got, want)
	}
}

func TestExpiredTokenIsAnError(t *testing.T) {
	s := testserver.New(t, pages(t))
	_, err := collect(client.Namespaced[leanConfigMap](s.Client(t), "prod").All(t.Context(), &request.ListOptions{Continue: "old"}))
	const want = "list configmaps in prod: expired: server said: The provided continue parameter is too old"
	if !errors.Is(err, core.ErrExpired) || err.Error() != want {
		t.Errorf("error = %v, want %s", err, want)
	}
}

// TestAllContinuesAfterAnExpiredToken checks that an iteration whose token has expired continues at the same item,
// unless an exact state was requested.
func TestAllContinuesAfterAnExpiredToken(t *testing.T) {
	const path = "/api/v1/namespaces/prod/configmaps?"
	tests := []struct {
		name    string
		o       *request.ListOptions
		tokens  map[string]string // the new token in the response to an expired one
		want    string
		wantErr string
		asked   []string
	}{
		{
			name: "with the token of the error", tokens: map[string]string{"p2": "p2-now"}, want: "abcde",
			asked: []string{"limit=500", "continue=p2&limit=500", "continue=p2-now&limit=500", "continue=p3&limit=500"},
		},
		{
			name: "repeatedly", tokens: map[string]string{"p2": "p2-now", "p3": "p3-now"}, want: "abcde",
			asked: []string{
				"limit=500", "continue=p2&limit=500", "continue=p2-now&limit=500",
				"continue=p3&limit=500", "continue=p3-now&limit=500",
			},
		},
		{
			name: "not without a token in the error", tokens: map[string]string{"p3": ""}, want: "abcd",
			wantErr: "list configmaps in prod: expired: server said: too old",
			asked:   []string{"limit=500", "continue=p2&limit=500", "continue=p3&limit=500"},
		},
		{
			name: "not if the new token has expired, too", tokens: map[string]string{"p2": "p2-now", "p2-now": "p2-now"}, want: "ab",
			wantErr: "list configmaps in prod: expired: server said: too old",
			asked:   []string{"limit=500", "continue=p2&limit=500", "continue=p2-now&limit=500"},
		},
		{
			name: "not if an exact state was requested", tokens: map[string]string{"p2": "p2-now"}, want: "ab",
			o:       &request.ListOptions{ResourceVersion: "5", ResourceVersionMatch: metav1.ResourceVersionMatchExact},
			wantErr: "list configmaps in prod: expired: server said: too old",
			asked:   []string{"limit=500&resourceVersion=5&resourceVersionMatch=Exact", "continue=p2&limit=500"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := testserver.New(t, func(w http.ResponseWriter, r *http.Request) {
				q := r.URL.Query()
				token, expired := tt.tokens[q.Get("continue")]
				if expired {
					testserver.Reply(w, http.StatusGone, jsonType, testserver.JSON(t, &metav1.Status{
						TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, ListMeta: metav1.ListMeta{Continue: token},
						Status: "Failure", Code: http.StatusGone, Reason: metav1.StatusReasonExpired, Message: "too old",
					}))
					return
				}
				q.Set("continue", strings.TrimSuffix(q.Get("continue"), "-now"))
				r.URL.RawQuery = q.Encode()
				pages(t)(w, r)
			})
			names, err := collect(client.Namespaced[leanConfigMap](s.Client(t), "prod").All(t.Context(), tt.o))
			if got := strings.Join(names, ""); got != tt.want || text(err) != tt.wantErr {
				t.Errorf("All = %s, %v; want %s, %q", got, err, tt.want, tt.wantErr)
			}
			var asked []string
			for _, a := range s.Asked() {
				asked = append(asked, strings.TrimPrefix(a.URI, path))
			}
			if diff := cmp.Diff(tt.asked, asked); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

// TestBreakWithinAPageEndsTheRequest checks that leaving the loop within a page ends the request immediately.
func TestBreakWithinAPageEndsTheRequest(t *testing.T) {
	for _, tc := range []struct {
		name string
		with func(cancel context.CancelFunc)
	}{
		{"by break", func(context.CancelFunc) {}},
		{"by break after the context was cancelled", func(cancel context.CancelFunc) { cancel() }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			released := make(chan struct{})
			s := testserver.New(t, func(w http.ResponseWriter, r *http.Request) {
				half(t, w)
				<-r.Context().Done()
				close(released)
			})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			for obj, err := range client.Namespaced[leanConfigMap](s.Client(t), "prod").All(ctx, nil) {
				if err != nil || obj.Name != "a" {
					t.Fatalf("All = %+v, %v; want a", obj, err)
				}
				tc.with(cancel)
				break
			}
			<-released
		})
	}
}

// half responds with a list that ends within the second of two items.
func half(t testing.TB, w http.ResponseWriter) {
	t.Helper()
	whole := listBody(t, jsonType, "", "a", "b")
	w.Header().Set("Content-Type", jsonType)
	send(w, whole[:len(whole)-20])
}

// TestInvalidListsAreErrors checks truncated lists and other unexpected responses.
func TestInvalidListsAreErrors(t *testing.T) {
	for _, tc := range []struct {
		name    string
		answer  http.HandlerFunc
		want    string // the names before the error
		is      error
		wantErr string
	}{
		{"the connection is cut", func(w http.ResponseWriter, _ *http.Request) {
			half(t, w)
			panic(http.ErrAbortHandler)
		}, "a", io.ErrUnexpectedEOF, "list configmaps in prod: read list: "},
		{"the body is complete but its JSON is not", func(w http.ResponseWriter, _ *http.Request) {
			half(t, w)
		}, "a", io.ErrUnexpectedEOF, "list configmaps in prod: read list: "},
		{"an item that does not fit the type", func(w http.ResponseWriter, _ *http.Request) {
			testserver.Reply(w, 200, jsonType, []byte(`{"kind":"ConfigMapList","items":[{"metadata":{"name":"a"}},`+
				`{"metadata":{"name":"b","namespace":"n"},"data":7}]}`))
		}, "a", nil, `list configmaps in prod: n/b: decode json: `},
		{"an object instead of a list", func(w http.ResponseWriter, _ *http.Request) {
			testserver.Reply(w, 200, jsonType, configMapJSON(t, "a", "blue"))
		}, "", nil, `list configmaps in prod: read list: the server's response is not a list but of kind "ConfigMap"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := testserver.New(t, tc.answer)
			maps := client.Namespaced[leanConfigMap](s.Client(t), "prod")
			names, err := collect(maps.All(t.Context(), nil))
			list, listErr := maps.List(t.Context(), nil)
			if strings.Join(names, "") != tc.want || list != nil {
				t.Errorf("All = %v, List = %v; want %q and nothing", names, list, tc.want)
			}
			for _, err := range []error{err, listErr} {
				if err == nil || !strings.HasPrefix(err.Error(), tc.wantErr) || tc.is != nil && !errors.Is(err, tc.is) {
					t.Errorf("error = %v, want %q", err, tc.wantErr)
				}
			}
		})
	}
}

// TestCancelledListYieldsTheCause checks that the last pair has the cause of the context.
func TestCancelledListYieldsTheCause(t *testing.T) {
	s := testserver.New(t, func(w http.ResponseWriter, r *http.Request) {
		half(t, w)
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	cause := errors.New("enough")
	var names strings.Builder
	var got error
	for obj, err := range client.Namespaced[leanConfigMap](s.Client(t), "prod").All(ctx, nil) {
		if got = err; err == nil {
			names.WriteString(obj.Name)
			cancel(cause)
		}
	}
	if names.String() != "a" || !errors.Is(got, cause) {
		t.Errorf("objects = %q, error = %v; want a, then the cause", names.String(), got)
	}
}

// TestFeedListYieldsPackedObjects checks that objects are yielded while they arrive, and that the callback can stop the
// list.
func TestFeedListYieldsPackedObjects(t *testing.T) {
	s := testserver.New(t, func(w http.ResponseWriter, r *http.Request) {
		contentType := jsonType
		if strings.HasPrefix(r.Header.Get("Accept"), protobufType) {
			contentType = protobufType
		}
		testserver.Reply(w, 200, contentType, listBody(t, contentType, "", "a", "b", "c"))
	})
	c := s.Client(t)
	for _, tc := range []struct {
		name string
		feed *client.Feed
		want wire.Encoding
	}{
		{"protobuf", client.Namespaced[corev1.ConfigMap](c, "prod").Feed(), wire.Protobuf},
		{"JSON", client.Namespaced[leanConfigMap](c, "prod").Feed(), wire.JSON},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			visit := func(p wire.Packed) error {
				head, err := p.Head()
				got = append(got, head.Ref.String())
				if p.Encoding() != tc.want {
					t.Errorf("encoding = %v, want %v", p.Encoding(), tc.want)
				}
				return err
			}
			meta, err := tc.feed.List(t.Context(), nil, visit)
			if err != nil || meta.ResourceVersion != "9" || strings.Join(got, " ") != "prod/a prod/b prod/c" {
				t.Errorf("List = %+v, %v with %v; want version 9 with a, b, c", meta, err, got)
			}
			stop := errors.New("stop")
			count := 0
			_, err = tc.feed.List(t.Context(), nil, func(wire.Packed) error {
				count++
				return stop
			})
			if !errors.Is(err, stop) || count != 1 {
				t.Errorf("error = %v after %d objects, want stop after one", err, count)
			}
		})
	}
}
