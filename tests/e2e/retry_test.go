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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/tests/cluster"
)

// TestServerRestarts promises that callers who keep calling do not notice when the API server is killed and comes back:
// each idempotent call succeeds within its deadline.
func TestServerRestarts(t *testing.T) {
	apiserver := builtinCluster(t).Component(cluster.APIServer)
	var retries atomic.Int64
	failing := make(chan struct{}, 1) // told when a call has noticed
	c := connect(t, &kube.ClientOptions{Retry: &kube.RetryOptions{
		MaxElapsedTime: time.Minute, Attempts: 30, // a busy machine takes long to start a server
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
		t.Error("nobody has noticed that the server was killed")
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
		t.Error("nothing was sent again")
	}
	t.Logf("%d retries", retries.Load())
}

// TestWarnings promises that what the server warns of reaches the program: a deprecated API, and a field that is unknown.
func TestWarnings(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex // guards heard
	var heard []string
	c := connect(t, &kube.ClientOptions{OnWarning: func(ctx context.Context, w kube.Warning) {
		call, _ := middleware.CallOf(ctx)
		mu.Lock()
		defer mu.Unlock()
		heard = append(heard, call.Verb+" "+call.Resource+": "+w.Text)
	}})
	ns := newNamespace(t, c)
	if _, err := kube.Namespaced[corev1.Endpoints](c, ns).List(t.Context(), nil); err != nil { //nolint:staticcheck // it is deprecated, which is the point
		t.Fatal(err)
	}
	odd := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "odd"}, "dota": map[string]any{"a": "b"},
	}}
	maps := kube.Resource{Version: "v1", Kind: "ConfigMap", Plural: "configmaps", Namespaced: true}
	if _, err := kube.Dynamic(c, maps).In(ns).Create(t.Context(), odd, &kube.CreateOptions{FieldValidation: request.ValidationWarn}); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, want := range []string{"list endpoints: v1 Endpoints is deprecated", `create configmaps: unknown field "dota"`} {
		if !slices.ContainsFunc(heard, func(h string) bool { return strings.HasPrefix(h, want) }) {
			t.Errorf("heard %q, want %s", heard, want)
		}
	}
}

// TestOwnRateLimit promises that a program which limits itself keeps to it.
func TestOwnRateLimit(t *testing.T) {
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
		t.Errorf("10 requests at 10 a second, 5 of them at once, took %v", took)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Microsecond)
	defer cancel()
	if _, err := kube.ClusterWide[corev1.Namespace](c).Get(ctx, "default", nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error = %v, want that the deadline is over", err)
	}
	t.Logf("%d waits", waits.Load())
}

// TestSharedConnection promises that a client which acts as somebody else can share the connection of another one.
func TestSharedConnection(t *testing.T) {
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
		t.Errorf("error = %v, want that jane may not", err)
	}
}
