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

// Tags contains the parsed jsonschema tags of a field, in the syntax of github.com/invopop/jsonschema.
type Tags struct {
	Schema   *jsonschema.Schema // the keywords of the field, without those of its type
	Required bool
	OneOf    []string // the groups of the field of which exactly one must be present
	AnyOf    []string // the groups of the field of which at least one must be present
}

// ParseTags parses the jsonschema tags of a field with a given schema, which may refer to definitions. The errors contain
// the names of the tag and the keyword.
func ParseTags(tag reflect.StructTag, field *jsonschema.Schema, defs jsonschema.Definitions) (*Tags, []error) {
	r := &reader{tags: &Tags{Schema: &jsonschema.Schema{}}, defs: defs, field: field}
	for _, k := range split(tag.Get("jsonschema")) {
		if k.name == "type" || k.name == "oneof_type" {
			r.note("jsonschema", k, r.retype(k))
		}
	}
	for _, k := range split(tag.Get("jsonschema")) {
		r.note("jsonschema", k, r.general(k))
	}
	if description := tag.Get("jsonschema_description"); description != "" {
		r.tags.Schema.Description = description
	}
	for _, k := range split(tag.Get("jsonschema_extras")) {
		r.note("jsonschema_extras", k, r.extra(k))
	}
	return r.tags, r.errs
}

type reader struct {
	tags  *Tags
	field *jsonschema.Schema
	defs  jsonschema.Definitions
	errs  []error
}

// Resolve follows references to a schema with a type. It returns the last schema if a definition does not exist.
func Resolve(defs jsonschema.Definitions, s *jsonschema.Schema) *jsonschema.Schema {
	for s.Type == "" && s.Ref != "" {
		def := defs[strings.TrimPrefix(s.Ref, structural.DefPrefix)]
		if def == nil {
			return s
		}
		s = def
	}
	return s
}

func (r *reader) resolve(s *jsonschema.Schema) *jsonschema.Schema { return Resolve(r.defs, s) }

func (r *reader) note(tag string, k keyword, err error) {
	if err != nil {
		r.errs = append(r.errs, fmt.Errorf("tag %s: %s: %w", tag, k.name, err))
	}
}

// typeOf returns the type of a schema, or "" for any type and for int-or-string.
func (r *reader) typeOf(s *jsonschema.Schema) string { return r.resolve(s).Type }

// keywords returns the supported keywords with the types that they apply to. The type is empty for keywords that apply
// to the field itself.
func keywords() map[string]string {
	return map[string]string{
		"required": "", "nullable": "", "title": "", "description": "", "type": "", "oneof_type": "",
		"oneof_required": "", "anyof_required": "", "default": "", "example": "", "enum": "",
		"minLength": "string", "maxLength": "string", "pattern": "string", "format": "string",
		"minimum": "number", "maximum": "number", "exclusiveMinimum": "number", "exclusiveMaximum": "number", "multipleOf": "number",
		"minItems": "array", "maxItems": "array",
	}
}

// refused returns the reason why a keyword of invopop/jsonschema is not supported, or "".
func refused(name string) string {
	switch name {
	case "uniqueItems":
		return `the keyword is not supported in CustomResourceDefinitions: use jsonschema_extras:"x-kubernetes-list-type=set"`
	case "readOnly", "writeOnly", "anchor":
		return "the keyword is not supported in CustomResourceDefinitions"
	case "oneof_ref", "anyof_ref":
		return "references are not supported in CustomResourceDefinitions: use a struct with one field for each alternative"
	case "-":
		return `it can't be combined with other keywords: use jsonschema:"-" to omit the field`
	case "anyof_type":
		return "several types are not supported in CustomResourceDefinitions: for an integer or a string, use intstr.IntOrString"
	}
	return ""
}

// retype parses a keyword that changes the type of a field.
func (r *reader) retype(k keyword) error {
	if k.name == "oneof_type" {
		s := TypeSchema(strings.Split(k.value, ";"), "")
		if s == nil || s.Type != "" {
			return fmt.Errorf("%q is not supported in CustomResourceDefinitions: use one type, or integer;string", k.value)
		}
		r.tags.Schema.Extras = s.Extras
		r.field = s
		return nil
	}
	if !isType(k.value) {
		return fmt.Errorf("%q is not one of %s%s", k.value, strings.Join(Types(), ", "), near(k.value, Types()))
	}
	r.tags.Schema.Type = k.value
	if r.typeOf(r.field) != k.value {
		r.field = &jsonschema.Schema{Type: k.value}
	}
	return nil
}

