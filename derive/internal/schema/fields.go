// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"fmt"
	"go/constant"
	"go/token"
	"go/types"
	"reflect"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/kube-go/sdk/derive/internal/load"
	"github.com/kube-go/sdk/derive/internal/shape"
	"github.com/kube-go/sdk/derive/internal/structural"
)

// structType describes the fields of a struct.
func (b *Builder) structType(t *types.Struct) *jsonschema.Schema {
	s := shape.Object()
	seen := map[string]string{} // the Go names by JSON name
	groups := &unions{builder: b}
	for i := range t.NumFields() {
		f, tag := t.Field(i), fieldTag(t, i)
		name := shape.ParseJSON(tag)
		if name.Ignored || shape.Hidden(tag) || !shape.Written(f) {
			continue
		}
		b.push(f, tag)
		switch inline, ok := b.inline(f, name); {
		case !ok:
		case inline:
			s.AllOf = append(s.AllOf, b.embedded(f, tag))
		case b.property(s, f, tag):
			if other := seen[name.Name]; other != "" {
				b.refuse(fmt.Sprintf("field %s has the same JSON name %q", other, name.Name), "rename one of them")
			}
			seen[name.Name] = f.Name()
			groups.add(f, name.Name, b.program.Decl(f))
		}
		b.pop()
	}
	groups.apply(s)
	b.checkAmbiguous(s)
	return s
}

func fieldTag(t *types.Struct, i int) reflect.StructTag { return reflect.StructTag(t.Tag(i)) }

// checkAmbiguous reports JSON names that two embedded structs have, but not the struct itself.
func (b *Builder) checkAmbiguous(s *jsonschema.Schema) {
	if len(s.AllOf) == 0 || !b.stack[len(b.stack)-1].strict {
		return
	}
	if full := b.rewritten(s); full != nil {
		for _, name := range full.Ambiguous() {
			b.refuse(fmt.Sprintf("two embedded structs have a field with the JSON name %q, so encoding/json omits both", name),
				"declare it in the struct itself, or rename one of them")
		}
	}
}

// push begins a field.
func (b *Builder) push(f *types.Var, tag reflect.StructTag) {
	label := f.Name()
	if owner := b.owner(); owner != "" {
		label = owner + "." + label
	}
	decl := b.program.Decl(f)
	b.stack = append(b.stack, frame{
		label:  label,
		pos:    decl.Pos,
		strict: b.strict(f),
		bounds: shape.Preserves(tag) ||
			decl.Has("kubebuilder:pruning:PreserveUnknownFields", "kubebuilder:validation:XPreserveUnknownFields"),
	})
}

func (b *Builder) pop() { b.stack = b.stack[:len(b.stack)-1] }

// owner returns the label of the declaration of a field's struct.
func (b *Builder) owner() string {
	if len(b.stack) == 0 {
		return ""
	}
	return b.stack[len(b.stack)-1].label
}

// inline reports whether the fields of an embedded struct are fields of the struct itself. It is not ok if the tag and
// encoding/json disagree, or encoding/json can't decode the struct.
func (b *Builder) inline(f *types.Var, tag shape.JSON) (inline, ok bool) {
	if tag.Inline && (!f.Embedded() || tag.Name != "") {
		b.refuse("only embedded structs without a JSON name are inlined by encoding/json",
			`embed the type, or give the field a JSON name without "inline"`)
		return false, false
	}
	if !f.Embedded() {
		return false, true
	}
	t := f.Type()
	p, pointer := t.Underlying().(*types.Pointer)
	if pointer {
		t = p.Elem()
	}
	if pointer && !f.Exported() && b.strict(f) {
		b.refuse("encoding/json can't decode into an embedded pointer to an unexported struct", "embed the struct itself, or export its type")
		return false, false
	}
	if t.Underlying() == types.Typ[types.Invalid] && tag.Name == "" {
		b.undefined()
		return false, false
	}
	_, inline = t.Underlying().(*types.Struct)
	return inline && tag.Name == "", true
}

// embedded describes an embedded struct whose fields are fields of the struct itself.
func (b *Builder) embedded(f *types.Var, tag reflect.StructTag) *jsonschema.Schema {
	if shape.HasTags(tag) && b.strict(f) {
		b.refuse("a jsonschema tag has no effect on an embedded struct", "tag its fields instead")
	}
	e := b.schema(f.Type())
	decl := *b.program.Decl(f)
	decl.Markers = slices.DeleteFunc(slices.Clone(decl.Markers), func(m *load.Marker) bool {
		switch strings.TrimPrefix(m.Name, validation) {
		case "optional", "Optional", "k8s:optional", "XValidation", "MinProperties", "MaxProperties",
			"XPreserveUnknownFields", "kubebuilder:pruning:PreserveUnknownFields":
			return false
		}
		b.mistake(f, m.Pos, b.program.Markers().Spelling(m.Marker)+
			" has no effect on an embedded struct: mark its fields instead")
		return true
	})
	b.apply(e, &decl, f)
	return e
}

