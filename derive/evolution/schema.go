// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package evolution

import (
	"cmp"
	"maps"
	"slices"

	"github.com/kube-go/sdk/derive/internal/structural"
)

// The effects of changes.
const (
	lostOnWrite   = "stored values are dropped by the next write of the object, readers do not get them, and writers get a warning or an error"
	nothingLost   = "all values that were valid are still valid"
	stopsChecking = "the value is preserved, but is not validated"
	tighter       = "writes with invalid values are rejected; an invalid stored value is accepted until it changes"
	unclear       = "some values that were valid may be invalid now: " + tighter
)

// place is a path in a schema, for example .spec.items[].name.
type place string

func (p place) field(name string) place { return p + "." + place(name) }
func (p place) keys() place             { return p + "[*]" }
func (p place) items() place            { return p + "[]" }

// name returns the place for use in a sentence.
func (p place) name() string { return cmp.Or(string(p), "the object") }

// schema compares the schemas of a version. It ignores apiVersion, kind and metadata, which the server itself
// validates.
func (d *comparison) schema(before, after *structural.Schema) {
	clean := func(s *structural.Schema) *structural.Schema {
		if s == nil {
			return &structural.Schema{Type: "object", PreserveUnknownFields: true} // without a schema, all objects are valid
		}
		c := *s
		c.Properties = maps.Clone(s.Properties)
		delete(c.Properties, "apiVersion")
		delete(c.Properties, "kind")
		if m := c.Properties["metadata"]; m != nil && len(m.Properties) == 0 {
			delete(c.Properties, "metadata")
		}
		return &c
	}
	d.values(clean(before), clean(after), "")
}

// values compares the schemas of a place, recursively.
func (d *comparison) values(b, a *structural.Schema, at place) {
	if !d.types(b, a, at) {
		return // the other keywords can't be compared
	}
	d.scalars(b, a, at)
	d.defaults(b, a, at)
	d.merging(b, a, at)
	d.rules(b, a, at)
	d.branches(b, a, at)
	d.unknown(b, a, at)
	d.properties(b, a, at)
	d.required(b, a, at)
	switch {
	case b.Items != nil && a.Items != nil:
		d.values(b.Items, a.Items, at.items())
	case a.Items != nil:
		d.add(at, finding{Breaking, "items", "", text(a.Items), "items of any type were allowed; " + tighter})
	case b.Items != nil:
		d.add(at, finding{Compatible, "items", text(b.Items), "", stopsChecking})
	}
}

// unknown compares the treatment of fields that are not in properties.
func (d *comparison) unknown(b, a *structural.Schema, at place) {
	switch {
	case b.PreserveUnknownFields && !a.PreserveUnknownFields && a.AdditionalProperties == nil:
		d.add(at, finding{Breaking, structural.KeyPreserveUnknownFields, "true", "", lostOnWrite})
	case b.PreserveUnknownFields && a.AdditionalProperties != nil && b.AdditionalProperties == nil:
		d.add(at, finding{Breaking, "additionalProperties", "", text(a.AdditionalProperties), "values of any type were allowed; " + tighter})
	case !b.PreserveUnknownFields && a.PreserveUnknownFields:
		d.add(at, finding{Compatible, structural.KeyPreserveUnknownFields, "", "true", nothingLost})
	}
	switch {
	case b.AdditionalProperties != nil && a.AdditionalProperties != nil:
		d.values(b.AdditionalProperties, a.AdditionalProperties, at.keys())
	case b.AdditionalProperties != nil && !a.PreserveUnknownFields:
		d.add(at, finding{Breaking, "additionalProperties", text(b.AdditionalProperties), "", "all keys were allowed; " + lostOnWrite})
	case b.AdditionalProperties != nil:
		d.add(at, finding{Compatible, "additionalProperties", text(b.AdditionalProperties), "", stopsChecking})
	case a.AdditionalProperties != nil && !b.PreserveUnknownFields:
		d.add(at, finding{Compatible, "additionalProperties", "", text(a.AdditionalProperties), nothingLost})
	}
	switch {
	case !b.EmbeddedResource && a.EmbeddedResource:
		d.add(at, finding{
			Breaking, structural.KeyEmbeddedResource, "", "true",
			"apiVersion, kind and valid metadata are required: writes without them are rejected, as is every update of a " +
				"stored object without them",
		})
	case b.EmbeddedResource && !a.EmbeddedResource && !a.PreserveUnknownFields:
		d.add(at, finding{Breaking, structural.KeyEmbeddedResource, "true", "", "apiVersion, kind and metadata are dropped unless the schema has them"})
	case b.EmbeddedResource && !a.EmbeddedResource:
		d.add(at, finding{Compatible, structural.KeyEmbeddedResource, "true", "", stopsChecking})
	}
}

