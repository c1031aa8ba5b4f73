// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
			LeaderElection: "shop", ElectionOptions: &kube.ElectionOptions{Namespace: ns, Identity: name},
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

// TestEngagedClusterIsReconciledInTheNextTerm lets another replica take the lease away for a short time. The manager is
// on standby meanwhile. In its next term, it also reconciles the changed objects of the cluster that was engaged
// before.
func TestEngagedClusterIsReconciledInTheNextTerm(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	ns := newNamespace(t, c)
	maps := kube.Namespaced[corev1.ConfigMap](c, ns)
	create(t, maps, "one", "1")
	selection := &kube.Selection{Namespace: ns, FieldSelector: "metadata.name=one"}
	runs := make(chan string, 100) // clusters and versions
	ctl := kube.NewController(kube.ForView(kube.ViewOf[corev1.ConfigMap](newCache(t, c), selection)), nil)
	away := kube.NewCache(c, &kube.CacheOptions{Cluster: "away", Logger: debugLogger(t)}) // the same server
	m := kube.NewManager(c, &kube.ManagerOptions{LeaderElection: "shop", ElectionOptions: &kube.ElectionOptions{
		Namespace: ns, Identity: "us", LeaseDuration: 3 * time.Second, RenewDeadline: 2 * time.Second,
		RetryPeriod: 500 * time.Millisecond,
	}})
	m.Add(ctl.With(func(ctx context.Context, cm *corev1.ConfigMap) (kube.Action, error) {
		run, _ := kube.RunOf(ctx)
		runs <- run.Key.Cluster + ":" + cm.Data["v"]
		return kube.AwaitChange(), nil
	}))
	background(t, func(ctx context.Context) error { return ctl.Engage(ctx, away) })
	background(t, m.Run)
	awaitValue(t, runs, "away:1")

	leases := kube.Namespaced[coordinationv1.Lease](c, ns)
	take := func(l *coordinationv1.Lease) error {
		l.Spec.HolderIdentity, l.Spec.RenewTime = new("them"), &metav1.MicroTime{Time: time.Now()}
		return nil
	}
	if _, err := leases.Modify(limit(t), "shop", take, nil); err != nil {
		t.Fatal(err)
	}
	_, err := kube.Await(limit(t), leases, "shop", func(l *coordinationv1.Lease) error {
		if holder := l.Spec.HolderIdentity; holder == nil || *holder != "us" {
			return errors.New("the manager does not lead again")
		}
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := maps.Patch(limit(t), "one", setValue("2"), nil); err != nil {
		t.Fatal(err)
	}
	awaitValue(t, runs, "away:2")
}
