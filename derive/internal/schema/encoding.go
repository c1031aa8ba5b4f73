// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"go/token"
	"go/types"
	"maps"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/kube-go/sdk/derive/internal/load"
	"github.com/kube-go/sdk/derive/internal/shape"
)

const typeMarker = validation + "Type"

// encoded describes a type with an encoding of its own. It returns nil for other types.
func (b *Builder) encoded(t *types.Named, decl *load.Decl) *jsonschema.Schema {
	if s := b.stated(t); s != nil {
		return s
	}
	asJSON, asString := encoder(t, "MarshalJSON"), encoder(t, "MarshalText")
	typed := decl.Get(typeMarker)
	_, isStruct := t.Underlying().(*types.Struct)
	switch {
	case typed != nil && asJSON != nil:
		if b.writesFields(t, typed) {
			return nil
		}
		return &jsonschema.Schema{}
	case asJSON == nil && asString != nil:
		return shape.Text(t.Obj().Pkg().Path(), t.Obj().Name())
	case typed == nil && b.describer(t) != "":
		return b.refuse(b.describer(t)+" returns its schema, which is known only at run time",
			"set it with +"+typeMarker+" or other markers, or generate the definition with derive.Reflect")
	case asJSON == nil:
		return nil
	}
	if len(asJSON.path) > 1 && isStruct {
		return b.promoted(t, asJSON.path[0])
	}
	const what = "it has its own MarshalJSON, so its schema does not follow from its Go type"
	switch own := b.strict(t.Obj()); {
	case own && isStruct:
		b.refuse(what, "set it with +"+typeMarker+"; with object, the schema has the fields of the Go type")
		return b.quietly(t.Underlying())
	case own:
		return b.refuse(what, "set it with +"+typeMarker)
	case !strings.Contains(t.Obj().Pkg().Path(), "."):
		return b.refuse(typeString(t)+" has its own MarshalJSON, so its schema does not follow from its Go type", "use your own type")
	}
	return nil // the structs of other modules usually encode their fields
}

// quietly describes a struct with a mistake by its fields, for lenient runs. It does not report other types that can't
// be described, because the correction of the mistake may make them unnecessary.
func (b *Builder) quietly(t types.Type) *jsonschema.Schema {
	report, refused, checks, defs := b.report, b.refused, len(b.checks), maps.Clone(b.defs)
	b.report = func(token.Position, string) {}
	s := b.schema(t)
	b.report = report
	if b.refused > refused {
		b.checks, b.defs = b.checks[:checks], defs
		return anything()
	}
	return s
}

// promoted describes a struct with the MarshalJSON of an embedded field: only this field is encoded.
func (b *Builder) promoted(t *types.Named, index int) *jsonschema.Schema {
	st := t.Underlying().(*types.Struct) //nolint:forcetypeassert // the caller knows
	f, tag := st.Field(index), fieldTag(st, index)
	for i := range st.NumFields() {
		if other := shape.ParseJSON(fieldTag(st, i)); i == index || other.Ignored || !shape.Written(st.Field(i)) {
			continue
		}
		if !b.strict(t.Obj()) {
			return nil // the structs of other modules usually encode their fields
		}
		return b.refuse("it has the MarshalJSON method of the embedded "+f.Name()+", so encoding/json writes only this field",
			"give the embedded field a name")
	}
	b.push(f, tag)
	defer b.pop()
	s := b.schema(f.Type())
	b.apply(s, b.program.Decl(f), f)
	return s
}

// method is a method that encodes a type, and the fields through which the type has it.
type method struct{ path []int }

// encoder finds a method () ([]byte, error) of a type or of a pointer to it.
func encoder(t *types.Named, name string) *method {
	obj, index, _ := types.LookupFieldOrMethod(types.NewPointer(t), true, t.Obj().Pkg(), name)
	f, ok := obj.(*types.Func)
	if !ok {
		return nil
	}
	results := f.Signature().Results()
	if f.Signature().Params().Len() != 0 || results.Len() != 2 || !isByteSlice(results.At(0).Type()) ||
		results.At(1).Type() != types.Universe.Lookup("error").Type() {
		return nil
	}
	return &method{index}
}

// differs reports whether the schema of the base of a declaration is not what encoding/json writes for the declared
// type, which does not have the methods of its base.
func (b *Builder) differs(t *types.Named, base types.Type) bool {
	from, ok := types.Unalias(base).(*types.Named)
	if !ok || from.Obj().Pkg() == nil {
		return false
	}
	path, name := from.Obj().Pkg().Path(), from.Obj().Name()
	lost := func(method string) bool { return encoder(from, method) != nil && encoder(t, method) == nil }
	asJSON, asString := lost("MarshalJSON"), lost("MarshalText")
	switch typed := b.program.Decl(from.Obj()).Get(typeMarker); {
	case shape.Known(path, name) != nil:
		return asJSON || asString || path == "encoding/json" && name == "Number" // encoding/json compares the type
	case isString(t): // the schema of the base is that of a string, unless a marker states another type
		return (asJSON || asString) && typed != nil && typed.Args.String("") != "string"
	case asJSON:
		return typed != nil && !b.writesFields(from, typed)
	}
	return asString
}

// isString reports whether the underlying type is a string.
func isString(t types.Type) bool {
	basic, ok := t.Underlying().(*types.Basic)
	return ok && basic.Info()&types.IsString != 0
}

// writesFields reports whether a marker states that the MarshalJSON method of a struct writes its fields.
func (b *Builder) writesFields(t *types.Named, typed *load.Marker) bool {
	_, isStruct := t.Underlying().(*types.Struct)
	return isStruct && typed.Args.String("") == "object" && b.strict(t.Obj())
}

// describer returns the name of a method through which invopop/jsonschema gets the schema of a type.
func (b *Builder) describer(t *types.Named) string {
	if !b.strict(t.Obj()) {
		return ""
	}
	for m := range t.Methods() {
		switch params, results := m.Signature().Params(), m.Signature().Results(); m.Name() {
		case "JSONSchema":
			if results.Len() == 1 && isSchema(results.At(0).Type()) {
				return m.Name()
			}
		case "JSONSchemaExtend":
			if params.Len() == 1 && isSchema(params.At(0).Type()) {
				return m.Name()
			}
		case "JSONSchemaAlias", "JSONSchemaProperty":
			if results.Len() == 1 && types.IsInterface(results.At(0).Type()) {
				return m.Name()
			}
		}
	}
	return ""
}

func isSchema(t types.Type) bool {
	return types.TypeString(t, nil) == "*github.com/invopop/jsonschema.Schema"
}

// isByteSlice reports whether encoding/json encodes a slice as a base64 string.
func isByteSlice(t types.Type) bool {
	slice, ok := t.Underlying().(*types.Slice)
	if !ok {
		return false
	}
	if named, ok := types.Unalias(slice.Elem()).(*types.Named); ok && (encoder(named, "MarshalJSON") != nil || encoder(named, "MarshalText") != nil) {
		return false
	}
	basic, ok := slice.Elem().Underlying().(*types.Basic)
	return ok && basic.Kind() == types.Byte
}
