// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kube-go/sdk/derive/internal/openapi"
)

// level is the position of a schema, for use in messages.
type level string

const (
	atRoot  level = "at the root"
	ofItem  level = "for specified array items"
	ofField level = "for specified object fields"
)

// structural checks that a schema is structural. It returns errors in a stable order. See
// https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema.
func structural(path *field.Path, s *openapi.Schema) field.ErrorList {
	var c structure
	c.schema(path, s, atRoot)
	c.complete(path, path, s, s)
	slices.SortStableFunc(c.errs, func(a, b *field.Error) int { return cmp.Compare(a.Error(), b.Error()) })
	return c.errs
}

// unreadable returns an error if a schema has keywords that can't be converted to a structural schema.
func unreadable(root *openapi.Schema) error {
	var err error
	root.Each(func(s *openapi.Schema) {
		if err != nil {
			return
		}
		unsupported := func(name string) error { return fmt.Errorf("OpenAPIV3Schema '%s' is not supported", name) }
		switch {
		case s.ID != "":
			err = unsupported("id")
		case s.URL != "":
			err = unsupported("schema")
		case s.Ref != nil && *s.Ref != "":
			err = unsupported("$ref")
		case len(s.PatternProperties) > 0:
			err = unsupported("patternProperties")
		case len(s.Dependencies) > 0:
			err = unsupported("dependencies")
		case s.AdditionalItems != nil:
			err = unsupported("additionalItems")
		case len(s.Definitions) > 0:
			err = unsupported("definitions")
		case s.PreserveUnknownFields != nil && !*s.PreserveUnknownFields:
			err = errors.New("internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined")
		case s.Items != nil && len(s.Items.Schemas) > 0:
			err = errors.New("OpenAPIV3Schema 'items' must be a schema, but is an array")
		}
	})
	return err
}

type structure struct{ errs field.ErrorList }

func (c *structure) add(errs ...*field.Error) { c.errs = append(c.errs, errs...) }

// schema checks a schema that is not inside a logical junctor.
func (c *structure) schema(path *field.Path, s *openapi.Schema, at level) {
	if s == nil {
		return
	}
	if s.Type == "array" && s.Item() == nil {
		c.add(field.Required(path.Child("items"), "must be specified"))
	}
	c.schema(path.Child("items"), s.Item(), ofItem)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		c.schema(path.Child("properties").Key(name), s.Properties[name], ofField)
	}
	if s.AdditionalProperties != nil {
		if at == atRoot {
			c.add(field.Forbidden(path.Child("additionalProperties"), "must not be used at the root"))
		}
		c.schema(path.Child("additionalProperties"), s.Value(), ofField)
	}
	if s.IntOrString && s.Preserves() {
		c.add(field.Invalid(path.Child("x-kubernetes-preserve-unknown-fields"), true, "must be false if x-kubernetes-int-or-string is true"))
	}
	if s.IntOrString && s.EmbeddedResource {
		c.add(field.Invalid(path.Child("x-kubernetes-embedded-resource"), true, "must be false if x-kubernetes-int-or-string is true"))
	}
	c.junctors(path, s, isIntOrString(s.AnyOf), len(s.AllOf) > 0 && isIntOrString(s.AllOf[0].AnyOf))
	c.types(path, s, at)
	c.resource(path, s, at)
}

// types checks that the type is set.
func (c *structure) types(path *field.Path, s *openapi.Schema, at level) {
	path = path.Child("type")
	const embedded = "must be object if x-kubernetes-embedded-resource is true"
	switch {
	case s.EmbeddedResource && s.Type == "":
		c.add(field.Required(path, embedded))
	case s.EmbeddedResource && s.Type != "object":
		c.add(field.Invalid(path, s.Type, embedded))
	case s.Type == "" && !s.IntOrString && !s.Preserves():
		c.add(field.Required(path, "must not be empty "+string(at)))
	}
	if at == atRoot && s.Type != "" && s.Type != "object" {
		c.add(field.Invalid(path, s.Type, "must be object at the root"))
	}
}

// resource checks the schema of the root object or of an embedded resource.
func (c *structure) resource(path *field.Path, s *openapi.Schema, at level) {
	if s.EmbeddedResource && s.AdditionalProperties != nil {
		c.add(field.Forbidden(path.Child("additionalProperties"), "must not be used if x-kubernetes-embedded-resource is set"))
	}
	meta := at == atRoot || s.EmbeddedResource
	for _, name := range []string{"kind", "apiVersion"} {
		if p := s.Properties[name]; p != nil && meta && p.Type != "string" {
			c.add(field.Invalid(path.Child("properties").Key(name).Child("type"), p.Type, "must be string"))
		}
	}
	if p := s.Properties["metadata"]; p != nil {
		path := path.Child("properties").Key("metadata")
		if meta && p.Type != "object" {
			c.add(field.Invalid(path.Child("type"), p.Type, "must be object"))
		}
		if at == atRoot && !namesOnly(p) {
			c.add(field.Forbidden(path, "must not specify anything other than name and generateName, but metadata is implicitly specified"))
		}
	}
	if s.EmbeddedResource && !s.Preserves() && len(s.Properties) == 0 {
		c.add(field.Required(path.Child("properties"),
			"must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"))
	}
}

