// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/runtime/controller"
)

// TestShardsAreHandedOver checks that two replicas share the objects, and that the objects of one that stops run in the
// other within 2 s at best, with the durations that programs have by default.
func TestShardsAreHandedOver(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	ns := newNamespace(t, c)
	maps := kube.Namespaced[corev1.ConfigMap](c, ns)
	for i := range 100 {
		create(t, maps, fmt.Sprintf("cm-%d", i), "1")
	}
	var mu sync.Mutex // guards owners and begun
	owners, begun := map[string]string{}, time.Time{}
	start := func(name string) (stop func() error, shares func() int) {
		view := kube.ViewOf[corev1.ConfigMap](newCache(t, c), &kube.Selection{Namespace: ns})
		ctl := kube.NewController(kube.ForView(view), nil)
		m := kube.NewManager(c, &kube.ManagerOptions{
			Sharding: "shop", ShardingOptions: &kube.ShardingOptions{Namespace: ns, Identity: name},
		})
		m.Add(ctl.With(func(ctx context.Context, cm *corev1.ConfigMap) (kube.Action, error) {
			mu.Lock()
			defer mu.Unlock()
			if owners[cm.Name] != name && name == "a" && !begun.IsZero() {
				if r, _ := controller.RunOf(ctx); r.Causes[0].Type != controller.CauseResharded {
					t.Errorf("%s runs because of %v", cm.Name, r.Causes)
				}
			}
			owners[cm.Name] = name
			return kube.AwaitChange(), nil
		}))
		return background(t, m.Run), func() int {
			s, _ := m.Sharding()
			return s.Slots
		}
	}
	count := func(name string) (n int) {
		mu.Lock()
		defer mu.Unlock()
		for _, owner := range owners {
			if owner == name {
				n++
			}
		}
		return n
	}
	_, slotsOfA := start("a")
	handOver(t, func() time.Duration {
		mu.Lock()
		begun = time.Time{}
		mu.Unlock()
		stopB, slotsOfB := start("b")
		eventually(t, "the replicas share the objects", func(context.Context) error {
			if a, b := slotsOfA(), slotsOfB(); a != 128 || b != 128 || count("a")+count("b") != 101 || count("b") < 30 {
				return fmt.Errorf("%d and %d slots, %d and %d objects", a, b, count("a"), count("b"))
			}
			return nil
		})
		mu.Lock()
		begun = time.Now()
		mu.Unlock()
		began := time.Now()
		if err := stopB(); err != nil {
			t.Error(err)
		}
		for ctx := limit(t); count("a") != 101; { // eventually has longer pauses, which would be measured
			if rest(ctx, 10*time.Millisecond) != nil {
				t.Fatalf("the other replica has %d objects", count("a"))
			}
		}
		return time.Since(began)
	})
}

// handOver calls f up to three times, until the time that it returns is at most 2 s: the machine may be busy.
func handOver(t *testing.T, f func() time.Duration) {
	t.Helper()
	var all []time.Duration
	for range 3 {
		took := f()
		all = append(all, took)
		if took <= 2*time.Second {
			t.Logf("handed over in %v", took)
			return
		}
	}
	t.Errorf("handed over in %v, want once in at most 2 s", all)
}