// properties compares the fields of an object.
func (d *comparison) properties(b, a *structural.Schema, at place) {
	for _, name := range slices.Sorted(maps.Keys(b.Properties)) {
		field, old := at.field(name), b.Properties[name]
		switch now := a.Properties[name]; {
		case now != nil:
			d.values(old, now, field)
		case a.AdditionalProperties != nil:
			d.values(old, a.AdditionalProperties, field)
		case keeps(a, name):
			d.add(field, finding{Compatible, "field", kindOf(old), "", stopsChecking})
		default:
			d.add(field, finding{Breaking, "field", kindOf(old), "", lostOnWrite})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.Properties)) {
		if b.Properties[name] != nil {
			continue
		}
		field, now := at.field(name), a.Properties[name]
		switch {
		case b.AdditionalProperties != nil:
			d.values(b.AdditionalProperties, now, field)
		case keeps(b, name):
			d.add(field, finding{Risky, "field", "", kindOf(now), "the field was preserved without validation; " + tighter})
		default:
			d.add(field, finding{Compatible, "field", "", kindOf(now), "new field"})
		}
	}
}

// keeps returns whether a server keeps a field that is not in the properties of the schema.
func keeps(s *structural.Schema, name string) bool {
	return s.PreserveUnknownFields ||
		s.EmbeddedResource && slices.Contains([]string{"apiVersion", "kind", "metadata"}, name)
}

// required compares the required fields of an object. A field with a default is always present.
func (d *comparison) required(b, a *structural.Schema, at place) {
	must := func(s *structural.Schema) []string {
		var names []string
		for _, name := range s.Required {
			if p := s.Properties[name]; p == nil || p.Default == nil {
				names = append(names, name)
			}
		}
		return names
	}
	removed, added := split(must(b), must(a))
	for _, name := range added {
		why := "writes without the field are rejected, as are updates of any other field in " + at.name() +
			" of a stored object without it: add a default"
		if slices.Contains(b.Required, name) {
			why = "the field was required, but had a default; " + why
		}
		d.add(at.field(name), finding{Breaking, "required", "", "true", why})
	}
	for _, name := range removed {
		if slices.Contains(a.Required, name) {
			continue // it has a new default, which is reported
		}
		if a.Properties[name] != nil || b.Properties[name] == nil { // otherwise the field is removed, which is reported
			d.add(at.field(name), finding{Compatible, "required", "true", "", "writers may omit the field; readers must expect that it is absent"})
		}
	}
}

// defaults compares default values.
func (d *comparison) defaults(b, a *structural.Schema, at place) {
	if same(b.Default, a.Default) {
		return
	}
	old, now := text(b.Default), text(a.Default)
	why := "objects without the field, including stored objects, are read with another value"
	switch {
	case old == "":
		why = "objects without the field, including stored objects, are read with this value; readers can't detect that the field is absent"
	case now == "":
		why = "objects without the field, including stored objects, are read without a value"
	}
	d.add(at, finding{Risky, "default", old, now, why})
}

// merging compares how apply merges lists and objects.
func (d *comparison) merging(b, a *structural.Schema, at place) {
	listOf := func(s *structural.Schema) string { return cmp.Or(s.ListType, "atomic") }
	if old, now := listOf(b), listOf(a); (b.Type == "array" || a.Type == "array") && old != now {
		f := finding{
			Risky, structural.KeyListType, text(old), text(now),
			"apply replaces the whole list: field managers that apply different items remove each other's items",
		}
		if now != "atomic" {
			f.severity = Breaking
			f.why = "duplicate items are invalid: " + tighter + "; apply merges the items"
		}
		d.add(at, f)
	} else if !same(keysOf(b), keysOf(a)) && len(a.ListMapKeys) > 0 {
		d.add(at, finding{
			Breaking, structural.KeyListMapKeys, text(b.ListMapKeys), text(a.ListMapKeys),
			"items are identified by other keys: lists with duplicate keys are rejected, and apply may merge the wrong items",
		})
	}
	mapOf := func(s *structural.Schema) string { return cmp.Or(s.MapType, "granular") }
	if old, now := mapOf(b), mapOf(a); old != now {
		why := "apply merges the fields: fields that are not in the applied object stay unchanged"
		if now == "atomic" {
			why = "apply replaces the whole object: field managers that apply different fields remove each other's fields"
		}
		d.add(at, finding{Risky, structural.KeyMapType, text(old), text(now), why})
	}
}

// keysOf returns the keys of a list, whose order has no effect.
func keysOf(s *structural.Schema) []string { return slices.Sorted(slices.Values(s.ListMapKeys)) }

// kindOf returns the JSON of a field's type, for use in a change.
func kindOf(s *structural.Schema) string {
	switch {
	case s.IntOrString:
		return text("integer or string")
	case s.Type == "":
		return text("anything")
	}
	return text(s.Type)
}
