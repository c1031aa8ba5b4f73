// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kubetest_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/kubetest"
)

// greet runs a controller that gives each ConfigMap a greeting, until the end of the test.
func greet(t *testing.T, c *kube.Client, runs *atomic.Int32) {
	t.Helper()
	maps := kube.ClusterWide[corev1.ConfigMap](c)
	ctl := kube.NewController(kube.For[corev1.ConfigMap](kube.NewCache(c, nil)), nil)
	kubetest.Run(t, func(ctx context.Context) error {
		return ctl.Run(ctx, func(ctx context.Context, cm *corev1.ConfigMap) (kube.Action, error) {
			runs.Add(1)
			_, err := maps.Apply(ctx, &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Name: cm.Name, Namespace: cm.Namespace, UID: cm.UID},
				Data:       map[string]string{"greeting": "hello, " + cm.Name},
			}, &kube.ApplyOptions{FieldManager: "greeter"})
			return kube.AwaitChange(), err
		})
	})
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "shop"}}
}

func TestControllersRunInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := kubetest.Start(t, &kubetest.Options{Objects: []core.Object{configMap("a")}})
		c := s.Client(nil)
		var runs atomic.Int32
		greet(t, c, &runs)
		synctest.Wait()
		maps := kube.Namespaced[corev1.ConfigMap](c, "shop")
		if _, err := maps.Create(t.Context(), configMap("b"), nil); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		for _, name := range []string{"a", "b"} {
			cm, err := maps.Get(t.Context(), name, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := cm.Data["greeting"], "hello, "+name; got != want {
				t.Errorf("greeting of %s = %q, want %q", name, got, want)
			}
		}
		before := runs.Load()
		<-time.After(10 * time.Hour)
		if n := runs.Load() - before; n > 0 {
			t.Errorf("the controller ran %d times without a change", n)
		}
		s.PauseWatches()
		if _, err := maps.Create(t.Context(), configMap("c"), nil); err != nil {
			t.Fatal(err)
		}
		s.Compact()
		s.CloseConnections()
		s.ResumeWatches()
		<-time.After(time.Minute)
		cm, err := maps.Get(t.Context(), "c", nil)
		if err != nil {
			t.Fatal(err)
		}
		if cm.Data["greeting"] != "hello, c" {
			t.Errorf("after a cut connection and a compaction, the greeting is %q", cm.Data["greeting"])
		}
	})
}

func TestOnlyCutWatchesExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := kubetest.Start(t, &kubetest.Options{Objects: []core.Object{configMap("a")}})
		maps := kube.Namespaced[corev1.ConfigMap](s.Client(nil), "shop")
		live, err := maps.Get(t.Context(), "a", nil)
		if err != nil {
			t.Fatal(err)
		}
		var events []string
		var expired bool
		watch := func(ctx context.Context) error {
			for ev, err := range maps.WatchOnce(ctx, &request.WatchOptions{ResourceVersion: live.ResourceVersion}) {
				if err != nil {
					expired = errors.Is(err, core.ErrExpired)
					return nil
				}
				events = append(events, ev.Object.Name)
			}
			return nil
		}
		kubetest.Run(t, watch)
		synctest.Wait()
		s.PauseWatches()
		for _, name := range []string{"b", "c"} {
			if _, err := maps.Create(t.Context(), configMap(name), nil); err != nil {
				t.Fatal(err)
			}
			s.Compact()
		}
		s.ResumeWatches()
		synctest.Wait()
		if len(events) != 2 || expired {
			t.Errorf("the running watch has the events %q, expired: %v; want both objects", events, expired)
		}
		s.CloseConnections()
		synctest.Wait()
		kubetest.Run(t, watch)
		synctest.Wait()
		if !expired {
			t.Errorf("the watch from version %s, before the compaction, is not expired", live.ResourceVersion)
		}
	})
}
