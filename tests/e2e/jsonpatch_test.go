// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/core/patch"
	"github.com/kube-go/sdk/kube"
)

// TestApplyJSON promises that a server makes of a JSON patch what is made of it without one, and that the documentation
// says where not.
func TestApplyJSON(t *testing.T) {
	c := connect(t, nil)
	maps := kube.Namespaced[corev1.ConfigMap](c, newNamespace(t, c))
	before := configMap("a", "1")
	before.Annotations = map[string]string{"example.com/a": "2"}
	before.Finalizers = []string{"example.com/a", "example.com/b"}
	before, err := maps.Create(t.Context(), before, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := maps.Patch(context.WithoutCancel(t.Context()), "a", kube.MergePatch(`{"metadata":{"finalizers":null}}`), nil); err != nil {
			t.Error(err)
		}
	})
	const finalizers = "/metadata/finalizers/"
	for _, tc := range []struct {
		name         string
		ops          []kube.PatchOp
		ours, theirs bool // whether it is made
	}{
		{"an addition", []kube.PatchOp{{Op: "add", Path: "/data/new", Value: "x"}}, true, true},
		{"a name that is escaped", []kube.PatchOp{{Op: "replace", Path: "/metadata/annotations/example.com~1a", Value: "x"}}, true, true},
		{"a move and a copy", []kube.PatchOp{{Op: "move", From: "/data/v", Path: "/data/w"}, {Op: "copy", From: "/data/w", Path: "/data/x"}}, true, true},
		{"a test that holds", []kube.PatchOp{{Op: "test", Path: "/data/v", Value: "1"}, {Op: "add", Path: finalizers + "-", Value: "example.com/c"}}, true, true},
		{"an insertion into a list", []kube.PatchOp{{Op: "add", Path: finalizers + "1", Value: "example.com/c"}}, true, true},
		{"a value that is null", []kube.PatchOp{{Op: "replace", Path: "/data", Value: json.RawMessage("null")}}, true, true},
		{"the whole document", []kube.PatchOp{{Op: "replace", Path: "", Value: before}}, true, true},
		{"a test that does not hold", []kube.PatchOp{{Op: "test", Path: "/data/v", Value: "2"}}, false, false},
		{"a removal of nothing", []kube.PatchOp{{Op: "remove", Path: "/data/none"}}, false, false},
		{"a place beyond the end", []kube.PatchOp{{Op: "add", Path: finalizers + "3", Value: "example.com/c"}}, false, false},
		{"an addition beneath nothing", []kube.PatchOp{{Op: "add", Path: "/binaryData/x", Value: "eA=="}}, false, false},

		{"a replacement of nothing", []kube.PatchOp{{Op: "replace", Path: "/data/none", Value: "x"}}, false, true},
		{"a copy of nothing", []kube.PatchOp{{Op: "copy", From: "/immutable", Path: "/data/x"}}, false, true},
		{"a negative index", []kube.PatchOp{{Op: "remove", Path: finalizers + "-1"}}, false, true},
		{"an index with a zero before it", []kube.PatchOp{{Op: "remove", Path: finalizers + "01"}}, false, true},
		{"an addition of the whole document", []kube.PatchOp{{Op: "add", Path: "", Value: before}}, true, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			want, err := patch.ApplyJSON(before, tc.ops...)
			if (err == nil) != tc.ours {
				t.Fatalf("ApplyJSON: %v", err)
			}
			got, err := maps.Patch(limit(t), "a", kube.JSONPatch(tc.ops...), &kube.PatchOptions{DryRun: true})
			if (err == nil) != tc.theirs {
				t.Fatalf("the server: %v", err)
			}
			if !tc.ours || !tc.theirs {
				return
			}
			if diff := cmp.Diff(want.Data, got.Data); diff != "" {
				t.Errorf("the data (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want.Annotations, got.Annotations); diff != "" {
				t.Errorf("the annotations (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want.Finalizers, got.Finalizers); diff != "" {
				t.Errorf("the finalizers (-want +got):\n%s", diff)
			}
		})
	}
}
