// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package patch_test

import (
	"testing"

	"github.com/kube-go/sdk/core/internal/patchtest"
	"github.com/kube-go/sdk/core/patch"
	"github.com/kube-go/sdk/core/wire"
)

func seeds(f *testing.F) {
	f.Helper()
	f.Add(`{"a":[1,2,{"name":"x","v":1}],"b":{"c":null}}`, `{"a":[{"name":"y"},{"name":"x","v":2},1],"b":{"d":[]}}`)
	f.Add(`{"a":{"b":{"c":1}}}`, `{"a":{"b":"c"}}`)
	f.Add(`{"~/":1,"":{"":0}}`, `{"":{"":-0.0},"/~":1e3}`)
	f.Add(`[[],[1,1,2]]`, `[[1],[2,1,1],null]`)
	f.Add(`9007199254740993`, `9007199254740992.0`)
}

func parsed(text string) (v any) {
	if err := wire.UnmarshalJSON([]byte(text), &v); err != nil {
		return nil // null is a document, too
	}
	return v
}

// FuzzDiffJSON checks that a JSON patch turns one document into exactly the other.
func FuzzDiffJSON(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, a, b string) {
		from, to := parsed(a), parsed(b)
		ops, err := patch.DiffJSON(&from, &to, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := patchtest.ApplyJSON(&from, ops)
		if err != nil {
			t.Fatalf("%s to %s: %v", a, b, err)
		}
		if left, err := patch.DiffJSON(&got, &to, nil); err != nil || len(left) > 0 {
			t.Errorf("%s to %s by %s: %s is left, %v", a, b, encode(t, ops), encode(t, left), err)
		}
		raw := []byte(encode(t, from))
		if again, err := patch.DiffJSON(&from, &to, &patch.Options{Raw: raw}); err != nil || encode(t, again) != encode(t, ops) {
			t.Errorf("%s to %s by %s, and by %s, %v with itself as Raw", a, b, encode(t, ops), encode(t, again), err)
		}
	})
}

// FuzzDiffMerge checks that a merge patch turns one document into the other, except for nulls.
func FuzzDiffMerge(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, a, b string) {
		from, to := parsed(a), parsed(b)
		diff, err := patch.DiffMerge(&from, &to, nil)
		if err != nil {
			return // not an input of the function
		}
		got, err := patchtest.ApplyMerge(&from, diff)
		if err != nil {
			t.Fatal(err)
		}
		if left, err := patch.DiffMerge(&got, &to, nil); err != nil || len(left) > 0 {
			t.Errorf("%s to %s by %s: %s is left, %v", a, b, encode(t, diff), encode(t, left), err)
		}
		if left, err := patch.DiffJSON(withoutNulls(got), withoutNulls(to), nil); err != nil || len(left) > 0 {
			t.Errorf("%s to %s by %s: %s is left, %v", a, b, encode(t, diff), encode(t, left), err)
		}
	})
}

// withoutNulls removes the members that are null, except for those in lists.
func withoutNulls(v any) any {
	object, ok := v.(map[string]any)
	if !ok {
		return v
	}
	clean := map[string]any{}
	for name, value := range object {
		if value != nil {
			clean[name] = withoutNulls(value)
		}
	}
	return clean
}
