// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/kubetest"
)

func TestSetIDEqualsTheIDOfKubectl(t *testing.T) {
	secret := kube.Resource{Version: "v1", Kind: "Secret", Plural: "secrets", Namespaced: true}
	plan := kube.Resource{Group: "h3.example.com", Version: "v1", Kind: "Plan", Plural: "plans"}
	for _, tt := range []struct {
		name   string
		res    kube.Resource
		parent kube.ObjectRef
		want   string
	}{
		{
			"a secret", secret,
			kube.ObjectRef{Namespace: "test", Name: "my-set"},
			"applyset-0eFHV8ySqp7XoShsGvyWFQD3s96yqwHmzc4e0HR1dsY-v1",
		},
		{
			"a cluster-scoped custom resource", plan,
			kube.ObjectRef{Name: "web"},
			"applyset-zEHlnhCxx4X8Rs0YAIj9KAfOKfefW3Cl77NQv8q_X9k-v1",
		},
	} {
		if got := setID(tt.res, tt.parent); got != tt.want {
			t.Errorf("%s: setID = %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestGroupKindsAreSortedAsInKubectl(t *testing.T) {
	kinds := names{}
	kinds.add("Secret,Deployment.apps,,ConfigMap")
	if got := kinds.String(); got != "ConfigMap,Deployment.apps,Secret" {
		t.Errorf("String() = %s, want ConfigMap,Deployment.apps,Secret", got)
	}
}

// TestKindsAndNamespacesArePrunedAfterTheirObjects checks the order, without which the objects of a kind could not be
// listed any more.
func TestKindsAndNamespacesArePrunedAfterTheirObjects(t *testing.T) {
	const keep = `
apiVersion: v1
kind: ConfigMap
metadata: {name: keep, namespace: default}
---`
	const all = keep + `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: gadgets, singular: gadget, kind: Gadget, listKind: GadgetList}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object}}
---
apiVersion: example.com/v1
kind: Gadget
metadata: {name: one, namespace: shop}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: old, namespace: shop}
`
	c := kubetest.Start(t, nil).Client(nil)
	apply := func(manifests string) string {
		t.Helper()
		var out strings.Builder
		o := options{namespace: "default", manager: "apply", applySet: "web", timeout: time.Minute}
		a := newApplier(c, o, &out, io.Discard)
		objects, err := read([]string{"-"}, strings.NewReader(manifests))
		if err != nil {
			t.Fatal(err)
		}
		set, err := openSet(t.Context(), a, objects)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.all(t.Context(), objects); err != nil {
			t.Fatal(err)
		}
		if err := set.prune(t.Context()); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	apply(all)
	want := `configmaps default/keep unchanged
configmaps shop/old pruned
gadgets.example.com shop/one pruned
customresourcedefinitions.apiextensions.k8s.io gadgets.example.com pruned
namespaces shop pruned
`
	if diff := cmp.Diff(want, apply(keep)); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}
