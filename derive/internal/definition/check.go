// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kube-go/sdk/derive/internal/cel"
	"github.com/kube-go/sdk/derive/internal/openapi"
)

// check validates a new definition, and sets the server's defaults. Servers do not compile the rules of a schema if a
// default or a subschema is invalid. If all is set, check compiles them even then.
func check(def *openapi.Definition, env *cel.Environment, all bool) field.ErrorList {
	complete(def)
	c := &checker{env: env, all: all}
	c.metadata(def)
	c.spec(&def.Spec, field.NewPath("spec"))
	c.names(&def.Status.AcceptedNames, field.NewPath("status", "acceptedNames"))
	c.stored(def.Spec.Versions, field.NewPath("status", "storedVersions"))
	c.approval(def)
	return c.errs
}

// complete sets the server's defaults.
func complete(def *openapi.Definition) {
	names := &def.Spec.Names
	if names.Singular == "" {
		names.Singular = strings.ToLower(names.Kind)
	}
	if names.ListKind == "" && names.Kind != "" {
		names.ListKind = names.Kind + "List"
	}
	if def.Spec.Conversion == nil {
		def.Spec.Conversion = &openapi.Conversion{Strategy: "None"}
	}
}

// stored checks status.storedVersions, which a server sets to the storage versions.
func (c *checker) stored(versions []openapi.Version, path *field.Path) {
	var stored []string
	found := false // a later version of the same name is a duplicate
	for _, v := range versions {
		if v.Storage && stored == nil {
			stored = []string{v.Name}
		}
	}
	for _, v := range versions {
		isFirst := stored != nil && v.Name == stored[0] && !found
		found = found || isFirst
		if v.Storage && !isFirst {
			c.add(field.Invalid(path, stored, "must have the storage version "+v.Name))
		}
	}
	if stored == nil {
		c.add(field.Invalid(path, nil, "must have at least one stored version"))
	}
}

// checker collects errors.
type checker struct {
	all  bool // compile rules even if defaults or subschemas are invalid
	env  *cel.Environment
	errs field.ErrorList
}

func (c *checker) add(errs ...*field.Error) { c.errs = append(c.errs, errs...) }

func (c *checker) metadata(def *openapi.Definition) {
	named := func(name string, prefix bool) []string {
		msgs := validation.NameIsDNSSubdomain(name, prefix)
		if name != def.Spec.Names.Plural+"."+def.Spec.Group {
			msgs = append(msgs, `must be spec.names.plural+"."+spec.group`)
		}
		return msgs
	}
	c.add(validation.ValidateObjectMeta(&def.ObjectMeta, false, named, field.NewPath("metadata"))...)
}

// shared contains the properties that are equal in all versions.
type shared struct {
	schema, subresources, columns, fields bool
}

func sharedOf(versions []openapi.Version) shared {
	all := len(versions) > 0
	s := shared{all, all, all, all}
	for _, v := range versions {
		first := versions[0]
		s.schema = s.schema && equality.Semantic.DeepEqual(v.Schema, first.Schema)
		s.subresources = s.subresources && equality.Semantic.DeepEqual(v.Subresources, first.Subresources)
		s.columns = s.columns && equality.Semantic.DeepEqual(v.Columns, first.Columns)
		s.fields = s.fields && equality.Semantic.DeepEqual(v.SelectableFields, first.SelectableFields)
	}
	return s
}

func (c *checker) spec(spec *openapi.Spec, path *field.Path) {
	c.group(spec.Group, path.Child("group"))
	c.oneOf(path.Child("scope"), spec.Scope, "Cluster", "Namespaced")
	for i, v := range spec.Versions {
		if v.Root() == nil {
			c.add(field.Required(path.Child("versions").Index(i).Child("schema").Child("openAPIV3Schema"), ""))
		}
	}
	if spec.PreserveUnknownFields && hasDefaults(spec.Versions) {
		c.add(field.Invalid(path.Child("preserveUnknownFields"), true, "must be false in order to use defaults in the schema"))
	}
	all := sharedOf(spec.Versions)
	c.versions(spec.Versions, all, path.Child("versions"))
	if len(spec.Versions) > 0 && spec.Versions[0].Name != "" {
		first := spec.Versions[0].Name // servers also validate spec.version
		if msgs := utilvalidation.IsDNS1035Label(first); len(msgs) > 0 {
			c.add(field.Invalid(path.Child("version"), first, strings.Join(msgs, ",")))
		}
	}
	for _, name := range []struct{ field, value string }{
		{"plural", spec.Names.Plural},
		{"singular", spec.Names.Singular},
		{"kind", spec.Names.Kind},
		{"listKind", spec.Names.ListKind},
	} {
		if name.value == "" {
			c.add(field.Required(path.Child("names", name.field), ""))
		}
	}
	c.names(&spec.Names, path.Child("names"))
	if len(spec.Versions) > 0 {
		first := spec.Versions[0]
		hasStatus := slices.ContainsFunc(spec.Versions, statusEnabled)
		version := openapi.Version{Name: first.Name}
		if all.schema {
			version.Schema = first.Schema
			c.schema(first.Schema, hasStatus, path.Child("validation"))
		}
		if all.subresources {
			c.scale(first.Subresources, path.Child("subresources"))
		}
		if all.columns {
			c.columns(first.Columns, path.Child("additionalPrinterColumns"))
		}
		if all.fields {
			c.sharedFields(first.SelectableFields, &version, path)
		}
	}
	if spec.Conversion.Strategy != "None" && spec.PreserveUnknownFields {
		c.add(field.Invalid(path.Child("conversion", "strategy"), spec.Conversion.Strategy, "must be None if spec.preserveUnknownFields is true"))
	}
	c.conversion(spec.Conversion, path.Child("conversion"))
	if spec.PreserveUnknownFields {
		c.add(field.Invalid(path.Child("preserveUnknownFields"), true,
			"cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"))
	}
}

