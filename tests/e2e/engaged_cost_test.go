// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/kube"
)

// engagedEnv makes the test binary measure engaged clusters, in the namespace that is its value.
const engagedEnv = "E2E_ENGAGED_NAMESPACE"

// cost is what a process uses.
type cost struct {
	Goroutines int
	Heap       int64 // bytes
}

// engagedUsage is the usage of a process before its controller has engaged clusters, with them, and some time after
// they have left.
type engagedUsage struct{ Before, With, After cost }

// engagedClusters is the number of engaged clusters. They are one server with different names.
const engagedClusters = 20

// TestEngagedClusterCostsLittleAndLeavesNothing measures a process of its own, in which nothing else runs.
func TestEngagedClusterCostsLittleAndLeavesNothing(t *testing.T) {
	t.Parallel()
	const maxGoroutines, maxHeap, maxLeft = 10, 200_000, 10_000 // for each cluster; bytes
	c := connect(t, nil)
	ns := newNamespace(t, c)
	create(t, kube.Namespaced[corev1.ConfigMap](c, ns), "one", "1")
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(limit(t), program)
	cmd.Env, cmd.Stderr = append(os.Environ(), engagedEnv+"="+ns), t.Output()
	if builtin != nil {
		cmd.Env = append(cmd.Env, "KUBECONFIG="+builtin.Kubeconfig())
	}
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var m engagedUsage
	if err := json.Unmarshal(out, &m); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	goroutines := m.With.Goroutines - m.Before.Goroutines
	heap, left := (m.With.Heap-m.Before.Heap)/engagedClusters, (m.After.Heap-m.Before.Heap)/engagedClusters
	t.Logf("a cluster costs %.1f goroutines and %d bytes, and leaves %d bytes",
		float64(goroutines)/engagedClusters, heap, left)
	if goroutines > engagedClusters*maxGoroutines || heap > maxHeap {
		t.Errorf("want at most %d goroutines and %d bytes", maxGoroutines, maxHeap)
	}
	if n := m.After.Goroutines - m.Before.Goroutines; n != 0 || left > maxLeft {
		t.Errorf("the clusters have left %d goroutines and %d bytes each", n, left)
	}
}

// runEngaged measures engaged clusters, and prints the result.
func runEngaged(ns string) (code int) {
	m, err := measureEngaged(ns)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(m)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func measureEngaged(ns string) (m engagedUsage, err error) {
	ctx, stop := context.WithTimeoutCause(context.Background(), 3*time.Minute, errors.New("the measurement took too long"))
	defer stop()
	var clients []*kube.Client
	cluster := func(name string) (*kube.Cache, error) {
		c, err := kube.NewClient(ctx, nil)
		if err != nil {
			return nil, err
		}
		clients = append(clients, c)
		return kube.NewCache(c, &kube.CacheOptions{Cluster: name}), nil
	}
	hub, err := cluster("hub")
	if err != nil {
		return m, err
	}
	runs := make(chan string, 1)
	here := &kube.Selection{Namespace: ns, FieldSelector: "metadata.name=one"}
	ctl := kube.NewController(kube.ForView(kube.ViewOf[corev1.ConfigMap](hub, here)), &kube.ControllerOptions{
		OnResult: func(r kube.Result) { runs <- r.Key.Cluster },
	}).Owns(kube.SourceView(kube.ViewOf[corev1.Secret](hub, here)))
	running, stopRunning := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		ended <- ctl.Run(running, func(context.Context, *corev1.ConfigMap) (kube.Action, error) { return kube.AwaitChange(), nil })
	}()
	defer func() {
		stopRunning()
		if e := <-ended; !errors.Is(e, context.Canceled) {
			err = cmp.Or(err, e)
		}
	}()
	if err := firstRun(ctx, runs, "hub"); err != nil {
		return m, err
	}
	if m.Before, err = settled(ctx, clients); err != nil {
		return m, err
	}
	if m.With, err = engageAll(ctx, ctl, cluster, runs, &clients); err != nil {
		return m, err
	}
	select { // a cache keeps its objects for a minute
	case <-time.After(70 * time.Second):
	case <-ctx.Done():
	}
	m.After, err = settled(ctx, clients)
	return m, err
}

// engageAll engages clusters, measures, and makes them leave.
func engageAll(
	ctx context.Context, ctl *kube.Controller[corev1.ConfigMap], cluster func(string) (*kube.Cache, error), runs chan string,
	clients *[]*kube.Client,
) (with cost, err error) {
	engaged, leave := context.WithCancel(ctx)
	ended := make(chan error, engagedClusters)
	n := 0
	defer func() {
		leave()
		for range n {
			if e := <-ended; !errors.Is(e, context.Canceled) {
				err = cmp.Or(err, e)
			}
		}
		for _, c := range *clients {
			c.CloseIdleConnections()
		}
		*clients = (*clients)[:1] // nothing refers to the others
	}()
	for i := range engagedClusters {
		name := fmt.Sprint("spoke-", i)
		c, err := cluster(name)
		if err != nil {
			return with, err
		}
		n++
		go func() { ended <- ctl.Engage(engaged, c) }()
		if err := firstRun(ctx, runs, name); err != nil {
			return with, err
		}
	}
	return settled(ctx, *clients)
}

// firstRun waits for a run of the object of a cluster.
func firstRun(ctx context.Context, runs <-chan string, cluster string) error {
	select {
	case got := <-runs:
		if got != cluster {
			return fmt.Errorf("a run in the cluster %s, want %s", got, cluster)
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// settled returns what the process uses when its number of goroutines has not changed for a second. Connections begin
// and end asynchronously.
func settled(ctx context.Context, clients []*kube.Client) (u cost, err error) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for same := 0; same < 100; same++ {
		for _, c := range clients {
			c.CloseIdleConnections()
		}
		if n := runtime.NumGoroutine(); n != u.Goroutines {
			u.Goroutines, same = n, 0
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return u, context.Cause(ctx)
		}
	}
	runtime.GC()
	runtime.GC() // also frees what pools have kept
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	u.Heap = int64(m.HeapAlloc) //nolint:gosec // it is far below the limit
	return u, nil
}
