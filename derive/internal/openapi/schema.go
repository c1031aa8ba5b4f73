// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package openapi

import (
	"errors"

	"github.com/kube-go/sdk/core/wire"
)

// Schema is the schema in a definition. Numbers in Default, Enum and Example are int64 or float64.
type Schema struct {
	ID          string  `json:"id,omitempty"`
	URL         string  `json:"$schema,omitempty"`
	Ref         *string `json:"$ref,omitempty"`
	Description string  `json:"description,omitempty"`
	Type        string  `json:"type,omitempty"`
	Format      string  `json:"format,omitempty"`
	Title       string  `json:"title,omitempty"`
	Default     any     `json:"default,omitempty"`

	Maximum          *float64 `json:"maximum,omitempty"`
	ExclusiveMaximum bool     `json:"exclusiveMaximum,omitempty"`
	Minimum          *float64 `json:"minimum,omitempty"`
	ExclusiveMinimum bool     `json:"exclusiveMinimum,omitempty"`
	MaxLength        *int64   `json:"maxLength,omitempty"`
	MinLength        *int64   `json:"minLength,omitempty"`
	Pattern          string   `json:"pattern,omitempty"`
	MaxItems         *int64   `json:"maxItems,omitempty"`
	MinItems         *int64   `json:"minItems,omitempty"`
	UniqueItems      bool     `json:"uniqueItems,omitempty"`
	MultipleOf       *float64 `json:"multipleOf,omitempty"`
	Enum             []any    `json:"enum,omitempty"`
	MaxProperties    *int64   `json:"maxProperties,omitempty"`
	MinProperties    *int64   `json:"minProperties,omitempty"`
	Required         []string `json:"required,omitempty"`

	Items *Items    `json:"items,omitempty"`
	AllOf []*Schema `json:"allOf,omitempty"`
	OneOf []*Schema `json:"oneOf,omitempty"`
	AnyOf []*Schema `json:"anyOf,omitempty"`
	Not   *Schema   `json:"not,omitempty"`

	Properties           map[string]*Schema      `json:"properties,omitempty"`
	AdditionalProperties *SchemaOrBool           `json:"additionalProperties,omitempty"`
	PatternProperties    map[string]*Schema      `json:"patternProperties,omitempty"`
	Dependencies         map[string]*Requirement `json:"dependencies,omitempty"`
	AdditionalItems      *SchemaOrBool           `json:"additionalItems,omitempty"`
	Definitions          map[string]*Schema      `json:"definitions,omitempty"`
	ExternalDocs         *ExternalDocs           `json:"externalDocs,omitempty"`
	Example              any                     `json:"example,omitempty"`
	Nullable             bool                    `json:"nullable,omitempty"`

	PreserveUnknownFields *bool    `json:"x-kubernetes-preserve-unknown-fields,omitempty"`
	EmbeddedResource      bool     `json:"x-kubernetes-embedded-resource,omitempty"`
	IntOrString           bool     `json:"x-kubernetes-int-or-string,omitempty"`
	ListMapKeys           []string `json:"x-kubernetes-list-map-keys,omitempty"`
	ListType              *string  `json:"x-kubernetes-list-type,omitempty"`
	MapType               *string  `json:"x-kubernetes-map-type,omitempty"`
	Validations           []Rule   `json:"x-kubernetes-validations,omitempty"`
}

// Rule is a CEL validation rule.
type Rule struct {
	Rule              string  `json:"rule"`
	Message           string  `json:"message,omitempty"`
	MessageExpression string  `json:"messageExpression,omitempty"`
	Reason            *string `json:"reason,omitempty"`
	FieldPath         string  `json:"fieldPath,omitempty"`
	OptionalOldSelf   *bool   `json:"optionalOldSelf,omitempty"`
}

// ExternalDocs refers to external documentation.
type ExternalDocs struct {
	Description string `json:"description,omitempty"`
	URL         string `json:"url,omitempty"`
}

// Preserves reports whether unknown fields are preserved.
func (s *Schema) Preserves() bool {
	return s != nil && s.PreserveUnknownFields != nil && *s.PreserveUnknownFields
}

// Item returns the schema of list items, or nil if the schema has no items.
func (s *Schema) Item() *Schema {
	if s == nil || s.Items == nil {
		return nil
	}
	return s.Items.Schema
}

// Value returns the schema of map values, or nil if the schema has no additionalProperties.
func (s *Schema) Value() *Schema {
	if s == nil || s.AdditionalProperties == nil {
		return nil
	}
	return s.AdditionalProperties.Schema
}

