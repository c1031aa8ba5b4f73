// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kube-go/sdk/derive/internal/openapi"
)

// schema checks the schema of a version.
func (c *checker) schema(v *openapi.Validation, hasStatus bool, path *field.Path) {
	if v == nil || v.OpenAPIV3Schema == nil {
		return
	}
	root := v.OpenAPIV3Schema
	path = path.Child("openAPIV3Schema")
	before := len(c.errs)
	if hasStatus {
		c.root(root, path)
	}
	if root.Nullable {
		c.add(field.Forbidden(path.Child("nullable"), "nullable cannot be true at the root"))
	}
	unread := unreadable(root)
	var scope *scope
	if unread == nil {
		errs := structural(path, root)
		compiles := len(errs) == 0
		if compiles {
			errs = c.defaults(path, root)
			compiles = c.all || len(errs) == 0
		}
		if c.add(errs...); compiles {
			scope = rootScope(root)
		}
	}
	k := &keywords{env: c.env, all: c.all}
	k.schema(root, path, place{root: true}, scope)
	c.add(k.errs...)
	c.add(k.celErrs...)
	if unread != nil && len(c.errs) == before {
		c.add(field.Invalid(path, "", unread.Error()))
	}
	if scope != nil {
		c.add(scope.total.check(path)...)
	}
}

// root checks the keywords of a root schema. With a status subresource, only keywords that do not affect the validation
// of the status are allowed.
func (c *checker) root(root *openapi.Schema, path *field.Path) {
	if root.Type != "" && root.Type != "object" {
		c.add(field.Invalid(path.Child("type"), root.Type,
			`only "object" is allowed as the type at the root of the schema if the status subresource is enabled`))
		return
	}
	rest := *root
	rest.Description, rest.Type, rest.Format, rest.Title, rest.Pattern = "", "", "", "", ""
	rest.Maximum, rest.ExclusiveMaximum, rest.Minimum, rest.ExclusiveMinimum, rest.MultipleOf = nil, false, nil, false, nil
	rest.MaxLength, rest.MinLength, rest.MaxItems, rest.MinItems, rest.UniqueItems = nil, nil, nil, nil, false
	rest.Required, rest.Items, rest.Properties, rest.ExternalDocs, rest.Example = nil, nil, nil, nil, nil
	rest.PreserveUnknownFields, rest.Validations = nil, nil
	if !reflect.DeepEqual(rest, openapi.Schema{}) {
		c.add(field.Invalid(path, field.OmitValueType{}, "only [Description Type Format Title Maximum ExclusiveMaximum Minimum "+
			"ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties "+
			"ExternalDocs Example XPreserveUnknownFields XValidations] fields are allowed at the root of the schema if the "+
			"status subresource is enabled"))
	}
}

// place is the context of a schema, with its restrictions.
type place struct {
	root         bool
	inMeta       bool
	noDefaults   string      // why defaults are forbidden, or empty
	uncorrelated *field.Path // the outermost schema whose values can't be correlated with old values
}

func (p place) uncorrelate(path *field.Path) place {
	if p.uncorrelated == nil {
		p.uncorrelated = path
	}
	return p
}

// keywords checks the keywords of schemas. It collects errors of rules separately.
type keywords struct {
	env           environment
	all           bool // compile rules even if subschemas are invalid
	errs, celErrs field.ErrorList
}

func (k *keywords) add(errs ...*field.Error) { k.errs = append(k.errs, errs...) }

// schema checks a schema and its subschemas.
func (k *keywords) schema(s *openapi.Schema, path *field.Path, at place, sc *scope) {
	if s == nil {
		return
	}
	before := len(k.errs)
	k.supported(s, path, at)
	below := len(k.errs)
	k.children(s, path, at, sc)
	if k.all {
		before += len(k.errs) - below
	}
	k.extensions(s, path)
	k.lists(s, path)
	k.mapKeys(s, path)
	for i, rule := range s.Validations {
		k.rule(s, rule, path.Child("x-kubernetes-validations").Index(i))
	}
	if len(k.errs) == before && sc != nil && len(s.Validations) > 0 {
		k.compile(s, path.Child("x-kubernetes-validations"), at, sc)
	}
}

