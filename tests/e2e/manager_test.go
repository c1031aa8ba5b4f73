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
)

// TestAStandbyTakesOver checks that a replica on standby has synced caches and reconciles nothing, that it has
// reconciled all objects within 2 s at best after the leader has stopped, and that no object is reconciled by both at a
// time.
func TestAStandbyTakesOver(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	ns := newNamespace(t, c)
	maps := kube.Namespaced[corev1.ConfigMap](c, ns)
	for i := range 100 {
		create(t, maps, fmt.Sprintf("cm-%d", i), "1")
	}
	var mu sync.Mutex // guards the fields below
	running, runs := map[string]string{}, map[string]int{}
	start := func(name string) (stop func() error, ready func(context.Context) error) {
		view := kube.ViewOf[corev1.ConfigMap](newCache(t, c), &kube.Selection{Namespace: ns})
		ctl := kube.NewController(kube.ForView(view), nil)
		m := kube.NewManager(c, &kube.ManagerOptions{
			LeaderElection: "shop", Election: &kube.ElectionOptions{Namespace: ns, Identity: name},
		})
		m.Add(ctl.With(func(_ context.Context, cm *corev1.ConfigMap) (kube.Action, error) {
			mu.Lock()
			defer mu.Unlock()
			if other := running[cm.Name]; other != "" {
				t.Errorf("%s and %s reconcile %s", name, other, cm.Name)
			}
			running[cm.Name] = name
			mu.Unlock()
			<-time.After(time.Millisecond)
			mu.Lock()
			running[cm.Name] = ""
			runs[name]++
			return kube.AwaitChange(), nil
		}))
		return background(t, m.Run), view.Ready
	}
	count := func(name string) int {
		mu.Lock()
		defer mu.Unlock()
		return runs[name]
	}
	reconciled := func(name string) {
		t.Helper()
		eventually(t, name+" has reconciled all objects", func(context.Context) error {
			if n := count(name); n < 101 { // the namespace has one of its own
				return fmt.Errorf("%d objects", n)
			}
			return nil
		})
	}
	stop, _ := start("a")
	reconciled("a")
	last, next := "a", 'a'
	handOver(t, func() time.Duration {
		next++
		name := string(next)
		stopNext, ready := start(name)
		if err := ready(limit(t)); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Second)
		if n := count(name); n > 0 {
			t.Errorf("the standby has reconciled %d objects", n)
		}
		began := time.Now()
		if err := stop(); err != nil {
			t.Error(err)
		}
		reconciled(name)
		took := time.Since(began)
		if n := count(last); n != 101 {
			t.Errorf("%d runs of the former leader", n)
		}
		stop, last = stopNext, name
		return took
	})
}
