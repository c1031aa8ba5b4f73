// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package restore_test is the end-to-end test of a restored etcd. It waits for most of five minutes, so it runs beside
// the package of the other tests.
package restore_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/tests/cluster"
)

// TestCacheEqualsTheServerAfterARestoreOfEtcd restores a backup of etcd, without the increased revisions that
// Kubernetes recommends. So the server forgets changes that the cache has, assigns their versions to other changes, and
// sends nothing to a watch whose version it has not reached again. The watcher notices that the usual bookmarks are
// missing. If the server reaches the version within four minutes, it does not: many changes are lost here.
func TestCacheEqualsTheServerAfterARestoreOfEtcd(t *testing.T) {
	s := newServer(t)
	for _, name := range []string{"kept", "changed", "deleted", "replaced"} {
		s.create(name, "backup")
	}
	log := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
	cache := kube.NewCache(s.client, &kube.CacheOptions{Logger: log})
	view := kube.ViewOf[corev1.ConfigMap](cache, &kube.Selection{Namespace: s.maps.Namespace()})
	var seen sync.Map // the value in the last run of each object
	ctl := kube.NewController(kube.ForView(view), &kube.ControllerOptions{Logger: log})
	ended := make(chan error, 1)
	ctx, stop := context.WithCancelCause(context.WithoutCancel(t.Context()))
	go func() {
		ended <- ctl.Run(ctx, func(_ context.Context, cm *corev1.ConfigMap) (kube.Action, error) {
			seen.Store(cm.Name, cm.Data["v"])
			return kube.AwaitChange(), nil
		})
	}()
	over := errors.New("the test is over")
	t.Cleanup(func() {
		stop(over)
		if err := <-ended; !errors.Is(err, over) {
			t.Errorf("the controller has ended with %v", err)
		}
	})
	equal := func(ctx context.Context) error { return s.equals(ctx, view) }
	s.within(time.Minute, "the cache equals the server", equal)

	data, backup := filepath.Join(s.cluster.Dir(), "etcd"), filepath.Join(t.TempDir(), "backup")
	s.whileStopped(func() error { return os.CopyFS(backup, os.DirFS(data)) })
	s.set("changed", "lost")
	s.delete("deleted")
	s.delete("replaced")
	s.create("replaced", "lost")
	s.create("created", "lost")
	for i := range 1000 { // a quiet cluster makes about ten changes per minute
		s.set("kept", fmt.Sprint(i))
	}
	s.within(time.Minute, "the cache equals the server", equal)
	begun := time.Now()
	s.within(3*time.Minute, "the server sends a bookmark", func(context.Context) error {
		if last := view.Status().LastData; last.Before(begun) {
			return fmt.Errorf("the last data has arrived at %v, want some after %v", last, begun)
		}
		return nil
	})

	s.whileStopped(func() error {
		return errors.Join(os.RemoveAll(data), os.CopyFS(data, os.DirFS(backup)))
	})
	s.set("changed", "after")
	s.create("created", "after")
	s.within(10*time.Minute, "the cache equals the server", equal)
	s.within(time.Minute, "the runs have seen the restored objects", func(context.Context) error {
		want := map[string]string{
			"kept": "backup", "changed": "after", "deleted": "backup", "replaced": "backup", "created": "after",
		}
		for name, value := range want {
			if got, _ := seen.Load(name); got != value {
				return fmt.Errorf("the last run of %s has seen %v, want %q", name, got, value)
			}
		}
		return nil
	})
}

// server is an API server with an etcd of its own.
type server struct {
	t       *testing.T
	cluster *cluster.Cluster
	client  *kube.Client
	maps    *kube.API[corev1.ConfigMap] // of a new namespace
}

func newServer(t *testing.T) *server {
	t.Helper()
	c, err := cluster.Start(t.Context(), &cluster.Options{
		KubernetesVersion: os.Getenv("E2E_KUBERNETES_VERSION"), // see the package of the other tests
		ReadyTimeout:      4 * time.Minute,                     // for a busy machine
		Log:               t.Output(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	s := &server{t: t, cluster: c}
	for _, name := range []string{cluster.ControllerManager, cluster.Scheduler} { // the test does not need them
		s.must(c.Component(name).Stop(t.Context()))
	}
	cfg, err := kube.LoadConfig(t.Context(), &kube.ConfigOptions{Path: c.Kubeconfig()})
	s.must(err)
	s.client, err = kube.NewClient(t.Context(), &kube.ClientOptions{Config: cfg})
	s.must(err)
	t.Cleanup(s.client.CloseIdleConnections)
	s.maps = kube.Namespaced[corev1.ConfigMap](s.client, "restored")
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.maps.Namespace()}}
	_, err = kube.ClusterWide[corev1.Namespace](s.client).Create(t.Context(), namespace, nil)
	s.must(err)
	return s
}

func (s *server) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *server) create(name, value string) {
	s.t.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"v": value}}
	_, err := s.maps.Create(s.t.Context(), cm, nil)
	s.must(err)
}

func (s *server) set(name, value string) {
	s.t.Helper()
	patch := kube.MergePatch(map[string]any{"data": map[string]string{"v": value}})
	_, err := s.maps.Patch(s.t.Context(), name, patch, nil)
	s.must(err)
}

func (s *server) delete(name string) {
	s.t.Helper()
	s.must(s.maps.Delete(s.t.Context(), name, nil))
}

// whileStopped stops etcd and the API server, calls f, and starts them again.
func (s *server) whileStopped(f func() error) {
	s.t.Helper()
	ctx, etcd, apiserver := s.t.Context(), s.cluster.Component(cluster.Etcd), s.cluster.Component(cluster.APIServer)
	s.must(apiserver.Stop(ctx))
	s.must(etcd.Stop(ctx))
	s.must(f())
	s.must(etcd.Start(ctx))
	s.must(apiserver.Start(ctx))
}

// within waits until check returns nil.
func (s *server) within(limit time.Duration, what string, check func(context.Context) error) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), limit)
	defer cancel()
	for {
		err := check(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			s.t.Fatalf("%s: %v", what, err)
		case <-time.After(250 * time.Millisecond):
		}
	}
}

// equals returns an error unless a view has the UIDs, versions and values of the server.
func (s *server) equals(ctx context.Context, view *kube.View[corev1.ConfigMap]) error {
	list, err := s.maps.List(ctx, nil)
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
