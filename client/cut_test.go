// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/internal/testserver"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core/request"
)

// TestCutResponsesAreRepeated checks that reads and repeatable writes succeed although their responses are cut off
// anywhere, and that an iteration yields each object once. Small responses are cut at each of their last bytes, large
// ones at points throughout.
func TestCutResponsesAreRepeated(t *testing.T) {
	const items = 100
	large := strings.Repeat("x", 6<<10) // one item; a hundred items are more than all buffers
	var names []string
	for i := range items {
		names = append(names, fmt.Sprintf("cm-%03d", i))
	}
	page := strings.ReplaceAll(string(listBody(t, jsonType, "", names...)), "green", large)
	calls := map[string]struct {
		answer string
		call   func(context.Context, *client.API[leanConfigMap]) error
	}{
		"get": {string(configMapJSON(t, "web", "green")), func(ctx context.Context, a *client.API[leanConfigMap]) error {
			_, err := a.Get(ctx, "web", nil)
			return err
		}},
		"apply": {string(configMapJSON(t, "web", "green")), func(ctx context.Context, a *client.API[leanConfigMap]) error {
			_, err := a.Apply(ctx, leanWeb(), &request.ApplyOptions{FieldManager: "me"})
			return err
		}},
		"get a large object": {string(configMapJSON(t, "web", strings.Repeat(large, items))), func(ctx context.Context, a *client.API[leanConfigMap]) error {
			_, err := a.Get(ctx, "web", nil)
			return err
		}},
		"list": {page, func(ctx context.Context, a *client.API[leanConfigMap]) error {
			list, err := a.List(ctx, nil)
			if err == nil && len(list.Items) != items {
				err = fmt.Errorf("%d items", len(list.Items))
			}
			return err
		}},
		"all": {page, func(ctx context.Context, a *client.API[leanConfigMap]) error {
			n := 0
			for obj, err := range a.All(ctx, nil) {
				if err == nil && obj.Name != names[n] {
					err = fmt.Errorf("number %d is %s", n, obj.Name)
				}
				if err != nil {
					return err
				}
				n++
			}
			if n != items {
				return fmt.Errorf("%d items", n)
			}
			return nil
		}},
	}
	for _, version := range []string{"HTTP/1.1", "HTTP/2.0"} {
		for name, tc := range calls {
			t.Run(name+" over "+version, func(t *testing.T) {
				step := int64(50)
				if name == "get" {
					step = 1
				}
				cutEverywhere(t, version, tc.answer, step, tc.call)
			})
		}
	}
}

func cutEverywhere(t *testing.T, version, answer string, step int64, call func(context.Context, *client.API[leanConfigMap]) error) {
	testserver.CheckGoroutines(t)
	s := &testserver.Server{Server: httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Proto != version {
			t.Errorf("the protocol is %s", r.Proto)
		}
		testserver.Reply(w, 200, jsonType, []byte(answer))
	}))}
	ca := newAuthority(t)
	s.EnableHTTP2 = version == "HTTP/2.0"
	quiet(s.Server, ca.issue(t, "kube", time.Hour).load(t))
	t.Cleanup(s.Close)
	var cut, total atomic.Int64
	address := relay(t, s.Listener.Addr().String(), func() int64 { return cut.Swap(-1) }, &total)
	cfg := newConfig("https://" + address)
	cfg.CAData, cfg.TLSServerName = ca.pem, "kube"
	before := descriptors(t)
	try := func(after int64) int64 {
		var sent atomic.Int64
		c := testserver.NewClient(t, &client.Options{
			Config: cfg, Retry: &middleware.RetryOptions{InitialBackoff: time.Microsecond, MaxBackoff: time.Millisecond},
			PerAttempt: []middleware.Func{middleware.Observe(func(*http.Request) (context.Context, func(middleware.Outcome)) {
				sent.Add(1)
				return nil, nil
			})},
		})
		defer eventuallyDescriptors(t, before, c)
		cut.Store(after)
		if err := call(t.Context(), client.Namespaced[leanConfigMap](c, "prod")); err != nil {
			t.Errorf("cut after %d bytes: %v", after, err)
		}
		return sent.Load()
	}
	if n := try(-1); n != 1 {
		t.Fatalf("%d requests without a cut", n)
	}
	whole := total.Load() // complete once the connection is closed
	for n := int64(1); n < whole-400; n += max(1, (whole-400)/20) {
		try(n)
	}
	again := false
	for n := whole - min(400, int64(len(answer))); n < whole-50; n += step {
		again = try(n) > 1 || again
	}
	if !again {
		t.Error("no request was repeated")
	}
}
