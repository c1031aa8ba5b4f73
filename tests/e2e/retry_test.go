// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/tests/cluster"
)

// TestCallsSurviveServerRestart checks that callers do not notice that the API server is killed and started again: each
// idempotent call succeeds within its deadline.
func TestCallsSurviveServerRestart(t *testing.T) {
	apiserver := builtinCluster(t).Component(cluster.APIServer)
	var retries atomic.Int64
	failing := make(chan struct{}, 1) // receives a value when an attempt fails
	c := connect(t, &kube.ClientOptions{Retry: &kube.RetryOptions{
		MaxElapsedTime: 3 * time.Minute, MaxAttempts: 100, // a busy machine takes a long time to start a server
		OnRetry: func(context.Context, middleware.Retrying) {
			retries.Add(1)
			select {
			case failing <- struct{}{}:
			default:
			}
		},
	}})
	maps := kube.Namespaced[corev1.ConfigMap](c, newNamespace(t, c))
	create(t, maps, "web", "first")
	desired := configMap("web", "applied")

	calls := map[string]func(context.Context) error{
		"get": func(ctx context.Context) error {
			_, err := maps.Get(ctx, "web", nil)
			return err
		},
		"list": func(ctx context.Context) error {
			_, err := maps.List(ctx, nil)
			return err
		},
		"patch": func(ctx context.Context) error {
			_, err := maps.Patch(ctx, "web", setValue("patched"), nil)
			return err
		},
		"apply": func(ctx context.Context) error {
			_, err := maps.Apply(ctx, desired, &kube.ApplyOptions{FieldManager: "me", Force: true})
			return err
		},
	}
	var running sync.WaitGroup
	over := make(chan struct{})
	for name, call := range calls {
		running.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-over:
					if n >= 3 { // fewer calls prove nothing
						return
					}
				default:
				}
				if err := call(limit(t)); err != nil {
					t.Errorf("%s: %v", name, err)
					return
				}
			}
		})
	}
	if err := apiserver.Kill(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-failing:
	case <-limit(t).Done():
		t.Error("no attempt failed after the server was killed")
	}
	if err := apiserver.Start(limit(t)); err != nil {
		t.Fatal(err)
	}
	if err := calls["get"](limit(t)); err != nil {
		t.Error(err)
	}
	close(over)
	running.Wait()
	if retries.Load() == 0 {
		t.Error("no request was retried")
	}
	t.Logf("%d retries", retries.Load())
}

// TestWarningsReachTheCallback checks that OnWarning is called with the server's warnings about a deprecated API and an
// unknown field.
func TestWarningsReachTheCallback(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex // guards got
	var got []string
	c := connect(t, &kube.ClientOptions{OnWarning: func(ctx context.Context, w kube.Warning) {
		call, _ := middleware.CallOf(ctx)
		mu.Lock()
		defer mu.Unlock()
		got = append(got, call.Verb+" "+call.Resource+": "+w.Text)
	}})
	ns := newNamespace(t, c)
	endpoints := kube.Namespaced[corev1.Endpoints](c, ns) //nolint:staticcheck // the test needs a deprecated API
	if _, err := endpoints.List(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	odd := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "odd"}, "dota": map[string]any{"a": "b"},
	}}
	maps := kube.Resource{Version: "v1", Kind: "ConfigMap", Plural: "configmaps", Namespaced: true}
	warn := &kube.CreateOptions{FieldValidation: metav1.FieldValidationWarn}
	if _, err := kube.Dynamic(c, maps).In(ns).Create(t.Context(), odd, warn); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, want := range []string{
		"list endpoints: v1 Endpoints is deprecated", `create configmaps: unknown field "dota"`,
	} {
		if !slices.ContainsFunc(got, func(h string) bool { return strings.HasPrefix(h, want) }) {
			t.Errorf("warnings = %q, want one that begins with %q", got, want)
		}
	}
}

// TestClientKeepsItsRateLimit checks that a client delays its requests to keep its rate limit.
func TestClientKeepsItsRateLimit(t *testing.T) {
	t.Parallel()
	var waits atomic.Int64
	c := connect(t, &kube.ClientOptions{RateLimit: &kube.RateLimitOptions{
		PerSecond: 10, Burst: 5, OnWait: func(context.Context, time.Duration) { waits.Add(1) },
	}})
	start := time.Now()
	for range 10 {
		if _, err := kube.ClusterWide[corev1.Namespace](c).Get(t.Context(), "default", nil); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(start); took < 500*time.Millisecond {
		t.Errorf("10 requests with a limit of 10 per second and a burst of 5 took %v, want at least 500ms", took)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Microsecond)
	defer cancel()
	_, err := kube.ClusterWide[corev1.Namespace](c).Get(ctx, "default", nil)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error = %v, want DeadlineExceeded", err)
	}
	t.Logf("%d waits", waits.Load())
}

// TestImpersonatingClientSharesConnection checks that a client that impersonates a user can share the connection of
// another client.
func TestImpersonatingClientSharesConnection(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	cfg := c.Config()
	cfg.Impersonate.User = "jane"
	jane := connect(t, &kube.ClientOptions{Config: cfg, Share: c})
	if _, err := kube.ClusterWide[corev1.Namespace](c).Get(t.Context(), "default", nil); err != nil {
		t.Fatal(err)
	}
	_, err := kube.ClusterWide[corev1.Namespace](jane).Get(t.Context(), "default", nil)
	if !errors.Is(err, kube.ErrForbidden) || !strings.Contains(err.Error(), `User "jane" cannot get`) {
		t.Errorf("error = %v, want ErrForbidden for jane", err)
	}
}
