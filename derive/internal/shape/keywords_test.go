// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package shape_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/invopop/jsonschema"

	"github.com/kube-go/sdk/derive/internal/shape"
	"github.com/kube-go/sdk/derive/internal/structural"
)

// document returns the JSON of a schema, including Extras.
func document(t *testing.T, s *jsonschema.Schema) string {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestParseTags(t *testing.T) {
	text, number, list := &jsonschema.Schema{Type: "string"}, &jsonschema.Schema{Type: "integer"}, &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Type: "string"}}
	for _, tt := range []struct {
		name  string
		field *jsonschema.Schema
		in    reflect.StructTag
		want  string
	}{
		{"no keywords", text, `json:"a"`, `true`},
		{"an escaped comma", text, `jsonschema:"pattern=^a{1\\,2}$,title=a"`, `{"pattern":"^a{1,2}$","title":"a"}`},
		{"an equals sign in a value", text, `jsonschema:"description=a=b"`, `{"description":"a=b"}`},
		{"jsonschema_description with a comma", text, `jsonschema_description:"a, b"`, `{"description":"a, b"}`},
		{"a default of the field's type", number, `jsonschema:"default=5,enum=5,enum=6"`, `{"enum":[5,6],"default":5}`},
		{"keywords of items", list, `jsonschema:"minItems=1,minLength=2,enum=ab,default=ab,default=ac"`, `{"items":{"enum":["ab"],"minLength":2},"minItems":1,"default":["ab","ac"]}`},
		{"another type allows other keywords", number, `jsonschema:"type=string,minLength=1"`, `{"type":"string","minLength":1}`},
		{"an integer or a string", text, `jsonschema:"oneof_type=string;integer,default=5"`, `{"default":5,"x-kubernetes-int-or-string":true}`},
		{"extended keywords", text, `jsonschema_extras:"nullable=true,x-kubernetes-validations=self != 'a\\,b'"`, `{"nullable":true,"x-kubernetes-validations":[{"rule":"self != 'a,b'"}]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tags, errs := shape.ParseTags(tt.in, tt.field, nil)
			if len(errs) > 0 {
				t.Fatalf("ParseTags(%s): %v", tt.in, errs)
			}
			if diff := cmp.Diff(tt.want, document(t, tags.Schema)); diff != "" {
				t.Errorf("ParseTags(%s) (-want +got):\n%s", tt.in, diff)
			}
		})
	}
}

func TestMergeReturnsConflicts(t *testing.T) {
	before := &jsonschema.Schema{Type: "string", Format: "byte", Description: "of the type"}
	tags := func(tag reflect.StructTag) *shape.Tags {
		s, errs := shape.ParseTags(tag, before, nil)
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		return s
	}
	field := shape.Clone(before)
	field.MaxLength = new(uint64(3)) // set by a marker
	if got := tags(`jsonschema:"maxLength=3,format=password,description=of the field"`).Merge(field, before); got != nil {
		t.Errorf("Merge = %v, want nil: the field can change keywords of its type", got)
	}
	if want := `{"type":"string","maxLength":3,"format":"password","description":"of the field"}`; document(t, field) != want {
		t.Errorf("Merge = %s, want %s", document(t, field), want)
	}
	if got := tags(`jsonschema:"maxLength=4" jsonschema_extras:"nullable=true"`).Merge(field, before); !cmp.Equal(got, []string{"maxLength"}) {
		t.Errorf("Merge = %v, want maxLength, which conflicts with the marker", got)
	}
	field.Extras = map[string]any{structural.KeyValidations: []structural.Rule{{Rule: "a"}}}
	if got := tags(`jsonschema_extras:"x-kubernetes-validations=b"`).Merge(field, before); got != nil {
		t.Errorf("Merge = %v, want nil: a field can have several rules", got)
	}
	if rules := field.Extras[structural.KeyValidations]; !cmp.Equal(rules, []structural.Rule{{Rule: "a"}, {Rule: "b"}}) {
		t.Errorf("rules = %v, want both", rules)
	}
}

func TestTypeSchema(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   []string
		want string // empty for nil
	}{
		{"a type", []string{"number"}, `{"type":"number","format":"f"}`},
		{"an object without properties", []string{"object"}, `{"type":"object","format":"f","x-kubernetes-preserve-unknown-fields":true}`},
		{"a list without a schema of its items", []string{"array"}, `{"items":{"x-kubernetes-preserve-unknown-fields":true},"type":"array","format":"f"}`},
		{"an integer or a string", []string{"integer", "string"}, `{"x-kubernetes-int-or-string":true}`},
		{"two other types", []string{"boolean", "string"}, ""},
		{"an unknown type", []string{"text"}, ""},
		{"no type", nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			if s := shape.TypeSchema(tt.in, "f"); s != nil {
				got = document(t, s)
			}
			if got != tt.want {
				t.Errorf("TypeSchema(%q) = %s, want %s", tt.in, got, tt.want)
			}
		})
	}
}

func FuzzParseTags(f *testing.F) {
	f.Add(`jsonschema:"title=A,minLength=2,pattern=a{1\\,3},enum=a,default=b,example=c"`, "string")
	f.Add(`jsonschema:"minimum=1e3,oneof_required=a,nullable,-,type=x" jsonschema_extras:"x-kubernetes-list-type=set,,="`, "array")
	f.Fuzz(func(t *testing.T, tag, typ string) {
		for _, field := range []*jsonschema.Schema{{Type: typ}, {Type: "array", Items: &jsonschema.Schema{Type: typ}}, {}} {
			tags, errs := shape.ParseTags(reflect.StructTag(tag), field, nil)
			for _, err := range errs {
				if err.Error() == "" {
					t.Errorf("ParseTags(%s) returns an error without a message", tag)
				}
			}
			if len(errs) > 0 {
				continue
			}
			before := shape.Clone(field)
			if conflicts := tags.Merge(field, before); conflicts != nil {
				t.Errorf("ParseTags(%s): Merge = %v, want no conflicts", tag, conflicts)
			}
			if _, err := json.Marshal(field); err != nil {
				t.Errorf("ParseTags(%s): %v", tag, err)
			}
		}
	})
}
