// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package sample_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/derive/internal/cel"
	"github.com/kube-go/sdk/derive/internal/openapi"
	"github.com/kube-go/sdk/derive/internal/sample"
	"github.com/kube-go/sdk/derive/internal/value"
)

// sampler returns a sampler that validates objects by their schema, and if ruled is set, by CEL rules.
func sampler(t *testing.T, schema string, ruled bool) *sample.Sampler {
	t.Helper()
	root := &openapi.Schema{}
	if err := wire.UnmarshalJSON([]byte(schema), root); err != nil {
		t.Fatal(err)
	}
	checker, rules := value.NewChecker(root), &cel.Rules{}
	if ruled {
		var err error
		if rules, err = cel.NewEnvironment().Rules(root, true); err != nil {
			t.Fatal(err)
		}
	}
	return sample.New(root, "example.com/v1", "Widget", func(obj, _ map[string]any) field.ErrorList {
		errs := checker.Check(nil, obj, nil)
		if !ruled || len(errs) > 0 {
			return errs
		}
		errs, _ = rules.Check(nil, obj, nil, nil, cel.Budget)
		return errs
	})
}

func TestObject(t *testing.T) {
	s := sampler(t, `{"type":"object","properties":{
		"metadata":{"type":"object"},
		"spec":{"type":"object","required":["size"],"properties":{
			"size":{"type":"integer","minimum":3},
			"color":{"type":"string","enum":["red","blue"]}
		},"x-kubernetes-validations":[{"rule":"self.size > 3"}]},
		"status":{"type":"object"}
	}}`, true)
	for full, want := range map[bool]map[string]any{
		false: {"size": int64(4)},
		true:  {"size": int64(4), "color": "red"},
	} {
		got, err := s.Object(full)
		if err != nil {
			t.Fatal(err)
		}
		object := map[string]any{
			"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "example"}, "spec": want,
		}
		if diff := cmp.Diff(object, got); diff != "" {
			t.Errorf("Object(%v): -want +got:\n%s", full, diff)
		}
	}
}

// FuzzPattern checks that generated strings match their pattern.
func FuzzPattern(f *testing.F) {
	for _, pattern := range []string{"^[a-z]+$", "^(a|b){3}-\\d+$", "x?y*z+", "^$", "[^a]", "\\bfoo\\b", "(?i)ABC", "^a{2,5}b$", "0^00", ".", "\\p{L}+", "a|", "^.{300}$"} {
		f.Add(pattern)
	}
	f.Fuzz(func(t *testing.T, pattern string) {
		re, err := regexp.Compile(pattern)
		if err != nil || len(pattern) > 100 {
			return
		}
		text, err := json.Marshal(pattern)
		if err != nil {
			t.Fatal(err)
		}
		s := sampler(t, `{"type":"object","required":["spec"],"properties":{"spec":{"type":"object","required":["a"],"properties":{
			"a":{"type":"string","pattern":`+string(text)+`}}}}}`, false)
		obj, err := s.Object(false)
		if err != nil {
			return
		}
		if text, ok := obj["spec"].(map[string]any)["a"].(string); !ok || !re.MatchString(text) {
			t.Errorf("%q does not match %q", text, pattern)
		}
	})
}

func TestChangesAreValidAndCanBeReverted(t *testing.T) {
	s := sampler(t, `{"type":"object","properties":{
		"metadata":{"type":"object"},
		"spec":{"type":"object","required":["size"],"properties":{
			"size":{"type":"integer","minimum":3,"maximum":5},
			"color":{"type":"string","enum":["red","blue"],"default":"red"},
			"fixed":{"type":"string","enum":["a"]},
			"parts":{"type":"array","maxItems":2,"items":{"type":"object","properties":{"name":{"type":"string","maxLength":1}}}},
			"labels":{"type":"object","additionalProperties":{"type":"boolean"}}
		},"x-kubernetes-validations":[{"rule":"self.size > 3"}]},
		"status":{"type":"object","properties":{"size":{"type":"integer"}}}
	}}`, true)
	obj := map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "example"},
		"spec": map[string]any{
			"size": int64(4), "fixed": "a", "parts": []any{map[string]any{"name": "x"}}, "labels": map[string]any{"a.b": true},
		},
		"status": map[string]any{"size": int64(1)},
	}
	var got []string
	for c := range s.Changes(obj) {
		got = append(got, fmt.Sprintf("%s: %v to %v", c.Path, c.Old, c.New))
	}
	want := []string{
		"spec: map[color:red fixed:a labels:map[a.b:true] parts:[map[name:x]] size:4] to <nil>",
		"spec.fixed: a to <nil>",
		"spec.labels: map[a.b:true] to <nil>",
		"spec.parts: [map[name:x]] to <nil>",
		"spec.color: red to blue",
		"spec.labels[a.b]: true to false",
		"spec.labels[a.b]: true to <nil>",
		"spec.labels.another: <nil> to false",
		"spec.parts[0].name: x to <nil>",
		"spec.parts[0].name: x to e",
		"spec.parts[1]: <nil> to map[name:x]",
		"spec.parts[0]: map[name:x] to <nil>",
		"spec.size: 4 to 5",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}
