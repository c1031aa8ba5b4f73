// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package builtin

import (
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

const (
	refPrefix     = "#/components/schemas/"
	kindExtension = "x-kubernetes-group-version-kind"
)

//nolint:gochecknoglobals // a cache
var schemas = sync.OnceValue(func() map[string]*spec.Schema {
	decoded, err := decodeSchemas(Document(SchemasDocument))
	if err != nil {
		panic(damaged(SchemasDocument, err))
	}
	return decoded
})

//nolint:gochecknoglobals // a cache
var models = sync.OnceValue(func() map[schema.GroupVersionKind]string {
	names := map[schema.GroupVersionKind]string{}
	for name, s := range schemas() {
		kinds, _ := s.Extensions[kindExtension].([]any)
		for _, kind := range kinds {
			fields, _ := kind.(map[string]any)
			group, _ := fields["group"].(string)
			version, _ := fields["version"].(string)
			kind, _ := fields["kind"].(string)
			names[schema.GroupVersionKind{Group: group, Version: version, Kind: kind}] = name
		}
	}
	return names
})

// Schemas returns the OpenAPI v3 definitions of all built-in kinds and of the types of their fields, by name. They have
// no descriptions. References start with "#/components/schemas/", and are the only element of allOf if the field also
// has a default. The result is shared and must not be changed.
func Schemas() map[string]*spec.Schema { return schemas() }

// Model returns the name of the definition of a kind in [Schemas]. It reports false for a kind that is not built in.
func Model(gvk schema.GroupVersionKind) (name string, ok bool) {
	name, ok = models()[gvk]
	return name, ok
}

// model returns the definition of a kind, or nil if the kind is not built in.
func model(gvk schema.GroupVersionKind) *spec.Schema {
	name, _ := Model(gvk)
	return schemas()[name]
}

// target returns the name of the definition that a schema refers to. It is empty if the schema is not a reference.
func target(s *spec.Schema) string {
	ref := s.Ref
	if len(s.AllOf) == 1 {
		ref = s.AllOf[0].Ref
	}
	if ref.GetURL() == nil {
		return ""
	}
	return strings.TrimPrefix(ref.GetURL().Fragment, refPrefix[1:]) // faster than ref.String
}
