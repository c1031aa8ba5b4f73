// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package reflected_test

import (
	"encoding/json"
	"errors"
	"math/big"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/invopop/jsonschema"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/derive/internal/reflected"
	"github.com/kube-go/sdk/derive/internal/structural"
)

type (
	a struct {
		X string `json:"x"`
	}
	// Left and Right are exported because they are embedded by pointer.
	Left struct {
		X string `json:"x"`
	}
	Right struct {
		X string `json:"x"`
	}
	ambiguous struct {
		*Left
		*Right
	}
	promoted struct {
		metav1.Time
		Zone string `json:"zone"`
	}
	unexported  struct{ *a }
	tree[T any] struct {
		Value    T         `json:"value"`
		Children []tree[T] `json:"children"`
	}
	lists    []lists
	name     string
	embedded struct {
		name //nolint:unused // the error of the test
		A    name
		a    `json:",inline" jsonschema:"title=A"`
	}
	inline struct {
		A a `json:",inline"`
	}
	untagged struct {
		A string
		B string `json:",omitempty"`
	}
	objectTags struct {
		metav1.TypeMeta   `json:"typeMeta"`
		metav1.ObjectMeta `json:"meta"`
	}
)

// oneName returns a struct with duplicate JSON names, which go vet rejects in source code.
func oneName() reflect.Type {
	text := reflect.TypeFor[string]()
	return reflect.StructOf([]reflect.StructField{
		{Name: "A", Type: text, Tag: `json:"a"`},
		{Name: "B", Type: text, Tag: `json:"a"`},
	})
}

type marshaler struct{}

func (*marshaler) MarshalJSON() ([]byte, error) { return nil, nil }

type describer struct{ A string }

func (describer) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "integer", Extras: map[string]any{"nullable": true}}
}

// inherited has a promoted JSONSchema method, which does not describe its own fields.
type inherited struct {
	describer `json:"-"`
	B         string `json:"b"`
}

// The following types declare a method and embed one of the same name, or have a promoted method only.
type (
	generic[T any] struct {
		Value T `json:"value"`
	}
	ownValue        struct{ describer }
	ownPointer      struct{ *describer }
	ownGeneric      struct{ generic[describer] }
	promotedPointer struct {
		*generic[string] `json:"-"`

		B string `json:"b"`
	}
	nestedPromoted struct {
		promotedPointer `json:"-"`

		B string `json:"b"`
	}
	promotedInterface struct {
		Schemer `json:"-"`

		B string `json:"b"`
	}
)

// Schemer is an embedded interface.
type Schemer interface{ JSONSchema() *jsonschema.Schema }

func (*generic[T]) JSONSchema() *jsonschema.Schema { return &jsonschema.Schema{Type: "boolean"} }

func (o ownValue) JSONSchema() *jsonschema.Schema { return o.describer.JSONSchema() }

func (*ownPointer) JSONSchema() *jsonschema.Schema { return text() }

func (ownGeneric) JSONSchema() *jsonschema.Schema { return text() }

func text() *jsonschema.Schema { return &jsonschema.Schema{Type: "string"} }

type nilSchema struct{}

func (*nilSchema) JSONSchema() *jsonschema.Schema { return nil }

type referrer struct{}

func (referrer) JSONSchema() *jsonschema.Schema { return jsonschema.Reflect(a{}) }

type extended struct {
	A string `json:"a"`
}

func (*extended) JSONSchemaExtend(s *jsonschema.Schema) { s.MinProperties = new(uint64(1)) }

type alias struct{}

func (alias) JSONSchemaAlias() any { return 1.5 }

type noAlias struct{}

func (noAlias) JSONSchemaAlias() any { return nil }

type properties struct {
	A any `json:"a"`
	B int `json:"b"`
}

func (properties) JSONSchemaProperty(name string) any {
	if name == "a" {
		return []string{}
	}
	return nil
}

type unknownType struct{}

func (unknownType) OpenAPISchemaType() []string { return []string{"text"} }

type unsupported struct{}

func (unsupported) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "object", PatternProperties: map[string]*jsonschema.Schema{"a": {}}}
}

type misspelt struct{}

func (misspelt) JSONSchemaExtend(s *jsonschema.Schema) {
	s.Extras = map[string]any{"x-kubernetes-map-typ": "atomic"}
}

type wrongType struct{}