// namesOnly reports whether a schema of metadata restricts only name and generateName.
func namesOnly(s *openapi.Schema) bool {
	rest := *s
	rest.Type, rest.Default, rest.Properties = "", nil, nil
	for name := range s.Properties {
		if name != "name" && name != "generateName" {
			return false
		}
	}
	return reflect.DeepEqual(rest, openapi.Schema{})
}

// isIntOrString reports whether s has the form of int-or-string, the only one in which junctors may contain types.
func isIntOrString(anyOf []*openapi.Schema) bool {
	return len(anyOf) == 2 &&
		reflect.DeepEqual(anyOf[0], &openapi.Schema{Type: "integer"}) && reflect.DeepEqual(anyOf[1], &openapi.Schema{Type: "string"})
}

// junctors checks allOf, anyOf, oneOf, not and pattern.
func (c *structure) junctors(path *field.Path, s *openapi.Schema, skipAny, skipFirstAll bool) {
	if !skipAny {
		for i, branch := range s.AnyOf {
			c.branch(path.Child("anyOf").Index(i), branch, false)
		}
	}
	for i, branch := range s.AllOf {
		c.branch(path.Child("allOf").Index(i), branch, skipFirstAll && i == 0)
	}
	for i, branch := range s.OneOf {
		c.branch(path.Child("oneOf").Index(i), branch, false)
	}
	c.branch(path.Child("not"), s.Not, false)
	if _, err := regexp.Compile(s.Pattern); err != nil {
		c.add(field.Invalid(path.Child("pattern"), s.Pattern, fmt.Sprintf("must be a valid regular expression, but isn't: %v", err)))
	}
}

// branch checks a schema inside a junctor, which may only restrict values.
func (c *structure) branch(path *field.Path, s *openapi.Schema, skipAny bool) {
	if s == nil {
		return
	}
	c.junctors(path, s, skipAny, false)
	c.branch(path.Child("items"), s.Item(), false)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		c.branch(path.Child("properties").Key(name), s.Properties[name], false)
	}
	more := s.AdditionalProperties
	for _, forbidden := range []struct {
		keyword, must string
		used          bool
	}{
		{"type", "be empty", s.Type != ""},
		{"additionalProperties", "be undefined", more != nil && more.Allows},
		{"default", "be undefined", s.Default != nil},
		{"title", "be empty", s.Title != ""},
		{"description", "be empty", s.Description != ""},
		{"nullable", "be false", s.Nullable},
		{"x-kubernetes-preserve-unknown-fields", "be false", s.Preserves()},
		{"x-kubernetes-embedded-resource", "be false", s.EmbeddedResource},
		{"x-kubernetes-int-or-string", "be false", s.IntOrString},
		{"x-kubernetes-list-map-keys", "be empty", len(s.ListMapKeys) > 0},
		{"x-kubernetes-list-type", "be undefined", s.ListType != nil},
		{"x-kubernetes-map-type", "be undefined", s.MapType != nil},
		{"x-kubernetes-validations", "be empty", len(s.Validations) > 0},
	} {
		if forbidden.used {
			c.add(field.Forbidden(path.Child(forbidden.keyword), "must "+forbidden.must+" to be structural"))
		}
	}
	if s.Properties["metadata"] != nil {
		c.add(field.Forbidden(path.Child("properties").Key("metadata"), "must not be specified in a nested context"))
	}
}

// complete checks that the schema itself contains all fields that a junctor restricts. Like the server, it checks only
// the junctors of the root.
func (c *structure) complete(path, from *field.Path, junctor, s *openapi.Schema) {
	c.completeBranch(path, from.Child("not"), junctor.Not, s)
	for _, j := range []struct {
		name     string
		branches []*openapi.Schema
	}{{"allOf", junctor.AllOf}, {"anyOf", junctor.AnyOf}, {"oneOf", junctor.OneOf}} {
		for i, branch := range j.branches {
			c.completeBranch(path, from.Child(j.name).Index(i), branch, s)
		}
	}
}

func (c *structure) completeBranch(path, from *field.Path, branch, s *openapi.Schema) {
	if branch == nil {
		return
	}
	because := fmt.Sprintf("because it is defined in %s", from)
	if s == nil {
		c.add(field.Required(path, because))
		return
	}
	c.complete(path, from, branch, s)
	c.completeBranch(path.Child("items"), from.Child("items"), branch.Item(), s.Item())
	for _, name := range slices.Sorted(maps.Keys(branch.Properties)) {
		c.completeBranch(path.Child("properties").Key(name), from.Child("properties").Key(name), branch.Properties[name], s.Properties[name])
	}
}
