// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/tests/cluster"
)

// TestReadsAreRetriedWhenTheConnectionBreaks checks that a connection that breaks in the middle of a response is
// invisible to the callers of Get, List and All: the client sends the request again, and each object is returned once.
func TestReadsAreRetriedWhenTheConnectionBreaks(t *testing.T) {
	t.Parallel()
	direct := connect(t, nil)
	ns := newNamespace(t, direct)
	const objects = 24
	noise := strings.Repeat("0123456789abcdef", 4<<10)
	for n := range objects {
		create(t, kube.Namespaced[corev1.ConfigMap](direct, ns), fmt.Sprintf("cm-%02d", n), noise)
	}
	wire, cfg := newProxy(t, loadConfig(t, ""))
	cfg.DisableCompression = true
	retries := 0
	c := connect(t, &kube.ClientOptions{Config: cfg, Retry: &kube.RetryOptions{
		OnRetry: func(_ context.Context, r middleware.Retrying) {
			if retries++; r.Err == nil {
				t.Errorf("retried after status %d, want a retry only after an error", r.Status)
			}
		},
	}})
	configMaps := kube.Namespaced[corev1.ConfigMap](c, ns)
	calls := map[string]func(context.Context) error{
		"get": func(ctx context.Context) error {
			_, err := configMaps.Get(ctx, "cm-07", nil)
			return err
		},
		"list": func(ctx context.Context) error {
			list, err := configMaps.List(ctx, &kube.ListOptions{LabelSelector: "!x"})
			if err == nil && len(list.Items) < objects {
				err = fmt.Errorf("%d objects, want at least %d", len(list.Items), objects)
			}
			return err
		},
		"all": func(ctx context.Context) error {
			seen := map[string]int{}
			for cm, err := range configMaps.All(ctx, &kube.ListOptions{Limit: 10}) {
				if err != nil {
					return err
				}
				seen[cm.Name]++
			}
			for n := range objects {
				if name := fmt.Sprintf("cm-%02d", n); seen[name] != 1 {
					return fmt.Errorf("%s was returned %d times, want once", name, seen[name])
				}
			}
			return nil
		},
	}
	for name, cuts := range map[string][]int64{
		"get": {1 << 10, 30 << 10, 60 << 10}, "list": {1 << 10, 100 << 10, 1 << 20}, "all": {1 << 10, 500 << 10, 1 << 20},
	} {
		for _, cut := range cuts {
			before := retries
			dropped := wire.dropAfter(cut)
			if err := calls[name](limit(t)); err != nil {
				t.Errorf("%s, cut after %d bytes: %v", name, cut, err)
			}
			<-dropped
			if retries == before {
				t.Errorf("%s, cut after %d bytes: no request was retried", name, cut)
			}
		}
	}
}

// TestStuckServerIsReportedInTime checks that a request to a server that accepts connections but does not respond fails
// after the timeout, and that the client works again when the server responds.
func TestStuckServerIsReportedInTime(t *testing.T) {
	apiserver := builtinCluster(t).Component(cluster.APIServer)
	c := connect(t, &kube.ClientOptions{ResponseHeaderTimeout: time.Second, Retry: &kube.RetryOptions{MaxAttempts: 2}})
	get := func() error {
		_, err := kube.ClusterWide[corev1.Namespace](c).Get(limit(t), "default", nil)
		return err
	}
	eventually(t, "the server responds", func(context.Context) error { return get() })
	if err := apiserver.Pause(); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	err := get()
	took := time.Since(start)
	if resumed := apiserver.Resume(); resumed != nil {
		t.Fatal(resumed)
	}
	if _, ok := errors.AsType[*kube.ConnectError](err); !ok || !strings.Contains(err.Error(), "no response for 1s; ") ||
		!strings.Contains(err.Error(), "; sent 2 times in ") || took > 10*time.Second {
		t.Errorf("error = %v after %v, want two attempts with a timeout of one second", err, took)
	}
	eventually(t, "the server responds again", func(context.Context) error { return get() })
}
