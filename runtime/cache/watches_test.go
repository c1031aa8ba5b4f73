// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/watcher"
)

// TestWatchesShowTheStateOfEachWatch checks the states of a watch that runs, of one that has ended, of one that never
// runs and of an invalid one.
func TestWatchesShowTheStateOfEachWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cache.New(newServer("prod/web", "prod/db", "test/web").Client(), nil)
		if all := c.Watches(); len(all) != 0 {
			t.Errorf("Watches() = %+v of an empty cache", all)
		}
		stop := start(t, cache.Of[corev1.ConfigMap](c, nil))
		stopProd := start(t, cache.Of[corev1.ConfigMap](c, &cache.Selection{Namespace: "prod"}))
		start(t, cache.OfResource[metav1.PartialObjectMetadata](c, configMaps, nil)) // shares the first watch
		cache.Of[corev1.ConfigMap](c, &cache.Selection{Namespace: "test"})
		cache.Of[corev1.Node](c, &cache.Selection{Namespace: "test"})
		stopProd()
		<-time.After(time.Second)
		want := []struct {
			namespace string
			running   bool
			objects   int
			lists     int
			err       string
		}{
			{"", true, 3, 1, ""}, {"prod", false, 2, 1, ""}, {"test", false, 0, 0, ""}, {"test", false, 0, 0, "cluster-scoped"},
		}
		check := func() {
			t.Helper()
			all := c.Watches()
			if len(all) != len(want) {
				t.Fatalf("Watches() = %+v, want %d", all, len(want))
			}
			for i, w := range want {
				got := all[i]
				if got.Selection.Namespace != w.namespace || got.Running != w.running || got.Objects != w.objects ||
					got.Status.Lists != w.lists || (got.Status.Err != nil) != (w.err != "") || w.err != "" && !strings.Contains(got.Status.Err.Error(), w.err) {
					t.Errorf("Watches()[%d] = %+v, want %+v", i, got, w)
				}
			}
			if all[0].Resource.Kind != "ConfigMap" || all[3].Resource.Kind != "Node" || all[0].Status.Phase != watcher.Watching {
				t.Errorf("Watches() = %+v", all)
			}
		}
		check()
		<-time.After(2 * time.Minute) // the objects of the ended watch are discarded
		want[1].objects = 0
		check()
		stop()
	})
}

func TestDiscardReleasesTheObjectsOfEndedWatchesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cache.New(newServer("prod/web", "test/web").Client(), nil)
		ended, running := cache.Of[corev1.ConfigMap](c, &cache.Selection{Namespace: "prod"}), cache.Of[corev1.ConfigMap](c, nil)
		cache.Of[corev1.Node](c, nil) // never runs
		stop := start(t, ended)
		start(t, running)
		stop()
		c.Discard()
		if a, b := ended.Store().Len(), running.Store().Len(); a != 0 || b != 2 {
			t.Errorf("the ended watch has %d objects and the running one %d, want 0 and 2", a, b)
		}
		start(t, ended)
		if n := ended.Store().Len(); n != 1 {
			t.Errorf("the watch has %d objects when it runs again, want 1", n)
		}
	})
}

func TestDiscardOfAWatchThatEndsKeepsTheObjectsOfTheNextOneForAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer("prod/a")
		c := cache.New(s.Client(), nil)
		v := cache.Of[corev1.ConfigMap](c, nil)
		s.SlowEnd(10 * time.Second)
		go start(t, v)()
		<-time.After(5 * time.Second)
		c.Discard()
		<-time.After(40 * time.Second)
		s.SlowEnd(0)
		start(t, v)()
		<-time.After(59 * time.Second)
		synctest.Wait()
		wantNames(t, v, "prod/a")
		<-time.After(2 * time.Second)
		synctest.Wait()
		if n := v.Store().Len(); n != 0 {
			t.Errorf("the view has %d objects a minute after its last run, want none", n)
		}
	})
}
