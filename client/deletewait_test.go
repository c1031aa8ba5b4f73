// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core/request"
)

// script answers one request after the other, and ends the test's patience when there are more.
type script struct {
	answers []string // "code body"; a body that ends with "…" is followed by a connection that breaks
	asked   []string
}

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	s.asked = append(s.asked, r.Method+" "+strings.TrimPrefix(r.URL.RequestURI(), "/api/v1/namespaces/prod/configmaps"))
	if r.Body != nil {
		defer r.Body.Close()
	}
	if len(s.answers) == 0 {
		<-r.Context().Done()
		return nil, context.Cause(r.Context())
	}
	answer := s.answers[0]
	s.answers = s.answers[1:]
	var code int
	if _, err := fmt.Sscanf(answer, "%d", &code); err != nil {
		return nil, &net.OpError{Op: "dial", Err: errors.New(answer)}
	}
	text, broken := strings.CutSuffix(answer[len("200 "):], "…")
	body := io.Reader(strings.NewReader(text))
	if broken {
		body = io.MultiReader(body, brokenReader{})
	}
	return &http.Response{
		StatusCode: code, Header: http.Header{"Content-Type": {jsonType}}, Body: io.NopCloser(body), Request: r,
	}, nil
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("connection reset by peer") }

const (
	goingObject  = `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"web","namespace":"prod","uid":"u-1","finalizers":["x/guard","x/mop"]}}`
	otherObject  = `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"web","namespace":"prod","uid":"u-2"}}`
	goneStatus   = `200 {"kind":"Status","apiVersion":"v1","status":"Success","details":{"name":"web","uid":"u-1"}}`
	noItems      = `200 {"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"10"},"items":[]}`
	goingItems   = `200 {"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"10"},"items":[` + goingObject + `]}`
	otherItems   = `200 {"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"10"},"items":[` + otherObject + `]}`
	modified     = `{"type":"MODIFIED","object":` + goingObject + `}`
	deletedEvent = `{"type":"DELETED","object":` + goingObject + `}`
	addedOther   = `{"type":"ADDED","object":` + otherObject + `}`
	bookmark     = `{"type":"BOOKMARK","object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"11"}}}`
	busy         = `503 {"kind":"Status","apiVersion":"v1","status":"Failure","code":503,"reason":"ServiceUnavailable","message":"busy"}`
	expired      = `410 {"kind":"Status","apiVersion":"v1","status":"Failure","code":410,"reason":"Expired","message":"old"}`
	forbidden    = `403 {"kind":"Status","apiVersion":"v1","status":"Failure","code":403,"reason":"Forbidden","message":"not you"}`
)

// TestDeleteAndWait promises that it returns when the object is gone, and not before, whatever happens in between.
func TestDeleteAndWait(t *testing.T) {
	const (
		del   = "DELETE /web"
		list  = "GET ?fieldSelector=metadata.name%3Dweb"
		watch = "GET watch"
	)
	tests := []struct {
		name    string
		answers []string
		want    []string
		wantErr string
	}{
		{"an object that goes at once", []string{goneStatus, noItems}, []string{del, list}, ""},
		{"another object of the same name", []string{goneStatus, otherItems}, []string{del, list}, ""},
		{
			"an object that lingers",
			[]string{"200 " + goingObject, goingItems, "200 " + modified + bookmark + deletedEvent},
			[]string{del, list, watch},
			"",
		},
		{
			"an object that is replaced",
			[]string{"200 " + goingObject, goingItems, "200 " + addedOther},
			[]string{del, list, watch},
			"",
		},
		{
			"a watch that ends",
			[]string{"200 " + goingObject, goingItems, "200 " + modified, goingItems, "200 " + deletedEvent},
			[]string{del, list, watch, list, watch},
			"",
		},
		{
			"a watch that breaks",
			[]string{"200 " + goingObject, goingItems, "200 " + modified + "…", noItems},
			[]string{del, list, watch, list},
			"",
		},
		{
			"a busy server",
			[]string{"200 " + goingObject, busy, goingItems, busy, "no connection", noItems},
			[]string{del, list, list, watch, list, list},
			"",
		},
		{
			"a version that is forgotten",
			[]string{"200 " + goingObject, goingItems, expired, noItems},
			[]string{del, list, watch, list},
			"",
		},
		{
			"a version that is gone",
			[]string{"200 " + goingObject, goingItems, strings.Replace(expired, "Expired", "Gone", 1), noItems},
			[]string{del, list, watch, list},
			"",
		},
		{
			"an event that says that the version is gone",
			[]string{"200 " + goingObject, goingItems, `200 {"type":"ERROR","object":` + strings.Replace(expired[4:], "Expired", "Gone", 1) + "}", noItems},
			[]string{del, list, watch, list},
			"",
		},
		{
			"a list that is gone",
			[]string{"200 " + goingObject, strings.Replace(expired, "Expired", "Gone", 1)},
			[]string{del, list},
			"delete configmaps prod/web: it is not gone yet: gone: server said: old",
		},
		{
			"a client that may not look",
			[]string{"200 " + goingObject, forbidden},
			[]string{del, list},
			"delete configmaps prod/web: it is not gone yet: forbidden: server said: not you",
		},
		{
			"a deadline",
			[]string{"200 " + goingObject, goingItems, "200 " + modified},
			[]string{del, list, watch, list},
			"delete configmaps prod/web: it waits for its finalizers x/guard, x/mop: too late",
		},
		{"an object that is not there", []string{strings.Replace(forbidden, "403", "404", 1)}, []string{del}, "delete configmaps prod/web: forbidden: server said: not you"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				peer := &script{answers: tt.answers}
				c := newClient(t, &client.Options{
					Config: newConfig("https://cluster.test"), Transport: peer, Retry: &middleware.RetryOptions{Attempts: 1},
				})
				ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errors.New("too late"))
				defer cancel()
				err := client.Namespaced[leanConfigMap](c, "prod").DeleteAndWait(ctx, "web", nil)
				if text(err) != tt.wantErr {
					t.Errorf("error = %v, want %q", err, tt.wantErr)
				}
				for i, line := range peer.asked {
					if strings.Contains(line, "watch=true") {
						peer.asked[i] = watch
					}
				}
				if diff := cmp.Diff(tt.want, peer.asked); diff != "" {
					t.Errorf("requests (-want +got):\n%s", diff)
				}
			})
		})
	}
	t.Run("a dry run is refused", func(t *testing.T) {
		api := client.Namespaced[leanConfigMap](serve(t, nil).client(t), "prod")
		err := api.DeleteAndWait(t.Context(), "web", &request.DeleteOptions{DryRun: true})
		const want = "delete configmaps prod/web: request not sent: DeleteOptions.DryRun: deletes nothing to wait for; use Delete"
		if text(err) != want {
			t.Errorf("error = %v, want %s", err, want)
		}
	})
}
