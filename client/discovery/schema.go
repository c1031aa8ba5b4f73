// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/core/wire"
)

// Document is an OpenAPI v3 document. It is immutable.
type Document struct {
	raw        []byte
	components map[string]json.RawMessage
	byKind     map[schema.GroupVersionKind]string // the component of a kind
}

// parseDocument finds the components of a document without decoding them.
func parseDocument(body []byte) (*Document, error) {
	var doc struct {
		OpenAPI    string `json:"openapi"`
		Components struct {
			Schemas map[string]json.RawMessage `json:"schemas"`
		} `json:"components"`
	}
	if err := wire.UnmarshalJSON(body, &doc); err != nil {
		return nil, err
	}
	if !strings.HasPrefix(doc.OpenAPI, "3.") {
		return nil, fmt.Errorf("its OpenAPI version is %q, want 3", doc.OpenAPI)
	}
	d := &Document{raw: body, components: doc.Components.Schemas, byKind: map[schema.GroupVersionKind]string{}}
	for _, name := range slices.Sorted(maps.Keys(d.components)) {
		var c struct {
			Kinds []kind `json:"x-kubernetes-group-version-kind"`
		}
		if err := wire.UnmarshalJSON(d.components[name], &c); err != nil {
			return nil, fmt.Errorf("component %s: %w", name, err)
		}
		for _, k := range c.Kinds {
			d.byKind[k.in(schema.GroupVersion{})] = name
		}
	}
	return d, nil
}

// Raw returns the JSON that the server sent. The caller must not change it.
func (d *Document) Raw() []byte { return d.raw }

// Kinds returns the kinds that the document contains schemas of, in alphabetical order. They include options such as
// DeleteOptions, once for each group version that uses them.
func (d *Document) Kinds() []schema.GroupVersionKind {
	return slices.SortedFunc(maps.Keys(d.byKind), func(a, b schema.GroupVersionKind) int {
		return strings.Compare(a.String(), b.String())
	})
}

// Schema returns the schema of a kind.
func (d *Document) Schema(gvk schema.GroupVersionKind) (*Schema, error) {
	name, ok := d.byKind[gvk]
	if !ok {
		return nil, fmt.Errorf("the OpenAPI document has no schema of %s in %s", gvk.Kind, gvk.GroupVersion())
	}
	return d.component(name)
}

// component returns the schema with a name such as io.k8s.api.core.v1.PodSpec.
func (d *Document) component(name string) (*Schema, error) {
	raw, ok := d.components[name]
	if !ok {
		return nil, fmt.Errorf("the OpenAPI document has no component %q", name)
	}
	s := new(Schema)
	if err := wire.UnmarshalJSON(raw, s); err != nil {
		return nil, fmt.Errorf("OpenAPI component %s: %w", name, err)
	}
	return s, nil
}

// Field returns the schema of a field of a kind. The path contains the names of the fields, such as spec, containers,
// image; lists and maps are skipped. The schema is resolved, see [Document.Resolve].
func (d *Document) Field(gvk schema.GroupVersionKind, path ...string) (*Schema, error) {
	s, err := d.Schema(gvk)
	if err == nil {
		s, err = d.Resolve(s)
	}
	for i, name := range path {
		if err == nil {
			s, err = d.field(s, strings.Join(append([]string{gvk.Kind}, path[:i]...), "."), name)
		}
	}
	return s, err
}

// field returns one field of the schema at the path what.
func (d *Document) field(s *Schema, what, name string) (*Schema, error) {
	for range maxHops {
		inner := s.Items
		if inner == nil && len(s.Properties) == 0 {
			inner = s.AdditionalProperties
		}
		if inner == nil {
			break
		}
		var err error
		if s, err = d.Resolve(inner); err != nil {
			return nil, err
		}
	}
	if found, ok := s.Properties[name]; ok {
		return d.Resolve(found)
	}
	names := slices.Sorted(maps.Keys(s.Properties))
	if len(names) == 0 {
		return nil, fmt.Errorf("%s has no fields", what)
	}
	return nil, fmt.Errorf("%s has no field %q; it has %s", what, name, strings.Join(names, ", "))
}

// maxHops limits the number of references that are followed, because they may be circular.
const maxHops = 32

