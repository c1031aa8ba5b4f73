// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package explore_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/kubetest/internal/explore"
	"github.com/kube-go/sdk/kubetest/internal/journal"
	"github.com/kube-go/sdk/kubetest/internal/store"
)

func TestFaultsOfRequests(t *testing.T) {
	got := []string{}
	for _, f := range explore.Plan([]explore.Operation{
		{Request: journal.Request{Author: explore.Program, Method: "GET", Path: "orders/shop/a", N: 1}},
		{Request: journal.Request{Author: explore.Program, Method: "GET", Path: "pods/shop", N: 1}},
		{Request: journal.Request{Author: explore.Program, Method: "GET", Path: "orders/shop/a", N: 2}},
		{Request: journal.Request{Author: explore.Story, Method: "POST", Path: "orders/shop", N: 1}, Creates: true},
		{Request: journal.Request{Author: explore.Program, Method: "POST", Path: "pods/shop", N: 2}, Creates: true},
		{Request: journal.Request{Author: explore.Program, Method: "GET", Path: "orders/shop/a", N: 3}},
		{Request: journal.Request{Author: explore.Other, Method: "PUT", Path: "pods/shop/a", N: 1}},
		{Request: journal.Request{Author: explore.Program, Method: "PATCH", Path: "pods/shop/a-*/status", N: 1}},
		{Request: journal.Request{Author: explore.Program, Method: "PATCH", Path: "maps/shop/a", N: 1}, Creates: true},
		{Request: journal.Request{Author: explore.Program, Method: "DELETE", Path: "pods/shop/a", N: 1}},
	}) {
		got = append(got, f.Name())
	}
	want := []string{
		"error for GET orders shop a",
		"error for GET pods shop",
		"stale watches from story POST orders shop",
		"outage at story POST orders shop",
		"crash after POST pods shop 2",
		"cut connections after POST pods shop 2",
		"error for POST pods shop 2",
		"stale watches from POST pods shop 2",
		"error for GET orders shop a 3",
		"crash after PATCH pods shop a-x status",
		"cut connections after PATCH pods shop a-x status",
		"error for PATCH pods shop a-x status",
		"another client before PATCH pods shop a-x status",
		"stale watches from PATCH pods shop a-x status",
		"crash after PATCH maps shop a",
		"cut connections after PATCH maps shop a",
		"error for PATCH maps shop a",
		"stale watches from PATCH maps shop a",
		"crash after DELETE pods shop a",
		"cut connections after DELETE pods shop a",
		"error for DELETE pods shop a",
		"another client before DELETE pods shop a",
		"stale watches from DELETE pods shop a",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}

// world returns the state of the pods in YAML. The pods whose names begin with "web-" have a generated name.
func world(t *testing.T, normalize func(*unstructured.Unstructured), pods ...string) explore.World {
	t.Helper()
	j := journal.New(nil)
	objects := make(map[store.Key]*unstructured.Unstructured)
	for _, pod := range pods {
		obj := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(pod), &obj.Object); err != nil {
			t.Fatal(err)
		}
		key := store.Key{GroupResource: schema.GroupResource{Resource: "pods"}, ObjectRef: core.RefOf(obj)}
		objects[key] = obj
		j.Changed(journal.Request{}, []store.Change{{Key: key, New: obj}})
	}
	return explore.NewWorld(maps.All(objects), j, normalize)
}

func TestDifferencesThatDoNotMatter(t *testing.T) {
	a := world(t, nil, `
metadata: {name: a, namespace: shop, uid: 00000001-uid-of-it, resourceVersion: "5", generation: 1, annotations: {kubetest/another-client: "true"}}
status:
  observedGeneration: 1
  conditions: [{type: Ready, lastTransitionTime: "2000-01-01T00:00:00Z"}, {type: Bound}]
  pod: web-12345
  podUID: 00000002-uid-of-it
  fsm: {generation: 1, state: Ready}
  inventory: [{kind: Pod, name: x, hash: h1}, {kind: Pod, name: y}]
`, `
metadata:
  {name: web-12345, generateName: web-, uid: 00000002-uid-of-it, ownerReferences: [{kind: Pod, name: a, uid: 00000001-uid-of-it}, {kind: Pod, name: b}]}
spec: {n: 1}
`, `
metadata: {name: web-22222, generateName: web-, uid: 00000003-uid-of-it}
spec: {n: 2}
`)
	b := world(t, nil, `
metadata: {name: web-77777, generateName: web-, uid: 00000005-uid-of-it}
spec: {n: 2}
`, `
metadata:
  {name: web-99999, generateName: web-, uid: 00000006-uid-of-it, ownerReferences: [{kind: Pod, name: b}, {kind: Pod, name: a, uid: 00000004-uid-of-it}]}
spec: {n: 1}
`, `
metadata: {name: a, namespace: shop, uid: 00000004-uid-of-it, resourceVersion: "9", generation: 2, creationTimestamp: "2001-01-01T00:00:00Z"}
status:
  observedGeneration: 2
  conditions: [{type: Bound}, {type: Ready, lastTransitionTime: "2000-01-01T00:10:00Z"}]
  pod: web-99999
  podUID: 00000006-uid-of-it
  fsm: {generation: 2, state: Ready}
  inventory: [{kind: Pod, name: y}, {kind: Pod, name: x, hash: h2}]
`)
	if diff := a.Diff(b); len(diff) > 0 {
		t.Errorf("differences:\n%q", b.Explain(diff, a, "before"))
	}
}

func TestDifferences(t *testing.T) {
	const one = `{metadata: {name: a}, data: {"x.y": 1}, list: [1, 2], empty: {}}`
	for name, tt := range map[string]struct {
		with []string
		want []string
	}{
		"a field": {
			[]string{`{metadata: {name: a}, data: {"x.y": 2}, list: [1, 3], empty: {}}`},
			[]string{"pods a: data.[x.y] is 2, without faults 1", "pods a: list[1] is 3, without faults 2"},
		},
		"a missing field": {
			[]string{`{metadata: {name: a}, data: {"x.y": 1}, list: [1, 2]}`}, []string{"pods a: empty is absent, without faults {}"},
		},
		"a missing object": {
			nil, []string{"pods a does not exist, but without faults it does", "pods a was created 0 times, without faults 1 times"},
		},
		"another object": {
			[]string{one, `{metadata: {name: web-1, generateName: web-}}`},
			[]string{"pods web-* exists, but not without faults", "pods web-* was created 1 times, without faults 0 times"},
		},
		"two objects more": {
			[]string{one, `{metadata: {name: web-1, generateName: web-}}`, `{metadata: {name: web-2, generateName: web-}}`},
			[]string{
				"pods web-* 2 exists, but not without faults", "pods web-* exists, but not without faults",
				"pods web-* was created 2 times, without faults 0 times",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			without, with := world(t, nil, one), world(t, nil, tt.with...)
			if diff := cmp.Diff(tt.want, with.Explain(with.Diff(without), without, "without faults")); diff != "" {
				t.Errorf("explanation (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNormalizeRemovesDifferences(t *testing.T) {
	remove := func(obj *unstructured.Unstructured) { delete(obj.Object, "attempts") }
	a, b := world(t, remove, `{metadata: {name: a}, attempts: 1}`), world(t, remove, `{metadata: {name: a}, attempts: 2}`)
	if diff := a.Diff(b); len(diff) > 0 {
		t.Errorf("differences: %v", slices.Collect(maps.Keys(diff)))
	}
}
