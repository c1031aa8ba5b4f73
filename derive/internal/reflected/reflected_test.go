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
	// Left and Right are embedded by pointers, which must be exported.
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
		name //nolint:unused // which is what is wrong with it
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
)

// oneName returns a struct such as vet does not let one write.
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

// heir has the method of what it embeds, which says nothing of its own fields.
type heir struct {
	describer `json:"-"`
	B         string `json:"b"`
}

// Those that follow have a method of their own beside one that they embed, or only such a one, in each way that there is.
type (
	general[T any] struct {
		Value T `json:"value"`
	}
	ownValue   struct{ describer }
	ownPointer struct{ *describer }
	ownGeneral struct{ general[describer] }
	noneOwn    struct {
		*general[string] `json:"-"`

		B string `json:"b"`
	}
	deepDown struct {
		noneOwn `json:"-"`

		B string `json:"b"`
	}
	throughInterface struct {
		Schemer `json:"-"`

		B string `json:"b"`
	}
)

// Schemer is embedded.
type Schemer interface{ JSONSchema() *jsonschema.Schema }

func (*general[T]) JSONSchema() *jsonschema.Schema { return &jsonschema.Schema{Type: "boolean"} }

func (o ownValue) JSONSchema() *jsonschema.Schema { return o.describer.JSONSchema() }

func (*ownPointer) JSONSchema() *jsonschema.Schema { return text() }

func (ownGeneral) JSONSchema() *jsonschema.Schema { return text() }

func text() *jsonschema.Schema { return &jsonschema.Schema{Type: "string"} }

type silent struct{}

func (*silent) JSONSchema() *jsonschema.Schema { return nil }

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

type strange struct{}

func (strange) OpenAPISchemaType() []string { return []string{"text"} }

type vast struct{}

func (vast) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "object", PatternProperties: map[string]*jsonschema.Schema{"a": {}}}
}

type misspelt struct{}

func (misspelt) JSONSchemaExtend(s *jsonschema.Schema) {
	s.Extras = map[string]any{"x-kubernetes-map-typ": "atomic"}
}

type illTyped struct{}

func (illTyped) JSONSchemaExtend(s *jsonschema.Schema) {
	s.Extras = map[string]any{"x-kubernetes-map-type": 1}
}

func describe(t reflect.Type) (*structural.Schema, error) {
	doc, errs := reflected.Describe(t)
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return structural.Rewrite(doc)
}

