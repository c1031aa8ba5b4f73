// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package evolution

import (
	"cmp"
	"maps"
	"slices"

	"github.com/kube-go/sdk/derive/internal/structural"
)

// Who is concerned, and how.
const (
	lostOnWrite   = "stored values are dropped when the object is written next, readers don't find them, and writers are warned or refused"
	nothingLost   = "what was accepted still is"
	stopsChecking = "the value is kept, but not checked any more"
	tighter       = "writers of other values are refused; a stored value that does not fit passes until it changes"
	unclear       = "nobody can tell whether all that was accepted still is; if not, " + tighter
)

// place is where in a schema the comparison is, such as .spec.items[].name.
type place string

func (p place) field(name string) place { return p + "." + place(name) }
func (p place) keys() place             { return p + "[*]" }
func (p place) items() place            { return p + "[]" }

// name returns the place as one can speak of it.
func (p place) name() string { return cmp.Or(string(p), "the object") }

// schema compares the schemas of a version. Of an object's own apiVersion, kind and metadata, the server knows the form.
func (d *comparison) schema(before, after *structural.Schema) {
	clean := func(s *structural.Schema) *structural.Schema {
		if s == nil {
			return &structural.Schema{Type: "object", PreserveUnknownFields: true} // such a version takes anything
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

// values compares what is accepted at a place, and what is below it.
func (d *comparison) values(b, a *structural.Schema, at place) {
	if !d.types(b, a, at) {
		return // nothing below it means the same
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
		d.add(at, finding{Breaking, "items", "", text(a.Items), "items of any form were allowed; " + tighter})
	case b.Items != nil:
		d.add(at, finding{Compatible, "items", text(b.Items), "", stopsChecking})
	}
}

// unknown compares which fields are kept that no property names.
func (d *comparison) unknown(b, a *structural.Schema, at place) {
	switch {
	case b.PreserveUnknownFields && !a.PreserveUnknownFields && a.AdditionalProperties == nil:
		d.add(at, finding{Breaking, structural.KeyPreserveUnknownFields, "true", "", lostOnWrite})
	case b.PreserveUnknownFields && a.AdditionalProperties != nil && b.AdditionalProperties == nil:
		d.add(at, finding{Breaking, "additionalProperties", "", text(a.AdditionalProperties), "values of any form were allowed; " + tighter})
	case !b.PreserveUnknownFields && a.PreserveUnknownFields:
		d.add(at, finding{Compatible, structural.KeyPreserveUnknownFields, "", "true", nothingLost})
	}
	switch {
	case b.AdditionalProperties != nil && a.AdditionalProperties != nil:
		d.values(b.AdditionalProperties, a.AdditionalProperties, at.keys())
	case b.AdditionalProperties != nil && !a.PreserveUnknownFields:
		d.add(at, finding{Breaking, "additionalProperties", text(b.AdditionalProperties), "", "keys of any name were allowed; " + lostOnWrite})
	case b.AdditionalProperties != nil:
		d.add(at, finding{Compatible, "additionalProperties", text(b.AdditionalProperties), "", stopsChecking})
	case a.AdditionalProperties != nil && !b.PreserveUnknownFields:
		d.add(at, finding{Compatible, "additionalProperties", "", text(a.AdditionalProperties), nothingLost})
	}
	switch {
	case !b.EmbeddedResource && a.EmbeddedResource:
		d.add(at, finding{
			Breaking, structural.KeyEmbeddedResource, "", "true",
			"apiVersion, kind and valid metadata are asked for; " + tighter,
		})
	case b.EmbeddedResource && !a.EmbeddedResource && !a.PreserveUnknownFields:
		d.add(at, finding{Breaking, structural.KeyEmbeddedResource, "true", "", "apiVersion, kind and metadata are dropped unless the schema names them"})
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
		case a.PreserveUnknownFields:
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
		case b.PreserveUnknownFields:
			d.add(field, finding{Risky, "field", "", kindOf(now), "it was kept in any form, and is checked now; " + tighter})
		default:
			d.add(field, finding{Compatible, "field", "", kindOf(now), "a field is new"})
		}
	}
}

// required compares which fields of an object must be there. What has a default is always there.
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
	gone, added := split(must(b), must(a))
	for _, name := range added {
		why := "writers who leave it out are refused, and so is who changes anything else in " + at.name() +
			" of a stored object that lacks it; give it a default"
		if slices.Contains(b.Required, name) {
			why = "it was required before, but its default has filled it in; " + why
		}
		d.add(at.field(name), finding{Breaking, "required", "", "true", why})
	}
	for _, name := range gone {
		if slices.Contains(a.Required, name) {
			continue // it has a default now, of which the list tells
		}
		if a.Properties[name] != nil || b.Properties[name] == nil { // else the field is gone, which is listed
			d.add(at.field(name), finding{Compatible, "required", "true", "", "writers may leave it out; readers must expect that"})
		}
	}
}

// defaults compares what the server fills in.
func (d *comparison) defaults(b, a *structural.Schema, at place) {
	if same(b.Default, a.Default) {
		return
	}
	old, now := text(b.Default), text(a.Default)
	why := "objects that leave the field out, also stored ones, are read with another value"
	switch {
	case old == "":
		why = "objects that leave the field out, also stored ones, are read with this value; absent can't be told any more"
	case now == "":
		why = "objects that leave the field out, also stored ones without it, are read without a value"
	}
	d.add(at, finding{Risky, "default", old, now, why})
}

// merging compares how apply merges lists and objects.
func (d *comparison) merging(b, a *structural.Schema, at place) {
	listOf := func(s *structural.Schema) string { return cmp.Or(s.ListType, "atomic") }
	if old, now := listOf(b), listOf(a); (b.Type == "array" || a.Type == "array") && old != now {
		f := finding{
			Risky, structural.KeyListType, text(old), text(now),
			"apply replaces the list as a whole: appliers of different items take each other's away",
		}
		if now != "atomic" {
			f.severity = Breaking
			f.why = "no two items may be the same: " + tighter + "; apply merges the items"
		}
		d.add(at, f)
	} else if !same(b.ListMapKeys, a.ListMapKeys) && len(a.ListMapKeys) > 0 {
		d.add(at, finding{
			Breaking, structural.KeyListMapKeys, text(b.ListMapKeys), text(a.ListMapKeys),
			"other items count as the same: lists that have them are refused, and apply takes the wrong ones for each other",
		})
	}
	mapOf := func(s *structural.Schema) string { return cmp.Or(s.MapType, "granular") }
	if old, now := mapOf(b), mapOf(a); old != now {
		why := "apply merges field by field: fields that an applier leaves out stay"
		if now == "atomic" {
			why = "apply replaces the object as a whole: appliers of different fields take each other's away"
		}
		d.add(at, finding{Risky, structural.KeyMapType, text(old), text(now), why})
	}
}

// kindOf says in a word what a field is.
func kindOf(s *structural.Schema) string {
	switch {
	case s.IntOrString:
		return text("integer or string")
	case s.Type == "":
		return text("anything")
	}
	return text(s.Type)
}
