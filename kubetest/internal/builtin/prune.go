// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package builtin

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// definitionsPackage contains the types of CustomResourceDefinitions.
const definitionsPackage = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."

// Prune removes the fields of an object that the schema of its kind does not have, and returns their paths, such as
// spec.containers[0].foo. It also removes known fields that are null, but does not return their paths: for the server,
// they are not set. It does nothing for a kind that is not built in.
//
// The paths have the order in which the server reports unknown fields of a JSON document with sorted names. For other
// documents the server reports fields in the order of the document, and for a strategic merge patch in the order of
// their paths as strings.
func Prune(gvk schema.GroupVersionKind, obj map[string]any) []string {
	return pruner{}.prune(gvk, obj)
}

// PruneTyped is like [Prune] for an object that was encoded from its Go type, which may be that of a newer version of
// Kubernetes. It keeps known fields that are null, and does not return the paths of empty objects, since an encoded
// struct can be one without being set.
func PruneTyped(gvk schema.GroupVersionKind, obj map[string]any) []string {
	return pruner{typed: true}.prune(gvk, obj)
}

type pruner struct {
	typed   bool     // as PruneTyped
	path    []string // alternates names and separators
	unknown []string
	silent  bool // whether unknown fields are not reported
}

func (p pruner) prune(gvk schema.GroupVersionKind, obj map[string]any) []string {
	if s := model(gvk); s != nil {
		p.object(s, obj)
	}
	return p.unknown
}

// value prunes a value with the given schema. Values of another type than the schema says are not changed.
func (p *pruner) value(s *spec.Schema, value any) {
	silent := p.silent
	if name := target(s); name != "" {
		if keepsUnknown(name) {
			return
		}
		s = p.resolve(name, value)
	}
	switch value := value.(type) {
	case map[string]any:
		p.object(s, value)
	case []any:
		p.list(s, value)
	}
	p.silent = silent
}

// resolve returns the definition with the given name. Some fields of CustomResourceDefinitions contain a schema, or
// something else. The server decodes them with methods of their types, which don't report unknown fields.
func (p *pruner) resolve(name string, value any) *spec.Schema {
	if !strings.HasPrefix(name, definitionsPackage+"JSONSchemaPropsOr") {
		return schemas()[name]
	}
	p.silent = true
	element := spec.RefSchema(refPrefix + definitionsPackage + "JSONSchemaProps")
	if _, ok := value.([]any); ok {
		return spec.ArrayProperty(element)
	}
	return schemas()[definitionsPackage+"JSONSchemaProps"]
}

// keepsUnknown reports whether values of a definition may have any fields.
func keepsUnknown(name string) bool {
	switch name {
	case "io.k8s.apimachinery.pkg.runtime.RawExtension",
		"io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1",
		definitionsPackage + "JSON":
		return true
	}
	return false
}

func (p *pruner) object(s *spec.Schema, obj map[string]any) {
	isMap := s.AdditionalProperties != nil
	if !isMap && !s.Type.Contains("object") {
		return
	}
	depth := len(p.path)
	for _, name := range slices.Sorted(maps.Keys(obj)) {
		p.path = append(p.path[:depth], ".", name)
		field, known := s.Properties[name]
		switch {
		case isMap:
			p.value(s.AdditionalProperties.Schema, obj[name])
		case !known:
			p.report(obj[name])
			delete(obj, name)
		case obj[name] == nil:
			if !p.typed {
				delete(obj, name)
			}
		default:
			p.value(&field, obj[name])
		}
	}
	p.path = p.path[:depth]
}

func (p *pruner) list(s *spec.Schema, list []any) {
	if s.Items == nil {
		return
	}
	depth := len(p.path)
	for i, element := range list {
		p.path = append(p.path[:depth], "[", strconv.Itoa(i), "]")
		p.value(s.Items.Schema, element)
	}
	p.path = p.path[:depth]
}

// report adds the path of an unknown field.
func (p *pruner) report(value any) {
	object, ok := value.(map[string]any)
	if ignored := p.typed && ok && len(object) == 0; !p.silent && !ignored {
		p.unknown = append(p.unknown, strings.Join(p.path[1:], ""))
	}
}
