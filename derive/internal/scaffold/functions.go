// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package scaffold

import (
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"slices"
	"strings"
)

// functions returns the file with the functions that convert the kind and its types.
func (w *conversions) functions() (File, error) {
	var b strings.Builder
	hub, kind := w.hub.alias, w.base.name
	fmt.Fprintf(&b, "package %s\n\nimport %s %q\n", w.version, hub, w.tree.module+"/"+w.hub.dir)
	fmt.Fprintf(&b, "\n// These functions convert between %s and %s, the hub of the conversions. They convert everything\n"+
		"// but metadata. After a change of the types of one version, change them, too: a test converts random objects\n"+
		"// there and back.\n",
		w.version, w.base.version)
	for _, to := range []bool{true, false} {
		d := w.direction(to)
		way := "to"
		if !to {
			way = "from"
		}
		fmt.Fprintf(&b, "\n// %s converts an object %s version %s.\n", kind+d.suffix, way, w.base.version)
		fmt.Fprintf(&b, "func %s(in *%s) (*%s, error) {\n", kind+d.suffix, d.from+kind, d.to+kind)
		fmt.Fprintf(&b, "\treturn &%s{\n", d.to+kind)
		w.queue, w.queued = nil, map[string]bool{}
		fmt.Fprintf(&b, "\t\tSpec: %s(in.Spec),\n", w.function(w.base.spec, d))
		if w.base.status != "" {
			fmt.Fprintf(&b, "\t\tStatus: %s(in.Status),\n", w.function(w.base.status, d))
		}
		b.WriteString("\t}, nil\n}\n")
		if err := w.drain(&b, d); err != nil {
			return File{}, err
		}
	}
	for _, name := range []string{"convertList", "convertMap", "convertPointer"} {
		if other, err := w.tree.declares(w.at.dir, name); err != nil {
			return File{}, err
		} else if strings.Contains(b.String(), name+"(") && other == "" {
			b.WriteString(helperFunctions()[name])
		}
	}
	name := w.at.dir + "/" + strings.ToLower(kind) + "_conversion.go"
	text, err := format.Source([]byte(b.String()))
	if err != nil {
		return File{}, fmt.Errorf("%s: %w", name, err)
	}
	return File{name, text}, nil
}

// drain writes the functions of the queued types.
func (w *conversions) drain(b *strings.Builder, d direction) error {
	for len(w.queue) > 0 {
		name := w.queue[0]
		w.queue = w.queue[1:]
		if other, err := w.tree.declares(w.at.dir, unexported(name)+d.suffix); err != nil {
			return err
		} else if other == "" { // another kind may have it
			w.write(b, name, d)
		}
	}
	return nil
}

// direction is one of the two directions of conversions.
type direction struct {
	suffix   string // of functions, such as ToV1
	from, to string // before the names of types, such as "v1."
}

func (w *conversions) direction(toHub bool) direction {
	v := exported(w.base.version)
	if toHub {
		return direction{"To" + v, "", w.hub.alias + "."}
	}
	return direction{"From" + v, w.hub.alias + ".", ""}
}

// function returns the name of the function that converts a type.
func (w *conversions) function(name string, d direction) string {
	if !w.queued[name] {
		w.queued[name] = true
		w.queue = append(w.queue, name)
	}
	return unexported(name) + d.suffix
}

// write writes the function that converts a type.
func (w *conversions) write(b *strings.Builder, name string, d direction) {
	fmt.Fprintf(b, "\nfunc %s%s(in %s) %s {\n", unexported(name), d.suffix, d.from+name, d.to+name)
	typ := w.underlying(w.specs[name].Type)
	fields, ok := typ.(*ast.StructType)
	if !ok {
		if value, err := w.convert(typ, "in", d); err != nil {
			fmt.Fprintf(b, "\t// TODO: convert %s, which %v.\n\tvar out %s\n\treturn out\n}\n", name, err, d.to+name)
		} else {
			fmt.Fprintf(b, "\treturn %s(%s)\n}\n", d.to+name, value)
		}
		return
	}
	fmt.Fprintf(b, "\treturn %s{\n", d.to+name)
	for _, f := range fields.Fields.List {
		list := f.Names
		if list == nil { // it is embedded
			list = []*ast.Ident{embedded(f.Type)}
		}
		for _, id := range list {
			switch {
			case id.IsExported():
			case f.Names == nil: // only the fields of embedded types are encoded
				fmt.Fprintf(b, "\t\t// TODO: convert the fields of %s, which is not exported.\n", id.Name)
				continue
			case w.encodesItself(name) && id.Name != "_":
				fmt.Fprintf(b, "\t\t// TODO: convert %s, which is not exported.\n", id.Name)
				continue
			default: // it is not encoded
				continue
			}
			if value, err := w.convert(f.Type, "in."+id.Name, d); err != nil {
				fmt.Fprintf(b, "\t\t// TODO: convert %s, which %v.\n", id.Name, err)
			} else {
				fmt.Fprintf(b, "\t\t%s: %s,\n", id.Name, value)
			}
		}
	}
	b.WriteString("\t}\n}\n")
}

// encodesItself reports whether a type of the package has its own encoding, which may contain fields that are not
// exported.
func (w *conversions) encodesItself(name string) bool {
	return slices.ContainsFunc(w.sources, func(s *source) bool {
		return slices.ContainsFunc(s.file.Decls, func(decl ast.Decl) bool {
			f, ok := decl.(*ast.FuncDecl)
			return ok && f.Recv != nil && (f.Name.Name == "MarshalJSON" || f.Name.Name == "MarshalText") &&
				embedded(f.Recv.List[0].Type).Name == name
		})
	})
}

