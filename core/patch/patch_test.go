// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package patch_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

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

func TestDiffMerge(t *testing.T) {
	for _, tc := range []struct{ name, from, to, want string }{
		{"equal objects have no difference", `{"a":{"b":[1]}}`, `{"a":{"b":[1]}}`, `{}`},
		{"a changed field is set", `{"a":1,"b":2}`, `{"a":3,"b":2}`, `{"a":3}`},
		{"a field that is gone is removed", `{"a":{"b":1,"c":2}}`, `{"a":{"b":1}}`, `{"a":{"c":null}}`},
		{"a new object is set whole", `{}`, `{"a":{"b":{}}}`, `{"a":{"b":{}}}`},
		{"a list is replaced whole", `{"a":[1,2]}`, `{"a":[1,2,3]}`, `{"a":[1,2,3]}`},
		{"an object replaces a string", `{"a":"b"}`, `{"a":{}}`, `{"a":{}}`},
		{"a string replaces an object", `{"a":{"b":1}}`, `{"a":"b"}`, `{"a":"b"}`},
		{"an object is emptied", `{"a":{"b":1}}`, `{"a":{}}`, `{"a":{"b":null}}`},
		{"a null counts as absent", `{"a":1,"b":null,"c":{"d":1}}`, `{"a":null,"c":{"d":1,"e":null}}`, `{"a":null}`},
		{"a null in a new object is left out", `{}`, `{"a":{"b":null}}`, `{"a":{}}`},
		{"a null in a list stays", `{"a":[]}`, `{"a":[null]}`, `{"a":[null]}`},
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

func TestDiffJSON(t *testing.T) {
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
			"elements are removed at the places that they have by then", `{"a":[1,2,3,4]}`, `{"a":[2,4]}`,
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
			if got, err := patch.ApplyJSON(tc.from, ops...); err != nil || encode(t, diffOf(t, got, tc.to)) != "null" {
				t.Errorf("ApplyJSON = %s, %v, want %s", got, err, tc.to)
			}
		})
	}
}

func diffOf(t *testing.T, from, to string) []request.Op {
	t.Helper()
	ops, err := patch.DiffJSON(from, to, nil)
	if err != nil {
		t.Fatal(err)
	}
	return ops
}

