// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package shape

import (
	"fmt"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/kube-go/sdk/derive/internal/structural"
)

// extras are the keys that there are, with what their values are.
func extras() map[string]string {
	return map[string]string{
		structural.KeyNullable:              "flag",
		structural.KeyEmbeddedResource:      "flag",
		structural.KeyIntOrString:           "flag",
		structural.KeyPreserveUnknownFields: "flag",
		structural.KeyListType:              "atomic, set, map",
		structural.KeyMapType:               "atomic, granular",
		structural.KeyListMapKeys:           "name",
		structural.KeyValidations:           "rule",
	}
}

// extra reads one part of a jsonschema_extras tag.
func (r *reader) extra(k keyword) error {
	kind, known := extras()[k.name]
	switch {
	case !known:
		return fmt.Errorf("servers know no such keyword%s", structural.NearKey(k.name))
	case k.value == "":
		return fmt.Errorf("it needs a value")
	}
	s := r.said.Schema
	switch kind {
	case "flag":
		if k.value != "true" {
			return fmt.Errorf("%q is not true", k.value)
		}
		if k.name == structural.KeyEmbeddedResource && r.typeOf(r.field) != "object" {
			return fmt.Errorf("only an object can be a resource; this is %s", r.describe())
		}
		r.set(s, k.name, true)
	case "name":
		if r.typeOf(r.field) != "array" {
			return fmt.Errorf("only a list has keys; this is %s", r.describe())
		}
		keys, _ := s.Extras[k.name].([]string)
		r.set(s, k.name, append(keys, k.value))
	case "rule":
		rules, _ := s.Extras[k.name].([]structural.Rule)
		r.set(s, k.name, append(rules, structural.Rule{Rule: k.value}))
	default:
		return r.topology(k, strings.Split(kind, ", "))
	}
	return nil
}

// topology reads how server-side apply merges a list or a map.
func (r *reader) topology(k keyword, values []string) error {
	typ := "array"
	if k.name == structural.KeyMapType {
		typ = "object"
	}
	switch {
	case !slices.Contains(values, k.value):
		return fmt.Errorf("%q is not one of %s%s", k.value, strings.Join(values, ", "), near(k.value, values))
	case r.typeOf(r.field) != typ:
		return fmt.Errorf("it is about %s; this is %s", structural.Article(typ), r.describe())
	}
	r.set(r.said.Schema, k.name, k.value)
	return nil
}

func (*reader) set(s *jsonschema.Schema, key string, value any) {
	if s.Extras == nil {
		s.Extras = map[string]any{}
	}
	s.Extras[key] = value
}
