// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package patch_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/core/internal/patchtest"
	"github.com/kube-go/sdk/core/patch"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
)

func encode(t testing.TB, v any) string {
	t.Helper()
	data, err := wire.MarshalJSON(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestDiffMergeReturnsTheChangedFields(t *testing.T) {
	for _, tc := range []struct{ name, from, to, want string }{
		{"equal objects have no difference", `{"a":{"b":[1]}}`, `{"a":{"b":[1]}}`, `{}`},
		{"a changed field is set", `{"a":1,"b":2}`, `{"a":3,"b":2}`, `{"a":3}`},
		{"a missing field is removed", `{"a":{"b":1,"c":2}}`, `{"a":{"b":1}}`, `{"a":{"c":null}}`},
		{"a new object is set whole", `{}`, `{"a":{"b":{}}}`, `{"a":{"b":{}}}`},
		{"a list is replaced whole", `{"a":[1,2]}`, `{"a":[1,2,3]}`, `{"a":[1,2,3]}`},
		{"an object replaces a string", `{"a":"b"}`, `{"a":{}}`, `{"a":{}}`},
		{"a string replaces an object", `{"a":{"b":1}}`, `{"a":"b"}`, `{"a":"b"}`},
		{"an object is emptied", `{"a":{"b":1}}`, `{"a":{}}`, `{"a":{"b":null}}`},
		{"a null counts as absent", `{"a":1,"b":null,"c":{"d":1}}`, `{"a":null,"c":{"d":1,"e":null}}`, `{"a":null}`},
		{"a null in a new object is omitted", `{}`, `{"a":{"b":null}}`, `{"a":{}}`},
		{"a null in a list is kept", `{"a":[]}`, `{"a":[null]}`, `{"a":[null]}`},
		{"1 and 1.0 are the same", `{"a":1}`, `{"a":1.0}`, `{}`},
		{"large integers differ exactly", `{"a":9007199254740993}`, `{"a":9007199254740992}`, `{"a":9007199254740992}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			diff, err := patch.DiffMerge(tc.from, tc.to, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := encode(t, diff); got != tc.want {
				t.Errorf("DiffMerge = %s, want %s", got, tc.want)
			}
		})
	}
}

func TestDiffJSONReturnsOperations(t *testing.T) {
	for _, tc := range []struct{ name, from, to, want string }{
		{"equal objects have no difference", `{"a":{"b":[1]}}`, `{"a":{"b":[1.0]}}`, `null`},
		{
			"fields are removed, replaced and added in order", `{"b":1,"a":1}`, `{"b":2,"c":3}`,
			`[{"op":"remove","path":"/a"},{"op":"replace","path":"/b","value":2},{"op":"add","path":"/c","value":3}]`,
		},
		{"names are escaped", `{"a/b":{"~":1}}`, `{"a/b":{"~":2}}`, `[{"op":"replace","path":"/a~1b/~0","value":2}]`},
		{"a null is a value", `{"a":1}`, `{"a":null}`, `[{"op":"replace","path":"/a","value":null}]`},
		{"an element is added in the middle", `{"a":[1,3]}`, `{"a":[1,2,3]}`, `[{"op":"add","path":"/a/1","value":2}]`},
		{
			"elements are removed at their indices at that point", `{"a":[1,2,3,4]}`, `{"a":[2,4]}`,
			`[{"op":"remove","path":"/a/0"},{"op":"remove","path":"/a/1"}]`,
		},
		{
			"a field of an element is replaced although others moved",
			`{"c":[{"name":"web","image":"1"}]}`, `{"c":[{"name":"init"},{"name":"web","image":"2"}]}`,
			`[{"op":"add","path":"/c/0","value":{"name":"init"}},{"op":"replace","path":"/c/1/image","value":"2"}]`,
		},
		{
			"an element of another name is replaced whole",
			`{"c":[{"name":"web","image":"1"}]}`, `{"c":[{"name":"db","image":"1"}]}`,
			`[{"op":"replace","path":"/c/0","value":{"image":"1","name":"db"}}]`,
		},
		{"the whole document is replaced", `[1]`, `{}`, `[{"op":"replace","path":"","value":{}}]`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ops, err := patch.DiffJSON(tc.from, tc.to, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := encode(t, ops); got != tc.want {
				t.Errorf("DiffJSON = %s, want %s", got, tc.want)
			}
			if got, err := patchtest.ApplyJSON(tc.from, ops); err != nil || encode(t, diffOf(t, &got, tc.to)) != "null" {
				t.Errorf("the patch makes %s, %v, want %s", encode(t, got), err, tc.to)
			}
		})
	}
}

func diffOf(t *testing.T, from, to any) []request.Op {
	t.Helper()
	ops, err := patch.DiffJSON(from, to, nil)
	if err != nil {
		t.Fatal(err)
	}
	return ops
}

// A list that is too long to be aligned is patched correctly.
func TestDiffJSONPatchesLongLists(t *testing.T) {
	var from, to []int
	for i := range 3000 {
		from, to = append(from, i), append(to, i*7%3001)
	}
	ops, err := patch.DiffJSON(from, to, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := patchtest.ApplyJSON(from, ops)
	if err != nil {
		t.Fatal(err)
	}
	if left := diffOf(t, got, to); len(left) > 0 {
		t.Errorf("after the patch, the list differs by %d operations", len(left))
	}
}

func TestPatchesApplyToObjects(t *testing.T) {
	before := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web", ResourceVersion: "7", Labels: map[string]string{"a": "b"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "one"}, {Name: "side", Image: "one"}}},
	}
	after := before.DeepCopy()
	after.Labels["c"] = "d"
	after.Spec.Containers[1].Image = "two"

	merge, err := patch.DiffMerge(before, after, &patch.Options{Lock: true})
	if err != nil {
		t.Fatal(err)
	}
	merged, err := patchtest.ApplyMerge(before, merge)
	if err != nil {
		t.Fatal(err)
	}
	if left := diffOf(t, merged, after); len(left) > 0 {
		t.Errorf("after the merge patch, the pod still differs by %v", left)
	}
	want := map[string]any{"labels": map[string]any{"c": "d"}, "resourceVersion": "7"}
	if diff := cmp.Diff(want, merge["metadata"]); diff != "" {
		t.Errorf("metadata of the merge patch (-want +got):\n%s", diff)
	}

	ops, err := patch.DiffJSON(before, after, &patch.Options{Lock: true})
	if err != nil {
		t.Fatal(err)
	}
	wantOps := []request.Op{
		{Op: "replace", Path: "/metadata/resourceVersion", Value: "7"},
		{Op: "add", Path: "/metadata/labels/c", Value: "d"},
		{Op: "replace", Path: "/spec/containers/1/image", Value: "two"},
	}
	if diff := cmp.Diff(wantOps, ops); diff != "" {
		t.Errorf("DiffJSON (-want +got):\n%s", diff)
	}
	patched, err := patchtest.ApplyJSON(before, ops)
	if err != nil {
		t.Fatal(err)
	}
	if left := diffOf(t, patched, after); len(left) > 0 {
		t.Errorf("after the JSON patch, the pod still differs by %v", left)
	}

	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod", "spec": map[string]any{"n": int64(1)}}}
	changed := u.DeepCopy()
	changed.Object["spec"] = map[string]any{"n": 1.5}
	merge, err = patch.DiffMerge(u, changed, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := patchtest.ApplyMerge(u, merge)
	if left := diffOf(t, got, changed); err != nil || len(left) > 0 {
		t.Errorf("after the merge patch, the unstructured object still differs by %v, %v", left, err)
	}
	if u.Object["spec"].(map[string]any)["n"] != int64(1) {
		t.Error("ApplyMerge changed its argument")
	}
}

func TestLockAddsTheResourceVersion(t *testing.T) {
	lock := &patch.Options{Lock: true}
	for _, tc := range []struct{ name, from, to, wantErr string }{
		{"equal objects need no lock", `{"a":1}`, `{"a":1}`, ""},
		{"an object without a version can't be locked", `{"a":1}`, `{"a":2}`, "lock: from has no metadata.resourceVersion"},
		{
			"two versions can't both be locked",
			`{"metadata":{"resourceVersion":"1"}}`, `{"metadata":{"resourceVersion":"2"}}`, `from has metadata.resourceVersion "1" and to has "2"`,
		},
		{"an object without a version is compared with one that has a version", `{"a":1,"metadata":{"resourceVersion":"1"}}`, `{"a":2}`, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, mergeErr := patch.DiffMerge(tc.from, tc.to, lock)
			_, jsonErr := patch.DiffJSON(tc.from, tc.to, lock)
			for _, err := range []error{mergeErr, jsonErr} {
				if (err == nil) != (tc.wantErr == "") || err != nil && !strings.Contains(err.Error(), tc.wantErr) {
					t.Errorf("error %v, want %q", err, tc.wantErr)
				}
			}
		})
	}
}

// TestLockOfAnObjectWithoutAVersion checks that a JSON patch does not remove the resource version that it requires,
// since servers accept an object of a built-in kind without one at any version, and that a missing version is not a
// difference.
func TestLockOfAnObjectWithoutAVersion(t *testing.T) {
	locked := request.Op{Op: "replace", Path: "/metadata/resourceVersion", Value: "7"}
	for _, tc := range []struct {
		from, to string
		want     []request.Op
		merge    string
	}{
		{
			`{"a":1,"metadata":{"name":"web","resourceVersion":"7"}}`, `{"a":2,"metadata":{"name":"web"}}`,
			[]request.Op{locked, {Op: "replace", Path: "/a", Value: int64(2)}},
			`{"a":2,"metadata":{"resourceVersion":"7"}}`,
		},
		{
			`{"a":1,"metadata":{"name":"web","resourceVersion":"7"}}`, `{"a":1}`,
			[]request.Op{locked, {Op: "remove", Path: "/metadata/name"}},
			`{"metadata":{"name":null,"resourceVersion":"7"}}`,
		},
		{`{"a":1,"metadata":{"resourceVersion":"7"}}`, `{"a":1}`, nil, `{}`},
		{`{"metadata":{"name":"web","resourceVersion":"7"}}`, `{"metadata":{"name":"web"}}`, nil, `{}`},
	} {
		got, err := patch.DiffJSON(tc.from, tc.to, &patch.Options{Lock: true})
		if diff := cmp.Diff(tc.want, got); err != nil || diff != "" {
			t.Errorf("DiffJSON(%s, %s) = %v (-want +got):\n%s", tc.from, tc.to, err, diff)
		}
		merge, err := patch.DiffMerge(tc.from, tc.to, &patch.Options{Lock: true})
		if got := encode(t, merge); err != nil || got != tc.merge {
			t.Errorf("DiffMerge(%s, %s) = %s, %v, want %s", tc.from, tc.to, got, err, tc.merge)
		}
	}
}

// TestRawKeepsUndeclaredFields checks that the patch of a type with few fields changes only these in the object that
// the server has, also in lists.
func TestRawKeepsUndeclaredFields(t *testing.T) {
	const raw = `{"metadata":{"resourceVersion":"7","x":1},"c":[{"name":"a","v":1,"x":1},{"name":"b","v":1,"x":2}],"x":{"y":3}}`
	const from = `{"metadata":{"resourceVersion":"7"},"c":[{"name":"a","v":1},{"name":"b","v":1}],"zero":null}`
	for _, tc := range []struct{ name, to, merge, ops string }{
		{"nothing changes", from, `{}`, `null`},
		{
			"a field of an item changes", strings.Replace(from, `"v":1`, `"v":2`, 1),
			`{"c":[{"name":"a","v":2,"x":1},{"name":"b","v":1,"x":2}],"metadata":{"resourceVersion":"7"}}`,
			`[{"op":"replace","path":"/metadata/resourceVersion","value":"7"},{"op":"replace","path":"/c/0/v","value":2}]`,
		},
		{
			"an item is removed, and the version", `{"metadata":{},"c":[{"name":"b","v":1}],"zero":null}`,
			`{"c":[{"name":"b","v":1,"x":2}],"metadata":{"resourceVersion":"7"}}`,
			`[{"op":"replace","path":"/metadata/resourceVersion","value":"7"},{"op":"remove","path":"/c/0"}]`,
		},
		{
			"a field is removed", `{"metadata":{"resourceVersion":"7"},"zero":null}`,
			`{"c":null,"metadata":{"resourceVersion":"7"}}`,
			`[{"op":"replace","path":"/metadata/resourceVersion","value":"7"},{"op":"remove","path":"/c"}]`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := &patch.Options{Lock: true, Raw: []byte(raw)}
			merge, err := patch.DiffMerge(from, tc.to, o)
			if got := encode(t, merge); err != nil || got != tc.merge {
				t.Errorf("DiffMerge = %s, %v, want %s", got, err, tc.merge)
			}
			ops, err := patch.DiffJSON(from, tc.to, o)
			if got := encode(t, ops); err != nil || got != tc.ops {
				t.Errorf("DiffJSON = %s, %v, want %s", got, err, tc.ops)
			}
		})
	}
}

func TestInvalidDocumentsAreRejected(t *testing.T) {
	for _, tc := range []struct {
		name    string
		do      func() error
		wantErr string
	}{
		{"from is not JSON", func() error { _, err := patch.DiffMerge(`{`, `{}`, nil); return err }, "from: "},
		{"to is not an object", func() error { _, err := patch.DiffMerge(`{}`, `[]`, nil); return err }, "to: must be a JSON object"},
		{"raw is not JSON", func() error { _, err := patch.DiffMerge(`{}`, `{}`, &patch.Options{Raw: []byte(`k8s`)}); return err }, "raw: "},
		{"to can't be encoded", func() error { _, err := patch.DiffJSON(`{}`, func() {}, nil); return err }, "to: "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if err := tc.do(); err == nil || !strings.HasPrefix(err.Error(), tc.wantErr) {
				t.Errorf("error %v, want %s…", err, tc.wantErr)
			}
		})
	}
}