// A list that is too long to be aligned is still patched rightly.
func TestDiffJSONOfLongLists(t *testing.T) {
	var from, to []int
	for i := range 3000 {
		from, to = append(from, i), append(to, i*7%3001)
	}
	ops, err := patch.DiffJSON(from, to, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := patch.ApplyJSON(from, ops...)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(to, got); diff != "" {
		t.Errorf("ApplyJSON (-want +got):\n%s", diff)
	}
}

func TestDiffOfObjects(t *testing.T) {
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
	merged, err := patch.ApplyMerge(before, merge)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(after, merged); diff != "" {
		t.Errorf("after the merge patch (-want +got):\n%s", diff)
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
	patched, err := patch.ApplyJSON(*before, ops...)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(*after, patched); diff != "" {
		t.Errorf("after the JSON patch (-want +got):\n%s", diff)
	}

	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod", "spec": map[string]any{"n": int64(1)}}}
	changed := u.DeepCopy()
	changed.Object["spec"] = map[string]any{"n": 1.5}
	merge, err = patch.DiffMerge(u, changed, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := patch.ApplyMerge(u, merge)
	if diff := cmp.Diff(changed, got); err != nil || diff != "" {
		t.Errorf("of any kind, %v (-want +got):\n%s", err, diff)
	}
	if u.Object["spec"].(map[string]any)["n"] != int64(1) {
		t.Error("ApplyMerge changed its argument")
	}
}

func TestLock(t *testing.T) {
	lock := &patch.Options{Lock: true}
	for _, tc := range []struct{ name, from, to, wantErr string }{
		{"equal objects need no lock", `{"a":1}`, `{"a":1}`, ""},
		{"an object without a version can't be locked", `{"a":1}`, `{"a":2}`, "lock: from has no metadata.resourceVersion"},
		{
			"two versions can't both be locked",
			`{"metadata":{"resourceVersion":"1"}}`, `{"metadata":{"resourceVersion":"2"}}`, `from has metadata.resourceVersion "1" and to has "2"`,
		},
		{"an object that was built anew is compared with a version", `{"a":1,"metadata":{"resourceVersion":"1"}}`, `{"a":2}`, ""},
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

// The operations are the examples of RFC 6902, appendix A.
func TestApplyJSON(t *testing.T) {
	for _, tc := range []struct {
		name, doc string
		ops       []request.Op
		want      string
		wantErr   string
	}{
		{"adds a member", `{"foo":"bar"}`, []request.Op{{Op: "add", Path: "/baz", Value: "qux"}}, `{"baz":"qux","foo":"bar"}`, ""},
		{"adds an element", `{"foo":[1,3]}`, []request.Op{{Op: "add", Path: "/foo/1", Value: 2}}, `{"foo":[1,2,3]}`, ""},
		{"adds to the end", `{"foo":[1]}`, []request.Op{{Op: "add", Path: "/foo/-", Value: []int{2}}}, `{"foo":[1,[2]]}`, ""},
		{"adds text that looks like JSON", `{}`, []request.Op{{Op: "add", Path: "/a", Value: "{"}}, `{"a":"{"}`, ""},
		{"removes a member", `{"baz":1,"foo":2}`, []request.Op{{Op: "remove", Path: "/baz"}}, `{"foo":2}`, ""},
		{"removes an element", `{"foo":[1,2,3]}`, []request.Op{{Op: "remove", Path: "/foo/1"}}, `{"foo":[1,3]}`, ""},
		{"replaces a value", `{"baz":1,"foo":2}`, []request.Op{{Op: "replace", Path: "/baz", Value: true}}, `{"baz":true,"foo":2}`, ""},
		{
			"moves a value", `{"foo":{"bar":1,"w":2},"qux":{}}`,
			[]request.Op{{Op: "move", From: "/foo/w", Path: "/qux/t"}},
			`{"foo":{"bar":1},"qux":{"t":2}}`, "",
		},
		{"moves an element", `{"foo":[1,2,3,4]}`, []request.Op{{Op: "move", From: "/foo/1", Path: "/foo/3"}}, `{"foo":[1,3,4,2]}`, ""},
		{"copies a value", `{"a":{"b":1}}`, []request.Op{{Op: "copy", From: "/a", Path: "/a/c"}}, `{"a":{"b":1,"c":{"b":1}}}`, ""},
		{"tests values", `{"a":[1,"x"],"b":10}`, []request.Op{{Op: "test", Path: "/a", Value: []any{1.0, "x"}}}, `{"a":[1,"x"],"b":10}`, ""},
		{"refuses another value", `{"a":1}`, []request.Op{{Op: "test", Path: "/a", Value: "1"}}, "", "patch operation 0: test /a: the value is another"},
		{"reads escapes in the right order", `{"/":9,"~1":10}`, []request.Op{{Op: "test", Path: "/~01", Value: 10}}, `{"/":9,"~1":10}`, ""},
		{"adds to a nested list", `{"a":[[1]]}`, []request.Op{{Op: "add", Path: "/a/0/0", Value: 0}}, `{"a":[[0,1]]}`, ""},
		{"replaces the document", `{"a":1}`, []request.Op{{Op: "replace", Path: "", Value: []int{1}}}, `[1]`, ""},
		{"finds no parent", `{}`, []request.Op{{Op: "add", Path: "/a/b", Value: 1}}, "", "patch operation 0: add /a/b: there is nothing at the path"},
		{"finds no member", `{}`, []request.Op{{Op: "remove", Path: "/a"}}, "", "remove /a: there is nothing at the path"},
		{"finds nothing to replace", `{}`, []request.Op{{Op: "replace", Path: "/a", Value: 1}}, "", "replace /a: there is nothing"},
		{"finds nothing beneath a string", `{"a":"b"}`, []request.Op{{Op: "add", Path: "/a/b", Value: 1}}, "", "there is nothing"},
		{"wants an index in the list", `{"a":[1]}`, []request.Op{{Op: "add", Path: "/a/2", Value: 1}}, "", "index 2 is beyond the list's end"},
		{"wants an index without zeros", `{"a":[1]}`, []request.Op{{Op: "remove", Path: "/a/00"}}, "", `"00" is no index of a list`},
		{"wants no end when it removes", `{"a":[1]}`, []request.Op{{Op: "remove", Path: "/a/-"}}, "", `"-" is no index of a list`},
		{"wants a pointer", `{"a":1}`, []request.Op{{Op: "remove", Path: "a"}}, "", `"a" is not a JSON pointer`},
		{"knows its operations", `{}`, []request.Op{{Op: "grow", Path: "/a"}}, "", "is none of add, remove"},
		{"moves nothing into itself", `{"a":{}}`, []request.Op{{Op: "move", From: "/a", Path: "/a/b"}}, "", "/a can't be moved into itself"},
		{"finds nothing to copy", `{}`, []request.Op{{Op: "copy", From: "/a", Path: "/b"}}, "", "from /a: there is nothing at the path"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := patch.ApplyJSON(tc.doc, tc.ops...)
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Errorf("ApplyJSON: error %v, want %q", err, tc.wantErr)
				}
				return
			}
			if err != nil || got != tc.want {
				t.Errorf("ApplyJSON = %s, %v, want %s", got, err, tc.want)
			}
		})
	}
}

func TestApplyJSONBoundsWhatIsCopied(t *testing.T) {
	ops := []request.Op{{Op: "add", Path: "/a", Value: []int{1, 2, 3, 4}}}
	for range 64 {
		ops = append(ops, request.Op{Op: "copy", From: "/a", Path: "/a/-"})
	}
	_, err := patch.ApplyJSON(`{}`, ops...)
	if oe, ok := errors.AsType[*patch.OpError](err); !ok || !strings.Contains(err.Error(), "the patch copies more than") {
		t.Errorf("error %v, %v, want one about copies", err, oe)
	}
}

func TestErrorsKeepSecrets(t *testing.T) {
	_, err := patch.ApplyJSON(`{"a":1}`, request.Op{Op: "test", Path: "/a", Value: "hunter2"})
	if !errors.Is(err, patch.ErrTest) || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("error %v, want ErrTest without the value", err)
	}
}

func TestDocumentsThatAreNone(t *testing.T) {
	for _, tc := range []struct {
		name    string
		do      func() error
		wantErr string
	}{
		{"from is no JSON", func() error { _, err := patch.DiffMerge(`{`, `{}`, nil); return err }, "from: "},
		{"to is no object", func() error { _, err := patch.DiffMerge(`{}`, `[]`, nil); return err }, "to: must be a JSON object"},
		{"to can't be encoded", func() error { _, err := patch.DiffJSON(`{}`, func() {}, nil); return err }, "to: "},
		{"the document is no JSON", func() error { _, err := patch.ApplyJSON(`{`); return err }, "document: "},
		{"the merge patch is no JSON", func() error { _, err := patch.ApplyMerge(`{}`, `{`); return err }, "merge patch: "},
		{"the value can't be encoded", func() error {
			_, err := patch.ApplyJSON(`{}`, request.Op{Op: "add", Path: "/a", Value: func() {}})
			return err
		}, "patch operation 0: add /a: value: "},
		{"the result does not fit the type", func() error {
			_, err := patch.ApplyMerge(corev1.Pod{}, `{"spec":"x"}`)
			return err
		}, "patched document: "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if err := tc.do(); err == nil || !strings.HasPrefix(err.Error(), tc.wantErr) {
				t.Errorf("error %v, want %s…", err, tc.wantErr)
			}
		})
	}
}
