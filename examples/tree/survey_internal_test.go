// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/kube"
)

func TestTreeShowsSharedObjectsAndCyclesOnce(t *testing.T) {
	now := time.Now()
	object := func(kind, name string, owners ...string) node {
		created := metav1.NewTime(now.Add(-90 * time.Minute))
		meta := &metav1.ObjectMeta{Name: name, UID: types.UID(name), CreationTimestamp: created}
		for _, owner := range owners {
			meta.OwnerReferences = append(meta.OwnerReferences, metav1.OwnerReference{UID: types.UID(owner)})
		}
		return node{ref: kube.Resource{Kind: kind}, meta: meta, ready: "True"}
	}
	s := &survey{owned: map[types.UID]map[types.UID]*node{}}
	for _, n := range []node{
		object("ReplicaSet", "web-2", "web"), object("ReplicaSet", "web-1", "web"), object("Pod", "web-1-a", "web-1"),
		object("Pod", "shared", "web-1", "web-2"), object("Pod", "shared", "web-1", "web-2"),
		object("ConfigMap", "below", "shared"), object("Deployment", "web", "below"), object("Pod", "unrelated", "other"),
	} {
		s.record(&n)
	}
	var out bytes.Buffer
	if err := show(&out, s.tree(object("Deployment", "web")), now); err != nil {
		t.Fatal(err)
	}
	const want = `OBJECT                               READY   AGE
Deployment/web                       True    90m
├─ReplicaSet/web-1                   True    90m
│ ├─Pod/shared                       True    90m
│ │ └─ConfigMap/below                True    90m
│ │   └─Deployment/web (see above)   True    90m
│ └─Pod/web-1-a                      True    90m
└─ReplicaSet/web-2                   True    90m
  └─Pod/shared (see above)           True    90m
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTreeShowsNamespacesThatDiffer(t *testing.T) {
	now := time.Now()
	object := func(kind, namespace, name, owner string) node {
		meta := &metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace + name)}
		if owner != "" {
			meta.OwnerReferences = []metav1.OwnerReference{{UID: types.UID(owner)}}
		}
		return node{ref: kube.Resource{Kind: kind}, meta: meta, ready: "True"}
	}
	const want = `OBJECT                    READY   AGE
Tenant/acme               True    ?
├─ConfigMap/limits in a   True    ?
│ └─Pod/user              True    ?
├─ConfigMap/limits in b   True    ?
└─Plan/limits             True    ?
`
	for range 20 { // the order of a map is random
		s := &survey{owned: map[types.UID]map[types.UID]*node{}}
		for _, n := range []node{
			object("ConfigMap", "b", "limits", "acme"), object("ConfigMap", "a", "limits", "acme"),
			object("Plan", "", "limits", "acme"), object("Pod", "a", "user", "alimits"),
		} {
			s.record(&n)
		}
		var out bytes.Buffer
		if err := show(&out, s.tree(object("Tenant", "", "acme", "")), now); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	}
}

func TestReadinessComesFromTheFirstKnownCondition(t *testing.T) {
	condition := func(kind, status, reason string) any {
		return map[string]any{"type": kind, "status": status, "reason": reason}
	}
	for _, tc := range []struct {
		name       string
		conditions any
		want       string
	}{
		{"ready", []any{condition("PodScheduled", "True", ""), condition("Ready", "True", "Fine")}, "True"},
		{"not ready", []any{condition("Ready", "False", "ContainersNotReady")}, "False (ContainersNotReady)"},
		{
			"Ready takes precedence over Available",
			[]any{condition("Available", "False", ""), condition("Ready", "True", "")},
			"True",
		},
		{"complete", []any{condition("Complete", "True", "")}, "True"},
		{"no readiness condition", []any{condition("Progressing", "True", "")}, ""},
		{"conditions that are not objects", []any{"Ready"}, ""},
		{"no conditions", nil, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			obj := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": tc.conditions}}}
			if got := readiness(obj); got != tc.want {
				t.Errorf("readiness = %q, want %q", got, tc.want)
			}
		})
	}
	deleted := &unstructured.Unstructured{Object: map[string]any{}}
	deleted.SetDeletionTimestamp(new(metav1.Now()))
	if got := readiness(deleted); got != "Terminating" {
		t.Errorf("readiness = %q, want Terminating", got)
	}
}
