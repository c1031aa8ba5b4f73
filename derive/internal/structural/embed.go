// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package structural

import (
	"cmp"
	"maps"
	"slices"
)

// origin describes the embedded struct that a property comes from.
type origin struct {
	depth     int  // the number of enclosing embedded structs
	ambiguous bool // another property of the same name has the same depth, so both are hidden
	here      bool // the conflict is in this struct
}

// Ambiguous returns the names of properties that are hidden because several embedded structs have them at the same
// depth.
func (s *Schema) Ambiguous() []string {
	var names []string
	for name, o := range s.origins {
		if o.ambiguous && o.here {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// embed adds the keywords of an embedded struct.
func (s *Schema) embed(e *Schema) {
	s.Type, s.MapType = cmp.Or(s.Type, e.Type), cmp.Or(s.MapType, e.MapType)
	s.PreserveUnknownFields = s.PreserveUnknownFields || e.PreserveUnknownFields
	for _, name := range slices.Sorted(maps.Keys(e.Properties)) {
		s.promote(name, e)
	}
	for name, o := range e.origins {
		if o.ambiguous {
			s.promote(name, e)
		}
	}
	var both branches
	restrictPointer(&both, &s.MaxProperties, e.MaxProperties, func(b *Schema, v *uint64) { b.MaxProperties = v })
	restrictPointer(&both, &s.MinProperties, e.MinProperties, func(b *Schema, v *uint64) { b.MinProperties = v })
	s.Validations = append(s.Validations, e.Validations...)
	s.AllOf = append(append(s.AllOf, e.AllOf...), both.list()...)
	s.AnyOf = append(s.AnyOf, e.AnyOf...)
	s.OneOf = append(s.OneOf, e.OneOf...)
}

// promote adds a property of an embedded struct. As in encoding/json, the property with the smallest depth hides the
// others of the same name, and several properties with the same depth hide each other.
func (s *Schema) promote(name string, e *Schema) {
	from := e.origins[name] // the zero value for properties of the embedded struct itself
	from.depth++
	from.here = false
	old, exists := s.origins[name]
	exists = exists || s.Properties[name] != nil
	switch {
	case exists && old.depth < from.depth:
		return
	case exists && old.depth == from.depth:
		from.ambiguous, from.here = true, true
	}
	delete(s.Properties, name)
	s.Required = slices.DeleteFunc(s.Required, func(r string) bool { return r == name })
	if s.origins == nil {
		s.origins = map[string]origin{}
	}
	s.origins[name] = from
	if from.ambiguous {
		return
	}
	if s.Properties == nil {
		s.Properties = map[string]*Schema{}
	}
	s.Properties[name] = e.Properties[name]
	if slices.Contains(e.Required, name) {
		s.Required = append(s.Required, name)
	}
}
