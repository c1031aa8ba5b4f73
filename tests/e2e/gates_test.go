// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/tests/cluster"
)

// TestFeatureGates holds what servers have behind feature gates.
func TestFeatureGates(t *testing.T) {
	gates := map[string]bool{"CBORServingAndStorage": true}
	sharded := has(t, connect(t, nil), shardsAreServed)
	if sharded {
		gates["ShardedListAndWatch"] = true
	}
	cfg := ownCluster(t, &cluster.Options{FeatureGates: gates})
	c := connect(t, &kube.ClientOptions{Config: cfg})
	t.Run("CBOR", func(t *testing.T) { testCBOR(t, c) })
	t.Run("Prefer CBOR", func(t *testing.T) { testPreferCBOR(t, c) })
	t.Run("Shards", func(t *testing.T) {
		if sharded {
			testShards(t, c)
		} else {
			testIgnoredShards(t, c)
		}
	})
}

// cborServer is a server that speaks CBOR.
type cborServer struct {
	client *kube.Client
	target request.Target // ConfigMaps
}

// send sends a request and checks that the answer is in CBOR.
func (s cborServer) send(t *testing.T, r *request.Request, err error) (io.ReadCloser, string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	resp, err := s.client.Do(limit(t), r)
	if err != nil {
		t.Fatal(err)
	}
	contentType := resp.Header.Get("Content-Type")
	if encoding, err := wire.EncodingOf(contentType); err != nil || encoding != wire.CBOR {
		t.Fatalf("%s: the answer is %q, want CBOR", r.Verb, contentType)
	}
	return resp.Body, contentType
}

// object sends a request whose answer is an object.
func (s cborServer) object(t *testing.T, r *request.Request, err error) *corev1.ConfigMap {
	t.Helper()
	body, contentType := s.send(t, r, err)
	defer body.Close()
	data, err := wire.ReadBody(body, nil)
	if err != nil {
		t.Fatal(err)
	}
	cm := new(corev1.ConfigMap)
	if err := wire.UnmarshalStrict(data, contentType, cm); err != nil {
		t.Fatal(err)
	}
	dynamic := new(unstructured.Unstructured)
	if err := wire.Unmarshal(data, contentType, dynamic); err != nil || dynamic.GetUID() != cm.UID {
		t.Errorf("an object of any kind has uid %q, want %q: %v", dynamic.GetUID(), cm.UID, err)
	}
	return cm
}

func (s cborServer) named(name string) request.Target {
	target := s.target
	target.Name = name
	return target
}

// testCBOR promises that objects, lists, watches and applies go in CBOR to a server that speaks it.
func testCBOR(t *testing.T, c *kube.Client) {
	s := cborServer{client: c, target: target[corev1.ConfigMap](t, "default", "")}
	s.target.Encoding = wire.CBOR
	desired := func(i int) *corev1.ConfigMap {
		return &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("cbor-%d", i), Namespace: "default", Labels: map[string]string{"set": "cbor"}},
			Data:       map[string]string{"text": "é\n", "number": fmt.Sprint(i)},
			BinaryData: map[string][]byte{"raw": {0, 0xff, byte(i)}},
		}
	}
	var made []*corev1.ConfigMap
	for i := range 3 {
		r, err := request.Create(s.target, desired(i), nil)
		cm := s.object(t, r, err)
		if diff := cmp.Diff(desired(i).BinaryData, cm.BinaryData); diff != "" || cm.Kind != "ConfigMap" || cm.CreationTimestamp.IsZero() {
			t.Errorf("created %+v, (-want +got):\n%s", cm.TypeMeta, diff)
		}
		made = append(made, cm)
	}
	r, err := request.Get(s.named("cbor-1"), nil)
	if diff := cmp.Diff(made[1], s.object(t, r, err)); diff != "" {
		t.Errorf("get (-created +got):\n%s", diff)
	}
	version := s.checkList(t, made)
	s.checkApply(t, desired(1))
	s.checkWatch(t, version)
}

