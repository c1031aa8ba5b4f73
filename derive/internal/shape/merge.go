// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package shape

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/kube-go/sdk/derive/internal/structural"
)

// Merge adds the keywords of the tags to the schema of a field. The schema before is the one of the field's type, whose
// keywords the tags can change. Merge returns the keywords that conflict with other changes of the field's schema.
func (tags *Tags) Merge(field, before *jsonschema.Schema) (conflicts []string) {
	s := tags.Schema
	if s.Type != "" && s.Type != before.Type && field.Type == before.Type || s.Extras[structural.KeyIntOrString] == true {
		*field = jsonschema.Schema{Type: s.Type, Description: field.Description, Extras: field.Extras}
	}
	return merge(field, s, before, "")
}

func merge(field, tags, before *jsonschema.Schema, in string) (conflicts []string) {
	into, from, old := reflect.ValueOf(field).Elem(), reflect.ValueOf(tags).Elem(), reflect.ValueOf(before).Elem()
	for i := range from.NumField() {
		f := from.Type().Field(i)
		if !f.IsExported() || from.Field(i).IsZero() || f.Name == "Items" || f.Name == "Extras" {
			continue
		}
		have, want := into.Field(i), from.Field(i)
		if !have.IsZero() && !same(have, old.Field(i)) && !same(have, want) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			conflicts = append(conflicts, in+name)
			continue
		}
		have.Set(want)
	}
	for _, key := range slices.Sorted(maps.Keys(tags.Extras)) {
		have, ok := field.Extras[key]
		switch rules, isRules := have.([]structural.Rule); {
		case isRules:
			field.Extras[key] = append(slices.Clone(rules), tags.Extras[key].([]structural.Rule)...) //nolint:forcetypeassert // rules always have this type
		case ok && !reflect.DeepEqual(have, tags.Extras[key]) && !reflect.DeepEqual(have, before.Extras[key]):
			conflicts = append(conflicts, in+key)
		default:
			field.Extras = maps.Clone(field.Extras)
			if field.Extras == nil {
				field.Extras = map[string]any{}
			}
			field.Extras[key] = tags.Extras[key]
		}
	}
	if tags.Items == nil {
		return conflicts
	}
	if field.Items == nil { // a named list: add keywords for its items
		field.Items = &jsonschema.Schema{}
	}
	items := before.Items
	if items == nil {
		items = &jsonschema.Schema{}
	}
	return append(conflicts, merge(field.Items, tags.Items, items, in+"items ")...)
}

func same(a, b reflect.Value) bool { return reflect.DeepEqual(a.Interface(), b.Interface()) }

// Clone returns a copy of a field's schema that [Tags.Merge] does not modify.
func Clone(s *jsonschema.Schema) *jsonschema.Schema {
	c := *s
	c.Extras = maps.Clone(s.Extras)
	if s.Items != nil {
		c.Items = Clone(s.Items)
	}
	return &c
}

// Join adds a field to the groups of its struct.
func (tags *Tags) Join(parent *jsonschema.Schema, name string) {
	join := func(list []*jsonschema.Schema, groups []string) []*jsonschema.Schema {
		for _, group := range groups {
			i := slices.IndexFunc(list, func(s *jsonschema.Schema) bool { return s.Title == group })
			if i < 0 {
				i = len(list)
				list = append(list, &jsonschema.Schema{Title: group})
			}
			list[i].Required = append(list[i].Required, name)
		}
		return list
	}
	parent.OneOf = join(parent.OneOf, tags.OneOf)
	parent.AnyOf = join(parent.AnyOf, tags.AnyOf)
}