func (wrongType) JSONSchemaExtend(s *jsonschema.Schema) {
	s.Extras = map[string]any{"x-kubernetes-map-type": 1}
}

func describe(t reflect.Type) (*structural.Schema, error) {
	doc, errs := reflected.Describe(t)
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return structural.Rewrite(doc)
}

func TestSchemaMethods(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   reflect.Type
		want string
	}{
		{"JSONSchema", reflect.TypeFor[[]describer](), `{"type":"array","items":{"type":"integer","nullable":true}}`},
		{"JSONSchema of an embedded struct is ignored", reflect.TypeFor[inherited](), `{"type":"object","properties":{"b":{"type":"string"}},"required":["b"]}`},
		{"JSONSchema that calls an embedded one", reflect.TypeFor[ownValue](), `{"type":"integer","nullable":true}`},
		{"JSONSchema of a pointer with an embedded pointer", reflect.TypeFor[ownPointer](), `{"type":"string"}`},
		{"JSONSchema with an embedded generic type", reflect.TypeFor[ownGeneric](), `{"type":"string"}`},
		{"JSONSchema of an embedded pointer to a generic type", reflect.TypeFor[promotedPointer](), `{"type":"object","properties":{"b":{"type":"string"}},"required":["b"]}`},
		{"JSONSchema of a nested embedded struct", reflect.TypeFor[nestedPromoted](), `{"type":"object","properties":{"b":{"type":"string"}},"required":["b"]}`},
		{"JSONSchema of an embedded interface", reflect.TypeFor[promotedInterface](), `{"type":"object","properties":{"b":{"type":"string"}},"required":["b"]}`},
		{"JSONSchema of a generic type", reflect.TypeFor[generic[int]](), `{"type":"boolean"}`},
		{"JSONSchemaExtend", reflect.TypeFor[extended](), `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"minProperties":1}`},
		{"JSONSchemaAlias", reflect.TypeFor[alias](), `{"type":"number"}`},
		{"JSONSchemaProperty", reflect.TypeFor[properties](), `{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"}},"b":{"type":"integer"}},"required":["a","b"]}`},
		{
			"two types with the same name",
			reflect.StructOf([]reflect.StructField{{Name: "A", Type: oneT(), Tag: `json:"a"`}, {Name: "B", Type: otherT(), Tag: `json:"b"`}}),
			`{"type":"object","required":["a","b"],"properties":{"a":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},
			 "b":{"type":"object","properties":{"b":{"type":"integer"}},"required":["b"]}}}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := describe(tt.in)
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(decode(t, tt.want), decode(t, string(text))); diff != "" {
				t.Errorf("schema (-want +got):\n%s", diff)
			}
		})
	}
}

// oneT and otherT return types with the same name.
func oneT() reflect.Type {
	type T struct {
		A string `json:"a"`
	}
	return reflect.TypeFor[T]()
}

func otherT() reflect.Type {
	type T struct {
		B int `json:"b"`
	}
	return reflect.TypeFor[T]()
}

func decode(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestMistakes(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   reflect.Type
		want string
	}{
		{"an interface", reflect.TypeFor[any](), "the type: an interface has no schema: use runtime.RawExtension for any object, or a struct with one field for each alternative"},
		{"a channel", reflect.TypeFor[chan int](), `the type: a channel can't be stored in an object: remove the field, or omit it with json:"-"`},
		{"a function", reflect.TypeFor[func()](), `the type: a function can't be stored in an object: remove the field, or omit it with json:"-"`},
		{"a complex number", reflect.TypeFor[complex64](), "the type: a complex64 can't be stored in an object: use a string or a number"},
		{"a map with integer keys", reflect.TypeFor[map[int]string](), "the type: the keys of a map must be strings, not int: use a string type, or a list of structs"},
		{"a duplicate name in embedded structs", reflect.TypeFor[ambiguous](), `ambiguous: two embedded structs have a field with the JSON name "x", so encoding/json omits both: declare it in the struct itself, or rename one of them`},
		{"an embedded MarshalJSON", reflect.TypeFor[promoted](), "promoted: it has the MarshalJSON method of the embedded Time, so encoding/json writes only this field: give the embedded field a name"},
		{"an embedded pointer to an unexported struct", reflect.TypeFor[unexported](), "unexported.a: encoding/json can't decode into an embedded pointer to an unexported struct: embed the struct itself, or export its type"},
		{"a type that contains itself", reflect.TypeFor[tree[int]](), `tree.Children: type tree contains itself, but schemas of CRDs can't be recursive: tag the recursive field with jsonschema_extras:"x-kubernetes-preserve-unknown-fields=true", so that servers do not validate it`},
		{"a list that contains itself", reflect.TypeFor[lists](), "lists: type lists contains itself, but schemas of CRDs can't be recursive: use runtime.RawExtension for its elements"},
		{"an embedded type that is not a struct", reflect.TypeFor[embedded](), `embedded.A: the field has no json tag: add json:"a", or json:"-" to omit the field
embedded.a: a jsonschema tag has no effect on an embedded struct: tag its fields instead`},
		{"inline without embedding", reflect.TypeFor[inline](), `inline.A: only embedded structs without a JSON name are inlined by encoding/json: embed the type, or give the field a JSON name without "inline"`},
		{"a duplicate name", oneName(), `B: field A has the same JSON name "a": rename one of them`},
		{"metadata without its name", reflect.TypeFor[objectTags](), `objectTags.TypeMeta: kind and apiVersion must be fields of the object itself: tag it json:",inline"
objectTags.ObjectMeta: the metadata of an object is in its field metadata: tag it json:"metadata,omitempty"`},
		{"no names", reflect.TypeFor[untagged](), `untagged.A: the field has no json tag: add json:"a", or json:"-" to omit the field
untagged.B: the json tag has no name: add json:"b", or json:"-" to omit the field`},
		{"a MarshalJSON", reflect.TypeFor[marshaler](), "marshaler: it has its own MarshalJSON, so its schema does not follow from its Go type: add a method JSONSchema() *jsonschema.Schema or OpenAPISchemaType() []string"},
		{"a MarshalJSON of another module", reflect.TypeFor[big.Int](), "Int: it has its own MarshalJSON, so its schema does not follow from its Go type: add a method JSONSchema() *jsonschema.Schema or OpenAPISchemaType() []string"},
		{"JSONSchema that returns nil", reflect.TypeFor[nilSchema](), "nilSchema: JSONSchema returns no schema: return a schema without references, for example from a jsonschema.Reflector with DoNotReference"},
		{"JSONSchema that returns references", reflect.TypeFor[referrer](), "referrer: JSONSchema returns a schema with references: return a schema without references, for example from a jsonschema.Reflector with DoNotReference"},
		{"JSONSchemaAlias that returns nil", reflect.TypeFor[noAlias](), "noAlias: JSONSchemaAlias returns nil: return a value of another type"},
		{"OpenAPISchemaType that returns an unknown type", reflect.TypeFor[unknownType](), "unknownType: OpenAPISchemaType returns an unknown type: return one of string, integer, number, boolean, array and object"},
		{"an unsupported keyword", reflect.TypeFor[unsupported](), "keyword patternProperties is not supported in CustomResourceDefinitions: use a rule in x-kubernetes-validations"},
		{"a misspelled extended keyword", reflect.TypeFor[misspelt](), "unknown keyword x-kubernetes-map-typ; did you mean x-kubernetes-map-type?"},
		{"an extended keyword of another type", reflect.TypeFor[wrongType](), "extended keywords: cannot unmarshal number into Go struct field extended.x-kubernetes-map-type of type string"},
		{"an invalid default", reflect.TypeFor[struct {
			A string `json:"a" jsonschema:"maxLength=1,default=ab"`
		}](), `A: tag jsonschema: default: "ab" is longer than the maximum length 1`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := describe(tt.in)
			if err == nil {
				t.Fatalf("Describe = %+v, want an error", s)
			}
			if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

type (
	twice[T any] struct {
		A *T `json:"a"`
		B *T `json:"b"`
	}
	doubled[T any]   = twice[twice[twice[twice[twice[T]]]]]
	redoubled[T any] = doubled[doubled[doubled[doubled[T]]]]
)

// TestSchemaSizeIsLimited checks that small types can't create a huge schema.
func TestSchemaSizeIsLimited(t *testing.T) {
	_, err := describe(reflect.TypeFor[redoubled[string]]())
	if err == nil || !strings.Contains(err.Error(), "expands the schema to more than 100000 fields") {
		t.Errorf("error = %v, want one about the size", err)
	}
}