// supported checks that the keywords are supported.
func (k *keywords) supported(s *openapi.Schema, path *field.Path, at place) {
	types := []string{"array", "boolean", "integer", "number", "object", "string"}
	if s.Type != "" && !slices.Contains(types, s.Type) {
		k.add(field.NotSupported(path.Child("type"), s.Type, types))
	}
	if s.Default != nil && at.noDefaults != "" {
		k.add(field.Forbidden(path.Child("default"), "must not be set "+at.noDefaults))
	}
	for _, forbidden := range []struct {
		keyword string
		used    bool
	}{
		{"id", s.ID != ""},
		{"additionalItems", s.AdditionalItems != nil},
		{"patternProperties", len(s.PatternProperties) > 0},
		{"definitions", len(s.Definitions) > 0},
		{"dependencies", s.Dependencies != nil},
		{"$ref", s.Ref != nil},
	} {
		if forbidden.used {
			k.add(field.Forbidden(path.Child(forbidden.keyword), forbidden.keyword+" is not supported"))
		}
	}
	if s.Type == "null" {
		k.add(field.Forbidden(path.Child("type"), "type cannot be set to null, use nullable as an alternative"))
	}
	if s.Items != nil && len(s.Items.Schemas) > 0 {
		k.add(field.Forbidden(path.Child("items"), "items must be a schema object and not an array"))
	}
	if at.inMeta && s.EmbeddedResource {
		k.add(field.Forbidden(path.Child("x-kubernetes-embedded-resource"), "must not be used inside of resource meta"))
	}
	if s.UniqueItems {
		k.add(field.Forbidden(path.Child("uniqueItems"), "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"))
	}
	if more := s.AdditionalProperties; more != nil && len(s.Properties) > 0 && (!more.Allows || more.Schema != nil) {
		k.add(field.Forbidden(path.Child("additionalProperties"), "additionalProperties and properties are mutual exclusive"))
	}
}

// children checks the subschemas of a schema.
func (k *keywords) children(s *openapi.Schema, path *field.Path, at place, sc *scope) {
	isRoot := at.root
	at.root = false
	if more := s.Value(); more != nil {
		at := at
		if at.inMeta && at.noDefaults == "" {
			at.noDefaults = "inside additionalProperties applying to object metadata"
		}
		k.schema(more, path.Child("additionalProperties"), at, sc.values(more))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		at := at
		if s.MapType != nil && *s.MapType != "granular" && *s.MapType != "atomic" {
			at = at.uncorrelate(path)
		}
		if (isRoot || s.EmbeddedResource) && (name == "metadata" || name == "kind" || name == "apiVersion") {
			at.inMeta = true
			if isRoot {
				at.noDefaults = "in top-level " + name
			}
		}
		p := s.Properties[name]
		k.schema(p, path.Child("properties").Key(name), at, sc.property(p, name))
	}
	k.schema(s.Not, path.Child("not"), at, nil)
	for _, j := range []struct {
		name     string
		branches []*openapi.Schema
	}{{"allOf", s.AllOf}, {"oneOf", s.OneOf}, {"anyOf", s.AnyOf}} {
		for i, branch := range j.branches {
			k.schema(branch, path.Child(j.name).Index(i), at, nil)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Definitions)) {
		k.schema(s.Definitions[name], path.Child("definitions").Key(name), at, nil)
	}
	if s.Items != nil {
		at := at
		if !s.IsListType("map") {
			at = at.uncorrelate(path)
		}
		k.schema(s.Items.Schema, path.Child("items"), at, sc.items(s.Items.Schema))
		for i, item := range s.Items.Schemas {
			k.schema(item, path.Child("items").Index(i), at, sc.items(item))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Dependencies)) {
		if d := s.Dependencies[name]; d != nil {
			k.schema(d.Schema, path.Child("dependencies").Key(name), at, nil)
		}
	}
}