// underlying returns what a type of the package is declared as. That of an instance of a generic type has its type
// parameters, if the arguments are the same in both versions.
func (w *conversions) underlying(typ ast.Expr) ast.Expr {
	var spec *ast.TypeSpec
	switch e := typ.(type) {
	case *ast.Ident:
		spec = w.specs[e.Name]
	case *ast.IndexExpr:
		if id, ok := e.X.(*ast.Ident); ok && !w.mentions(e.Index) {
			spec = w.specs[id.Name]
		}
	}
	if spec == nil {
		return typ
	}
	return w.underlying(spec.Type)
}

// embedded returns the name of an embedded field.
func embedded(e ast.Expr) *ast.Ident {
	switch e := e.(type) {
	case *ast.Ident:
		return e
	case *ast.StarExpr:
		return embedded(e.X)
	case *ast.SelectorExpr:
		return e.Sel
	case *ast.IndexExpr:
		return embedded(e.X)
	case *ast.IndexListExpr:
		return embedded(e.X)
	}
	return ast.NewIdent("_") // the only one
}

// convert returns the expression for a value of another version.
func (w *conversions) convert(typ ast.Expr, value string, d direction) (string, error) {
	if !w.mentions(typ) {
		return value, nil
	}
	if id, ok := typ.(*ast.Ident); ok {
		switch spec := w.specs[id.Name]; {
		case spec == nil:
			return "", fmt.Errorf("has objects of the kind %s", id.Name)
		case spec.Assign.IsValid():
			return w.convert(spec.Type, value, d)
		case !id.IsExported():
			return "", fmt.Errorf("has the unexported type %s", id.Name)
		}
		return w.function(id.Name, d) + "(" + value + ")", nil
	}
	helper, elem := "", ast.Expr(nil)
	switch typ := typ.(type) {
	case *ast.StarExpr:
		helper, elem = "convertPointer", typ.X
	case *ast.ArrayType:
		if typ.Len != nil {
			return "", errors.New("is an array")
		}
		helper, elem = "convertList", typ.Elt
	case *ast.MapType:
		if w.mentions(typ.Key) {
			return "", errors.New("has keys of another type")
		}
		helper, elem = "convertMap", typ.Value
	case *ast.IndexExpr, *ast.IndexListExpr:
		return "", errors.New("has a generic type")
	default:
		return "", errors.New("has a type without a name")
	}
	inner, err := w.convert(elem, "in", d)
	if err != nil {
		return "", err
	}
	if function, ok := strings.CutSuffix(inner, "(in)"); ok {
		return fmt.Sprintf("%s(%s, %s)", helper, value, function), nil
	}
	from, to := w.typeIn(elem, d.from), w.typeIn(elem, d.to)
	if from == "" {
		return "", errors.New("has elements of another package")
	}
	return fmt.Sprintf("%s(%s, func(in %s) %s { return %s })", helper, value, from, to, inner), nil
}

// mentions reports whether a type is of the package, or is made of one that is.
func (w *conversions) mentions(typ ast.Expr) bool {
	found := false
	ast.Inspect(typ, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			return false
		case *ast.Field: // its names are not types
			found = found || w.mentions(n.Type)
			return false
		case *ast.Ident:
			spec := w.specs[n.Name]
			found = found || w.kinds[n.Name] || spec != nil && (!spec.Assign.IsValid() || w.mentions(spec.Type))
		}
		return !found
	})
	return found
}

// typeIn returns the text of a type with the qualifier of a package; "" if it has parts of other packages.
func (w *conversions) typeIn(typ ast.Expr, qualifier string) string {
	switch e := typ.(type) {
	case *ast.Ident:
		switch spec := w.specs[e.Name]; {
		case spec == nil:
			return e.Name
		case !e.IsExported(): // an alias
			return w.typeIn(spec.Type, qualifier)
		}
		return qualifier + e.Name
	case *ast.StarExpr:
		return prefixed("*", w.typeIn(e.X, qualifier))
	case *ast.ArrayType:
		return prefixed("[]", w.typeIn(e.Elt, qualifier))
	case *ast.MapType:
		if key := w.typeIn(e.Key, qualifier); key != "" {
			return prefixed("map["+key+"]", w.typeIn(e.Value, qualifier))
		}
	}
	return ""
}

func prefixed(prefix, typ string) string {
	if typ == "" {
		return ""
	}
	return prefix + typ
}

// helperFunctions are the functions that convert containers, by name.
func helperFunctions() map[string]string {
	return map[string]string{
		"convertList": `
func convertList[A, B any](in []A, convert func(A) B) []B {
	if in == nil {
		return nil
	}
	out := make([]B, len(in))
	for i, v := range in {
		out[i] = convert(v)
	}
	return out
}
`,
		"convertMap": `
func convertMap[K comparable, A, B any](in map[K]A, convert func(A) B) map[K]B {
	if in == nil {
		return nil
	}
	out := make(map[K]B, len(in))
	for k, v := range in {
		out[k] = convert(v)
	}
	return out
}
`,
		"convertPointer": `
func convertPointer[A, B any](in *A, convert func(A) B) *B {
	if in == nil {
		return nil
	}
	out := convert(*in)
	return &out
}
`,
	}
}
