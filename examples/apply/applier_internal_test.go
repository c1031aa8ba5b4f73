// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/kubetest"
)

// kept is a manifest of one object.
const kept = `
apiVersion: v1
kind: ConfigMap
metadata: {name: keep, namespace: default}
---`

// manifests has that object, a new namespace, a new kind, and objects that need them.
const manifests = kept + `
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

// parsed returns the objects in manifests, in the order to apply them.
func parsed(t *testing.T, manifests string) []object {
	t.Helper()
	objects, err := read([]string{"-"}, strings.NewReader(manifests))
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// TestKindsAndNamespacesArePrunedAfterTheirObjects checks the order, without which the objects of a kind could not be
// listed any more.
func TestKindsAndNamespacesArePrunedAfterTheirObjects(t *testing.T) {
	c := kubetest.Start(t, nil).Client(nil)
	apply := func(manifests string) string {
		t.Helper()
		var out strings.Builder
		o := options{namespace: "default", manager: "apply", applySet: "web", timeout: time.Minute}
		a := newApplier(c, o, &out, io.Discard)
		objects := parsed(t, manifests)
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
	apply(manifests)
	want := `configmaps default/keep unchanged
configmaps shop/old pruned
gadgets.example.com shop/one pruned
customresourcedefinitions.apiextensions.k8s.io gadgets.example.com pruned
namespaces shop pruned
`
	if diff := cmp.Diff(want, apply(kept)); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}

// TestADryRunDoesNotWaitForItsKinds checks that a dry run does not wait for a kind and a namespace that it does not
// create, also if only the options name the namespace.
func TestADryRunDoesNotWaitForItsKinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := kubetest.Start(t, nil).Client(nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var out, notes strings.Builder
		o := options{namespace: "shop", manager: "apply", dryRun: true, timeout: time.Hour}
		objects := parsed(t, manifests+"---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: new}}")
		if err := newApplier(c, o, &out, &notes).all(ctx, objects); err != nil {
			t.Errorf("%v: %s", err, notes.String())
		}
		want := `namespaces shop created (dry run)
customresourcedefinitions.apiextensions.k8s.io gadgets.example.com created (dry run)
configmaps default/keep created (dry run)
Gadget shop/one created, not validated: its kind does not exist yet (dry run)
configmaps shop/old created, not validated: its namespace does not exist yet (dry run)
configmaps shop/new created, not validated: its namespace does not exist yet (dry run)
`
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("output (-want +got):\n%s", diff)
		}
	})
}
