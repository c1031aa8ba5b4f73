// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package structural

import (
	"encoding/json"
	"reflect"
	"slices"
)

// Overlay returns the schema of a type with the keywords of a field, or nil if either is nil. It changes both.
func Overlay(typ, field *Schema) *Schema {
	if typ == nil || field == nil {
		return nil
	}
	return typ.overlay(field)
}

// overlay merges the keywords of a field into those of its type, in place. Documentation, defaults and the
// x-kubernetes-* keywords of the field replace those of the type. Restrictions are combined: different bounds move into
// two branches of allOf, and the enum becomes the intersection of both enums.
func (s *Schema) overlay(field *Schema) *Schema {
	var both branches
	replace(&s.Title, field.Title)
	replace(&s.Description, field.Description)
	replace(&s.ExternalDocs, field.ExternalDocs)
	replace(&s.Type, field.Type)
	replace(&s.ListType, field.ListType)
	replace(&s.MapType, field.MapType)
	replace(&s.Descriptions, field.Descriptions)
	replaceAny(&s.Example, field.Example)
	replaceAny(&s.Default, field.Default)
	replaceAny(&s.Typical, field.Typical)
	if field.ListMapKeys != nil {
		s.ListMapKeys = field.ListMapKeys
	}
	s.Nullable = s.Nullable || field.Nullable
	s.EmbeddedResource = s.EmbeddedResource || field.EmbeddedResource
	s.IntOrString = s.IntOrString || field.IntOrString
	s.PreserveUnknownFields = s.PreserveUnknownFields || field.PreserveUnknownFields

	restrict(&both, &s.Format, field.Format, func(b *Schema, v string) { b.Format = v })
	restrict(&both, &s.Pattern, field.Pattern, func(b *Schema, v string) { b.Pattern = v })
	restrict(&both, &s.MultipleOf, field.MultipleOf, func(b *Schema, v json.Number) { b.MultipleOf = v })
	restrictPointer(&both, &s.MaxLength, field.MaxLength, func(b *Schema, v *uint64) { b.MaxLength = v })
	restrictPointer(&both, &s.MinLength, field.MinLength, func(b *Schema, v *uint64) { b.MinLength = v })
	restrictPointer(&both, &s.MaxItems, field.MaxItems, func(b *Schema, v *uint64) { b.MaxItems = v })
	restrictPointer(&both, &s.MinItems, field.MinItems, func(b *Schema, v *uint64) { b.MinItems = v })
	restrictPointer(&both, &s.MaxProperties, field.MaxProperties, func(b *Schema, v *uint64) { b.MaxProperties = v })
	restrictPointer(&both, &s.MinProperties, field.MinProperties, func(b *Schema, v *uint64) { b.MinProperties = v })
	s.overlayBounds(&both, field)
	s.overlayEnum(&both, field.Enum)

	s.overlayChildren(field)
	s.Required = append(s.Required, field.Required...)
	s.Validations = append(slices.Clone(field.Validations), s.Validations...)
	s.AllOf = append(append(s.AllOf, field.AllOf...), both.list()...)
	s.AnyOf = append(s.AnyOf, field.AnyOf...)
	s.OneOf = append(s.OneOf, field.OneOf...)
	return s
}

// overlayChildren merges subschemas.
func (s *Schema) overlayChildren(field *Schema) {
	for name, p := range field.Properties {
		if s.Properties == nil {
			s.Properties = map[string]*Schema{}
		}
		if base := s.Properties[name]; base != nil {
			p = base.overlay(p)
		}
		s.Properties[name] = p
	}
	child := func(base **Schema, top *Schema) {
		switch {
		case *base == nil:
			*base = top
		case top != nil:
			*base = (*base).overlay(top)
		}
	}
	child(&s.Items, field.Items)
	child(&s.AdditionalProperties, field.AdditionalProperties)
	if field.Not != nil && s.Not != nil {
		s.AllOf = append(s.AllOf, &Schema{Not: field.Not})
	} else {
		replace(&s.Not, field.Not)
	}
}

