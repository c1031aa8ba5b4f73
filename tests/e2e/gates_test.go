// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/tests/cluster"
)

// TestShards holds the promise of sharded lists and watches on servers that have the feature gate. Older servers ignore
// the selector, with which TestShardsWithoutTheGate deals.
func TestShards(t *testing.T) {
	if !has(t, connect(t, nil), shardsAreServed) {
		testIgnoredShards(t, connect(t, nil))
		return
	}
	cfg := ownCluster(t, &cluster.Options{FeatureGates: map[string]bool{"ShardedListAndWatch": true}})
	testShards(t, connect(t, &kube.ClientOptions{Config: cfg}))
}

// testShards promises that two halves make a whole, for kinds of any sort, in lists and in watches.
func testShards(t *testing.T, c *kube.Client) {
	ns := newNamespace(t, c)
	maps, widgets := kube.Namespaced[corev1.ConfigMap](c, ns), newWidgets(t, c, "shards").In(ns)
	const n = 20
	for i := range n {
		name := fmt.Sprintf("s-%02d", i)
		cm := configMap(name, "1")
		cm.Labels = map[string]string{"set": "shards"}
		if _, err := maps.Create(limit(t), cm, nil); err != nil {
			t.Fatal(err)
		}
		w := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": name, "labels": map[string]any{"set": "shards"}}}}
		if _, err := widgets.Create(limit(t), w, nil); err != nil {
			t.Fatal(err)
		}
	}
	selector := "set=shards"
	checkShards(t, "typed", maps, selector)
	checkShards(t, "custom", widgets, selector)
	checkShards(t, "metadata", widgets.Metadata(), selector)
	rows := 0
	for i := range 2 {
		shard, err := core.ShardOf(i, 2)
		if err != nil {
			t.Fatal(err)
		}
		table, err := widgets.Table(limit(t), &kube.ListOptions{LabelSelector: selector, ShardSelector: shard.String()})
		if err != nil {
			t.Fatal(err)
		}
		rows += len(table.Rows)
	}
	if rows != n {
		t.Errorf("the tables of two shards have %d rows, want %d", rows, n)
	}
}

// checkShards reads the 20 objects that a selector selects in two shards.
func checkShards[K any](t *testing.T, name string, api *kube.API[K], selector string) {
	t.Helper()
	listed, watched := map[string]int{}, map[string]int{}
	for i := range 2 {
		shard, err := core.ShardOf(i, 2)
		if err != nil {
			t.Fatal(err)
		}
		own := map[string]bool{}
		for obj, err := range api.All(limit(t), &kube.ListOptions{LabelSelector: selector, ShardSelector: shard.String(), Limit: 3}) {
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			object := any(obj).(kube.Object).GetName()
			own[object] = true
			listed[object]++
		}
		seen := 0
		for ev, err := range api.WatchOnce(limit(t), &request.WatchOptions{LabelSelector: selector, ShardSelector: shard.String(), SendInitialEvents: true}) {
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if ev.Type == kube.Bookmark {
				break
			}
			object := any(ev.Object).(kube.Object).GetName()
			if !own[object] {
				t.Errorf("%s: the watch of shard %d has %s, the list has not", name, i, object)
			}
			seen++
			watched[object]++
		}
		if seen != len(own) || seen == 0 {
			t.Errorf("%s: shard %d has %d objects in its watch, %d in its list", name, i, seen, len(own))
		}
	}
	for what, got := range map[string]map[string]int{"lists": listed, "watches": watched} {
		for object, times := range got {
			if times != 1 {
				t.Errorf("%s: the %s have %s %d times", name, what, object, times)
			}
		}
		if len(got) != 20 {
			t.Errorf("%s: the %s have %d objects, want 20", name, what, len(got))
		}
	}
}

// TestShardsWithoutTheGate promises an error where the server ignores that a shard is wanted.
func TestShardsWithoutTheGate(t *testing.T) { testIgnoredShards(t, connect(t, nil)) }

func testIgnoredShards(t *testing.T, c *kube.Client) {
	t.Helper()
	maps := kube.Namespaced[corev1.ConfigMap](c, newNamespace(t, c))
	for i := range 10 {
		if _, err := maps.Create(limit(t), configMap(fmt.Sprint("s-", i), "1"), nil); err != nil {
			t.Fatal(err)
		}
	}
	shard, err := core.ShardOf(0, 100)
	if err != nil {
		t.Fatal(err)
	}
	const want = "enable its feature gate ShardedListAndWatch"
	if _, err := maps.List(limit(t), &kube.ListOptions{ShardSelector: shard.String()}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("List: %v", err)
	}
	if _, err := maps.Table(limit(t), &kube.ListOptions{ShardSelector: shard.String()}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Table: %v", err)
	}
	for _, err := range maps.WatchOnce(limit(t), &request.WatchOptions{ShardSelector: shard.String()}) {
		if err == nil {
			continue // an object that happens to be in the shard
		}
		if !strings.Contains(err.Error(), want) {
			t.Errorf("Watch: %v", err)
		}
		return
	}
	t.Error("the watch has ended without an error")
}
