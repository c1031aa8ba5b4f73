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

func TestLikeFindsItemsByKeys(t *testing.T) {
	item := func(a, b, v any) map[string]any { return map[string]any{"a": a, "b": b, "v": v} }
	old := []any{item("x", "y", "1"), item("x", "z", "2"), "odd", item("x", "z", "3"), map[string]any{"a": "x"}}
	tests := []struct {
		name string
		keys []string
		in   any
		want any
	}{
		{"one key", []string{"a"}, item("x", "?", "?"), old[0]},
		{"two keys, the first of two items", []string{"a", "b"}, item("x", "z", "?"), old[1]},
		{"other keys", []string{"a", "b"}, item("z", "x", "?"), nil},
		{"a missing key", []string{"a", "b"}, map[string]any{"a": "x"}, nil},
		{"a key that is not a scalar", []string{"a"}, item([]any{"x"}, "y", "?"), nil},
		{"an item that is not an object", []string{"a"}, "odd", nil},
		{"keys with quotes", []string{"a", "b"}, item("x\" string \"z", "", "?"), nil},
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
		{"equal values", map[string]any{"list": []any{one}}, map[string]any{"list": []any{one}}, true},
		{"a reordered list of type map", map[string]any{"list": []any{one, two}}, map[string]any{"list": []any{two, one}}, true},
		{"a reordered atomic list", map[string]any{"atomic": []any{"a", "b"}}, map[string]any{"atomic": []any{"b", "a"}}, false},
		{"an additional field", map[string]any{"list": []any{one}, "atomic": []any{}}, map[string]any{"list": []any{one}}, false},
		{"a removed item", map[string]any{"list": []any{one}}, map[string]any{"list": []any{one, two}}, false},
		{"an unknown field", map[string]any{"zz": "1"}, map[string]any{"zz": "1"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := value.Correlate(s, tt.new, tt.old).Unchanged(); got != tt.want {
				t.Errorf("Unchanged = %v", got)
			}
		})
	}
	if (*value.Correlated)(nil).Unchanged() {
		t.Error("Unchanged of a new value = true, want false")
	}
}
