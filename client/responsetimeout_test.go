// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/internal/testserver"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/client/pod"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
)

// stuck is a server that responds to requests after a delay.
func stuck(after time.Duration, body string) http.RoundTripper {
	return middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
		select {
		case <-r.Context().Done():
			return nil, r.Context().Err()
		case <-time.After(after):
			return canned(200, http.Header{"Content-Type": {jsonType}}, body).RoundTrip(r)
		}
	})
}

// TestResponseHeaderTimeoutEndsSilentRequests checks that a request without a response ends, after a second attempt if
// it is idempotent, unless it is one that may take long.
func TestResponseHeaderTimeoutEndsSilentRequests(t *testing.T) {
	const never = 24 * time.Hour
	raw := func(path string) func(context.Context, *client.Client) error {
		return func(ctx context.Context, c *client.Client) error {
			r, err := request.Raw(path)
			if err != nil {
				return err
			}
			resp, err := c.Do(ctx, r)
			if err == nil {
				resp.Body.Close()
			}
			return err
		}
	}
	roundTrip := func(path string) func(context.Context, *client.Client) error {
		return func(ctx context.Context, c *client.Client) error {
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, path, nil)
			if err != nil {
				return err
			}
			resp, err := c.RoundTrip(r)
			if err == nil {
				resp.Body.Close()
			}
			return err
		}
	}
	for _, tc := range []struct {
		name    string
		timeout time.Duration
		call    func(context.Context, *client.Client) error
		want    time.Duration // the time after which each attempt ends; never: with its context
		again   bool          // there is a second attempt
	}{
		{"get", 0, getNode, 2 * time.Minute, true},
		{"get with a limit in the options", 40 * time.Second, getNode, 40 * time.Second, true},
		{"create", 0, func(ctx context.Context, c *client.Client) error {
			_, err := client.Namespaced[leanConfigMap](c, "prod").Create(ctx, leanWeb(), nil)
			return err
		}, 2 * time.Minute, false},
		{"version", 0, raw("/version"), 2 * time.Minute, true},
		{"watch", 0, func(ctx context.Context, c *client.Client) error {
			for _, err := range client.ClusterWide[corev1.Node](c).WatchOnce(ctx, nil) {
				return err
			}
			return nil
		}, never, false},
		{"log", 0, func(ctx context.Context, c *client.Client) error {
			_, err := pod.In(c, "prod").Logs(ctx, "web-0", nil)
			return err
		}, never, false},
		{"a proxied request", 0, raw("/api/v1/namespaces/prod/services/web/proxy/slow"), never, false},
		{"RoundTrip of a get", 0, roundTrip("/api/v1/nodes/n1"), 2 * time.Minute, false},
		{"RoundTrip of a log", 0, roundTrip("/api/v1/namespaces/prod/pods/web-0/log?follow=true"), never, false},
		{"RoundTrip of a watch", 0, roundTrip("/api/v1/nodes?watch=true"), never, false},
		{"RoundTrip of a proxied request", 0, roundTrip("/api/v1/namespaces/prod/services/web/proxy/slow"), never, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := testserver.NewClient(t, &client.Options{
					Config: newConfig("https://cluster.test"), Transport: stuck(2*never, ""), ResponseHeaderTimeout: tc.timeout,
				})
				enough := errors.New("enough")
				ctx, cancel := context.WithTimeoutCause(t.Context(), never, enough)
				defer cancel()
				start := time.Now()
				err := tc.call(ctx, c)
				want := tc.want
				if tc.again {
					want *= 2
				}
				if took := time.Since(start); took < want || took > want+time.Second {
					t.Errorf("%v after %v, want %v", err, took, want)
				}
				if tc.want == never {
					if !errors.Is(err, enough) {
						t.Errorf("error = %v, want the cause", err)
					}
					return
				}
				wantErr := fmt.Sprintf("reach https://cluster.test (the test): no response for %v; "+
					"the server received the request and is busy or stuck: check the server, or increase ResponseHeaderTimeout", tc.want)
				if tc.again {
					wantErr += "; sent 2 times in "
				}
				if !strings.Contains(err.Error(), wantErr) || !core.IsRetryable(err) {
					t.Errorf("error = %v, want %s", err, wantErr)
				}
			})
		})
	}
}

// TestBodyMayTakeLong checks that ResponseHeaderTimeout does not apply to the body of a response.
func TestBodyMayTakeLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
			return &http.Response{
				StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {jsonType}}, ContentLength: -1, Request: r,
				Body: io.NopCloser(io.MultiReader(&lateReader{r.Context(), time.Hour}, strings.NewReader(node))),
			}, nil
		})
		c := testserver.NewClient(t, &client.Options{Config: newConfig("https://cluster.test"), Transport: slow})
		if obj, err := client.Dynamic(c, nodes).Get(t.Context(), "n1", nil); err != nil || obj.GetName() != "n1" {
			t.Errorf("Get = %v, %v", obj, err)
		}
	})
}

// lateReader ends after a delay, or with an error when its context ends.
type lateReader struct {
	ctx  context.Context //nolint:containedctx // the context of the request
	wait time.Duration
}

func (r *lateReader) Read([]byte) (int, error) {
	select {
	case <-r.ctx.Done():
		return 0, r.ctx.Err()
	case <-time.After(r.wait):
		return 0, io.EOF
	}
}
