// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package jsonschemas

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/kube-go/sdk/derive/internal/kind"
	"github.com/kube-go/sdk/derive/internal/structural"
)

// schema is a JSON Schema. Its keywords are encoded in the order of their names.
type schema = map[string]any

// FileName returns the usual path of a kind's schema in a directory of schemas: <group>/<kind>_<version>.json.
func FileName(k *kind.Kind) string {
	return path.Join(k.Group, strings.ToLower(k.Name)+"_"+k.Version+".json")
}

// Render returns the JSON Schema of the objects of a kind.
func Render(k *kind.Kind, s *structural.Schema) ([]byte, error) {
	root := convert(s)
	root["$schema"] = "http://json-schema.org/draft-07/schema#"
	root["title"] = cmp.Or(s.Title, k.Name)
	properties, _ := root["properties"].(schema)
	if properties == nil {
		properties = schema{}
	}
	properties["apiVersion"] = identity(s.Properties["apiVersion"], k.APIVersion())
	properties["kind"] = identity(s.Properties["kind"], k.Name)
	properties["metadata"] = metadata()
	root["properties"] = properties
	required, _ := root["required"].([]string)
	root["required"] = union(required, "apiVersion", "kind")
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(root); err != nil {
		return nil, fmt.Errorf("encode the JSON Schema of %s: %w", k.Name, err)
	}
	return b.Bytes(), nil
}

// identity describes one of the fields apiVersion and kind.
func identity(s *structural.Schema, value string) schema {
	out := schema{"type": "string", "const": value}
	if s != nil {
		put(out, "description", s.Description)
	}
	return out
}

// union adds the missing items to a sorted list.
func union(list []string, more ...string) []string {
	all := slices.Concat(list, more)
	slices.Sort(all)
	return slices.Compact(all)
}

// put sets a keyword unless its value is zero.
func put[T comparable](s schema, key string, value T) {
	if value != *new(T) {
		s[key] = value
	}
}

// convert converts a schema.
func convert(s *structural.Schema) schema {
	out := schema{}
	put(out, "title", s.Title)
	put(out, "description", s.Description)
	if s.Default != nil {
		out["default"] = s.Default
	}
	if s.Example != nil {
		out["examples"] = []any{s.Example}
	}
	restricted := len(s.AllOf)+len(s.AnyOf)+len(s.OneOf) > 0 || s.Not != nil
	into := out
	if s.Nullable && restricted { // the restrictions do not apply to null
		into = schema{}
		out["anyOf"] = []schema{{"type": "null"}, into}
	}
	if s.Type != "" {
		into["type"] = s.Type
		if s.Nullable && !restricted {
			into["type"] = []string{s.Type, "null"}
		}
	}
	restrict(into, s)
	if s.Type == "object" {
		shape(into, s)
	}
	if s.Items != nil {
		into["items"] = convert(s.Items)
	}
	return out
}

// restrict sets the keywords that restrict a value itself.
func restrict(out schema, s *structural.Schema) {
	if s.Format != "duration" { // in JSON Schema it is ISO 8601, and in Kubernetes "1h30m"
		put(out, "format", s.Format)
	}
	if len(s.Enum) > 0 {
		out["enum"] = s.Enum
	}
	pattern := s.Pattern
	if s.Format == "byte" {
		pattern = cmp.Or(pattern, base64)
	}
	put(out, "pattern", pattern)
	put(out, "multipleOf", s.MultipleOf)
	put(out, bound("maximum", s.ExclusiveMaximum), s.Maximum)
	put(out, bound("minimum", s.ExclusiveMinimum), s.Minimum)
	for key, n := range map[string]*uint64{
		"maxLength": s.MaxLength, "minLength": s.MinLength,
		"maxItems": s.MaxItems, "minItems": s.MinItems,
		"maxProperties": s.MaxProperties, "minProperties": s.MinProperties,
	} {
		put(out, key, n)
	}
	put(out, "uniqueItems", s.ListType == "set" || s.ListType == "map") // for maps, only equal items
	if required := mustBeThere(s); len(required) > 0 {
		out["required"] = required
	}
	for key, list := range map[string][]*structural.Schema{"allOf": s.AllOf, "anyOf": s.AnyOf, "oneOf": s.OneOf} {
		if len(list) > 0 {
			out[key] = branches(list)
		}
	}
	if s.Not != nil {
		out["not"] = branches([]*structural.Schema{s.Not})[0]
	}
}

// base64 matches bytes in base64, for which JSON Schema has no format.
const base64 = "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"

// bound returns the keyword of a limit.
func bound(name string, exclusive bool) string {
	if exclusive {
		return "exclusive" + strings.ToUpper(name[:1]) + name[1:]
	}
	return name
}

// mustBeThere returns the required fields without a default.
func mustBeThere(s *structural.Schema) []string {
	required := slices.DeleteFunc(slices.Clone(s.Required), func(name string) bool {
		return s.Properties[name] != nil && s.Properties[name].Default != nil
	})
	if s.EmbeddedResource {
		required = union(required, "apiVersion", "kind")
	}
	return required
}

// branches converts schemas that restrict a value whose fields are known.
func branches(list []*structural.Schema) []schema {
	var out []schema
	for _, s := range list {
		b := schema{}
		put(b, "type", s.Type)
		restrict(b, s)
		if s.Items != nil {
			b["items"] = branches([]*structural.Schema{s.Items})[0]
		}
		if s.AdditionalProperties != nil {
			b["additionalProperties"] = branches([]*structural.Schema{s.AdditionalProperties})[0]
		}
		if len(s.Properties) > 0 {
			properties := schema{}
			for name, p := range s.Properties {
				properties[name] = branches([]*structural.Schema{p})[0]
			}
			b["properties"] = properties
		}
		out = append(out, b)
	}
	return out
}

// shape sets the keywords for the fields of an object.
func shape(out schema, s *structural.Schema) {
	properties := schema{}
	if s.EmbeddedResource {
		properties["apiVersion"], properties["kind"] = schema{"type": "string", "minLength": 1}, schema{"type": "string", "minLength": 1}
		properties["metadata"] = metadata()
	}
	for name, p := range s.Properties {
		properties[name] = convert(p)
	}
	if len(properties) > 0 {
		out["properties"] = properties
	}
	switch {
	case s.AdditionalProperties != nil:
		out["additionalProperties"] = convert(s.AdditionalProperties)
	case !s.PreserveUnknownFields:
		out["additionalProperties"] = false
	}
}

// metadata describes the metadata that every object may have, see
// https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/object-meta/.
func metadata() schema {
	text, number, texts := schema{"type": "string"}, schema{"type": "integer"}, schema{"type": "object", "additionalProperties": schema{"type": "string"}}
	list, moment := schema{"type": "array"}, schema{"type": []string{"string", "null"}, "format": "date-time"}
	return schema{
		"type": "object",
		"properties": schema{
			"annotations":                texts,
			"creationTimestamp":          moment,
			"deletionGracePeriodSeconds": number,
			"deletionTimestamp":          moment,
			"finalizers":                 schema{"type": "array", "items": text},
			"generateName":               text,
			"generation":                 number,
			"labels":                     texts,
			"managedFields":              list,
			"name":                       text,
			"namespace":                  text,
			"ownerReferences":            list,
			"resourceVersion":            text,
			"selfLink":                   text,
			"uid":                        text,
		},
		"additionalProperties": false,
	}
}