// overlayBounds merges bounds together with their exclusive flags.
func (s *Schema) overlayBounds(both *branches, field *Schema) {
	bound := func(base, top *json.Number, baseExclusive, topExclusive *bool, set func(*Schema, json.Number, bool)) {
		switch {
		case *top == "":
			*baseExclusive = *baseExclusive || *topExclusive
		case *base == "" || *base == *top && *baseExclusive == *topExclusive:
			*base, *baseExclusive = *top, *topExclusive
		default:
			set(both.first(), *base, *baseExclusive)
			set(both.second(), *top, *topExclusive)
			*base, *baseExclusive = "", false
		}
	}
	bound(&s.Maximum, &field.Maximum, &s.ExclusiveMaximum, &field.ExclusiveMaximum,
		func(b *Schema, v json.Number, exclusive bool) { b.Maximum, b.ExclusiveMaximum = v, exclusive })
	bound(&s.Minimum, &field.Minimum, &s.ExclusiveMinimum, &field.ExclusiveMinimum,
		func(b *Schema, v json.Number, exclusive bool) { b.Minimum, b.ExclusiveMinimum = v, exclusive })
}

func (s *Schema) overlayEnum(both *branches, enum []any) {
	switch {
	case enum == nil || reflect.DeepEqual(s.Enum, enum):
	case s.Enum == nil:
		s.Enum = enum
	case len(common(s.Enum, enum)) > 0:
		s.Enum = common(s.Enum, enum)
	default:
		both.first().Enum, both.second().Enum = s.Enum, enum
		s.Enum = nil
	}
}

// common returns the intersection of two lists.
func common(a, b []any) []any {
	var both []any
	for _, v := range a {
		if slices.ContainsFunc(b, func(w any) bool { return reflect.DeepEqual(v, w) }) {
			both = append(both, v)
		}
	}
	return both
}

// branches contains the two schemas that must both be satisfied.
type branches struct{ base, top *Schema }

func (b *branches) first() *Schema {
	if b.base == nil {
		b.base, b.top = &Schema{}, &Schema{}
	}
	return b.base
}

func (b *branches) second() *Schema {
	b.first()
	return b.top
}

func (b *branches) list() []*Schema {
	if b.base == nil {
		return nil
	}
	return []*Schema{b.base, b.top}
}

func replace[T comparable](base *T, top T) {
	var zero T
	if top != zero {
		*base = top
	}
}

func replaceAny(base *any, top any) {
	if top != nil {
		*base = top
	}
}

func restrict[T comparable](both *branches, base *T, top T, set func(*Schema, T)) {
	var zero T
	switch {
	case top == zero || *base == top:
	case *base == zero:
		*base = top
	default:
		set(both.first(), *base)
		set(both.second(), top)
		*base = zero
	}
}

func restrictPointer(both *branches, base **uint64, top *uint64, set func(*Schema, *uint64)) {
	if *base != nil && top != nil && **base == *top {
		return
	}
	restrict(both, base, top, set)
}

// Clone returns a copy with copies of all subschemas.
func (s *Schema) Clone() *Schema {
	if s == nil {
		return nil
	}
	c := *s
	list := func(in []*Schema) []*Schema {
		out := slices.Clone(in)
		for i := range out {
			out[i] = out[i].Clone()
		}
		return out
	}
	if s.Properties != nil {
		c.Properties = make(map[string]*Schema, len(s.Properties))
		for name, p := range s.Properties {
			c.Properties[name] = p.Clone()
		}
	}
	c.Items, c.AdditionalProperties, c.Not = s.Items.Clone(), s.AdditionalProperties.Clone(), s.Not.Clone()
	c.AllOf, c.AnyOf, c.OneOf = list(s.AllOf), list(s.AnyOf), list(s.OneOf)
	c.Required, c.Validations = slices.Clone(s.Required), slices.Clone(s.Validations)
	return &c
}

// size returns the number of schemas, including subschemas.
func (s *Schema) size() int {
	if s == nil {
		return 0
	}
	n := 1 + s.Items.size() + s.AdditionalProperties.size()
	for _, p := range s.Properties {
		n += p.size()
	}
	return n
}
