// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/internal/testserver"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
)

// TestListTimeoutBoundsTheRequest checks that a list and a deletion of a collection end after ListOptions.Timeout,
// whatever the server does, and that their retries end, too.
func TestListTimeoutBoundsTheRequest(t *testing.T) {
	const bound = 10 * time.Second
	answer := func(r *http.Request, code int, body io.Reader) (*http.Response, error) {
		return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {jsonType}}, Body: io.NopCloser(body), Request: r}, nil
	}
	timedOut := `{"kind":"Status","apiVersion":"v1","status":"Failure","code":504,"reason":"Timeout","message":"too slow"}`
	for _, tc := range []struct {
		name   string
		server middleware.RoundTripperFunc
		tries  int // the number of requests of a list
	}{
		{"the server is silent", func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}, 1},
		{"the server ends the request just before", func(r *http.Request) (*http.Response, error) {
			time.Sleep(bound - time.Millisecond)
			return answer(r, 504, strings.NewReader(timedOut))
		}, 1},
		{"the server repeatedly ends the request early", func(r *http.Request) (*http.Response, error) {
			select {
			case <-time.After(4 * time.Second):
				return answer(r, 504, strings.NewReader(timedOut))
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
		}, 3},
	} {
		for _, op := range []struct {
			name string
			call func(context.Context, *client.API[metav1.PartialObjectMetadata], *request.ListOptions) error
		}{
			{"List", func(ctx context.Context, a *client.API[metav1.PartialObjectMetadata], o *request.ListOptions) error {
				_, err := a.List(ctx, o)
				return err
			}},
			{"All", func(ctx context.Context, a *client.API[metav1.PartialObjectMetadata], o *request.ListOptions) (err error) {
				for _, err = range a.All(ctx, o) {
				}
				return err
			}},
			{"DeleteCollection", func(ctx context.Context, a *client.API[metav1.PartialObjectMetadata], o *request.ListOptions) error {
				return a.DeleteCollection(ctx, nil, o)
			}},
		} {
			t.Run(op.name+"/"+tc.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					tries := 0
					server := middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
						tries++
						if got := r.URL.Query(); got.Get("timeout") != "10s" || got.Has("timeoutSeconds") {
							t.Errorf("query = %v, want only timeout=10s", got)
						}
						return tc.server(r)
					})
					c := testserver.NewClient(t, &client.Options{Config: &config.Config{Server: "http://cluster.test"}, Transport: server})
					start := time.Now()
					err := op.call(t.Context(), client.Dynamic(c, nodes).Metadata(), &request.ListOptions{Timeout: bound})
					if took := time.Since(start); took > bound {
						t.Errorf("the call took %v, want at most %v", took, bound)
					}
					if !errors.Is(err, core.ErrTimeout) || !core.IsRetryable(err) {
						t.Errorf("error = %v, want ErrTimeout, which is retryable", err)
					}
					want := tc.tries
					if op.name == "DeleteCollection" { // not idempotent
						want = 1
					}
					if tries != want {
						t.Errorf("the request was sent %d times, want %d", tries, want)
					}
				})
			})
		}
	}
}
