// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package structural

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"
)

// DefPrefix is the prefix of references to definitions.
const DefPrefix = "#/$defs/"

// ofBase is between the names of a type and of its base in the name of a definition. No name of a type has it.
const ofBase = " of "

// BaseDef returns the name of a definition that describes a generic type with the arguments that it has in the
// declaration of another type. No type has this definition.
func BaseDef(name, base string) string { return name + ofBase + base }

// IsBaseDef reports whether a reference is one to a definition of [BaseDef].
func IsBaseDef(ref string) bool { return strings.Contains(ref, ofBase) }

// Rewrite returns the structural schema of a document.
func Rewrite(doc *jsonschema.Schema) (*Schema, error) {
	return RewritePart(doc, doc.Definitions)
}

// RewritePart returns the structural schema of a part of a document that has the given definitions.
func RewritePart(part *jsonschema.Schema, defs jsonschema.Definitions) (*Schema, error) {
	r := &rewriter{defs: defs, done: map[string]*Schema{}}
	s, err := r.schema(part)
	if err != nil {
		return nil, err
	}
	if r.full(part) {
		// The server has its own schema for metadata, and rejects most keywords there.
		if meta := s.Properties["metadata"]; meta != nil {
			s.Properties["metadata"] = &Schema{Type: "object"}
		}
	}
	return s, nil
}

type rewriter struct {
	defs  jsonschema.Definitions
	done  map[string]*Schema // rewritten definitions
	stack []string           // definitions in progress
	size  int                // the number of copied schemas
}

// full reports whether part is the schema of a whole object.
func (r *rewriter) full(part *jsonschema.Schema) bool {
	return part.Definitions != nil
}

// schema rewrites one schema: first its reference, then its embedded schemas, and finally its own keywords.
func (r *rewriter) schema(in *jsonschema.Schema) (*Schema, error) {
	out, err := r.own(in)
	if err != nil {
		return nil, err
	}
	for _, embedded := range in.AllOf {
		e, err := r.schema(embedded)
		if err != nil {
			return nil, err
		}
		out.embed(e)
	}
	if in.Ref != "" {
		base, err := r.definition(in.Ref)
		if err != nil {
			return nil, err
		}
		out = base.overlay(out)
	}
	out.tidy()
	return out, nil
}

// definition rewrites the definition of a reference.
func (r *rewriter) definition(ref string) (*Schema, error) {
	name, ok := strings.CutPrefix(ref, DefPrefix)
	def := r.defs[name]
	if !ok || def == nil {
		return nil, fmt.Errorf("reference %q does not exist", ref)
	}
	if s := r.done[name]; s != nil {
		return r.copy(name, s)
	}
	if i := slices.Index(r.stack, name); i >= 0 {
		return nil, fmt.Errorf("type %s contains itself (%s): structural schemas can't be recursive", name,
			strings.Join(append(r.stack[i:], name), " → "))
	}
	r.stack = append(r.stack, name)
	s, err := r.schema(def)
	r.stack = r.stack[:len(r.stack)-1]
	if err != nil {
		return nil, err
	}
	r.done[name] = s
	return r.copy(name, s)
}

// maxSize is the maximum number of schemas in a structural schema, several times as many as servers can store.
const maxSize = 100_000

// copy returns a copy of a definition for one reference.
func (r *rewriter) copy(name string, s *Schema) (*Schema, error) {
	if r.size += s.size(); r.size > maxSize {
		return nil, fmt.Errorf("type %s expands the schema to more than %d fields, which API servers can't store: "+
			"use the type in fewer places", name, maxSize)
	}
	return s.Clone(), nil
}

// own converts the keywords of a schema without its references.
func (r *rewriter) own(in *jsonschema.Schema) (*Schema, error) {
	out := &Schema{
		Title:         in.Title,
		Description:   in.Description,
		Default:       in.Default,
		Type:          in.Type,
		Format:        in.Format,
		Enum:          in.Enum,
		Required:      slices.Clone(in.Required),
		MaxProperties: in.MaxProperties,
		MinProperties: in.MinProperties,
		MaxItems:      in.MaxItems,
		MinItems:      in.MinItems,
		MaxLength:     in.MaxLength,
		MinLength:     in.MinLength,
		Pattern:       in.Pattern,
		Maximum:       in.Maximum,
		Minimum:       in.Minimum,
		MultipleOf:    in.MultipleOf,
	}
	if len(in.Examples) > 0 {
		out.Example = in.Examples[0]
	}
	if in.Const != nil {
		out.Enum = []any{in.Const}
	}
	if in.ExclusiveMaximum != "" {
		out.Maximum, out.ExclusiveMaximum = in.ExclusiveMaximum, true
	}
	if in.ExclusiveMinimum != "" {
		out.Minimum, out.ExclusiveMinimum = in.ExclusiveMinimum, true
	}
	if in.ContentEncoding == "base64" {
		out.Format = "byte"
	}
	if err := unsupported(in); err != nil {
		return nil, err
	}
	if err := out.extras(in.Extras); err != nil {
		return nil, err
	}
	return out, r.children(in, out)
}

// children rewrites subschemas.
func (r *rewriter) children(in *jsonschema.Schema, out *Schema) error {
	var err error
	one := func(s *jsonschema.Schema) *Schema {
		if s == nil || err != nil {
			return nil
		}
		var child *Schema
		child, err = r.schema(s)
		return child
	}
	many := func(list []*jsonschema.Schema) []*Schema {
		var children []*Schema
		for _, s := range list {
			child := one(s)
			if child != nil { // servers reject documentation here
				child.Title, child.Description = "", ""
			}
			children = append(children, child)
		}
		return children
	}
	if in.Properties != nil {
		out.Properties = map[string]*Schema{}
		for p := in.Properties.Oldest(); p != nil; p = p.Next() {
			out.Properties[p.Key] = one(p.Value)
		}
	}
	out.Items = one(in.Items)
	out.AnyOf, out.OneOf, out.Not = many(in.AnyOf), many(in.OneOf), one(in.Not)
	switch more := in.AdditionalProperties; {
	case more == nil, reflect.DeepEqual(more, jsonschema.FalseSchema): // servers prune unknown fields
	case reflect.DeepEqual(more, jsonschema.TrueSchema), reflect.DeepEqual(more, &jsonschema.Schema{}):
		out.PreserveUnknownFields = true
	default:
		out.AdditionalProperties = one(more)
	}
	return err
}

// tidy normalizes a schema to the form that servers require.
func (s *Schema) tidy() {
	slices.Sort(s.Required)
	s.Required = slices.Compact(s.Required)
	if s.IntOrString {
		s.Type, s.Format = "", ""
		if len(s.AnyOf) == 0 {
			s.AnyOf = []*Schema{{Type: "integer"}, {Type: "string"}}
		}
	}
}
