// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"go/token"
	"go/types"
	"slices"

	"github.com/invopop/jsonschema"

	"github.com/kube-go/sdk/derive/internal/kind"
	"github.com/kube-go/sdk/derive/internal/load"
	"github.com/kube-go/sdk/derive/internal/shape"
	"github.com/kube-go/sdk/derive/internal/structural"
)

// Builder creates documents. All documents of a builder share its definitions.
type Builder struct {
	program *load.Program
	report  func(token.Position, string)
	defs    jsonschema.Definitions
	stack   []frame
	checks  []func()
	refused int // the number of types and fields that could not be described
}

// frame is a declaration that is being described.
type frame struct {
	def    string // the name of the definition, or empty for a field
	label  string // the name in messages
	pos    token.Position
	strict bool
	bounds bool // the field preserves unknown fields
}

// New returns a builder that reports types that can't be described.
func New(program *load.Program, report func(token.Position, string)) *Builder {
	return &Builder{program: program, report: report, defs: jsonschema.Definitions{}}
}

// Refused returns the number of types and fields that could not be described so far. Their schemas accept any value.
func (b *Builder) Refused() int { return b.refused }

// anything returns a schema that accepts any value.
func anything() *jsonschema.Schema {
	return &jsonschema.Schema{Extras: map[string]any{structural.KeyPreserveUnknownFields: true}}
}

// Describe returns the document of a kind. It reports types that can't be described, and describes the others.
func (b *Builder) Describe(k *kind.Kind) *jsonschema.Schema {
	if k.Root != nil {
		return b.document(b.schema(k.Root.Type()))
	}
	root := shape.Object()
	root.Description = k.Description
	root.AllOf = []*jsonschema.Schema{b.typeMeta()}
	root.Properties.Set("metadata", shape.Object())
	root.Properties.Set("spec", b.schema(k.Spec.Type()))
	root.Required = []string{"spec"}
	if k.Status != nil {
		root.Properties.Set("status", b.schema(k.Status.Type()))
	}
	return b.document(root)
}

// typeMeta describes the fields kind and apiVersion.
func (b *Builder) typeMeta() *jsonschema.Schema {
	meta := b.program.Package("k8s.io/apimachinery/pkg/apis/meta/v1")
	return b.schema(meta.Types.Scope().Lookup("TypeMeta").Type())
}

// document completes a document, and runs the checks that need the whole document.
func (b *Builder) document(root *jsonschema.Schema) *jsonschema.Schema {
	root.Definitions = b.defs
	for _, check := range b.checks {
		check()
	}
	b.checks = nil
	return root
}

// schema describes a type.
func (b *Builder) schema(t types.Type) *jsonschema.Schema {
	switch t := t.(type) {
	case *types.Alias:
		if t.Obj().Pkg() == nil { // any
			return b.schema(types.Unalias(t))
		}
		return b.named(t, t.Obj(), func() *jsonschema.Schema { return b.schema(t.Rhs()) })
	case *types.Named:
		return b.namedType(t)
	case *types.Pointer:
		return b.schema(t.Elem())
	case *types.Basic:
		return b.basic(t)
	case *types.Slice:
		if isByteSlice(t) {
			return shape.Bytes()
		}
		return &jsonschema.Schema{Type: "array", Items: b.schema(t.Elem())}
	case *types.Array:
		return shape.Array(t.Len(), b.schema(t.Elem()))
	case *types.Map:
		return b.mapType(t)
	case *types.Struct:
		return b.structType(t)
	case *types.Interface:
		return b.refuse("an interface has no schema", "use runtime.RawExtension for any object, or a struct with one field for each alternative")
	case *types.Chan:
		return b.refuse("a channel can't be stored in an object", `remove the field, or omit it with json:"-"`)
	case *types.Signature:
		return b.refuse("a function can't be stored in an object", `remove the field, or omit it with json:"-"`)
	}
	return b.refuse(fmt.Sprintf("%s has no schema", t), "use another type")
}

// basic describes a predeclared type.
func (b *Builder) basic(t *types.Basic) *jsonschema.Schema {
	if t.Kind() == types.Invalid {
		return b.undefined()
	}
	if s := shape.Basic(types.Typ[t.Kind()].Name()); s != nil { // byte and rune are aliases
		return s
	}
	return b.refuse(fmt.Sprintf("a %s can't be stored in an object", t), "use a string or a number")
}

// undefined reports a type that does not exist, with the error of the compiler, or one that is not loaded.
func (b *Builder) undefined() *jsonschema.Schema {
	f := b.stack[len(b.stack)-1]
	if msg := b.program.TypeErrorAt(f.pos); msg != "" {
		b.refused++
		b.report(f.pos, f.label+": "+msg)
		return anything()
	}
	b.program.ReportImports()
	return b.refuse("the type is unknown: it is from C or from a missing package", "use a Go type, or correct the import")
}

func (b *Builder) mapType(t *types.Map) *jsonschema.Schema {
	ok := isString(t.Key())
	if named, isNamed := types.Unalias(t.Key()).(*types.Named); isNamed && !ok {
		ok = encoder(named, "MarshalText") != nil
	}
	if !ok {
		return b.refuse(fmt.Sprintf("the keys of a map must be strings, not %s", typeString(t.Key())),
			"use a string type, or a list of structs with +listType=map")
	}
	return &jsonschema.Schema{Type: "object", AdditionalProperties: b.schema(t.Elem())}
}

