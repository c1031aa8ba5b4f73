// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fields

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// modelsOf returns the names of the definitions of a kind, by version.
func modelsOf(schemas map[string]*spec.Schema, kind schema.GroupKind) map[string]string {
	models := map[string]string{}
	for name, s := range schemas {
		kinds, _ := s.Extensions["x-kubernetes-group-version-kind"].([]any)
		for _, item := range kinds {
			fields, _ := item.(map[string]any)
			// Kinds of package meta, such as DeleteOptions, have many groups.
			if version, ok := fields["version"].(string); ok && fields["group"] == kind.Group && fields["kind"] == kind.Kind {
				models[version] = name
			}
		}
	}
	return models
}

// collect adds the definition with a name, and all definitions that it refers to, to the found definitions.
func collect(schemas map[string]*spec.Schema, name string, found map[string]*spec.Schema) {
	s, ok := schemas[name]
	if _, done := found[name]; done || !ok {
		return
	}
	found[name] = s
	walk(s, func(s *spec.Schema) {
		if name := reference(s); name != "" {
			collect(schemas, name, found)
		}
	})
}

// walk calls visit for a schema and all schemas in it.
func walk(s *spec.Schema, visit func(*spec.Schema)) {
	visit(s)
	for _, property := range s.Properties {
		walk(&property, visit)
	}
	for _, list := range [][]spec.Schema{s.AllOf, s.AnyOf, s.OneOf} {
		for i := range list {
			walk(&list[i], visit)
		}
	}
	if s.Items != nil && s.Items.Schema != nil {
		walk(s.Items.Schema, visit)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		walk(s.AdditionalProperties.Schema, visit)
	}
}

// reference returns the name of the definition that a schema refers to, or "".
func reference(s *spec.Schema) string {
	ref := s.Ref.String()
	return ref[strings.LastIndexByte(ref, '/')+1:]
}