// Resolve follows the reference of a schema, if any, and returns the target. Fields of the reference itself take
// precedence, such as a description, a list type or an enumeration. A nil schema is an empty one.
func (d *Document) Resolve(s *Schema) (*Schema, error) {
	if s == nil {
		return &Schema{}, nil
	}
	found := *s
	for range maxHops {
		var target *Schema
		var err error
		switch {
		case found.Ref != "":
			target, err = d.component(strings.TrimPrefix(found.Ref, "#/components/schemas/"))
		case found.refersByAllOf():
			target = cmp.Or(found.AllOf[0], &Schema{})
		default:
			return &found, nil
		}
		if err != nil {
			return nil, err
		}
		found = found.over(target)
	}
	return nil, fmt.Errorf("OpenAPI schema %s: more than %d references in a row", s.Ref, maxHops)
}

// refersByAllOf reports whether the only schema in AllOf is the whole schema, as in a reference with further fields.
// Otherwise AllOf contains validations of the schema's own fields.
func (s *Schema) refersByAllOf() bool {
	if len(s.AllOf) != 1 {
		return false
	}
	return s.AllOf[0] != nil && s.AllOf[0].Ref != "" || s.Type == "" && len(s.Properties) == 0 && s.Items == nil
}

// over returns the target of a reference, with the fields of the reference that take precedence.
func (s *Schema) over(target *Schema) Schema {
	found := *target
	found.Description = cmp.Or(s.Description, target.Description)
	found.Format = cmp.Or(s.Format, target.Format)
	found.Pattern = cmp.Or(s.Pattern, target.Pattern)
	found.ListType = cmp.Or(s.ListType, target.ListType)
	found.MapType = cmp.Or(s.MapType, target.MapType)
	found.Nullable = s.Nullable || target.Nullable
	found.IntOrString = s.IntOrString || target.IntOrString
	found.PreserveUnknownFields = s.PreserveUnknownFields || target.PreserveUnknownFields
	found.Required = firstSet(s.Required, target.Required)
	found.ListMapKeys = firstSet(s.ListMapKeys, target.ListMapKeys)
	found.Enum = firstSet(s.Enum, target.Enum)
	found.Default = firstSet(s.Default, target.Default)
	return found
}

// firstSet returns a, or b if a is not set.
func firstSet[S ~[]T, T any](a, b S) S {
	if a != nil {
		return a
	}
	return b
}

// Schema is the schema of a value, reduced to the fields that describe it. [Document.Raw] has all fields.
type Schema struct {
	Type        string   `json:"type"` // object, array, string, integer, number or boolean; empty: several or any
	Format      string   `json:"format"`
	Description string   `json:"description"`
	Required    []string `json:"required"` // names of properties
	Nullable    bool     `json:"nullable"`
	Pattern     string   `json:"pattern"`

	Enum    []json.RawMessage `json:"enum"`
	Default json.RawMessage   `json:"default"`

	// Properties are the fields of an object, Items is the schema of the items of an array, and AdditionalProperties is
	// the schema of the values of a map.
	Properties           map[string]*Schema `json:"properties"`
	Items                *Schema            `json:"items"`
	AdditionalProperties *Schema            `json:"additionalProperties"`

	// Ref refers to a component, and so does the Ref of the only schema in AllOf: see [Document.Resolve]. Other schemas
	// in AllOf validate the value.
	Ref   string    `json:"$ref"`
	AllOf []*Schema `json:"allOf"`

	// Extensions of Kubernetes, see
	// https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema.
	IntOrString           bool     `json:"x-kubernetes-int-or-string"` // or the format int-or-string of built-in kinds
	PreserveUnknownFields bool     `json:"x-kubernetes-preserve-unknown-fields"`
	ListType              string   `json:"x-kubernetes-list-type"`     // atomic, set or map
	ListMapKeys           []string `json:"x-kubernetes-list-map-keys"` // of a list of type map
	MapType               string   `json:"x-kubernetes-map-type"`      // atomic or granular
}

// UnmarshalJSON decodes a schema. The schema true, which every value matches, is decoded as an empty schema.
func (s *Schema) UnmarshalJSON(data []byte) error {
	*s = Schema{}
	if string(data) == "true" || string(data) == "false" {
		return nil
	}
	type plain Schema // without this method
	err := wire.UnmarshalJSON(data, (*plain)(s))
	s.IntOrString = s.IntOrString || s.Format == "int-or-string"
	return err
}
