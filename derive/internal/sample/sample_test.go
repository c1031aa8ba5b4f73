// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package sample_test

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/derive/internal/sample"
	"github.com/kube-go/sdk/derive/internal/structural"
)

func TestObjectOfAStructuralSchema(t *testing.T) {
	schema := &structural.Schema{Type: "object", Properties: map[string]*structural.Schema{
		"metadata": {Type: "object"},
		"spec": {
			Type: "object", Required: []string{"size"},
			Properties: map[string]*structural.Schema{
				"size":  {Type: "integer", Minimum: json.Number("3")},
				"color": {Type: "string", Enum: []any{"red", "blue"}},
			},
			Validations: []structural.Rule{{Rule: "self.size > 3"}},
		},
		"status": {Type: "object"},
	}}
	s, err := sample.New(schema, "example.com/v1", "Widget")
	if err != nil {
		t.Fatal(err)
	}
	for full, want := range map[bool]map[string]any{
		false: {"size": int64(4)},
		true:  {"size": int64(4), "color": "red"},
	} {
		got, err := s.Object(full)
		if err != nil {
			t.Fatal(err)
		}
		whole := map[string]any{
			"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "example"}, "spec": want,
		}
		if diff := cmp.Diff(whole, got); diff != "" {
			t.Errorf("Object(%v): -want +got:\n%s", full, diff)
		}
	}
}

// A text that is made for a pattern matches it; for what can't be matched, there is no object.
func FuzzPattern(f *testing.F) {
	for _, pattern := range []string{"^[a-z]+$", "^(a|b){3}-\\d+$", "x?y*z+", "^$", "[^a]", "\\bfoo\\b", "(?i)ABC", "^a{2,5}b$", "0^00", ".", "\\p{L}+", "a|", "^.{300}$"} {
		f.Add(pattern)
	}
	f.Fuzz(func(t *testing.T, pattern string) {
		re, err := regexp.Compile(pattern)
		if err != nil || len(pattern) > 100 {
			return
		}
		schema := &structural.Schema{Type: "object", Required: []string{"spec"}, Properties: map[string]*structural.Schema{
			"spec": {Type: "object", Required: []string{"a"}, Properties: map[string]*structural.Schema{"a": {Type: "string", Pattern: pattern}}},
		}}
		s, err := sample.New(schema, "example.com/v1", "Widget")
		if err != nil {
			t.Fatal(err)
		}
		obj, err := s.Object(false)
		if err != nil {
			return
		}
		if text, ok := obj["spec"].(map[string]any)["a"].(string); !ok || !re.MatchString(text) {
			t.Errorf("%q does not match %q", text, pattern)
		}
	})
}
