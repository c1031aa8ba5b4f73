// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/tests/cluster"
)

// TestShards checks sharded lists and watches, and the replicas that use them, on a server with the feature gate. Older
// servers do not have the gate and ignore the selector, as in TestIgnoredShardSelectorIsAnError.
func TestShards(t *testing.T) {
	t.Parallel()
	if !has(t, connect(t, nil), shardsAreServed) {
		testIgnoredShards(t, connect(t, nil))
		return
	}
	cfg := ownCluster(t, &cluster.Options{FeatureGates: map[string]bool{"ShardedListAndWatch": true}})
	t.Run("PartitionListsAndWatches", func(t *testing.T) { testShards(t, connect(t, &kube.ClientOptions{Config: cfg})) })
	t.Run("AreAllThatReplicasWatch", func(t *testing.T) { testFleet(t, cfg, 1000, true) })
}

// TestServerWithOtherFlags has the tests that need other flags of the API server, except for those of sharded lists.
// They use one server, because each flag matters to only one of them.
func TestServerWithOtherFlags(t *testing.T) {
	t.Parallel()
	provider, auditLog := newIdentityProvider(t), filepath.Join(t.TempDir(), "audit.log")
	cfg := ownCluster(t, &cluster.Options{
		FeatureGates:  map[string]bool{"WatchList": false},
		APIServerArgs: slices.Concat(provider.trustFlags(t), auditFlags(t, auditLog)),
	})
	t.Run("WorksWithoutStreamingLists", func(t *testing.T) { testNoStreamingLists(t, cfg) })
	t.Run("AcceptsRefreshedOIDCTokens", func(t *testing.T) { testOIDC(t, provider, cfg) })
	t.Run("UnderstandsReviews", func(t *testing.T) { testReviews(t, cfg, auditLog) })
}

// testNoStreamingLists installs a definition, waits for an object, and reads objects through a cache, on a server
// without the feature gate, such as Kubernetes 1.33: it rejects streaming lists.
func testNoStreamingLists(t *testing.T, cfg *kube.Config) {
	c := connect(t, &kube.ClientOptions{Config: cfg})
	ns := newNamespace(t, c)
	maps := kube.Namespaced[corev1.ConfigMap](c, ns)
	for _, err := range maps.WatchOnce(limit(t), &request.WatchOptions{SendInitialEvents: true}) {
		if !errors.Is(err, kube.ErrInvalid) {
			t.Errorf("a streaming list is not rejected: %v", err)
		}
		break
	}
	crd, res := notes("title")
	if err := kube.InstallCRDs(limit(t), c, []*unstructured.Unstructured{crd}, nil); err != nil {
		t.Fatal(err)
	}
	note := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "n"}}}
	if _, err := kube.Dynamic(c, res).In(ns).Create(limit(t), note, nil); err != nil {
		t.Fatal(err)
	}

	create(t, maps, "one", "1")
	view := kube.ViewOf[corev1.ConfigMap](newCache(t, c), &kube.Selection{Namespace: ns})
	background(t, view.Run)
	if err := view.Ready(limit(t)); err != nil {
		t.Fatal(err)
	}
	if !view.Store().Has(kube.ObjectRef{Namespace: ns, Name: "one"}) {
		t.Error("the view lacks an object of the list")
	}
	two := create(t, maps, "two", "2")
	if err := view.WaitFor(limit(t), two); err != nil {
		t.Fatal(err)
	}
	_, err := kube.Await(limit(t), maps, "two", func(cm *corev1.ConfigMap) error {
		if cm.UID != two.UID {
			return fmt.Errorf("the UID is %s", cm.UID)
		}
		return nil
	}, nil)
	if err != nil {
		t.Error(err)
	}
}

// testShards checks that each object is in one of two shards, in lists and watches of typed, custom and metadata
// objects.
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
		w := &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"name": name, "labels": map[string]any{"set": "shards"}},
		}}
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
		table, err := widgets.Rows().List(limit(t), &kube.ListOptions{LabelSelector: selector, ShardSelector: shard.String()})
		if err != nil {
			t.Fatal(err)
		}
		rows += len(table.Items)
	}
	if rows != n {
		t.Errorf("the tables of two shards have %d rows, want %d", rows, n)
	}
}

// checkShards checks that each of the 20 objects that match a selector is in one of two shards, in lists and watches.
func checkShards[K any](t *testing.T, name string, api *kube.API[K], selector string) {
	t.Helper()
	listed, watched := map[string]int{}, map[string]int{}
	for i := range 2 {
		shard, err := core.ShardOf(i, 2)
		if err != nil {
			t.Fatal(err)
		}
		own := map[string]bool{}
		pages := &kube.ListOptions{LabelSelector: selector, ShardSelector: shard.String(), Limit: 3}
		for obj, err := range api.All(limit(t), pages) {
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			object := any(obj).(kube.Object).GetName()
			own[object] = true
			listed[object]++
		}
		seen := 0
		events := &request.WatchOptions{LabelSelector: selector, ShardSelector: shard.String(), SendInitialEvents: true}
		for ev, err := range api.WatchOnce(limit(t), events) {
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if ev.Type == kube.Bookmark {
				break
			}
			object := any(ev.Object).(kube.Object).GetName()
			if !own[object] {
				t.Errorf("%s: %s is in the watch of shard %d, but not in the list", name, object, i)
			}
			seen++
			watched[object]++
		}
		if seen != len(own) || seen == 0 {
			t.Errorf("%s: shard %d has %d objects in its watch, %d in its list", name, i, seen, len(own))
		}
	}
	for verb, got := range map[string]map[string]int{"lists": listed, "watches": watched} {
		for object, times := range got {
			if times != 1 {
				t.Errorf("%s: %s is in the %s %d times, want once", name, object, verb, times)
			}
		}
		if len(got) != 20 {
			t.Errorf("%s: the %s have %d objects, want 20", name, verb, len(got))
		}
	}
}

// TestIgnoredShardSelectorIsAnError checks the errors of requests for a shard on a server without the feature gate.
func TestIgnoredShardSelectorIsAnError(t *testing.T) { testIgnoredShards(t, connect(t, nil)) }

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
	o := &kube.ListOptions{ShardSelector: shard.String()}
	if _, err := maps.List(limit(t), o); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("List: %v, want an error that contains %q", err, want)
	}
	if _, err := maps.Rows().List(limit(t), o); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("List of rows: %v, want an error that contains %q", err, want)
	}
	for _, err := range maps.WatchOnce(limit(t), &request.WatchOptions{ShardSelector: shard.String()}) {
		if err == nil {
			continue // an object that happens to be in the shard
		}
		if !strings.Contains(err.Error(), want) {
			t.Errorf("WatchOnce: %v, want an error that contains %q", err, want)
		}
		return
	}
	t.Error("WatchOnce ended without an error")
}
