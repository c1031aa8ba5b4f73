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

// Merge puts what the tags of a field say into its schema. Before is the schema as the type alone makes it, which the
// field may change; what somebody else has changed in the meantime must agree. It returns the keywords where that is not so.
func (said *Said) Merge(field, before *jsonschema.Schema) (disagree []string) {
	s := said.Schema
	if s.Type != "" && s.Type != before.Type && field.Type == before.Type || s.Extras[structural.KeyIntOrString] == true {
		*field = jsonschema.Schema{Type: s.Type, Description: field.Description, Extras: field.Extras}
	}
	return merge(field, s, before, "")
}

func merge(field, said, before *jsonschema.Schema, in string) (disagree []string) {
	into, from, was := reflect.ValueOf(field).Elem(), reflect.ValueOf(said).Elem(), reflect.ValueOf(before).Elem()
	for i := range from.NumField() {
		f := from.Type().Field(i)
		if !f.IsExported() || from.Field(i).IsZero() || f.Name == "Items" || f.Name == "Extras" {
			continue
		}
		have, say := into.Field(i), from.Field(i)
		if !have.IsZero() && !same(have, was.Field(i)) && !same(have, say) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			disagree = append(disagree, in+name)
			continue
		}
		have.Set(say)
	}
	for _, key := range slices.Sorted(maps.Keys(said.Extras)) {
		have, ok := field.Extras[key]
		switch rules, isRules := have.([]structural.Rule); {
		case isRules:
			field.Extras[key] = append(slices.Clone(rules), said.Extras[key].([]structural.Rule)...) //nolint:forcetypeassert // it is ours
		case ok && !reflect.DeepEqual(have, said.Extras[key]) && !reflect.DeepEqual(have, before.Extras[key]):
			disagree = append(disagree, in+key)
		default:
			field.Extras = maps.Clone(field.Extras)
			if field.Extras == nil {
				field.Extras = map[string]any{}
			}
			field.Extras[key] = said.Extras[key]
		}
	}
	if said.Items == nil {
		return disagree
	}
	if field.Items == nil { // a named list: what is said here comes on top
		field.Items = &jsonschema.Schema{}
	}
	items := before.Items
	if items == nil {
		items = &jsonschema.Schema{}
	}
	return append(disagree, merge(field.Items, said.Items, items, in+"items ")...)
}

func same(a, b reflect.Value) bool { return reflect.DeepEqual(a.Interface(), b.Interface()) }

// Clone returns a copy of a field's schema that shows what it was before anything was said of it.
func Clone(s *jsonschema.Schema) *jsonschema.Schema {
	c := *s
	c.Extras = maps.Clone(s.Extras)
	if s.Items != nil {
		c.Items = Clone(s.Items)
	}
	return &c
}

// Join adds a field to the groups of alternatives of its struct.
func (said *Said) Join(parent *jsonschema.Schema, name string) {
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
	parent.OneOf = join(parent.OneOf, said.OneOf)
	parent.AnyOf = join(parent.AnyOf, said.AnyOf)
}
