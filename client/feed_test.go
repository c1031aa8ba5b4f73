// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/internal/testserver"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
)

// omissions lists and watches without managed fields. It returns, for each request, whether it asked to omit them.
func omissions(t *testing.T, s *testserver.Server, c *client.Client) []bool {
	t.Helper()
	before := len(s.Asked())
	feed := client.Namespaced[corev1.ConfigMap](c, "prod").Feed()
	each := func(wire.Packed) error { return nil }
	if _, err := feed.List(t.Context(), &request.ListOptions{OmitManagedFields: true}, each); err != nil {
		t.Error(err)
	}
	if _, err := feed.Watch(t.Context(), &request.WatchOptions{OmitManagedFields: true}); err != nil {
		t.Error(err)
	}
	var omitted []bool
	for _, r := range s.Asked()[before:] {
		omitted = append(omitted, strings.Contains(r.Header.Get("Accept"), ";drop=metadata.managedFields"))
	}
	return omitted
}

func TestFeedWatchIsRangedOverOnce(t *testing.T) {
	s := testserver.New(t, func(w http.ResponseWriter, _ *http.Request) {
		testserver.Reply(w, 200, jsonType, []byte(`{"type":"ADDED","object":`+string(configMapJSON(t, "a", "blue"))+`}`))
	})
	events, err := client.NewFeed(s.Client(t), configMaps, "prod").Watch(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for ev, err := range events {
		if err != nil || ev.Type != core.Added {
			t.Errorf("the first range yields %v, %v", ev, err)
		}
	}
	const want = "watch configmaps in prod: the events have been ranged over: call Watch again"
	for ev, err := range events {
		if err == nil || err.Error() != want {
			t.Errorf("the second range yields %v, %v, want the error %s", ev, err, want)
		}
	}
}

func TestFeedOmitsManagedFieldsUnlessTheServerRefuses(t *testing.T) {
	refuses := false
	s := testserver.New(t, func(w http.ResponseWriter, r *http.Request) {
		if refuses && strings.Contains(r.Header.Get("Accept"), "drop=") {
			testserver.Fail(w, http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable, "only known parameters are supported")
			return
		}
		testserver.Reply(w, 200, jsonType, listBody(t, jsonType, "", "a"))
	})
	c := s.Client(t)
	if diff := cmp.Diff([]bool{true, true}, omissions(t, s, c)); diff != "" {
		t.Errorf("requests to a server that does not refuse (-want +got):\n%s", diff)
	}
	refuses = true
	if diff := cmp.Diff([]bool{true, false, false}, omissions(t, s, c)); diff != "" {
		t.Errorf("requests to a server that refuses (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]bool{true, false, false}, omissions(t, s, s.Client(t))); diff != "" {
		t.Errorf("requests of another client (-want +got):\n%s", diff)
	}
}

func TestRefusalToOmitManagedFieldsIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []bool
		c, err := client.New(t.Context(), &client.Options{
			Config: &config.Config{Server: "https://cluster.test"},
			Transport: middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
				omit := strings.Contains(r.Header.Get("Accept"), "drop=")
				asked = append(asked, omit)
				w := httptest.NewRecorder()
				if omit && len(asked) == 1 {
					testserver.Fail(w, http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable, "an old replica")
				} else {
					testserver.Reply(w, 200, jsonType, listBody(t, jsonType, "", "a"))
				}
				return w.Result(), nil
			}),
		})
		if err != nil {
			t.Fatal(err)
		}
		feed := client.Namespaced[corev1.ConfigMap](c, "prod").Feed()
		for range 3 {
			o := &request.ListOptions{OmitManagedFields: true}
			if _, err := feed.List(t.Context(), o, func(wire.Packed) error { return nil }); err != nil {
				t.Fatal(err)
			}
			<-time.After(31 * time.Minute)
		}
		if diff := cmp.Diff([]bool{true, false, false, true}, asked); diff != "" {
			t.Errorf("requests that ask to omit managed fields (-want +got):\n%s", diff)
		}
	})
}

func TestUnacceptableRequestsDoNotEndTheOmissionOfManagedFields(t *testing.T) {
	unacceptable := true
	s := testserver.New(t, func(w http.ResponseWriter, r *http.Request) {
		if unacceptable {
			testserver.Fail(w, http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable, "nothing is supported")
			return
		}
		testserver.Reply(w, 200, jsonType, listBody(t, jsonType, "", "a"))
	})
	c := s.Client(t)
	feed := client.Namespaced[corev1.ConfigMap](c, "prod").Feed()
	if _, err := feed.List(t.Context(), &request.ListOptions{OmitManagedFields: true}, nil); !errors.Is(err, core.ErrNotAcceptable) {
		t.Errorf("List = %v, want the refusal", err)
	}
	unacceptable = false
	if diff := cmp.Diff([]bool{true, true}, omissions(t, s, c)); diff != "" {
		t.Errorf("later requests (-want +got):\n%s", diff)
	}
}

// openBody is the body of a watch that sends nothing.
type openBody struct{ closed chan struct{} }

func (b openBody) Read([]byte) (int, error) {
	<-b.closed
	return 0, io.EOF
}

func (b openBody) Close() error {
	close(b.closed)
	return nil
}

// TestFeedClosesTheResponseOfAWatchThatIsNotRead checks that Feed.Watch does not rely on a transport that ends
// responses with their contexts.
func TestFeedClosesTheResponseOfAWatchThatIsNotRead(t *testing.T) {
	body := openBody{make(chan struct{})}
	c := testserver.NewClient(t, &client.Options{
		Config: newConfig("https://cluster.test"),
		Transport: middleware.RoundTripperFunc(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {jsonType}}, Body: body}, nil
		}),
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	events, err := client.Dynamic(c, nodes).Feed().Watch(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	cause := errors.New("enough")
	cancel(cause)
	<-body.closed
	for _, err := range events {
		if !errors.Is(err, cause) {
			t.Errorf("error = %v, want the cause", err)
		}
	}
}