func hasDefaults(versions []openapi.Version) bool {
	found := false
	for _, v := range versions {
		v.Root().Each(func(s *openapi.Schema) { found = found || s.Default != nil })
	}
	return found
}

func statusEnabled(v openapi.Version) bool {
	return v.Subresources != nil && v.Subresources.Status != nil
}

func (c *checker) group(group string, path *field.Path) {
	if group == "" {
		c.add(field.Required(path, ""))
		return
	}
	if msgs := utilvalidation.IsDNS1123Subdomain(group); len(msgs) > 0 {
		c.add(field.Invalid(path, group, strings.Join(msgs, ",")))
	} else if !strings.Contains(group, ".") {
		c.add(field.Invalid(path, group, "should be a domain with at least one dot"))
	}
}

// oneOf checks that a value is one of the allowed values.
func (c *checker) oneOf(path *field.Path, value string, allowed ...string) {
	switch {
	case value == "":
		c.add(field.Required(path, ""))
	case !slices.Contains(allowed, value):
		c.add(field.NotSupported(path, value, allowed))
	}
}

// versions checks the list of versions, and the properties of each version that are not shared.
func (c *checker) versions(versions []openapi.Version, all shared, path *field.Path) {
	stored, unique := 0, true
	seen := map[string]bool{}
	for i, v := range versions {
		if v.Storage {
			stored++
		}
		unique = unique && !seen[v.Name]
		seen[v.Name] = true
		if msgs := utilvalidation.IsDNS1035Label(v.Name); len(msgs) > 0 {
			c.add(field.Invalid(path.Index(i).Child("name"), v.Name, strings.Join(msgs, ",")))
		}
		c.version(v, all, path.Index(i))
	}
	if !unique {
		c.add(field.Invalid(path, internalVersions(versions, all), "must contain unique version names"))
	}
	if stored != 1 {
		c.add(field.Invalid(path, internalVersions(versions, all), "must have exactly one version marked as storage version"))
	}
}

func (c *checker) version(v openapi.Version, all shared, path *field.Path) {
	for _, msg := range deprecation(v) {
		c.add(field.Invalid(path.Child("deprecationWarning"), v.DeprecationWarning, msg))
	}
	if !all.schema {
		c.schema(v.Schema, statusEnabled(v), path.Child("schema"))
	}
	if !all.subresources {
		c.scale(v.Subresources, path.Child("subresources"))
	}
	if !all.columns {
		c.columns(v.Columns, path.Child("additionalPrinterColumns"))
	}
	if all.fields || len(v.SelectableFields) == 0 {
		return
	}
	if all.schema || v.Root() == nil {
		c.add(field.Invalid(path.Child("selectableFields"), "", "may only be set when `version.schema.openAPIV3Schema` is not included"))
		return
	}
	c.fields(v.SelectableFields, v.Root(), path.Child("schema.openAPIV3Schema"), path.Child("selectableFields"))
}

// sharedFields checks the selectable fields of all versions.
func (c *checker) sharedFields(fields []openapi.SelectableField, v *openapi.Version, path *field.Path) {
	switch {
	case len(fields) == 0:
	case v.Schema == nil:
		c.add(field.Invalid(path.Child("selectableFields"), "", "may only be set when validations.schema is included"))
	default:
		c.fields(fields, v.Root(), path.Child("schema.openAPIV3Schema"), path.Child("selectableFields"))
	}
}

// deprecation validates the deprecation warning of a version.
func deprecation(v openapi.Version) []string {
	switch {
	case v.DeprecationWarning == nil:
		return nil
	case !v.Deprecated:
		return []string{"can only be set for deprecated versions"}
	}
	text := *v.DeprecationWarning
	var msgs []string
	if len(text) > 256 {
		msgs = append(msgs, "must be <= 256 characters long")
	}
	if text == "" {
		msgs = append(msgs, "must not be an empty string")
	}
	if i := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
		msgs = append(msgs, fmt.Sprintf("must only contain printable UTF-8 characters; non-printable character found at index %d", i))
	}
	if !utf8.ValidString(text) {
		msgs = append(msgs, "must only contain printable UTF-8 characters")
	}
	return msgs
}