// general parses one keyword.
func (r *reader) general(k keyword) error {
	kind, known := keywords()[k.name]
	flag := k.name == "required" || k.name == "nullable"
	switch reason := refused(k.name); {
	case reason != "":
		return fmt.Errorf("%s", reason)
	case !known:
		return fmt.Errorf("unknown keyword%s", near(k.name, slices.Sorted(maps.Keys(keywords()))))
	case flag && k.set:
		return fmt.Errorf("the keyword does not take a value")
	case !flag && !k.set:
		return fmt.Errorf("the value is missing")
	}
	if kind != "" {
		return r.bound(k, kind)
	}
	s := r.tags.Schema
	switch k.name {
	case "required":
		r.tags.Required = true
	case "nullable":
		r.set(s, structural.KeyNullable, true)
	case "title":
		s.Title = k.value
	case "description":
		s.Description = k.value
	case "oneof_required":
		r.tags.OneOf = append(r.tags.OneOf, k.value)
	case "anyof_required":
		r.tags.AnyOf = append(r.tags.AnyOf, k.value)
	case "default", "example", "enum":
		return r.value(k)
	}
	return nil
}

// target returns the schema that a keyword for a type applies to: the schema of the field or of its items.
func (r *reader) target(kind string) (*jsonschema.Schema, error) {
	typ := r.typeOf(r.field)
	if r.is(r.field, kind) {
		return r.tags.Schema, nil
	}
	if items := r.resolve(r.field).Items; typ == "array" && items != nil && r.is(items, kind) {
		if r.tags.Schema.Items == nil {
			r.tags.Schema.Items = &jsonschema.Schema{}
		}
		return r.tags.Schema.Items, nil
	}
	return nil, fmt.Errorf("the keyword applies to %s, but the type is %s", plural(kind), r.describe())
}

// typed returns the schema with the type of a target.
func (r *reader) typed(target *jsonschema.Schema) *jsonschema.Schema {
	if target == r.tags.Schema.Items {
		return r.resolve(r.resolve(r.field).Items)
	}
	return r.resolve(r.field)
}

func (r *reader) is(s *jsonschema.Schema, kind string) bool {
	s = r.resolve(s)
	switch kind {
	case "number":
		return s.Type == "number" || s.Type == "integer"
	case "string":
		return s.Type == "string" || s.Extras[structural.KeyIntOrString] == true
	}
	return s.Type == kind
}

func (r *reader) describe() string {
	s := r.resolve(r.field)
	switch {
	case s.Extras[structural.KeyIntOrString] == true:
		return "an integer or string"
	case s.Type == "":
		return "unspecified"
	case s.Type == "array" && s.Items != nil && r.typeOf(s.Items) != "":
		return "an array of type " + r.typeOf(s.Items)
	}
	return structural.Article(s.Type)
}

func plural(kind string) string {
	switch kind {
	case "string":
		return "strings"
	case "number":
		return "numbers"
	}
	return "arrays"
}

// bound parses a keyword that restricts values of one type.
func (r *reader) bound(k keyword, kind string) error {
	s, err := r.target(kind)
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
	if err != nil {
		return err
	}
	of := r.typed(s)
	if of.Type == "integer" && strings.ContainsAny(k.value, ".eE") {
		return fmt.Errorf("%s is not an integer, but the type is integer", n)
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
	return CheckBound(n, of.Type, of.Format)
}

// value parses a default, an example or a value of an enum. For lists, each default or example is one item.
func (r *reader) value(k keyword) error {
	s, of := r.tags.Schema, r.field
	list := r.typeOf(r.field) == "array"
	if list {
		if of = r.resolve(r.field).Items; of == nil {
			return fmt.Errorf("the type of the items is unknown")
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
		s.Examples[0] = append(s.Examples[0].([]any), v) //nolint:forcetypeassert // the line above sets it
	case list:
		s.Examples = []any{[]any{v}}
	default:
		s.Examples = append(s.Examples, v)
	}
	return err
}

// parse parses a value of the type of a schema.
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
			return nil, fmt.Errorf("%s is not an integer", text)
		}
		return n, err
	case of.Type == "number":
		return number(text)
	}
	return nil, fmt.Errorf("tags do not support values of this type: use a marker such as +kubebuilder:default, or a method JSONSchemaExtend")
}

// number parses a JSON number.
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
		return fmt.Errorf("%q is not a non-negative integer", text)
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
