// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package value_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/derive/internal/openapi"
	"github.com/kube-go/sdk/derive/internal/value"
)

func keyed(keys ...string) *openapi.Schema {
	text := &openapi.Schema{Type: "string"}
	return &openapi.Schema{
		Type: "array", ListType: new("map"), ListMapKeys: keys,
		Items: &openapi.Items{Schema: &openapi.Schema{Type: "object", Properties: map[string]*openapi.Schema{"a": text, "b": text, "v": text}}},
	}
}

func TestItemsAreFoundByTheirKeys(t *testing.T) {
	item := func(a, b, v any) map[string]any { return map[string]any{"a": a, "b": b, "v": v} }
	old := []any{item("x", "y", "1"), item("x", "z", "2"), "odd", item("x", "z", "3"), map[string]any{"a": "x"}}
	tests := []struct {
		name string
		keys []string
		in   any
		want any
	}{
		{"by one key", []string{"a"}, item("x", "?", "?"), old[0]},
		{"by two keys, the first item counts", []string{"a", "b"}, item("x", "z", "?"), old[1]},
		{"not with other keys", []string{"a", "b"}, item("z", "x", "?"), nil},
		{"not without a key", []string{"a", "b"}, map[string]any{"a": "x"}, nil},
		{"not with a key that is no scalar", []string{"a"}, item([]any{"x"}, "y", "?"), nil},
		{"not what is no object", []string{"a"}, "odd", nil},
		{"keys don't run into each other", []string{"a", "b"}, item("x\" string \"z", "", "?"), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := value.IndexKeys(keyed(tt.keys...), old).Like(tt.in)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestUnchanged(t *testing.T) {
	list := keyed("a")
	s := &openapi.Schema{Type: "object", Properties: map[string]*openapi.Schema{
		"list": list, "atomic": {Type: "array", Items: &openapi.Items{Schema: &openapi.Schema{Type: "string"}}},
	}}
	one, two := map[string]any{"a": "1", "v": "x"}, map[string]any{"a": "2"}
	tests := []struct {
		name     string
		new, old map[string]any
		want     bool
	}{
		{"the same", map[string]any{"list": []any{one}}, map[string]any{"list": []any{one}}, true},
		{"items of a map may move", map[string]any{"list": []any{one, two}}, map[string]any{"list": []any{two, one}}, true},
		{"other items may not", map[string]any{"atomic": []any{"a", "b"}}, map[string]any{"atomic": []any{"b", "a"}}, false},
		{"a field more", map[string]any{"list": []any{one}, "atomic": []any{}}, map[string]any{"list": []any{one}}, false},
		{"an item less", map[string]any{"list": []any{one}}, map[string]any{"list": []any{one, two}}, false},
		{"what the schema does not have", map[string]any{"zz": "1"}, map[string]any{"zz": "1"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := value.Correlate(s, tt.new, tt.old).Unchanged(); got != tt.want {
				t.Errorf("Unchanged = %v", got)
			}
		})
	}
	if (*value.Correlated)(nil).Unchanged() {
		t.Error("a new value is said to be unchanged")
	}
}
