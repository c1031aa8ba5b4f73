// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package validation_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/derive/validation"
)

// limitTime fails a test that takes too long.
func limitTime(t *testing.T) {
	t.Helper()
	start := time.Now()
	t.Cleanup(func() {
		if d := time.Since(start); d > 20*time.Second {
			t.Errorf("the test took %v, want at most 20 s", d)
		}
	})
}

// FuzzCheck checks that each problem has a message, that New accepts exactly the definitions without problems, and that
// samples of valid definitions are valid.
func FuzzCheck(f *testing.F) {
	for _, row := range readRows[definitionRow](f, "definitions.jsonl") {
		text, err := json.Marshal(row.Definition)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		crd := &unstructured.Unstructured{}
		if json.Unmarshal(text, &crd.Object) != nil || crd.Object == nil {
			return
		}
		limitTime(t)
		problems := validation.Check(crd)
		for _, p := range problems {
			if p.Message == "" {
				t.Errorf("problem at %q has no message", p.Field)
			}
		}
		for _, v := range definedVersions(crd) {
			val, err := validation.New(crd, v, nil)
			if (err == nil) != (len(problems) == 0) {
				t.Fatalf("Check = %v, New = %v", problems, err)
			}
			if err != nil {
				continue
			}
			if obj, err := val.Sample(true); err == nil && val.Create(obj) != nil {
				t.Errorf("Create of the sample %v = %v", obj.Object, val.Create(obj))
			}
		}
	})
}

func definedVersions(crd *unstructured.Unstructured) []string {
	var names []string
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, v := range versions {
		if v, ok := v.(map[string]any); ok {
			if name, ok := v["name"].(string); ok {
				names = append(names, name)
			}
		}
	}
	return names
}

// FuzzObject checks that all errors have the form of a server's response.
func FuzzObject(f *testing.F) {
	var kinds []*validation.Validator
	for _, row := range readRows[objectRow](f, "objects.jsonl") {
		if row.Definition != nil {
			v, err := validation.New(&unstructured.Unstructured{Object: row.Definition}, "v1", nil)
			if err != nil {
				f.Fatal(err)
			}
			kinds = append(kinds, v)
			continue
		}
		text, err := json.Marshal(row.Object)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, len(kinds)-1)
	}
	f.Fuzz(func(t *testing.T, text []byte, kind int) {
		limitTime(t)
		v := kinds[(kind%len(kinds)+len(kinds))%len(kinds)]
		for _, err := range []error{v.Create(text), v.Update(text, text)} {
			if err == nil {
				continue
			}
			if _, ok := errors.AsType[*core.StatusError](err); !ok {
				t.Errorf("error is not a StatusError: %v", err)
			}
		}
	})
}

// FuzzRule checks that each rule either compiles and can be evaluated, or is rejected with an error.
func FuzzRule(f *testing.F) {
	for _, rule := range []string{
		"self.a > 1", "self.list.all(x, x.size() < 5)", "self.?b.orValue('x') == self.b", "has(self.c) && self.c.d in ['x']",
		"self.m.exists(k, v, k == v)", "duration('1h') < duration(self.b)", "quantity(self.b).add(quantity('1')).sign() == 1",
		"isIP(self.b) || cidr(self.b).masked().prefixLength() > 3", "semver(self.b, true).compareTo(semver('1.2.3')) < 0",
		"format.named(self.b).value().validate(self.b).hasValue()", "url(self.b).getQuery()['a'].size() == 1", "self == oldSelf",
		"self.list.map(x, x + x).join('').find('(a|b)*') == ''", "self.b.matches(self.b)", "sets.equivalent(self.list, self.list + ['a'])",
	} {
		f.Add(rule, "'message'")
	}
	f.Fuzz(func(t *testing.T, rule, message string) {
		limitTime(t)
		crd := widget(t, `{type: object, properties: {a: {type: integer}, b: {type: string, maxLength: 20}, list: {type: array, maxItems: 5, items: {type: string, maxLength: 9}}, m: {type: object, maxProperties: 4, additionalProperties: {type: string, maxLength: 9}}, c: {type: object, properties: {d: {type: string, maxLength: 9}}}}}`)
		version := crd.Object["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any)
		schema := version["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any)
		spec := schema["properties"].(map[string]any)["spec"].(map[string]any)
		spec["x-kubernetes-validations"] = []any{map[string]any{"rule": rule, "message": "m", "messageExpression": message}}
		v, err := validation.New(crd, "v1", nil)
		if err != nil {
			return
		}
		obj := map[string]any{"metadata": map[string]any{"name": "x"}, "spec": map[string]any{
			"a": int64(1), "b": "text", "list": []any{"a", "b"}, "m": map[string]any{"k": "v"}, "c": map[string]any{"d": "e"},
		}}
		for _, err := range []error{v.Create(obj), v.Update(obj, obj)} {
			if _, ok := errors.AsType[*core.StatusError](err); err != nil && !ok {
				t.Errorf("error is not a StatusError: %v", err)
			}
		}
	})
}
