// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package shape

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/kube-go/sdk/derive/internal/structural"
	"github.com/kube-go/sdk/derive/internal/suggest"
)

// Said is what the jsonschema tags of a field say, in the words of github.com/invopop/jsonschema.
type Said struct {
	Schema   *jsonschema.Schema // of the field, without what its type says
	Required bool
	OneOf    []string // the groups of alternatives that the field belongs to, of which exactly one may be there
	AnyOf    []string // the same, of which one at least must be there
}

// Say reads the jsonschema tags of a field whose schema is known. Resolve follows references to the schema that has a type.
// The errors name the tag.
func Say(tag reflect.StructTag, field *jsonschema.Schema, resolve func(*jsonschema.Schema) *jsonschema.Schema) (*Said, []error) {
	r := &reader{said: &Said{Schema: &jsonschema.Schema{}}, resolve: resolve, field: field}
	for _, k := range split(tag.Get("jsonschema")) {
		if k.name == "type" || k.name == "oneof_type" {
			r.note("jsonschema", k, r.retype(k))
		}
	}
	for _, k := range split(tag.Get("jsonschema")) {
		r.note("jsonschema", k, r.general(k))
	}
	if description := tag.Get("jsonschema_description"); description != "" {
		r.said.Schema.Description = description
	}
	for _, k := range split(tag.Get("jsonschema_extras")) {
		r.note("jsonschema_extras", k, r.extra(k))
	}
	return r.said, r.errs
}

type reader struct {
	said    *Said
	field   *jsonschema.Schema
	resolve func(*jsonschema.Schema) *jsonschema.Schema
	errs    []error
}

func (r *reader) note(tag string, k keyword, err error) {
	if err != nil {
		r.errs = append(r.errs, fmt.Errorf("tag %s: %s: %w", tag, k.name, err))
	}
}

// typeOf is the type of a schema, "" when it may be any or a number or a text.
func (r *reader) typeOf(s *jsonschema.Schema) string { return r.resolve(s).Type }

// keywords are the names that there are, and the type that each is about; "" is about the field itself.
func keywords() map[string]string {
	return map[string]string{
		"required": "", "nullable": "", "title": "", "description": "", "type": "", "oneof_type": "",
		"oneof_required": "", "anyof_required": "", "default": "", "example": "", "enum": "",
		"minLength": "string", "maxLength": "string", "pattern": "string", "format": "string",
		"minimum": "number", "maximum": "number", "exclusiveMinimum": "number", "exclusiveMaximum": "number", "multipleOf": "number",
		"minItems": "array", "maxItems": "array",
	}
}

// refused are the names that invopop/jsonschema has and servers have not, with the reason.
func refused(name string) string {
	switch name {
	case "uniqueItems":
		return `servers refuse it; use jsonschema_extras:"x-kubernetes-list-type=set"`
	case "readOnly", "writeOnly", "anchor":
		return "servers know no such keyword"
	case "oneof_ref", "anyof_ref":
		return "the schemas of servers have no references; use a struct with one field for each alternative"
	case "-":
		return "it stands alone, and leaves the field out"
	case "anyof_type":
		return "servers want one type; for an integer or a string, use intstr.IntOrString"
	}
	return ""
}

// retype reads what changes the type of a field.
func (r *reader) retype(k keyword) error {
	if k.name == "oneof_type" {
		s := Stated(strings.Split(k.value, ";"), "")
		if s == nil || s.Type != "" {
			return fmt.Errorf("%q: servers want one type, or integer;string", k.value)
		}
		r.said.Schema.Extras = s.Extras
		r.field = s
		return nil
	}
	if !isType(k.value) {
		return fmt.Errorf("%q is not one of %s%s", k.value, strings.Join(Types(), ", "), near(k.value, Types()))
	}
	r.said.Schema.Type = k.value
	if r.typeOf(r.field) != k.value {
		r.field = &jsonschema.Schema{Type: k.value}
	}
	return nil
}

// general reads one keyword.
func (r *reader) general(k keyword) error {
	about, known := keywords()[k.name]
	flag := k.name == "required" || k.name == "nullable"
	switch reason := refused(k.name); {
	case reason != "":
		return fmt.Errorf("%s", reason)
	case !known:
		return fmt.Errorf("there is no such keyword%s", near(k.name, slices.Sorted(maps.Keys(keywords()))))
	case flag && k.set:
		return fmt.Errorf("it has no value")
	case !flag && !k.set:
		return fmt.Errorf("it needs a value")
	}
	if about != "" {
		return r.bound(k, about)
	}
	s := r.said.Schema
	switch k.name {
	case "required":
		r.said.Required = true
	case "nullable":
		r.set(s, structural.KeyNullable, true)
	case "title":
		s.Title = k.value
	case "description":
		s.Description = k.value
	case "oneof_required":
		r.said.OneOf = append(r.said.OneOf, k.value)
	case "anyof_required":
		r.said.AnyOf = append(r.said.AnyOf, k.value)
	case "default", "example", "enum":
		return r.value(k)
	}
	return nil
}

