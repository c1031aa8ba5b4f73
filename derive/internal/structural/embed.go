// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package structural

import (
	"cmp"
	"maps"
	"slices"
)

// origin is where a struct has a property from.
type origin struct {
	depth int  // how many structs are embedded around it
	lost  bool // another one is as near, so that there is none
	here  bool // and that came about in this struct
}

// Ambiguous returns the names that the struct would have from several embedded ones alike, and so has not.
func (s *Schema) Ambiguous() []string {
	var names []string
	for name, o := range s.origins {
		if o.lost && o.here {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// embed adds what is said of an embedded struct to that around it.
func (s *Schema) embed(e *Schema) {
	s.Type, s.MapType = cmp.Or(s.Type, e.Type), cmp.Or(s.MapType, e.MapType)
	s.PreserveUnknownFields = s.PreserveUnknownFields || e.PreserveUnknownFields
	for _, name := range slices.Sorted(maps.Keys(e.Properties)) {
		s.promote(name, e)
	}
	for name, o := range e.origins {
		if o.lost {
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

// promote adds a property of an embedded struct. As in encoding/json, the one that is nearest hides those of the same
// name, and of several that are equally near there is none.
func (s *Schema) promote(name string, e *Schema) {
	from := e.origins[name] // the zero value is right for the embedded struct's own
	from.depth++
	from.here = false
	old, have := s.origins[name]
	have = have || s.Properties[name] != nil
	switch {
	case have && old.depth < from.depth:
		return
	case have && old.depth == from.depth:
		from.lost, from.here = true, true
	}
	delete(s.Properties, name)
	s.Required = slices.DeleteFunc(s.Required, func(r string) bool { return r == name })
	if s.origins == nil {
		s.origins = map[string]origin{}
	}
	s.origins[name] = from
	if from.lost {
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
