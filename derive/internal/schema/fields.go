// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"go/types"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/kube-go/sdk/derive/internal/load"
	"github.com/kube-go/sdk/derive/internal/structural"
)

// structType describes the fields of a struct.
func (b *Builder) structType(t *types.Struct) *jsonschema.Schema {
	s := object()
	seen := map[string]string{} // by JSON name: the Go name
	for i := range t.NumFields() {
		f := t.Field(i)
		tag, tagged := reflect.StructTag(t.Tag(i)).Lookup("json")
		if tag == "-" || !f.Exported() && !f.Embedded() {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		b.push(f)
		switch inline, ok := b.inline(f, name, options); {
		case !ok:
		case inline:
			s.AllOf = append(s.AllOf, b.embedded(f))
		default:
			name = b.property(s, f, name, options, tagged)
			if other := seen[name]; name != "" && other != "" {
				b.refuse(fmt.Sprintf("field %s has the JSON name %q too", other, name), "give one of them another")
			}
			seen[name] = f.Name()
		}
		b.pop()
	}
	return s
}

// push enters a field.
func (b *Builder) push(f *types.Var) {
	label := f.Name()
	if owner := b.owner(); owner != "" {
		label = owner + "." + label
	}
	decl := b.program.Decl(f)
	b.stack = append(b.stack, frame{
		label:  label,
		pos:    decl.Pos,
		strict: b.strict(f),
		bounds: decl.Has("kubebuilder:pruning:PreserveUnknownFields", "kubebuilder:validation:XPreserveUnknownFields"),
	})
}

func (b *Builder) pop() { b.stack = b.stack[:len(b.stack)-1] }

// owner is the label of the declaration that a field stands in.
func (b *Builder) owner() string {
	if len(b.stack) == 0 {
		return ""
	}
	return b.stack[len(b.stack)-1].label
}

// inline reports whether the fields of an embedded struct are those of the struct around it. It is not ok when the tag and
// encoding/json disagree about that.
func (b *Builder) inline(f *types.Var, name, options string) (inline, ok bool) {
	asked := slices.Contains(strings.Split(options, ","), "inline")
	if asked && (!f.Embedded() || name != "") {
		b.refuse("encoding/json puts the fields of embedded structs without a JSON name inline, and no others",
			`embed the type, or give the field a JSON name without "inline"`)
		return false, false
	}
	if !f.Embedded() || name != "" {
		return false, true
	}
	t := f.Type()
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	_, inline = t.Underlying().(*types.Struct)
	return inline, true
}

// embedded describes a struct whose fields are those of the struct around it.
func (b *Builder) embedded(f *types.Var) *jsonschema.Schema {
	e := b.schema(f.Type())
	decl := *b.program.Decl(f)
	decl.Markers = slices.DeleteFunc(slices.Clone(decl.Markers), func(m *load.Marker) bool {
		switch strings.TrimPrefix(m.Name, validation) {
		case "optional", "Optional", "k8s:optional", "XValidation", "MinProperties", "MaxProperties",
			"XPreserveUnknownFields", "kubebuilder:pruning:PreserveUnknownFields":
			return false
		}
		b.mistake(f, m.Pos, b.program.Markers().Spelling(m.Marker)+
			" has no effect on an embedded struct: its fields become those of the struct around it")
		return true
	})
	b.apply(e, &decl, f)
	return e
}

// property describes a field that has a name of its own, and returns that name.
func (b *Builder) property(s *jsonschema.Schema, f *types.Var, name, options string, tagged bool) string {
	if name == "" {
		if !f.Exported() {
			return ""
		}
		what := "the field has no json tag"
		if tagged {
			what = "the json tag has no name"
		}
		b.refuse(what, fmt.Sprintf("add json:%q, or json:\"-\" to leave the field out", lowerFirst(f.Name())))
		return ""
	}
	decl := b.program.Decl(f)
	var p *jsonschema.Schema
	if decl.Has("kubebuilder:validation:Schemaless") {
		p = &jsonschema.Schema{}
	} else {
		p = b.schema(f.Type())
	}
	omit := strings.Split(options, ",")
	if slices.Contains(omit, "string") {
		p = asString(p)
	}
	p.Description = decl.Doc
	b.apply(p, decl, f)
	s.Properties.Set(name, p)
	switch {
	case b.required(f, decl, slices.Contains(omit, "omitempty") || slices.Contains(omit, "omitzero")):
		s.Required = append(s.Required, name)
	case decl.Has("k8s:immutable"): // a rule of the field itself does not run when the field is removed
		(&target{builder: b, schema: s}).rule(structural.Rule{
			Rule:    fmt.Sprintf("!has(oldSelf.%[1]s) || has(self.%[1]s)", name),
			Message: fmt.Sprintf("field %s is immutable once set", name),
		})
	}
	return name
}

// asString is what the string option of a json tag makes of a number or a truth value.
func asString(p *jsonschema.Schema) *jsonschema.Schema {
	switch p.Type {
	case "integer", "number", "boolean":
		return &jsonschema.Schema{Type: "string"}
	}
	return p
}

// required reports whether a field must be there: its own markers decide, then the package's, then its json tag.
func (b *Builder) required(f *types.Var, decl *load.Decl, omitted bool) bool {
	optional := decl.Has(validation+"Optional", "optional", "k8s:optional")
	required := decl.Has(validation+"Required", "required", "k8s:required")
	switch {
	case optional && required && b.strict(f):
		b.refuse("the field is marked both optional and required", "remove one of the markers")
		return false
	case optional && required: // in other modules, the one counts that counts for controller-gen
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

// enumOf lists the values of the constants that have a type, in order.
func enumOf(obj types.Object) []any {
	var texts []string
	scope := obj.Pkg().Scope()
	for _, name := range scope.Names() {
		c, ok := scope.Lookup(name).(*types.Const)
		if ok && types.Identical(c.Type(), obj.Type()) {
			texts = append(texts, c.Val().ExactString())
		}
	}
	slices.Sort(texts)
	var values []any
	for _, text := range slices.Compact(texts) {
		if s, err := strconv.Unquote(text); err == nil {
			values = append(values, s)
		}
	}
	return values
}

// rewritten returns the structural form of a schema as far as the document is complete, nil when it has none.
func (b *Builder) rewritten(s *jsonschema.Schema) *structural.Schema {
	out, err := structural.RewritePart(s, b.defs)
	if err != nil {
		return nil
	}
	return out
}
