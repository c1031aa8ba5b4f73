// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package reflected

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/kube-go/sdk/derive/internal/shape"
	"github.com/kube-go/sdk/derive/internal/structural"
)

// structType describes the fields of a struct.
func (b *builder) structType(t reflect.Type) *jsonschema.Schema {
	s := shape.Object()
	docs := documentation(t)
	property := func(string) any { return nil }
	if p, ok := method[propertier](t); ok {
		property = p.JSONSchemaProperty
	}
	seen := map[string]string{} // Go names by JSON name
	for f := range t.Fields() {
		name := shape.ParseJSON(f.Tag)
		if name.Ignored || shape.Hidden(f.Tag) || !written(f) {
			continue
		}
		b.push(f)
		switch inline, ok := b.inline(f, name); {
		case !ok:
		case inline:
			b.embed(s, f)
		case name.Name == "":
			b.nameless(f, name)
		default:
			of := f.Type
			if other := reflect.TypeOf(property(name.Name)); other != nil {
				of = other
			}
			b.property(s, of, f.Tag, docs[name.Name], optional(t, name.Name))
			if other := seen[name.Name]; other != "" {
				b.refuse(fmt.Sprintf("field %s has the same JSON name %q", other, name.Name), "rename one of them")
			}
			seen[name.Name] = f.Name
		}
		b.stack = b.stack[:len(b.stack)-1]
	}
	b.checkAmbiguous(s)
	return s
}

// written reports whether encoding/json can write a field: an exported one, or an embedded struct, which may have
// exported fields.
func written(f reflect.StructField) bool { return f.IsExported() || f.Anonymous && isStruct(f.Type) }

// isStruct reports whether a type is a struct or a pointer to one.
func isStruct(t reflect.Type) bool {
	return t.Kind() == reflect.Struct || t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct
}

// checkAmbiguous reports fields that are hidden because two embedded structs have them.
func (b *builder) checkAmbiguous(s *jsonschema.Schema) {
	if len(s.AllOf) == 0 {
		return
	}
	full, err := structural.RewritePart(s, b.defs)
	if err != nil {
		return // the rewriting of the whole document reports the error
	}
	for _, name := range full.Ambiguous() {
		b.refuse(fmt.Sprintf("two embedded structs have a field with the JSON name %q, so encoding/json omits both", name),
			"declare it in the struct itself, or rename one of them")
	}
}

// push adds a field to the stack.
func (b *builder) push(f reflect.StructField) {
	name := f.Name
	if len(b.stack) > 0 {
		name = b.stack[len(b.stack)-1].label + "." + name
	}
	b.stack = append(b.stack, frame{label: name, bounds: shape.Preserves(f.Tag)})
}

// inline reports whether the fields of a struct are inlined into the enclosing struct. It returns ok = false if this is
// not possible, or if the tag contradicts encoding/json.
func (b *builder) inline(f reflect.StructField, tag shape.JSON) (inline, ok bool) {
	if tag.Inline && (!f.Anonymous || tag.Name != "") {
		b.refuse("only embedded structs without a JSON name are inlined by encoding/json",
			`embed the type, or give the field a JSON name without "inline"`)
		return false, false
	}
	if !f.Anonymous {
		return false, true
	}
	if f.Type.Kind() == reflect.Pointer && !f.IsExported() {
		b.refuse("encoding/json can't decode into an embedded pointer to an unexported struct", "embed the struct itself, or export its type")
		return false, false
	}
	return isStruct(f.Type) && tag.Name == "", true
}

// embed adds an embedded struct.
func (b *builder) embed(s *jsonschema.Schema, f reflect.StructField) {
	if shape.HasTags(f.Tag) {
		b.refuse("a jsonschema tag has no effect on an embedded struct", "tag its fields instead")
	}
	s.AllOf = append(s.AllOf, b.schema(f.Type))
}

// nameless reports a field without a name.
func (b *builder) nameless(f reflect.StructField, tag shape.JSON) {
	problem := "the field has no json tag"
	if tag.Tagged {
		problem = "the json tag has no name"
	}
	b.refuse(problem, fmt.Sprintf("add json:%q, or json:\"-\" to omit the field", strings.ToLower(f.Name[:1])+f.Name[1:]))
}

// property describes a named field.
func (b *builder) property(s *jsonschema.Schema, of reflect.Type, tag reflect.StructTag, doc string, optional bool) {
	name := shape.ParseJSON(tag)
	if option, meant := name.Misspelled(); option != "" {
		b.refuse(fmt.Sprintf("the json tag has the unknown option %q", option), "write "+meant)
	}
	p := b.schema(of)
	if name.Quoted {
		p = shape.AsString(p, shape.Resolve(b.defs, p).Type)
	}
	p.Description = doc
	required := !name.Omitted && !optional
	if shape.HasTags(tag) {
		tags, errs := shape.ParseTags(tag, p, b.defs)
		for _, err := range errs {
			b.complain(err.Error())
		}
		tags.Merge(p, shape.Clone(p))
		tags.Join(s, name.Name)
		required = required || tags.Required
		b.checkLater(p)
	}
	s.Properties.Set(name.Name, p)
	if required {
		s.Required = append(s.Required, name.Name)
	}
}

// checkLater adds a check of the default, example and enum values of a field, which needs the complete document.
func (b *builder) checkLater(p *jsonschema.Schema) {
	at := b.stack[len(b.stack)-1].label
	b.checks = append(b.checks, func() {
		full, err := structural.RewritePart(p, b.defs)
		if err != nil {
			return // the rewriting of the whole document reports the error
		}
		for _, problem := range full.Contradictions() {
			b.errs = append(b.errs, fmt.Errorf("%s: tag jsonschema: %w", at, problem))
		}
	})
}