// checkList reads a list item by item and returns its resource version.
func (s cborServer) checkList(t *testing.T, want []*corev1.ConfigMap) string {
	t.Helper()
	r, err := request.List(s.target, &request.ListOptions{LabelSelector: "set=cbor"})
	body, contentType := s.send(t, r, err)
	defer body.Close()
	var got []*corev1.ConfigMap
	meta, err := wire.ReadList(body, contentType, nil, func(p wire.Packed) error {
		compact, err := p.Compact()
		if err != nil {
			return err
		}
		labels, err := compact.Labels()
		if err != nil || labels["set"] != "cbor" {
			t.Errorf("an item has labels %v, %v", labels, err)
		}
		cm := &corev1.ConfigMap{TypeMeta: want[0].TypeMeta, ObjectMeta: metav1.ObjectMeta{ManagedFields: nil}}
		got = append(got, cm)
		return compact.Decode(cm)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, cm := range want {
		cm.ManagedFields = nil
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("list (-created +got):\n%s", diff)
	}
	return meta.ResourceVersion
}

// checkApply applies a change, with a body in CBOR.
func (s cborServer) checkApply(t *testing.T, obj *corev1.ConfigMap) {
	t.Helper()
	obj.Data["applied"] = "yes"
	r, err := request.Apply(s.named(obj.Name), obj, &request.ApplyOptions{FieldManager: "cbor", Force: true})
	if err != nil {
		t.Fatal(err)
	}
	body, err := wire.NewPacked(wire.JSON, r.Body).Transcode(wire.CBOR)
	if err != nil {
		t.Fatal(err)
	}
	r.Body, r.ContentType = body.Bytes(), "application/apply-patch+cbor"
	if cm := s.object(t, r, nil); cm.Data["applied"] != "yes" || string(cm.BinaryData["raw"]) != "\x00\xff\x01" {
		t.Errorf("applied %+v", cm)
	}
}

// checkWatch reads the event that the apply has made.
func (s cborServer) checkWatch(t *testing.T, version string) {
	t.Helper()
	r, err := request.Watch(s.target, &request.WatchOptions{ResourceVersion: version, LabelSelector: "set=cbor", Timeout: 30 * time.Second})
	body, contentType := s.send(t, r, err)
	defer body.Close()
	for ev, err := range wire.Events(body, contentType, nil) {
		if err != nil {
			t.Fatal(err)
		}
		cm := new(corev1.ConfigMap)
		if err := ev.Object.Decode(cm); err != nil || ev.Type != kube.Modified || cm.Data["applied"] != "yes" {
			t.Errorf("%s of %+v, %v; want the change that was applied", ev.Type, cm, err)
		}
		return
	}
	t.Errorf("the watch has ended without an event: %v", context.Cause(t.Context()))
}

// testPreferCBOR promises that an API of any kind speaks CBOR when it is asked to.
func testPreferCBOR(t *testing.T, c *kube.Client) {
	var mu sync.Mutex // guards seen
	seen := map[string]int{}
	spy := connect(t, &kube.ClientOptions{Config: c.Config(), PerAttempt: []kube.Middleware{func(next http.RoundTripper) http.RoundTripper {
		return kube.RoundTripperFunc(func(req *http.Request) (*http.Response, error) {
			resp, err := next.RoundTrip(req)
			if err == nil {
				mu.Lock()
				seen[req.Method+" "+req.Header.Get("Content-Type")+" -> "+resp.Header.Get("Content-Type")]++
				mu.Unlock()
			}
			return resp, err
		})
	}}})
	widgets := newWidgets(t, spy, "prefer").PreferEncoding(kube.EncodingCBOR)
	mu.Lock()
	clear(seen)
	mu.Unlock()
	obj := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "a"}, "spec": map[string]any{"size": int64(3)}}}
	if _, err := widgets.Create(limit(t), obj, nil); err != nil {
		t.Fatal(err)
	}
	unstructured.RemoveNestedField(obj.Object, "spec", "size")
	if _, err := widgets.Apply(limit(t), obj, &kube.ApplyOptions{FieldManager: "e2e"}); err != nil {
		t.Fatal(err)
	}
	got, err := widgets.Modify(limit(t), "a", func(u *unstructured.Unstructured) error {
		return unstructured.SetNestedField(u.Object, int64(4), "spec", "size")
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if size, _, _ := unstructured.NestedInt64(got.Object, "spec", "size"); size != 4 {
		t.Errorf("the size is %d, want 4", size)
	}
	list, err := widgets.List(limit(t), nil)
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("List = %v, %v", list, err)
	}
	if diff := cmp.Diff(got.Object, list.Items[0].Object); diff != "" {
		t.Errorf("List (-modified +listed):\n%s", diff)
	}
	for ev, err := range widgets.WatchOnce(limit(t), nil) {
		if err != nil || ev.Object.GetName() != "a" {
			t.Errorf("Watch: %v, %v", ev, err)
		}
		break
	}
	want := map[string]int{
		"POST application/cbor -> application/cbor":              1,
		"PATCH application/apply-patch+yaml -> application/cbor": 1,
		"PATCH application/merge-patch+json -> application/cbor": 1,
		"GET  -> application/cbor":                               2,
		"GET  -> application/cbor-seq":                           1,
	}
	mu.Lock()
	defer mu.Unlock()
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
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
	checkShards(t, "custom in CBOR", widgets.PreferEncoding(kube.EncodingCBOR), selector)
	rows := 0
	for i := range 2 {
		shard, err := kube.ShardOf(i, 2)
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
		shard, err := kube.ShardOf(i, 2)
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
		for ev, err := range api.WatchOnce(limit(t), &kube.WatchOptions{LabelSelector: selector, ShardSelector: shard.String(), SendInitialEvents: true}) {
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
	shard, err := kube.ShardOf(0, 100)
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
	for _, err := range maps.WatchOnce(limit(t), &kube.WatchOptions{ShardSelector: shard.String()}) {
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
