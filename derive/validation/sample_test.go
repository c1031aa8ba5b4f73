// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package validation_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/derive/validation"
)

// TestSamplesAreValid checks that samples are valid and deterministic, and that each mutation is rejected because of
// its rule, for kinds that use all keywords.
func TestSamplesAreValid(t *testing.T) {
	mutations := 0
	for _, row := range readRows[objectRow](t, "objects.jsonl") {
		if row.Definition == nil {
			continue
		}
		v, err := validation.New(&unstructured.Unstructured{Object: row.Definition}, "v1", nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, full := range []bool{false, true} {
			obj := sampleOf(t, v, full)
			if diff := cmp.Diff(obj, sampleOf(t, v, full)); diff != "" {
				t.Errorf("two samples differ:\n%s", diff)
			}
			if err := v.Create(obj); err != nil {
				t.Errorf("Create of the sample %v = %v", obj.Object, err)
			}
			if full {
				mutations += checkMutations(t, v, obj)
			}
		}
	}
	if mutations < 150 {
		t.Errorf("only %d mutations", mutations)
	}
}

func sampleOf(t *testing.T, v *validation.Validator, full bool) *unstructured.Unstructured {
	t.Helper()
	obj, err := v.Sample(full)
	if err != nil {
		t.Fatal(err)
	}
	return obj
}

func checkMutations(t *testing.T, v *validation.Validator, obj *unstructured.Unstructured) int {
	t.Helper()
	before := obj.DeepCopy()
	n := 0
	for m := range v.Mutations(obj) {
		if m.Object == nil {
			continue
		}
		n++
		err := v.Create(m.Object)
		if m.Update {
			err = v.Update(m.Object, obj)
		}
		status, _ := errors.AsType[*core.StatusError](err)
		if status == nil || !slices.ContainsFunc(status.Causes(), func(c metav1.StatusCause) bool { return cmp.Equal(c, m.Cause) }) {
			t.Errorf("%s: %v = %v, want %v", m.Rule, m.Object.Object, err, m.Cause)
		}
	}
	if diff := cmp.Diff(before, obj); diff != "" {
		t.Errorf("the sample has changed:\n%s", diff)
	}
	return n
}

func TestSamples(t *testing.T) {
	tests := []struct {
		name, in    string
		small, full string
	}{
		{
			"required and optional", `{type: object, required: [a], properties: {a: {type: string, minLength: 9}, b: {type: integer, minimum: 5}}}`,
			`{"a":"examplexx"}`, `{"a":"examplexx","b":5}`,
		},
		{
			"examples, defaults and enums come first", `{type: object, properties: {a: {type: string, example: e}, b: {type: string, default: d}, c: {type: string, enum: [x, z]}}}`,
			`{}`, `{"a":"e","b":"d","c":"x"}`,
		},
		{
			"patterns", `{type: object, required: [a, b, c], properties: {a: {type: string, pattern: "^[A-Z]{3}-[0-9]+$"}, b: {type: string, pattern: "^(foo|bar)$"}, c: {type: string, pattern: "^v\\d+(alpha\\d)?$", minLength: 5}}}`,
			`{"a":"AAA-0","b":"foo","c":"v0alpha0"}`, `{"a":"AAA-0","b":"foo","c":"v0alpha0"}`,
		},
		{
			"unions", `{type: object, properties: {a: {type: string}, b: {type: string}}, oneOf: [{required: [a]}, {required: [b]}]}`,
			`{"a":"example"}`, `{"b":"example"}`,
		},
		{
			"rules", `{type: object, required: [min, max], properties: {min: {type: integer}, max: {type: integer}}, x-kubernetes-validations: [{rule: "self.min * 2 < self.max"}]}`,
			`{"max":3,"min":1}`, `{"max":3,"min":1}`,
		},
		{
			"sets", `{type: object, properties: {a: {type: array, minItems: 3, x-kubernetes-list-type: set, items: {type: string}}}}`,
			`{}`, `{"a":["example","another","third"]}`,
		},
		{
			"embedded resources", `{type: object, required: [t], properties: {t: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}}}`,
			`{"t":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"example"}}}`, `{"t":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"example"}}}`,
		},
		{
			"fractions", `{type: object, required: [a, b], properties: {a: {type: number, minimum: 0.2, maximum: 0.4}, b: {type: number, multipleOf: 0.25, minimum: 0.3}}}`,
			`{"a":0.30000000000000004,"b":0.5}`, `{"a":0.30000000000000004,"b":0.5}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := validator(t, tt.in, nil)
			for full, want := range map[bool]string{false: tt.small, true: tt.full} {
				obj, err := v.Sample(full)
				if err != nil {
					t.Fatal(err)
				}
				got, err := json.Marshal(obj.Object["spec"])
				if err != nil {
					t.Fatal(err)
				}
				if string(got) != want {
					t.Errorf("Sample(%v) = %s, want %s", full, got, want)
				}
			}
		})
	}
}

func TestSampleOfUnsatisfiableRule(t *testing.T) {
	crd := widget(t, `{type: object, x-kubernetes-validations: [{rule: "false", message: never}]}`)
	version := crd.Object["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any)
	version["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any)["required"] = []any{"spec"}
	v, err := validation.New(crd, "v1", nil)
	if err != nil {
		t.Fatal(err)
	}
	if obj, err := v.Sample(false); err == nil || !strings.Contains(err.Error(), "never") {
		t.Errorf("Sample = %v, %v", obj, err)
	}
}