// IsListType reports whether a list has a given list type, such as "map".
func (s *Schema) IsListType(name string) bool { return s.ListType != nil && *s.ListType == name }

// Each calls visit for a schema and all its subschemas, parents first.
func (s *Schema) Each(visit func(*Schema)) {
	if s == nil {
		return
	}
	visit(s)
	for _, list := range [][]*Schema{s.AllOf, s.AnyOf, s.OneOf} {
		for _, sub := range list {
			sub.Each(visit)
		}
	}
	if s.Items != nil {
		s.Items.Schema.Each(visit)
		for _, sub := range s.Items.Schemas {
			sub.Each(visit)
		}
	}
	s.Not.Each(visit)
	s.Value().Each(visit)
	if s.AdditionalItems != nil {
		s.AdditionalItems.Schema.Each(visit)
	}
	for _, named := range []map[string]*Schema{s.Properties, s.PatternProperties, s.Definitions} {
		for _, sub := range named {
			sub.Each(visit)
		}
	}
	for _, d := range s.Dependencies {
		if d != nil {
			d.Schema.Each(visit)
		}
	}
}

// fill replaces null schemas in lists and maps by empty schemas, as servers do.
func (s *Schema) fill() {
	s.Each(func(s *Schema) {
		lists := [][]*Schema{s.AllOf, s.AnyOf, s.OneOf}
		if s.Items != nil {
			lists = append(lists, s.Items.Schemas)
		}
		for _, list := range lists {
			for i := range list {
				if list[i] == nil {
					list[i] = &Schema{}
				}
			}
		}
		for _, named := range []map[string]*Schema{s.Properties, s.PatternProperties, s.Definitions} {
			for name := range named {
				if named[name] == nil {
					named[name] = &Schema{}
				}
			}
		}
	})
}

// Items is one schema for all items of a list, or a list of schemas, which is never valid.
type Items struct {
	Schema  *Schema
	Schemas []*Schema
}

// UnmarshalJSON decodes either of the two forms.
func (i *Items) UnmarshalJSON(b []byte) error {
	*i = Items{}
	switch first(b) {
	case '{':
		return wire.UnmarshalJSON(b, &i.Schema)
	case '[':
		return wire.UnmarshalJSON(b, &i.Schemas)
	}
	return errors.New("items must be a schema")
}

// MarshalJSON encodes the form that is set.
func (i Items) MarshalJSON() ([]byte, error) {
	if i.Schemas != nil {
		return wire.MarshalJSON(i.Schemas)
	}
	return wire.MarshalJSON(i.Schema)
}

// SchemaOrBool is a schema, or a boolean that allows or forbids all values.
type SchemaOrBool struct {
	Schema *Schema
	Allows bool
}

// UnmarshalJSON decodes either of the two forms.
func (s *SchemaOrBool) UnmarshalJSON(b []byte) error {
	*s = SchemaOrBool{}
	if first(b) == '{' {
		s.Allows = true
		return wire.UnmarshalJSON(b, &s.Schema)
	}
	switch string(b) {
	case "true":
		s.Allows = true
		return nil
	case "false":
		return nil
	}
	return errors.New("boolean or JSON schema expected")
}

// MarshalJSON encodes the form that is set.
func (s SchemaOrBool) MarshalJSON() ([]byte, error) {
	if s.Schema != nil {
		return wire.MarshalJSON(s.Schema)
	}
	return wire.MarshalJSON(s.Allows)
}

// Requirement is a schema or a list of properties that a property depends on.
type Requirement struct {
	Schema     *Schema
	Properties []string
}

// UnmarshalJSON decodes either of the two forms.
func (r *Requirement) UnmarshalJSON(b []byte) error {
	*r = Requirement{}
	switch first(b) {
	case '{':
		return wire.UnmarshalJSON(b, &r.Schema)
	case '[':
		return wire.UnmarshalJSON(b, &r.Properties)
	}
	return errors.New("a dependency must be a schema or a list of properties")
}

// MarshalJSON encodes the form that is set.
func (r Requirement) MarshalJSON() ([]byte, error) {
	if r.Schema != nil {
		return wire.MarshalJSON(r.Schema)
	}
	return wire.MarshalJSON(r.Properties)
}

func first(b []byte) byte {
	if len(b) == 0 {
		return 0
	}
	return b[0]
}
