// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/access"
	"github.com/kube-go/sdk/client/discovery"
	"github.com/kube-go/sdk/core"
)

func testDiscovery(t *testing.T, c *client.Client, _ string) {
	d, err := discovery.Discover(t.Context(), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	if failed := d.Failed(); len(failed) > 0 {
		t.Errorf("failed: %v", failed)
	}
	kind := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	for _, name := range []string{"deployments", "deployment", "Deployment", "deploy", "deployments.apps"} {
		res, err := d.Resolve(name)
		if err != nil || res.GroupVersionKind() != kind {
			t.Errorf("Resolve(%q) = %v, %v, want %v", name, res, err, kind)
		}
	}
	for _, tt := range []core.Resource{
		{
			Version: "v1", Kind: "Pod", Plural: "pods", Singular: "pod", Namespaced: true,
			ShortNames: []string{"po"}, Categories: []string{"all"}, Verbs: allVerbs(),
			Subresources: []string{"status", "eviction", "binding"},
		},
		{
			Version: "v1", Kind: "Namespace", Plural: "namespaces", Singular: "namespace",
			ShortNames: []string{"ns"}, Verbs: without(allVerbs(), "deletecollection"), Subresources: []string{"status"},
		},
		{
			Version: "v1", Kind: "ConfigMap", Plural: "configmaps", Singular: "configmap", Namespaced: true,
			ShortNames: []string{"cm"}, Verbs: allVerbs(),
		},
		{
			Group: "apps", Version: "v1", Kind: "Deployment", Plural: "deployments", Singular: "deployment", Namespaced: true,
			ShortNames: []string{"deploy"}, Categories: []string{"all"}, Verbs: allVerbs(),
			Subresources: []string{"scale", "status"},
		},
		{
			Group: "coordination.k8s.io", Version: "v1", Kind: "Lease", Plural: "leases", Singular: "lease", Namespaced: true,
			Verbs: allVerbs(),
		},
		{
			Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole", Plural: "clusterroles",
			Singular: "clusterrole", Verbs: allVerbs(),
		},
		{
			Group: "authorization.k8s.io", Version: "v1", Kind: "SelfSubjectAccessReview",
			Plural: "selfsubjectaccessreviews", Singular: "selfsubjectaccessreview", Verbs: []string{"create"},
		},
	} {
		got, err := d.ForResource(tt.GroupVersionResource())
		if err != nil {
			t.Error(err)
			continue
		}
		got.Subresources = only(got.Subresources, tt.Subresources)
		if diff := cmp.Diff(sorted(tt), sorted(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt, diff)
		}
	}
}

func allVerbs() []string {
	return []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
}

// without returns the values except for one.
func without(values []string, value string) []string {
	return slices.DeleteFunc(values, func(s string) bool { return s == value })
}

// only returns the values that are also in want. A server may have more subresources than kubetest.
func only(values, want []string) []string {
	return slices.DeleteFunc(slices.Clone(values), func(s string) bool { return !slices.Contains(want, s) })
}

// sorted returns a resource whose lists are sorted, and nil if they are empty.
func sorted(res core.Resource) core.Resource {
	for _, list := range []*[]string{&res.ShortNames, &res.Categories, &res.Verbs, &res.Subresources} {
		*list = slices.Sorted(slices.Values(*list))
	}
	return res
}

func testDefinition(t *testing.T, c *client.Client, ns string) {
	group := ns + ".example.com"
	definitions := client.Dynamic(c, core.CRDResource())
	_, err := definitions.Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "widgets." + group},
		"spec": map[string]any{
			"group": group, "scope": "Namespaced",
			"names": map[string]any{
				"plural": "widgets", "kind": "Widget", "shortNames": []any{"w" + ns}, "categories": []any{"c" + ns},
			},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true, "subresources": map[string]any{"status": map[string]any{}},
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}},
			}},
		},
	}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := definitions.Delete(context.Background(), "widgets."+group, nil); err != nil {
			t.Error(err)
		}
	})
	mapper := discovery.NewMapper(c, nil)
	for {
		if _, err = mapper.Resolve(t.Context(), "w"+ns); err == nil {
			break
		}
		if _, ok := errors.AsType[*discovery.UnknownResourceError](err); !ok {
			t.Fatal(err)
		}
	}
	d, err := mapper.Discovery(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got, err := d.ForKind(schema.GroupVersionKind{Group: group, Version: "v1", Kind: "Widget"})
	if err != nil {
		t.Fatal(err)
	}
	want := core.Resource{
		Group: group, Version: "v1", Kind: "Widget", Plural: "widgets", Singular: "widget", Namespaced: true,
		ShortNames: []string{"w" + ns}, Categories: []string{"c" + ns}, Verbs: allVerbs(), Subresources: []string{"status"},
	}
	if diff := cmp.Diff(sorted(want), sorted(got)); diff != "" {
		t.Errorf("resource (-want +got):\n%s", diff)
	}
}

func testVersion(t *testing.T, c *client.Client, _ string) {
	v, err := discovery.Version(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if v.Major != "1" || v.Minor == "" || v.GitVersion == "" {
		t.Errorf("version %+v", v)
	}
	h, err := discovery.Health(t.Context(), c, discovery.Ready, nil)
	if err != nil || !h.Healthy {
		t.Errorf("health %+v, %v", h, err)
	}
}

func testAccess(t *testing.T, c *client.Client, ns string) {
	pods := core.Resource{Version: "v1", Kind: "Pod", Plural: "pods", Namespaced: true}
	d, err := access.Can(t.Context(), c, access.Action{Verb: "list", Resource: pods, Namespace: ns})
	if err != nil || !d.Allowed {
		t.Errorf("Can = %+v, %v, want allowed", d, err)
	}
}
