// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package structural_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/invopop/jsonschema"

	"github.com/kube-go/sdk/derive/internal/structural"
)

// doc decodes a document.
func doc(t *testing.T, text string) *jsonschema.Schema {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	return &s
}

func TestRewrite(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   string
		want string
	}{
		{
			"a reference is replaced by its definition, and the field's description wins",
			`{"type":"object","properties":{"a":{"$ref":"#/$defs/A","description":"field"},"b":{"$ref":"#/$defs/A"}},
			 "$defs":{"A":{"type":"string","description":"type","maxLength":5}}}`,
			`{"type":"object","properties":{"a":{"type":"string","description":"field","maxLength":5},"b":{"type":"string","description":"type","maxLength":5}}}`,
		},
		{
			"a reference to a reference",
			`{"$ref":"#/$defs/A","$defs":{"A":{"$ref":"#/$defs/B","minLength":1},"B":{"type":"string"}}}`,
			`{"type":"string","minLength":1}`,
		},
		{
			"different bounds of a field and its type are combined",
			`{"$ref":"#/$defs/A","maxLength":3,"pattern":"^a","maximum":4,"enum":["x"],"$defs":{"A":{"maxLength":5,"pattern":"b$","exclusiveMaximum":4,"enum":["y"],"minLength":1}}}`,
			`{"minLength":1,"allOf":[
				{"maxLength":5,"pattern":"b$","maximum":4,"exclusiveMaximum":true,"enum":["y"]},
				{"maxLength":3,"pattern":"^a","maximum":4,"enum":["x"]}]}`,
		},
		{
			"two enums become their intersection",
			`{"$ref":"#/$defs/A","enum":["y","x"],"$defs":{"A":{"enum":["x","z","y"]}}}`,
			`{"enum":["x","y"]}`,
		},
		{
			"equal bounds are merged",
			`{"$ref":"#/$defs/A","maxLength":5,"maximum":4,"enum":["x"],"$defs":{"A":{"maxLength":5,"maximum":4,"enum":["x"]}}}`,
			`{"maxLength":5,"maximum":4,"enum":["x"]}`,
		},
		{
			"keywords of items are merged",
			`{"$ref":"#/$defs/A","items":{"maxLength":3},"$defs":{"A":{"type":"array","items":{"type":"string","minLength":1}}}}`,
			`{"type":"array","items":{"type":"string","minLength":1,"maxLength":3}}`,
		},
		{
			"embedded properties are inlined, and hidden by properties of the same name",
			`{"type":"object","required":["b"],"properties":{"a":{"type":"string"},"b":{"type":"string"}},"allOf":[{"$ref":"#/$defs/A"}],
			 "$defs":{"A":{"type":"object","description":"no","required":["a","c"],"properties":{"a":{"type":"integer"},"c":{"type":"boolean"}}}}}`,
			`{"type":"object","required":["b","c"],"properties":{"a":{"type":"string"},"b":{"type":"string"},"c":{"type":"boolean"}}}`,
		},
		{
			"exclusive bounds are flags",
			`{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1.5}`,
			`{"type":"number","minimum":0,"exclusiveMinimum":true,"maximum":1.5,"exclusiveMaximum":true}`,
		},
		{
			"unknown properties are pruned or preserved",
			`{"type":"object","properties":{"a":{"type":"object","additionalProperties":false},"b":{"type":"object","additionalProperties":true},"c":{"type":"object","additionalProperties":{"type":"string"}}}}`,
			`{"type":"object","properties":{"a":{"type":"object"},"b":{"type":"object","x-kubernetes-preserve-unknown-fields":true},"c":{"type":"object","additionalProperties":{"type":"string"}}}}`,
		},
		{
			"base64 becomes a format, a constant becomes an enum, and the first example is kept",
			`{"type":"object","properties":{"a":{"type":"string","contentEncoding":"base64"},"b":{"const":"x"},"c":{"type":"string","examples":["e","f"]}}}`,
			`{"type":"object","properties":{"a":{"type":"string","format":"byte"},"b":{"enum":["x"]},"c":{"type":"string","example":"e"}}}`,
		},
		{
			"the schema of metadata is removed",
			`{"type":"object","properties":{"metadata":{"type":"object","description":"no","properties":{"name":{"type":"string"}}}},"$defs":{}}`,
			`{"type":"object","properties":{"metadata":{"type":"object"}}}`,
		},
		{
			"alternatives are unchanged",
			`{"oneOf":[{"required":["a"]},{"required":["b"]}],"anyOf":[{"required":["c"]}],"not":{"required":["d"]}}`,
			`{"oneOf":[{"required":["a"]},{"required":["b"]}],"anyOf":[{"required":["c"]}],"not":{"required":["d"]}}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := doc(t, tt.in)
			s, err := structural.Rewrite(in)
			if err != nil {
				t.Fatalf("Rewrite: %v", err)
			}
			if diff := cmp.Diff(decoded(t, []byte(tt.want)), encoded(t, s)); diff != "" {
				t.Errorf("Rewrite (-want +got):\n%s", diff)
			}
			again, err := structural.Rewrite(in)
			if err != nil {
				t.Fatalf("Rewrite again: %v", err)
			}
			if diff := cmp.Diff(encoded(t, s), encoded(t, again)); diff != "" {
				t.Errorf("Rewrite modified the document (-first +second):\n%s", diff)
			}
		})
	}
}

func encoded(t *testing.T, v any) any {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return decoded(t, b)
}

func decoded(t *testing.T, b []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestRewriteDecodesExtras(t *testing.T) {
	rules := []structural.Rule{{Rule: "true"}}
	in := &jsonschema.Schema{Type: "array", Extras: map[string]any{
		structural.KeyNullable:    true,
		structural.KeyListType:    "map",
		structural.KeyListMapKeys: []string{"name"},
		structural.KeyMapType:     "atomic",
		structural.KeyValidations: rules,
	}}
	got, err := structural.Rewrite(in)
	if err != nil {
		t.Fatal(err)
	}
	want := &structural.Schema{Type: "array", Nullable: true, ListType: "map", ListMapKeys: []string{"name"}, MapType: "atomic", Validations: rules}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(structural.Schema{})); diff != "" {
		t.Errorf("Rewrite (-want +got):\n%s", diff)
	}
}

func TestRewriteRemovesTypeOfIntOrString(t *testing.T) {
	got, err := structural.Rewrite(&jsonschema.Schema{Type: "string", Pattern: "^a", Extras: map[string]any{structural.KeyIntOrString: true}})
	if err != nil {
		t.Fatal(err)
	}
	want := &structural.Schema{IntOrString: true, Pattern: "^a", AnyOf: []*structural.Schema{{Type: "integer"}, {Type: "string"}}}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(structural.Schema{})); diff != "" {
		t.Errorf("Rewrite (-want +got):\n%s", diff)
	}
}

func TestRewriteRejectsInvalidReferences(t *testing.T) {
	for _, tt := range []struct {
		name, in, want string
	}{
		{"a type that contains itself", `{"$ref":"#/$defs/A","$defs":{"A":{"items":{"$ref":"#/$defs/B"}},"B":{"items":{"$ref":"#/$defs/A"}}}}`, "type A contains itself (A → B → A): structural schemas can't be recursive"},
		{"a reference without a definition", `{"properties":{"a":{"$ref":"#/$defs/A"}}}`, `reference "#/$defs/A" does not exist`},
		{"a reference to another document", `{"$ref":"https://example.com/a"}`, `reference "https://example.com/a" does not exist`},
	} {
		_, err := structural.Rewrite(doc(t, tt.in))
		if err == nil || err.Error() != tt.want {
			t.Errorf("%s: Rewrite = %v, want %s", tt.name, err, tt.want)
		}
	}
}

func TestCheckKeys(t *testing.T) {
	const list = `{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],"items":%s}`
	for _, tt := range []struct{ name, items, want string }{
		{"a required key", `{"required":["name"],"properties":{"name":{"type":"string"}}}`, ""},
		{"a key with a default", `{"properties":{"name":{"type":"string","default":"x"}}}`, ""},
		{"an optional key", `{"properties":{"name":{"type":"string"}}}`, `.spec.*.rows: the +listMapKey "name" is optional`},
		{"a key that does not exist", `{"properties":{}}`, `.spec.*.rows: the +listMapKey "name" is optional`},
	} {
		text := `{"properties":{"spec":{"additionalProperties":{"properties":{"rows":` + fmt.Sprintf(list, tt.items) + `}}}}}`
		var s structural.Schema
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			t.Fatal(err)
		}
		err := s.CheckKeys()
		if got := fmt.Sprint(err); (err == nil) != (tt.want == "") || !strings.HasPrefix(got, tt.want) && err != nil {
			t.Errorf("%s: CheckKeys = %v, want %q", tt.name, err, tt.want)
		}
	}
}

func TestAccepts(t *testing.T) {
	for _, tt := range []struct {
		name   string
		schema string
		value  string
		want   string // empty if the value is valid
	}{
		{"a string", `{"type":"string"}`, `"a"`, ""},
		{"a number instead of a string", `{"type":"string"}`, `1`, "1 is not a string"},
		{"a string instead of an integer", `{"type":"integer"}`, `"a"`, `"a" is not an integer`},
		{"a fraction instead of an integer", `{"type":"integer"}`, `1.5`, "1.5 is not an integer"},
		{"an integer that is a number", `{"type":"number"}`, `1`, ""},
		{"a boolean", `{"type":"boolean"}`, `true`, ""},
		{"a string instead of a boolean", `{"type":"boolean"}`, `"true"`, `"true" is not a boolean`},
		{"a list instead of an object", `{"type":"object"}`, `[]`, "[] is not an object"},
		{"any value without a type", `{}`, `[1]`, ""},
		{"null", `{"type":"string"}`, `null`, "null is not a string"},
		{"null with nullable", `{"type":"string","nullable":true}`, `null`, ""},
		{"a value of an enum", `{"type":"string","enum":["a","b"]}`, `"b"`, ""},
		{"a value that is not in the enum", `{"type":"string","enum":["a","b"]}`, `"c"`, `"c" is not one of ["a","b"]`},
		{"a string that is too long", `{"type":"string","maxLength":2}`, `"äöü"`, `"äöü" is longer than the maximum length 2`},
		{"a string of the maximum length", `{"type":"string","maxLength":3}`, `"äöü"`, ""},
		{"a string that is too short", `{"type":"string","minLength":2}`, `"ä"`, `"ä" is shorter than the minimum length 2`},
		{"a string that does not match the pattern", `{"type":"string","pattern":"^a"}`, `"b"`, `"b" does not match ^a`},
		{"a number above the maximum", `{"type":"integer","maximum":3}`, `4`, "4 is above the maximum 3"},
		{"a number at an exclusive maximum", `{"type":"integer","maximum":3,"exclusiveMaximum":true}`, `3`, "3 is above the maximum 3"},
		{"a number below the minimum", `{"type":"integer","minimum":3}`, `2`, "2 is below the minimum 3"},
		{"a number at an exclusive minimum", `{"type":"integer","minimum":3,"exclusiveMinimum":true}`, `3`, "3 is below the minimum 3"},
		{"a multiple", `{"type":"number","multipleOf":0.1}`, `0.3`, ""},
		{"a number that is not a multiple", `{"type":"integer","multipleOf":5}`, `12`, "12 is not a multiple of 5"},
		{"an integer or string", `{"x-kubernetes-int-or-string":true}`, `"50%"`, ""},
		{"neither an integer nor a string", `{"x-kubernetes-int-or-string":true}`, `true`, "true is neither an integer nor a string"},
		{"too many items", `{"type":"array","maxItems":1}`, `[1,2]`, "2 items exceed the maximum of 1"},
		{"too few items", `{"type":"array","minItems":1}`, `[]`, "0 items are below the minimum of 1"},
		{"an invalid item", `{"type":"array","items":{"type":"string"}}`, `["a",1]`, "item 1: 1 is not a string"},
		{"a missing field", `{"type":"object","required":["a"],"properties":{"a":{}}}`, `{}`, `field "a" is missing`},
		{"a missing field with a default", `{"type":"object","required":["a"],"properties":{"a":{"default":1}}}`, `{}`, ""},
		{"an invalid field", `{"type":"object","properties":{"a":{"type":"string"}}}`, `{"a":1}`, "a: 1 is not a string"},
		{"an unknown field", `{"type":"object","properties":{"a":{"type":"string"}}}`, `{"b":1}`, `unknown field "b"`},
		{"an unknown field that is preserved", `{"type":"object","x-kubernetes-preserve-unknown-fields":true}`, `{"b":1}`, ""},
		{"an invalid value of a map", `{"type":"object","additionalProperties":{"type":"string"}}`, `{"b":1}`, "b: 1 is not a string"},
		{"a violated branch of allOf", `{"type":"string","allOf":[{"maxLength":5},{"maxLength":3}]}`, `"abcd"`, `"abcd" is longer than the maximum length 3`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var s structural.Schema
			if err := json.Unmarshal([]byte(tt.schema), &s); err != nil {
				t.Fatal(err)
			}
			got := ""
			if err := s.Accepts(numbers(t, tt.value)); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("Accepts(%s) = %q, want %q", tt.value, got, tt.want)
			}
		})
	}
}

func TestImpossible(t *testing.T) {
	for _, tt := range []struct {
		name   string
		schema string
		want   string // empty if a value can be valid
	}{
		{"bounds that allow one value", `{"minLength":2,"maxLength":2,"minimum":3,"maximum":3}`, ""},
		{"an enum with one allowed value", `{"enum":["a","bb"],"maxLength":1}`, ""},
		{"an enum without allowed values", `{"enum":["aa","bb"],"maxLength":1}`, `the other keywords allow none of the enum values ["aa","bb"]`},
		{"disjoint enums", `{"allOf":[{"enum":["a"]},{"enum":["b"]}]}`, `the other keywords allow none of the enum values ["a"]`},
		{"lengths", `{"maxLength":1,"allOf":[{"minLength":2}]}`, "at least 2 characters are required, but at most 1 are allowed"},
		{"items", `{"minItems":2,"maxItems":1}`, "at least 2 items are required, but at most 1 are allowed"},
		{"fields", `{"minProperties":2,"maxProperties":1}`, "at least 2 fields are required, but at most 1 are allowed"},
		{"numbers", `{"allOf":[{"minimum":2.5},{"maximum":2}]}`, "no value is both greater than or equal to 2.5 and less than or equal to 2"},
		{"an exclusive bound that excludes the only value", `{"minimum":2,"maximum":2,"exclusiveMaximum":true}`, "no value is both greater than or equal to 2 and less than 2"},
		{"an exclusive bound below another bound", `{"minimum":0,"exclusiveMinimum":true,"maximum":100}`, ""},
		{"an exclusive bound above another bound", `{"minimum":0,"maximum":100,"exclusiveMaximum":true}`, ""},
		{"exclusive bounds", `{"minimum":0,"exclusiveMinimum":true,"maximum":1,"exclusiveMaximum":true}`, ""},
		{"bounds that are not multiples", `{"minimum":1,"maximum":65535,"multipleOf":2}`, ""},
		{"items of a list", `{"type":"array","items":{"minimum":2,"maximum":1}}`, "items: no value is both greater than or equal to 2 and less than or equal to 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var s structural.Schema
			if err := json.Unmarshal([]byte(tt.schema), &s); err != nil {
				t.Fatal(err)
			}
			if got := s.Impossible(); got != tt.want {
				t.Errorf("Impossible() = %q, want %q", got, tt.want)
			}
		})
	}
}

// numbers decodes JSON with json.Number for numbers.
func numbers(t *testing.T, text string) any {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestRewriteAcceptsReflectedDocuments checks documents of [jsonschema.Reflect].
func TestRewriteAcceptsReflectedDocuments(t *testing.T) {
	type Row struct {
		Size int `json:"size" jsonschema:"minimum=1,exclusiveMaximum=10"`
	}
	type Spec struct {
		Title string            `json:"title" jsonschema:"maxLength=80,description=Title shown to readers."`
		Level string            `json:"level,omitempty" jsonschema:"enum=low,enum=high,default=low"`
		Bytes []byte            `json:"bytes,omitempty"`
		Time  time.Time         `json:"time,omitempty"`
		Rows  []Row             `json:"rows,omitempty"`
		Tags  map[string]string `json:"tags,omitempty"`
	}
	got, err := structural.Rewrite(jsonschema.Reflect(&Spec{}))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"type":"object","required":["title"],"properties":{
		"title":{"type":"string","maxLength":80,"description":"Title shown to readers."},
		"level":{"type":"string","enum":["low","high"],"default":"low"},
		"bytes":{"type":"string","format":"byte"},
		"time":{"type":"string","format":"date-time"},
		"rows":{"type":"array","items":{"type":"object","required":["size"],
			"properties":{"size":{"type":"integer","minimum":1,"maximum":10,"exclusiveMaximum":true}}}},
		"tags":{"type":"object","additionalProperties":{"type":"string"}}}}`
	if diff := cmp.Diff(decoded(t, []byte(want)), encoded(t, got)); diff != "" {
		t.Errorf("Rewrite (-want +got):\n%s", diff)
	}
}
