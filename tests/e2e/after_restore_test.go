// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/tests/cluster"
)

// TestCacheEqualsTheServerAfterARestoreOfEtcd restores a backup of etcd, without the increased revisions that
// Kubernetes recommends. So the server forgets changes that the cache has, assigns their versions to other changes, and
// sends nothing to a watch whose version it has not reached again. The watcher notices that the usual bookmarks are
// missing. If the server reaches the version within four minutes, it does not: many changes are lost here.
//
// The test waits for most of its time. The name of its file makes it one of the first parallel tests that start.
func TestCacheEqualsTheServerAfterARestoreOfEtcd(t *testing.T) {
	t.Parallel()
	own, err := startCluster(t.Context(), &cluster.Options{Log: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := own.Stop(); err != nil {
			t.Error(err)
		}
	})
	cfg, err := kube.LoadConfig(t.Context(), &kube.ConfigOptions{Path: own.Kubeconfig()})
	if err != nil {
		t.Fatal(err)
	}
	c := connect(t, &kube.ClientOptions{Config: cfg})
	maps := kube.Namespaced[corev1.ConfigMap](c, newNamespace(t, c))
	for _, name := range []string{"kept", "changed", "deleted", "replaced"} {
		create(t, maps, name, "backup")
	}
	view := kube.ViewOf[corev1.ConfigMap](newCache(t, c), &kube.Selection{Namespace: maps.Namespace()})
	runs := valuesSeen{values: make(map[string]string)}
	ctl := kube.NewController(kube.ForView(view), &kube.ControllerOptions{Logger: debugLogger(t)})
	background(t, func(ctx context.Context) error {
		return ctl.Run(ctx, func(_ context.Context, cm *corev1.ConfigMap) (kube.Action, error) {
			runs.set(cm.Name, cm.Data["v"])
			return kube.AwaitChange(), nil
		})
	})
	equal := func(ctx context.Context) error { return equalsServer(ctx, maps, view) }
	eventually(t, "the cache equals the server", equal)
	for _, name := range []string{cluster.ControllerManager, cluster.Scheduler} { // the test does not need them
		if err := own.Component(name).Stop(limit(t)); err != nil {
			t.Fatal(err)
		}
	}

	data, backup := filepath.Join(own.Dir(), "etcd"), filepath.Join(t.TempDir(), "backup")
	whileStopped(t, own, func() error { return os.CopyFS(backup, os.DirFS(data)) })
	setTo(t, maps, "changed", "lost")
	remove(t, maps, "deleted")
	remove(t, maps, "replaced")
	create(t, maps, "replaced", "lost")
	create(t, maps, "created", "lost")
	for i := range 1000 { // a quiet cluster makes about ten changes per minute
		setTo(t, maps, "kept", fmt.Sprint(i))
	}
	eventually(t, "the cache equals the server", equal)
	begun := time.Now()
	eventually(t, "the server sends a bookmark", func(context.Context) error {
		if last := view.Status().LastData; last.Before(begun) {
			return fmt.Errorf("the last data has arrived at %v, want some after %v", last, begun)
		}
		return nil
	})

	whileStopped(t, own, func() error {
		if err := os.RemoveAll(data); err != nil {
			return err
		}
		return os.CopyFS(data, os.DirFS(backup))
	})
	setTo(t, maps, "changed", "after")
	create(t, maps, "created", "after")
	within(t, 10*time.Minute, "the cache equals the server", equal)
	eventually(t, "the runs have seen the restored objects", func(context.Context) error {
		want := map[string]string{
			"kept": "backup", "changed": "after", "deleted": "backup", "replaced": "backup", "created": "after",
		}
		for name, value := range want {
			if got := runs.of(name); got != value {
				return fmt.Errorf("the last run of %s has seen %q, want %q", name, got, value)
			}
		}
		return nil
	})
}

// whileStopped stops etcd and the API server of a cluster, calls f, and starts them again.
func whileStopped(t *testing.T, c *cluster.Cluster, f func() error) {
	t.Helper()
	etcd, apiserver := c.Component(cluster.Etcd), c.Component(cluster.APIServer)
	for _, step := range []func() error{
		func() error { return apiserver.Stop(limit(t)) },
		func() error { return etcd.Stop(limit(t)) },
		f,
		func() error { return etcd.Start(limit(t)) },
		func() error { return apiserver.Start(limit(t)) },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
}

// equalsServer returns an error unless a view has the UIDs, versions and values of the server.
func equalsServer(ctx context.Context, api *kube.API[corev1.ConfigMap], view *kube.View[corev1.ConfigMap]) error {
	list, err := api.List(ctx, nil)
	if err != nil {
		return err
	}
	describe := func(cm *corev1.ConfigMap) string {
		return fmt.Sprintf("%s at version %s: %s", cm.UID, cm.ResourceVersion, cm.Data["v"])
	}
	server, store := map[string]string{}, map[string]string{}
	for _, cm := range list.Items {
		server[cm.Name] = describe(cm)
	}
	for cm, err := range view.Store().All(nil) {
		if err != nil {
			return err
		}
		store[cm.Name] = describe(cm)
	}
	if diff := cmp.Diff(server, store); diff != "" {
		return fmt.Errorf("(-server +store):\n%s", diff)
	}
	return view.Health()
}
