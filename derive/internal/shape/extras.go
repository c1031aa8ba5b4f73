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

// extras returns the supported keys with the types of their values.
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

// extra parses one keyword of a jsonschema_extras tag.
func (r *reader) extra(k keyword) error {
	kind, known := extras()[k.name]
	switch {
	case !known:
		return fmt.Errorf("unknown keyword%s", structural.NearKey(k.name))
	case k.value == "":
		return fmt.Errorf("the value is missing")
	}
	s := r.tags.Schema
	switch kind {
	case "flag":
		if k.value != "true" {
			return fmt.Errorf("invalid value %q: use true", k.value)
		}
		if k.name == structural.KeyEmbeddedResource && r.typeOf(r.field) != "object" {
			return fmt.Errorf("only an object can be an embedded resource, but the type is %s", r.describe())
		}
		r.set(s, k.name, true)
	case "name":
		if r.typeOf(r.field) != "array" {
			return fmt.Errorf("only an array has keys, but the type is %s", r.describe())
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

// topology parses the merge strategy of a list or a map.
func (r *reader) topology(k keyword, values []string) error {
	typ := "array"
	if k.name == structural.KeyMapType {
		typ = "object"
	}
	switch {
	case !slices.Contains(values, k.value):
		return fmt.Errorf("%q is not one of %s%s", k.value, strings.Join(values, ", "), near(k.value, values))
	case r.typeOf(r.field) != typ:
		return fmt.Errorf("the keyword applies to %s, but the type is %s", typ+"s", r.describe())
	}
	r.set(r.tags.Schema, k.name, k.value)
	return nil
}

func (*reader) set(s *jsonschema.Schema, key string, value any) {
	if s.Extras == nil {
		s.Extras = map[string]any{}
	}
	s.Extras[key] = value
}