func TestTypesSayTheirSchemaInMethods(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   reflect.Type
		want string
	}{
		{"JSONSchema", reflect.TypeFor[[]describer](), `{"type":"array","items":{"type":"integer","nullable":true}}`},
		{"JSONSchema of an embedded struct is not that of the struct around it", reflect.TypeFor[heir](), `{"type":"object","properties":{"b":{"type":"string"}},"required":["b"]}`},
		{"JSONSchema beside one that is embedded, which it calls", reflect.TypeFor[ownValue](), `{"type":"integer","nullable":true}`},
		{"JSONSchema of a pointer beside one that is embedded by a pointer", reflect.TypeFor[ownPointer](), `{"type":"string"}`},
		{"JSONSchema beside that of a generic type", reflect.TypeFor[ownGeneral](), `{"type":"string"}`},
		{"JSONSchema of an embedded pointer to a generic type", reflect.TypeFor[noneOwn](), `{"type":"object","properties":{"b":{"type":"string"}},"required":["b"]}`},
		{"JSONSchema of what is embedded in an embedded struct", reflect.TypeFor[deepDown](), `{"type":"object","properties":{"b":{"type":"string"}},"required":["b"]}`},
		{"JSONSchema of an embedded interface", reflect.TypeFor[throughInterface](), `{"type":"object","properties":{"b":{"type":"string"}},"required":["b"]}`},
		{"JSONSchema of a generic type", reflect.TypeFor[general[int]](), `{"type":"boolean"}`},
		{"JSONSchemaExtend", reflect.TypeFor[extended](), `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"minProperties":1}`},
		{"JSONSchemaAlias", reflect.TypeFor[alias](), `{"type":"number"}`},
		{"JSONSchemaProperty", reflect.TypeFor[properties](), `{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"}},"b":{"type":"integer"}},"required":["a","b"]}`},
		{
			"two types of one name",
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

// oneT and otherT return types that are called alike.
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
		{"an interface", reflect.TypeFor[any](), "the type: an interface has no schema: use runtime.RawExtension for any object, or a struct that has one field for each alternative"},
		{"a channel", reflect.TypeFor[chan int](), `the type: a channel can't be stored in an object: remove the field, or leave it out with json:"-"`},
		{"a function", reflect.TypeFor[func()](), `the type: a function can't be stored in an object: remove the field, or leave it out with json:"-"`},
		{"a complex number", reflect.TypeFor[complex64](), "the type: a complex64 can't be stored in an object: use a string or a number"},
		{"keys that are numbers", reflect.TypeFor[map[int]string](), "the type: the keys of a map must be strings, not int: use a string type, or a list of structs"},
		{"a name twice at one depth", reflect.TypeFor[ambiguous](), `ambiguous: two embedded structs have a field with the JSON name "x", so encoding/json leaves out both: declare it in the struct itself, or give one of them another name`},
		{"a MarshalJSON that is embedded", reflect.TypeFor[promoted](), "promoted: it has the MarshalJSON of the embedded Time, so encoding/json writes that and no other field: give the embedded field a name"},
		{"an embedded pointer that is not exported", reflect.TypeFor[unexported](), "unexported.a: encoding/json can't decode into an embedded pointer to a struct that is not exported: embed the struct itself, or export its type"},
		{"a type that contains itself", reflect.TypeFor[tree[int]](), `tree.Children: type tree contains itself, and the schema of a CRD can't: tag the field where it does with jsonschema_extras:"x-kubernetes-preserve-unknown-fields=true", so that a server stops checking there`},
		{"a list that contains itself", reflect.TypeFor[lists](), "lists: type lists contains itself, and the schema of a CRD can't: use runtime.RawExtension for what is in it"},
		{"embedding what is no struct", reflect.TypeFor[embedded](), `embedded.A: the field has no json tag: add json:"a", or json:"-" to leave the field out
embedded.a: a jsonschema tag has no effect on an embedded struct: its fields become those of the struct around it: tag them`},
		{"inline and not embedded", reflect.TypeFor[inline](), `inline.A: encoding/json puts the fields of embedded structs without a JSON name inline, and no others: embed the type, or give the field a JSON name without "inline"`},
		{"a name twice", oneName(), `B: field A has the JSON name "a" too: give one of them another`},
		{"no names", reflect.TypeFor[untagged](), `untagged.A: the field has no json tag: add json:"a", or json:"-" to leave the field out
untagged.B: the json tag has no name: add json:"b", or json:"-" to leave the field out`},
		{"a MarshalJSON", reflect.TypeFor[marshaler](), "marshaler: it has a MarshalJSON of its own, so its Go type does not tell its schema: say it with a method JSONSchema() *jsonschema.Schema, or with OpenAPISchemaType() []string"},
		{"a MarshalJSON of another module", reflect.TypeFor[big.Int](), "Int: it has a MarshalJSON of its own, so its Go type does not tell its schema: say it with a method JSONSchema() *jsonschema.Schema, or with OpenAPISchemaType() []string"},
		{"JSONSchema that returns nothing", reflect.TypeFor[silent](), "silent: JSONSchema returns no schema: return one schema that is complete, as jsonschema.Reflector makes it with DoNotReference"},
		{"JSONSchema that returns references", reflect.TypeFor[referrer](), "referrer: JSONSchema returns a schema with references: return one schema that is complete, as jsonschema.Reflector makes it with DoNotReference"},
		{"JSONSchemaAlias that returns nothing", reflect.TypeFor[noAlias](), "noAlias: JSONSchemaAlias returns nil: return a value of another type"},
		{"OpenAPISchemaType that returns something else", reflect.TypeFor[strange](), "strange: OpenAPISchemaType returns no type that servers know: return one of string, integer, number, boolean, array and object"},
		{"a keyword that servers don't know", reflect.TypeFor[vast](), "the schemas of servers have no keyword patternProperties; use a rule in x-kubernetes-validations"},
		{"an extended keyword that is misspelt", reflect.TypeFor[misspelt](), "the schemas of servers have no keyword x-kubernetes-map-typ; did you mean x-kubernetes-map-type?"},
		{"an extended keyword of another type", reflect.TypeFor[illTyped](), "extended keywords: cannot unmarshal number into Go struct field extended.x-kubernetes-map-type of type string"},
		{"a default that does not fit", reflect.TypeFor[struct {
			A string `json:"a" jsonschema:"maxLength=1,default=ab"`
		}](), `A: tag jsonschema: default: "ab" is longer than 1`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := describe(tt.in)
			if err == nil {
				t.Fatalf("no error, but %+v", s)
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

// A schema may not grow beyond all bounds, even though each type in it is small.
func TestSchemasAreBounded(t *testing.T) {
	_, err := describe(reflect.TypeFor[redoubled[string]]())
	if err == nil || !strings.Contains(err.Error(), "makes the schema grow beyond 100000 fields") {
		t.Errorf("error = %v, want one about the size", err)
	}
}
