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

// parseDocument finds the components of a document, and decodes none of them.
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
		return nil, fmt.Errorf("it says that it is OpenAPI %q, not 3", doc.OpenAPI)
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

// Raw returns the document as the server sent it, in JSON. It must not be changed.
func (d *Document) Raw() []byte { return d.raw }

// Kinds returns the kinds that the document has schemas of, in alphabetical order. Options such as DeleteOptions are
// among them, once for each group version that takes them.
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
	return d.Component(name)
}

// Component returns a schema by its name, such as io.k8s.api.core.v1.PodSpec.
func (d *Document) Component(name string) (*Schema, error) {
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

// Field returns the schema of a field of a kind by the names that lead to it, such as spec, containers, image. Lists and
// maps on the way are passed through to what they hold. It is resolved, see [Document.Resolve].
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

// field returns one field of a schema that is called what.
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

// maxHops bounds how far references are followed that may lead in a circle.
const maxHops = 32

// Resolve follows a schema's reference, if it is one, and returns the schema that it means. What the reference itself
// says, such as a description for where it stands, goes first. A schema that is nil says nothing.
func (d *Document) Resolve(s *Schema) (*Schema, error) {
	var said Schema
	if s != nil {
		said = *s
	}
	for range maxHops {
		var err error
		switch {
		case s == nil:
			return &said, nil
		case s.Ref != "":
			s, err = d.Component(strings.TrimPrefix(s.Ref, "#/components/schemas/"))
		case len(s.AllOf) == 1: // how a reference is written that has more to say
			s = s.AllOf[0]
		default:
			found := *s
			found.Description = cmp.Or(said.Description, s.Description)
			found.Nullable = said.Nullable || s.Nullable
			if said.Default != nil {
				found.Default = said.Default
			}
			return &found, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("OpenAPI schema %s: more than %d references in a row", said.Ref, maxHops)
}

// Schema is what a value may be, as far as it takes to explain it; [Document.Raw] has the rest.
type Schema struct {
	Type        string   `json:"type"` // object, array, string, integer, number or boolean; empty: any
	Format      string   `json:"format"`
	Description string   `json:"description"`
	Required    []string `json:"required"` // names of properties
	Nullable    bool     `json:"nullable"`
	Pattern     string   `json:"pattern"`

	Enum    []json.RawMessage `json:"enum"`
	Default json.RawMessage   `json:"default"`

	// Properties are an object's fields, Items what an array holds, AdditionalProperties what a map's values are.
	Properties           map[string]*Schema `json:"properties"`
	Items                *Schema            `json:"items"`
	AdditionalProperties *Schema            `json:"additionalProperties"`

	// Ref leads to a component, and so does the Ref of the one schema in AllOf: see [Document.Resolve].
	Ref   string    `json:"$ref"`
	AllOf []*Schema `json:"allOf"`

	// What Kubernetes adds, see
	// https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema.
	IntOrString           bool     `json:"x-kubernetes-int-or-string"`
	PreserveUnknownFields bool     `json:"x-kubernetes-preserve-unknown-fields"`
	ListType              string   `json:"x-kubernetes-list-type"`     // atomic, set or map
	ListMapKeys           []string `json:"x-kubernetes-list-map-keys"` // of a list of type map
	MapType               string   `json:"x-kubernetes-map-type"`      // atomic or granular
}

// UnmarshalJSON decodes a schema. The schema true, which any value fits, is one that says nothing.
func (s *Schema) UnmarshalJSON(data []byte) error {
	*s = Schema{}
	if string(data) == "true" || string(data) == "false" {
		return nil
	}
	type plain Schema // without this method
	return wire.UnmarshalJSON(data, (*plain)(s))
}