// property describes a field with a JSON name, and reports whether the field has one.
func (b *Builder) property(s *jsonschema.Schema, f *types.Var, tag reflect.StructTag) bool {
	name := shape.ParseJSON(tag)
	if name.Name == "" {
		b.nameless(f, name)
		return false
	}
	if option, meant := name.Misspelled(); option != "" && b.strict(f) {
		b.refuse(fmt.Sprintf("the json tag has the unknown option %q", option), "write "+meant)
	}
	decl := b.program.Decl(f)
	p := &jsonschema.Schema{}
	if !decl.Has("kubebuilder:validation:Schemaless") {
		p = b.schema(f.Type())
	}
	if name.Quoted {
		p = shape.AsString(p, b.resolve(p).Type)
	}
	p.Description = decl.Doc
	before := shape.Clone(p)
	b.apply(p, decl, f)
	required := b.required(f, decl, name.Omitted)
	if tags := b.tagged(f, tag, p, before); tags != nil {
		tags.Join(s, name.Name)
		if tags.Required && !required && decl.Has(validation+"Optional", "optional", "k8s:optional") {
			b.refuse("the jsonschema tag says that the field is required, and a marker that it is optional", "remove one of them")
		}
		required = required || tags.Required
	}
	s.Properties.Set(name.Name, p)
	b.checkPossible(f, p)
	switch {
	case required:
		s.Required = append(s.Required, name.Name)
	case decl.Has("k8s:immutable"): // servers do not evaluate a rule of the field itself when the field is removed
		(&target{builder: b, schema: s}).rule(structural.Rule{
			Rule:    fmt.Sprintf("!has(oldSelf.%[1]s) || has(self.%[1]s)", celName(name.Name)),
			Message: "field " + name.Name + " is immutable once set",
		})
	}
	b.aboutStruct(s, f, name.Name, decl)
	return true
}

// checkPossible reports a field for which its own markers and those of its type allow no value, when the document is
// complete. Contradictions within one declaration are reported earlier.
func (b *Builder) checkPossible(f *types.Var, p *jsonschema.Schema) {
	if !b.strict(f) || p.Ref == "" {
		return
	}
	at := b.stack[len(b.stack)-1]
	b.checks = append(b.checks, func() {
		own := *p
		own.Ref = ""
		for _, alone := range []*jsonschema.Schema{&own, {Ref: p.Ref}} {
			if s := b.rewritten(alone); s == nil || s.Impossible() != "" {
				return
			}
		}
		both := b.rewritten(p)
		if both == nil {
			return
		}
		if why := both.Impossible(); why != "" {
			b.report(at.pos, fmt.Sprintf("%s: the markers of the field contradict those of its type: %s", at.label, why))
		}
	})
}

// nameless reports a field without a JSON name.
func (b *Builder) nameless(f *types.Var, tag shape.JSON) {
	if !b.strict(f) { // once for the struct: its user can't change the fields
		all := b.stack
		b.stack = b.stack[:len(b.stack)-1]
		b.refuse("it has fields without a json tag", "use a string or your own struct instead")
		b.stack = all
		return
	}
	what := "the field has no json tag"
	if tag.Tagged {
		what = "the json tag has no name"
	}
	b.refuse(what, fmt.Sprintf("add json:%q, or json:\"-\" to omit the field", lowerFirst(f.Name())))
}

// tagged applies the jsonschema tags of a field to its schema, and returns them, or nil if the field has none. before
// is the schema without the effects of the markers.
func (b *Builder) tagged(f *types.Var, tag reflect.StructTag, p, before *jsonschema.Schema) *shape.Tags {
	if !shape.HasTags(tag) {
		return nil
	}
	frame := b.stack[len(b.stack)-1]
	complain := func(msg string) { b.mistake(f, frame.pos, frame.label+": "+msg) }
	tags, errs := shape.ParseTags(tag, p, b.defs)
	for _, err := range errs {
		complain(err.Error())
	}
	for _, keyword := range tags.Merge(p, before) {
		complain(fmt.Sprintf("the jsonschema tag and a marker have different values of %s: remove one of them", keyword))
	}
	if b.strict(f) {
		b.checks = append(b.checks, func() {
			if full := b.rewritten(p); full != nil {
				for _, problem := range full.Contradictions() {
					complain("tag jsonschema: " + problem.Error())
				}
			}
		})
	}
	return tags
}

// required reports whether a field is required. Its markers decide, then those of the package, then its json tag.
func (b *Builder) required(f *types.Var, decl *load.Decl, omitted bool) bool {
	optional := decl.Has(validation+"Optional", "optional", "k8s:optional")
	required := decl.Has(validation+"Required", "required", "k8s:required")
	switch {
	case optional && required: // already reported; for other modules, the rule of controller-gen applies
		return decl.Has(validation+"Required") && !decl.Has(validation+"Optional")
	case optional || required:
		return required
	}
	if pkg := b.program.Package(f.Pkg().Path()); pkg != nil {
		if b.program.PackageMarker(pkg, "kubebuilder:validation:Optional") != nil {
			return false
		}
	}
	return !omitted
}

func lowerFirst(s string) string { return strings.ToLower(s[:1]) + s[1:] }

// enumOf returns the values of a type's constants, sorted.
func (b *Builder) enumOf(obj types.Object) []any {
	var values []constant.Value
	scope := obj.Pkg().Scope()
	for _, name := range scope.Names() {
		if c, ok := scope.Lookup(name).(*types.Const); ok && name != "_" && types.Identical(c.Type(), obj.Type()) && !b.program.Decl(c).Has("k8s:enumExclude") {
			values = append(values, c.Val())
		}
	}
	slices.SortFunc(values, func(a, b constant.Value) int {
		switch {
		case constant.Compare(a, token.LSS, b):
			return -1
		case constant.Compare(a, token.EQL, b):
			return 0
		}
		return 1
	})
	var list []any
	for _, v := range slices.CompactFunc(values, func(a, b constant.Value) bool { return constant.Compare(a, token.EQL, b) }) {
		if v.Kind() == constant.String {
			list = append(list, constant.StringVal(v))
		} else {
			list = append(list, json.Number(v.ExactString()))
		}
	}
	return list
}

// rewritten returns the structural schema of a schema in the current document, or nil if it has none.
func (b *Builder) rewritten(s *jsonschema.Schema) *structural.Schema {
	out, err := structural.RewritePart(s, b.defs)
	if err != nil {
		return nil
	}
	return out
}
