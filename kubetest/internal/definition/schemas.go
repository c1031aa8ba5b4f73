// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// modelPrefix begins the names of the OpenAPI definitions of metadata.
const modelPrefix = "io.k8s.apimachinery.pkg.apis.meta.v1."

// Schemas returns the OpenAPI definitions that [managedfields.NewTypeConverter] needs: one for each version, with the
// extension x-kubernetes-group-version-kind, and those of metadata, which are in builtin, the definitions of the
// built-in kinds. The definitions must not be changed.
//
// [managedfields.NewTypeConverter]: https://pkg.go.dev/k8s.io/apimachinery/pkg/util/managedfields#NewTypeConverter
func (d *Definition) Schemas(builtin map[string]*spec.Schema) map[string]*spec.Schema {
	schemas := map[string]*spec.Schema{}
	for _, name := range []string{"ObjectMeta", "OwnerReference", "ManagedFieldsEntry", "FieldsV1", "Time"} {
		if s := builtin[modelPrefix+name]; s != nil {
			schemas[modelPrefix+name] = s
		}
	}
	for _, v := range d.versions {
		schemas[v.model()] = v.schema
	}
	return schemas
}

// model returns the name of the OpenAPI definition, such as "com.example.v1.Widget".
func (v *Version) model() string {
	parts := strings.Split(v.Resource.Group, ".")
	slices.Reverse(parts)
	return strings.Join(append(parts, v.Resource.Version, v.Resource.Kind), ".")
}

// addResource adds the fields that all objects have, and the kind, to the schema of a version.
func (v *Version) addResource() {
	addEmbedded(v.schema)
	addMeta(v.schema)
	v.schema.AddExtension("x-kubernetes-group-version-kind", []any{map[string]any{
		"group": v.Resource.Group, "version": v.Resource.Version, "kind": v.Resource.Kind,
	}})
}

// addEmbedded adds the fields that all objects have to the schemas of embedded resources.
func addEmbedded(s *spec.Schema) {
	if s == nil {
		return
	}
	for name, p := range s.Properties {
		addEmbedded(&p)
		s.Properties[name] = p
	}
	if s.Items != nil {
		addEmbedded(s.Items.Schema)
	}
	if s.AdditionalProperties != nil {
		addEmbedded(s.AdditionalProperties.Schema)
	}
	if isEmbedded(s) {
		addMeta(s)
		for _, name := range []string{"kind", "apiVersion"} {
			if !slices.Contains(s.Required, name) {
				s.Required = append(s.Required, name)
			}
		}
	}
}

func addMeta(s *spec.Schema) {
	s.SetProperty("apiVersion", *spec.StringProperty())
	s.SetProperty("kind", *spec.StringProperty())
	s.SetProperty("metadata", *spec.RefSchema("#/components/schemas/" + modelPrefix + "ObjectMeta"))
}