// namedType describes a type that has a declaration.
func (b *Builder) namedType(t *types.Named) *jsonschema.Schema {
	obj := t.Obj()
	if obj.Pkg() == nil { // error, comparable
		return b.schema(t.Underlying())
	}
	if s := shape.Known(obj.Pkg().Path(), obj.Name()); s != nil {
		name := defName(t)
		b.defs[name] = s
		return &jsonschema.Schema{Ref: structural.DefPrefix + name}
	}
	return b.named(t, obj, func() *jsonschema.Schema {
		decl := b.program.Decl(obj)
		if s := b.encoded(t, decl); s != nil {
			return s
		}
		return b.based(t, obj)
	})
}

// based describes a type by the base of the declaration of obj, or otherwise by its underlying type.
func (b *Builder) based(t *types.Named, obj *types.TypeName) *jsonschema.Schema {
	base := b.program.Base(obj)
	if base != nil && types.Identical(base.Type().Underlying(), t.Underlying()) {
		stated := b.program.Decl(obj).Has(typeMarker, validation+"XIntOrString")
		if b.strict(obj) && !stated && b.differs(t, base.Type()) {
			of := typeString(base.Type())
			remedy := fmt.Sprintf("write type %s = %s", obj.Name(), of)
			if _, ok := t.Underlying().(*types.Struct); ok {
				remedy += ", or embed it in a struct"
			}
			return b.refuse("it does not have the encoding of "+of+", because types do not inherit methods", remedy)
		}
		return b.schema(base.Type())
	}
	if base != nil && isGeneric(base.Type()) { // the type checker does not have the instance in the declaration
		s, decl := b.based(t, base), b.program.Decl(base)
		s.Description = decl.Doc
		b.apply(s, decl, base)
		name := structural.BaseDef(defName(t), defName(base.Type()))
		b.defs[name] = s
		return &jsonschema.Schema{Ref: structural.DefPrefix + name}
	}
	if st, ok := t.Underlying().(*types.Struct); ok {
		return b.structType(st)
	}
	return b.schema(t.Underlying())
}

// isGeneric reports whether a type has type parameters.
func isGeneric(t types.Type) bool {
	generic, ok := t.(interface{ TypeParams() *types.TypeParamList })
	return ok && generic.TypeParams().Len() > 0
}

// named returns a reference to the definition of a type, which it adds if it does not exist.
func (b *Builder) named(t types.Type, obj *types.TypeName, describe func() *jsonschema.Schema) *jsonschema.Schema {
	name := defName(t)
	ref := &jsonschema.Schema{Ref: structural.DefPrefix + name}
	if slices.ContainsFunc(b.stack, func(f frame) bool { return f.def == name }) {
		return b.recursive(name, obj)
	}
	if b.defs[name] != nil {
		return ref
	}
	decl := b.program.Decl(obj)
	strict, label := b.strict(obj), obj.Name()
	if !strict {
		label = obj.Pkg().Name() + "." + label
	}
	b.stack = append(b.stack, frame{def: name, label: label, pos: decl.Pos, strict: strict})
	refused := b.refused
	s := describe()
	if decl.Doc != "" {
		s.Description = decl.Doc
	}
	b.apply(s, decl, obj)
	b.stack = b.stack[:len(b.stack)-1]
	if !strict && b.refused > refused {
		return anything() // the problem is reported for each use of the type
	}
	b.defs[name] = s
	return ref
}

// recursive returns the schema for a use of a type within itself. It preserves unknown fields, because servers also
// prune the values below the field that preserves them, and the schema may be in a definition that other fields use.
func (b *Builder) recursive(name string, obj *types.TypeName) *jsonschema.Schema {
	_, isList := obj.Type().Underlying().(*types.Slice)
	for _, f := range slices.Backward(b.stack) {
		if f.bounds && !isList {
			return shape.AnyObject()
		}
		if f.def == name {
			break
		}
	}
	what := fmt.Sprintf("type %s contains itself, and the schema of a CRD can't", obj.Name())
	if b.stack[len(b.stack)-1].def != "" {
		return b.refuse(what, "use runtime.RawExtension for its elements")
	}
	return b.refuse(what, "mark the recursive field with +kubebuilder:pruning:PreserveUnknownFields, so that servers do not validate it")
}

// mistake reports an invalid marker of a declaration.
func (b *Builder) mistake(obj types.Object, pos token.Position, msg string) {
	b.program.Mistake(b.program.Package(obj.Pkg().Path()), pos, msg)
}

func (b *Builder) strict(obj types.Object) bool {
	pkg := b.program.Package(obj.Pkg().Path())
	return pkg != nil && pkg.Strict
}

// refuse reports that a type can't be described, at the innermost declaration that the user can change.
func (b *Builder) refuse(what, remedy string) *jsonschema.Schema {
	label := ""
	b.refused++
	for _, f := range slices.Backward(b.stack) {
		if !f.strict {
			continue
		}
		if inner := b.stack[len(b.stack)-1]; inner.label != f.label {
			label = " (in " + inner.label + ")"
		}
		b.report(f.pos, fmt.Sprintf("%s: %s%s: %s", f.label, what, label, remedy))
		return anything()
	}
	f := b.stack[0]
	b.report(f.pos, fmt.Sprintf("%s: %s (in %s): %s", f.label, what, b.stack[len(b.stack)-1].label, remedy))
	return anything()
}

// defName returns the name of a type's definition: its package path, a dot, and its name.
func defName(t types.Type) string { return types.TypeString(t, nil) }

// typeString formats a type with package names, as in source code.
func typeString(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string { return p.Name() })
}
