// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package jsonschemas_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/kube-go/sdk/derive/internal/jsonschemas"
	"github.com/kube-go/sdk/derive/internal/kind"
	"github.com/kube-go/sdk/derive/internal/structural"
)

func door() *kind.Kind {
	return &kind.Kind{Group: "doors.example.com", Version: "v1beta1", Name: "FrontDoor", Plural: "frontdoors"}
}

// compiled returns a validator of the schema of a kind with a spec.
func compiled(t *testing.T, spec *structural.Schema) *jsonschema.Schema {
	t.Helper()
	text, err := jsonschemas.Render(door(), &structural.Schema{
		Type:       "object",
		Required:   []string{"spec"},
		Properties: map[string]*structural.Schema{"metadata": {Type: "object"}, "spec": spec},
	})
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("kind.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("kind.json")
	if err != nil {
		t.Fatalf("Compile: %v in\n%s", err, text)
	}
	return s
}

// object returns an object of the kind with a spec in JSON.
func object(t *testing.T, spec string) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(
		`{"apiVersion":"doors.example.com/v1beta1","kind":"FrontDoor","metadata":{"name":"a","labels":{"b":"c"}},"spec":` + spec + `}`))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestFileName(t *testing.T) {
	const want = "doors.example.com/frontdoor_v1beta1.json"
	if got := jsonschemas.FileName(door()); got != want {
		t.Errorf("FileName = %s, want %s", got, want)
	}
}

func TestSchemasSayWhatAServerSays(t *testing.T) {
	text := &structural.Schema{Type: "string"}
	object1 := func(s *structural.Schema) *structural.Schema {
		return &structural.Schema{Type: "object", Properties: map[string]*structural.Schema{"a": s}}
	}
	intOrString := []*structural.Schema{{Type: "integer"}, {Type: "string"}}
	for _, tt := range []struct {
		name string
		spec *structural.Schema
		good []string
		bad  []string
	}{
		{"unknown fields are invalid", object1(text), []string{`{"a":"x"}`, `{}`}, []string{`{"b":1}`, `{"a":1}`, `null`}},
		{"preserved unknown fields are valid", &structural.Schema{Type: "object", PreserveUnknownFields: true}, []string{`{"b":1}`}, []string{`1`}},
		{"an object without fields is empty", &structural.Schema{Type: "object"}, []string{`{}`}, []string{`{"a":1}`}},
		{"the values of a map have a schema", &structural.Schema{Type: "object", AdditionalProperties: text}, []string{`{"a":"b"}`}, []string{`{"a":1}`}},
		{"a field without a schema has any value", object1(&structural.Schema{PreserveUnknownFields: true}), []string{`{"a":{"b":[1]}}`, `{"a":null}`}, nil},
		{
			"required fields without a default are required",
			&structural.Schema{
				Type: "object", Required: []string{"a", "b"},
				Properties: map[string]*structural.Schema{"a": text, "b": {Type: "string", Default: "x"}},
			},
			[]string{`{"a":"x"}`},
			[]string{`{"b":"x"}`},
		},
		{"null is valid for nullable fields", object1(&structural.Schema{Type: "string", Nullable: true}), []string{`{"a":null}`, `{"a":"x"}`}, []string{`{"a":1}`}},
		{
			"branches do not restrict null",
			object1(&structural.Schema{Nullable: true, IntOrString: true, AnyOf: intOrString}),
			[]string{`{"a":null}`, `{"a":"x"}`, `{"a":1}`},
			[]string{`{"a":true}`},
		},
		{
			"an enum restricts null, as on a server",
			object1(&structural.Schema{Type: "string", Nullable: true, Enum: []any{"x"}}),
			[]string{`{"a":"x"}`},
			[]string{`{"a":null}`, `{"a":"y"}`},
		},
		{
			"integers or strings, with a pattern for strings",
			object1(&structural.Schema{IntOrString: true, AnyOf: intOrString, Pattern: "^[0-9]+%$"}),
			[]string{`{"a":5}`, `{"a":"5%"}`},
			[]string{`{"a":"5"}`, `{"a":1.5}`},
		},
		{
			"limits of numbers",
			object1(&structural.Schema{Type: "number", Minimum: "1", ExclusiveMaximum: true, Maximum: "2", MultipleOf: "0.25"}),
			[]string{`{"a":1}`, `{"a":1.75}`},
			[]string{`{"a":0.75}`, `{"a":2}`, `{"a":1.1}`},
		},
		{
			"limits of strings and lists",
			&structural.Schema{Type: "object", MinProperties: new(uint64(1)), MaxProperties: new(uint64(1)), Properties: map[string]*structural.Schema{
				"a": {Type: "string", MinLength: new(uint64(1)), MaxLength: new(uint64(2)), Format: "ipv4"},
				"b": {Type: "array", Items: text, MinItems: new(uint64(1)), MaxItems: new(uint64(2))},
			}},
			[]string{`{"b":["x"]}`},
			[]string{`{}`, `{"a":"abc"}`, `{"a":"x"}`, `{"b":[]}`, `{"b":["x","y","z"]}`, `{"b":["x"],"a":"1"}`},
		},
		{"items of sets are unique", &structural.Schema{Type: "array", ListType: "set", Items: text}, []string{`["a","b"]`}, []string{`["a","a"]`}},
		{
			"items of maps are unique",
			&structural.Schema{Type: "array", ListType: "map", ListMapKeys: []string{"a"}, Items: object1(text)},
			[]string{`[{"a":"x"},{"a":"y"}]`},
			[]string{`[{"a":"x"},{"a":"x"}]`},
		},
		{"bytes are in base64", object1(&structural.Schema{Type: "string", Format: "byte"}), []string{`{"a":"YQ=="}`, `{"a":""}`}, []string{`{"a":"!"}`}},
		{"durations are those of Go", object1(&structural.Schema{Type: "string", Format: "duration"}), []string{`{"a":"1h30m"}`}, nil},
		{
			"objects in an object have a kind",
			object1(&structural.Schema{Type: "object", EmbeddedResource: true, PreserveUnknownFields: true}),
			[]string{`{"a":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{}}}`},
			[]string{`{"a":{"kind":"Pod"}}`, `{"a":{"apiVersion":"v1","kind":""}}`, `{"a":{"apiVersion":"v1","kind":"Pod","metadata":{"nam":"x"}}}`},
		},
		{
			"branches restrict fields",
			&structural.Schema{
				Type:       "object",
				Properties: map[string]*structural.Schema{"a": text, "b": text, "l": {Type: "array", Items: text}, "m": {Type: "object", AdditionalProperties: text}},
				OneOf:      []*structural.Schema{{Required: []string{"a"}}, {Required: []string{"b"}}},
				AllOf: []*structural.Schema{{Properties: map[string]*structural.Schema{
					"a": {MaxLength: new(uint64(1))},
					"l": {Items: &structural.Schema{MaxLength: new(uint64(1))}},
					"m": {AdditionalProperties: &structural.Schema{MaxLength: new(uint64(1))}},
				}}},
				Not: &structural.Schema{Properties: map[string]*structural.Schema{"b": {Enum: []any{"x"}}}, Required: []string{"b"}},
			},
			[]string{`{"a":"x"}`, `{"b":"y"}`, `{"b":"y","l":["a"],"m":{"c":"d"}}`},
			[]string{`{}`, `{"a":"x","b":"y"}`, `{"a":"xx"}`, `{"b":"x"}`, `{"b":"y","l":["ab"]}`, `{"b":"y","m":{"c":"dd"}}`},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := compiled(t, tt.spec)
			for _, spec := range tt.good {
				if err := s.Validate(object(t, spec)); err != nil {
					t.Errorf("%s is invalid: %v", spec, err)
				}
			}
			for _, spec := range tt.bad {
				if err := s.Validate(object(t, spec)); err == nil {
					t.Errorf("%s is valid", spec)
				}
			}
		})
	}
}

