// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"maps"

	"github.com/google/cel-go/cel"

	"github.com/kube-go/sdk/derive/internal/openapi"
)

// The sizes that API servers use in cost estimates, in bytes of JSON.
const (
	maxRequest   = 3 << 20
	maxText      = maxRequest - 2 // without the quotes
	maxMoment    = 32             // a time or a duration
	minText      = 2
	minBool      = 4
	minNumber    = 1
	minDuration  = 3
	dateSize     = 12
	minTimestamp = 21
)

// Type is the CEL type of a schema.
type Type struct {
	Fields map[string]*Type // the fields of an object, by escaped names
	Elem   *Type            // the element type of a list or a map
	isMap  bool

	simple  *cel.Type // all other types
	max     int64     // the maximum number of characters, items or entries
	minSize int64     // the minimum size in bytes
}

// outline is a comparable summary of a type. Equal types have equal outlines.
type outline struct {
	simple       *cel.Type
	isMap        bool
	max, minSize int64
	fields       int
}

func (t *Type) outline() outline { return outline{t.simple, t.isMap, t.max, t.minSize, len(t.Fields)} }

// same reports whether two types are equal.
func (t *Type) same(other *Type) bool {
	if t == other || t == nil || other == nil {
		return t == other
	}
	return t.outline() == other.outline() && t.Elem.same(other.Elem) && maps.EqualFunc(t.Fields, other.Fields, (*Type).same)
}

// Property returns the type of a property, or nil if rules can't access it.
func (t *Type) Property(name string) *Type {
	if key, ok := Escape(name); ok {
		return t.Fields[key]
	}
	return nil
}

// TypeOf returns the type of a schema, or nil if rules can't access values of the schema. The type of a resource always
// has apiVersion, kind and metadata.
func TypeOf(s *openapi.Schema, resource bool) *Type {
	if s == nil {
		return nil
	}
	if s.IntOrString {
		t := &Type{simple: cel.DynType, minSize: 1, max: maxText}
		if s.MaxLength != nil {
			t.max = utf8Length(s)
		}
		return t
	}
	if resource {
		s = withMeta(s)
	}
	switch s.Type {
	case "array":
		return listOf(s)
	case "object":
		if s.Value() != nil {
			return mapOf(s)
		}
		return objectOf(s)
	case "string":
		return textOf(s)
	case "boolean":
		return &Type{simple: cel.BoolType, minSize: minBool}
	case "number":
		return &Type{simple: cel.DoubleType, minSize: minNumber}
	case "integer":
		return &Type{simple: cel.IntType, minSize: minNumber}
	}
	return nil
}

func listOf(s *openapi.Schema) *Type {
	item := s.Item()
	if item == nil {
		return nil
	}
	elem := TypeOf(item, item.EmbeddedResource)
	if elem == nil {
		return nil
	}
	t := &Type{Elem: elem, minSize: 2, max: (maxRequest - 2) / (elem.minSize + 1)}
	if s.MaxItems != nil {
		t.max = max(0, *s.MaxItems)
	}
	return t
}

func mapOf(s *openapi.Schema) *Type {
	elem := TypeOf(s.Value(), s.Value().EmbeddedResource)
	if elem == nil {
		return nil
	}
	const key = 6 // quotes, a colon, a comma, and two characters
	t := &Type{Elem: elem, isMap: true, minSize: 2, max: (maxRequest - 2) / (elem.minSize + key)}
	if s.MaxProperties != nil {
		t.max = max(0, *s.MaxProperties)
	}
	return t
}

func objectOf(s *openapi.Schema) *Type {
	required := map[string]bool{}
	for _, name := range s.Required {
		required[name] = true
	}
	t := &Type{Fields: map[string]*Type{}, minSize: 2}
	for name, p := range s.Properties {
		field := TypeOf(p, p.EmbeddedResource)
		if field == nil {
			continue
		}
		if key, ok := Escape(name); ok {
			t.Fields[key] = field
		}
		if required[name] && p.Default == nil {
			t.minSize += int64(len(name)) + field.minSize + 4
		}
	}
	return t
}

func textOf(s *openapi.Schema) *Type {
	switch s.Format {
	case "byte":
		t := &Type{simple: cel.BytesType, minSize: minText, max: maxText}
		if s.MaxLength != nil {
			t.max = max(0, *s.MaxLength)
		}
		return t
	case "duration":
		return &Type{simple: cel.DurationType, minSize: minDuration, max: maxMoment}
	case "date":
		return &Type{simple: cel.TimestampType, minSize: dateSize, max: dateSize}
	case "date-time":
		return &Type{simple: cel.TimestampType, minSize: minTimestamp, max: maxMoment}
	}
	t := &Type{simple: cel.StringType, minSize: minText, max: maxText}
	switch {
	case s.MaxLength != nil:
		t.max = utf8Length(s)
	case len(s.Enum) > 0:
		t.max = 0
		for _, v := range s.Enum {
			text, _ := v.(string)
			t.max = max(t.max, int64(len(text)))
		}
	}
	return t
}

// utf8Length returns the maximum size of a string in bytes.
func utf8Length(s *openapi.Schema) int64 { return max(0, *s.MaxLength) * 4 }

// withMeta returns the schema of a resource with apiVersion, kind and metadata.
func withMeta(s *openapi.Schema) *openapi.Schema {
	isText := func(s *openapi.Schema, name string) bool {
		return s != nil && s.Properties[name] != nil && s.Properties[name].Type == "string"
	}
	meta := s.Properties["metadata"]
	if isText(s, "kind") && isText(s, "apiVersion") && meta != nil && meta.Type == "object" && isText(meta, "name") && isText(meta, "generateName") {
		return s
	}
	full := *s
	full.Properties = map[string]*openapi.Schema{}
	maps.Copy(full.Properties, s.Properties)
	text := &openapi.Schema{Type: "string"}
	full.Properties["kind"], full.Properties["apiVersion"] = text, text
	full.Properties["metadata"] = &openapi.Schema{
		Type: "object", Properties: map[string]*openapi.Schema{"name": text, "generateName": text},
	}
	return &full
}
