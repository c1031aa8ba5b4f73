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
	seen := map[string]string{} // by JSON name: the Go name
	for f := range t.Fields() {
		name := shape.ParseJSON(f.Tag)
		if name.Ignored || shape.Hidden(f.Tag) || !f.IsExported() && !f.Anonymous {
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
				b.refuse(fmt.Sprintf("field %s has the JSON name %q too", other, name.Name), "give one of them another")
			}
			seen[name.Name] = f.Name
		}
		b.stack = b.stack[:len(b.stack)-1]
	}
	b.checkAmbiguous(s)
	return s
}

// checkAmbiguous reports names that two embedded structs have and the struct around them has not.
func (b *builder) checkAmbiguous(s *jsonschema.Schema) {
	if len(s.AllOf) == 0 {
		return
	}
	full, err := structural.RewritePart(s, b.defs)
	if err != nil {
		return // which the whole document says, too
	}
	for _, name := range full.Ambiguous() {
		b.refuse(fmt.Sprintf("two embedded structs have a field with the JSON name %q, so encoding/json leaves out both", name),
			"declare it in the struct itself, or give one of them another name")
	}
}

// push enters a field.
func (b *builder) push(f reflect.StructField) {
	name := f.Name
	if len(b.stack) > 0 {
		name = b.stack[len(b.stack)-1].label + "." + name
	}
	b.stack = append(b.stack, frame{label: name, bounds: shape.Preserves(f.Tag)})
}

// inline reports whether the fields of an embedded struct are those of the struct around it. It is not ok when that can't
// be, or when the tag and encoding/json disagree about it.
func (b *builder) inline(f reflect.StructField, tag shape.JSON) (inline, ok bool) {
	if tag.Inline && (!f.Anonymous || tag.Name != "") {
		b.refuse("encoding/json puts the fields of embedded structs without a JSON name inline, and no others",
			`embed the type, or give the field a JSON name without "inline"`)
		return false, false
	}
	if !f.Anonymous || tag.Name != "" {
		return false, true
	}
	pointer := f.Type.Kind() == reflect.Pointer
	if pointer && f.Type.Elem().Kind() == reflect.Struct && !f.IsExported() {
		b.refuse("encoding/json can't decode into an embedded pointer to a struct that is not exported", "embed the struct itself, or export its type")
		return false, false
	}
	return f.Type.Kind() == reflect.Struct || pointer && f.Type.Elem().Kind() == reflect.Struct, true
}

// embed adds a struct whose fields are those of the struct around it.
func (b *builder) embed(s *jsonschema.Schema, f reflect.StructField) {
	if shape.Mentioned(f.Tag) {
		b.refuse("a jsonschema tag has no effect on an embedded struct", "its fields become those of the struct around it: tag them")
	}
	s.AllOf = append(s.AllOf, b.schema(f.Type))
}

// nameless reports a field without a name.
func (b *builder) nameless(f reflect.StructField, tag shape.JSON) {
	if !f.IsExported() {
		return
	}
	what := "the field has no json tag"
	if tag.Tagged {
		what = "the json tag has no name"
	}
	b.refuse(what, fmt.Sprintf("add json:%q, or json:\"-\" to leave the field out", strings.ToLower(f.Name[:1])+f.Name[1:]))
}

// property describes a field that has a name of its own.
func (b *builder) property(s *jsonschema.Schema, of reflect.Type, tag reflect.StructTag, doc string, optional bool) {
	name := shape.ParseJSON(tag)
	if option, meant := name.Misspelt(); option != "" {
		b.refuse(fmt.Sprintf("encoding/json knows no option %q in a json tag", option), "write "+meant)
	}
	p := b.schema(of)
	if name.Quoted {
		p = shape.AsString(p, b.resolve(p).Type)
	}
	p.Description = doc
	required := !name.Omitted && !optional
	if shape.Mentioned(tag) {
		said, errs := shape.Say(tag, p, b.resolve)
		for _, err := range errs {
			b.complain(err.Error())
		}
		said.Merge(p, shape.Clone(p))
		said.Join(s, name.Name)
		required = required || said.Required
		b.checkLater(p)
	}
	s.Properties.Set(name.Name, p)
	if required {
		s.Required = append(s.Required, name.Name)
	}
}

// checkLater checks the values that a field's tags name against all that is known of its schema, once that is complete.
func (b *builder) checkLater(p *jsonschema.Schema) {
	at := b.stack[len(b.stack)-1].label
	b.checks = append(b.checks, func() {
		full, err := structural.RewritePart(p, b.defs)
		if err != nil {
			return // which the whole document says, too
		}
		for _, problem := range full.Contradictions() {
			b.errs = append(b.errs, fmt.Errorf("%s: tag jsonschema: %w", at, problem))
		}
	})
}