func TestSchemasAreOfOneKind(t *testing.T) {
	s := compiled(t, &structural.Schema{Type: "object"})
	for _, bad := range []string{
		`{"apiVersion":"doors.example.com/v1","kind":"FrontDoor","spec":{}}`,
		`{"apiVersion":"doors.example.com/v1beta1","kind":"Door","spec":{}}`,
		`{"kind":"FrontDoor","spec":{}}`,
		`{"apiVersion":"doors.example.com/v1beta1","spec":{}}`,
		`{"apiVersion":"doors.example.com/v1beta1","kind":"FrontDoor"}`,
		`{"apiVersion":"doors.example.com/v1beta1","kind":"FrontDoor","spec":{},"metadata":{"lables":{}}}`,
		`{"apiVersion":"doors.example.com/v1beta1","kind":"FrontDoor","spec":{},"data":{}}`,
	} {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(bad))
		if err != nil {
			t.Fatal(err)
		}
		if s.Validate(v) == nil {
			t.Errorf("%s is valid", bad)
		}
	}
}

func TestSchemasKeepWhatEditorsShow(t *testing.T) {
	text, err := jsonschemas.Render(door(), &structural.Schema{Type: "object", Properties: map[string]*structural.Schema{
		"spec": {Type: "string", Title: "A title", Description: "<what> & why", Default: "x", Example: "y"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Properties struct{ Spec map[string]any } }
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{"title": "A title", "description": "<what> & why", "default": "x"} {
		if got.Properties.Spec[key] != want {
			t.Errorf("%s = %v, want %v", key, got.Properties.Spec[key], want)
		}
	}
	if !bytes.Contains(text, []byte("<what> & why")) {
		t.Errorf("the description is escaped:\n%s", text)
	}
}
