// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/tests/cluster"
)

// TestRestartWithSnapshot checks that a restarted program resumes its watch from a snapshot instead of a list, and has
// the state of the server when it is ready.
func TestRestartWithSnapshot(t *testing.T) {
	direct := connect(t, nil)
	ns := newNamespace(t, direct)
	awaitRootCA(t, direct, ns)
	maps := kube.Namespaced[corev1.ConfigMap](direct, ns)
	for i := range 4 {
		large := configMap(fmt.Sprintf("large-%d", i), "1")
		large.Data["fill"] = strings.Repeat("x", 400<<10)
		if _, err := maps.Create(limit(t), large, nil); err != nil {
			t.Fatal(err)
		}
	}
	changes := func(t *testing.T) {
		remove(t, maps, "large-0")
		large := configMap("large-0", "2")
		large.Data["fill"] = strings.Repeat("y", 400<<10)
		if _, err := maps.Create(limit(t), large, nil); err != nil {
			t.Fatal(err)
		}
		create(t, maps, "new", "1")
		remove(t, maps, "new")
		if _, err := maps.Patch(limit(t), "large-2", setValue(time.Now().String()), nil); err != nil {
			t.Fatal(err)
		}
	}
	state := func(list func(func(*corev1.ConfigMap))) map[string]string {
		versions := make(map[string]string)
		list(func(cm *corev1.ConfigMap) { versions[core.RefOf(cm).Name] = string(cm.UID) + " " + cm.ResourceVersion })
		return versions
	}
	onServer := func(t *testing.T) map[string]string {
		return state(func(each func(*corev1.ConfigMap)) {
			for cm, err := range maps.All(limit(t), nil) {
				if err != nil {
					t.Fatal(err)
				}
				each(cm)
			}
		})
	}
	dir := t.TempDir()
	// start runs a program until stop is called, checks that its objects are those of the server, and returns what it has
	// requested.
	start := func(t *testing.T) (sent *requests, stop func()) {
		sent = new(requests)
		c := connect(t, &kube.ClientOptions{Middleware: []kube.Middleware{sent.layer}})
		cache := kube.NewCache(c, &kube.CacheOptions{SnapshotDir: dir, Logger: debugLogger(t)})
		view := kube.ViewOf[corev1.ConfigMap](cache, &kube.Selection{Namespace: ns})
		began := time.Now()
		end := background(t, view.Run)
		if err := view.Ready(limit(t)); err != nil {
			t.Fatal(err)
		}
		t.Logf("ready after %v", time.Since(began))
		got := state(func(each func(*corev1.ConfigMap)) {
			for cm, err := range view.Store().All(nil) {
				if err != nil {
					t.Fatal(err)
				}
				each(cm)
			}
		})
		if diff := cmp.Diff(onServer(t), got); diff != "" {
			t.Errorf("the objects are not those of the server (-server +cache):\n%s", diff)
		}
		return sent, func() {
			if err := end(); context.Cause(t.Context()) == nil && err != errStopped {
				t.Errorf("Run() = %v, want the cause", err)
			}
			if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
				t.Errorf("the directory has %v, %v; want one file", files, err)
			}
		}
	}
	wantResumed := func(t *testing.T, sent *requests, resumed bool) {
		t.Helper()
		lists := sent.count("sendInitialEvents=true") + sent.count("limit=500")
		if ones := sent.count("limit=1", "/configmaps?"); (lists == 0) != resumed || ones > 3 {
			t.Errorf("the server received %q; want that the watch resumes: %t", sent.sent, resumed)
		}
	}
	t.Run("the first start lists", func(t *testing.T) {
		sent, stop := start(t)
		wantResumed(t, sent, false)
		stop()
	})
	t.Run("a restart without changes resumes", func(t *testing.T) {
		// So that there is a newer version, but no change of a ConfigMap.
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "other"}}
		if _, err := kube.Namespaced[corev1.Secret](direct, ns).Create(limit(t), secret, nil); err != nil {
			t.Fatal(err)
		}
		sent, stop := start(t)
		wantResumed(t, sent, true)
		stop()
	})
	t.Run("a restart after changes resumes", func(t *testing.T) {
		changes(t)
		sent, stop := start(t)
		wantResumed(t, sent, true)
		changes(t) // which the end of the program writes, or the next start receives
		stop()
		sent, stop = start(t)
		wantResumed(t, sent, true)
		stop()
	})
	b := builtinCluster(t)
	t.Run("a restart after a restart of the server", func(t *testing.T) {
		changes(t)
		if err := b.Component(cluster.APIServer).Restart(limit(t)); err != nil {
			t.Fatal(err)
		}
		changes(t)
		_, stop := start(t) // it depends on the history that the server still has
		stop()
	})
	t.Run("a restart after a compaction lists", func(t *testing.T) {
		changes(t)
		if _, err := b.CompactEtcd(limit(t)); err != nil {
			t.Fatal(err)
		}
		if err := b.Component(cluster.APIServer).Restart(limit(t)); err != nil {
			t.Fatal(err)
		}
		sent, stop := start(t)
		wantResumed(t, sent, false)
		stop()
	})
}