// target is the schema that a keyword about values of a type is about: the field's, or that of its items.
func (r *reader) target(about string) (*jsonschema.Schema, error) {
	typ := r.typeOf(r.field)
	if r.is(r.field, about) {
		return r.said.Schema, nil
	}
	if items := r.resolve(r.field).Items; typ == "array" && items != nil && r.is(items, about) {
		if r.said.Schema.Items == nil {
			r.said.Schema.Items = &jsonschema.Schema{}
		}
		return r.said.Schema.Items, nil
	}
	return nil, fmt.Errorf("it restricts %s; this is %s", plural(about), r.describe())
}

// whole reports whether a target is about integers.
func (r *reader) whole(target *jsonschema.Schema) bool {
	of := r.field
	if target == r.said.Schema.Items {
		of = r.resolve(r.field).Items
	}
	return r.typeOf(of) == "integer"
}

func (r *reader) is(s *jsonschema.Schema, about string) bool {
	s = r.resolve(s)
	switch about {
	case "number":
		return s.Type == "number" || s.Type == "integer"
	case "string":
		return s.Type == "string" || s.Extras[structural.KeyIntOrString] == true
	}
	return s.Type == about
}

func (r *reader) describe() string {
	s := r.resolve(r.field)
	switch {
	case s.Extras[structural.KeyIntOrString] == true:
		return "an integer or string"
	case s.Type == "":
		return "of no certain type"
	case s.Type == "array" && s.Items != nil && r.typeOf(s.Items) != "":
		return "an array of type " + r.typeOf(s.Items)
	}
	return structural.Article(s.Type)
}

func plural(about string) string {
	switch about {
	case "string":
		return "texts"
	case "number":
		return "numbers"
	}
	return "lists"
}

// bound reads a keyword that restricts values of one type.
func (r *reader) bound(k keyword, about string) error {
	s, err := r.target(about)
	if err != nil {
		return err
	}
	switch k.name {
	case "minLength":
		return size(k.value, &s.MinLength)
	case "maxLength":
		return size(k.value, &s.MaxLength)
	case "minItems":
		return size(k.value, &s.MinItems)
	case "maxItems":
		return size(k.value, &s.MaxItems)
	case "format":
		s.Format = k.value
		return CheckFormat(k.value, "string")
	case "pattern":
		s.Pattern = k.value
		_, err := regexp.Compile(k.value)
		return err
	}
	n, err := number(k.value)
	if err == nil && r.whole(s) && strings.ContainsAny(k.value, ".eE") {
		return fmt.Errorf("%s is not a whole number, and the value is an integer", n)
	}
	switch k.name {
	case "minimum":
		s.Minimum = n
	case "maximum":
		s.Maximum = n
	case "exclusiveMinimum":
		s.ExclusiveMinimum = n
	case "exclusiveMaximum":
		s.ExclusiveMaximum = n
	case "multipleOf":
		s.MultipleOf = n
	}
	return err
}

// value reads a default, an example or one of the values of an enum. A list takes the first two an item at a time.
func (r *reader) value(k keyword) error {
	s, of := r.said.Schema, r.field
	list := r.typeOf(r.field) == "array"
	if list {
		if of = r.resolve(r.field).Items; of == nil {
			return fmt.Errorf("nothing is known of the items")
		}
		if k.name == "enum" {
			if s.Items == nil {
				s.Items = &jsonschema.Schema{}
			}
			s = s.Items
		}
	}
	v, err := r.parse(of, k.value)
	switch {
	case err != nil:
	case k.name == "enum":
		s.Enum = append(s.Enum, v)
	case k.name == "default" && list:
		items, _ := s.Default.([]any)
		s.Default = append(items, v)
	case k.name == "default":
		s.Default = v
	case list && len(s.Examples) > 0:
		s.Examples[0] = append(s.Examples[0].([]any), v) //nolint:forcetypeassert // the next line made it
	case list:
		s.Examples = []any{[]any{v}}
	default:
		s.Examples = append(s.Examples, v)
	}
	return err
}

// parse reads a value of the type that a schema has.
func (r *reader) parse(of *jsonschema.Schema, text string) (any, error) {
	of = r.resolve(of)
	switch {
	case of.Extras[structural.KeyIntOrString] == true:
		if _, err := strconv.Atoi(text); err == nil {
			return json.Number(text), nil
		}
		return text, nil
	case of.Type == "string":
		return text, nil
	case of.Type == "boolean":
		if text != "true" && text != "false" {
			return nil, fmt.Errorf("%q is neither true nor false", text)
		}
		return text == "true", nil
	case of.Type == "integer":
		n, err := number(text)
		if err == nil && strings.ContainsAny(text, ".eE") {
			return nil, fmt.Errorf("%s is not a whole number", text)
		}
		return n, err
	case of.Type == "number":
		return number(text)
	}
	return nil, fmt.Errorf("a tag can't spell a value of this type; use +kubebuilder:default and the like, or a method JSONSchemaExtend")
}

// number reads a number as JSON spells it.
func number(text string) (json.Number, error) {
	var n json.Number
	if err := json.Unmarshal([]byte(text), &n); err != nil || strings.HasPrefix(text, `"`) {
		return "", fmt.Errorf("%q is not a number", text)
	}
	return n, nil
}

func size(text string, bound **uint64) error {
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return fmt.Errorf("%q is not a whole number, zero or more", text)
	}
	*bound = &n
	return nil
}

func near(word string, words []string) string {
	if n := suggest.Nearest(word, words); n != "" {
		return fmt.Sprintf("; did you mean %s?", n)
	}
	return ""
}
