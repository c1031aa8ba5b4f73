// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"strconv"

	"github.com/invopop/jsonschema"

	"github.com/kube-go/sdk/derive/internal/shape"
)

// stated describes a type with the methods OpenAPISchemaType and OpenAPISchemaFormat. The methods are read and not
// called, so they must only return constants.
func (b *Builder) stated(t *types.Named) *jsonschema.Schema {
	if !b.strict(t.Obj()) {
		return nil
	}
	var names []string
	format := ""
	for m := range t.Methods() {
		results := m.Signature().Results()
		switch {
		case m.Signature().Params().Len() != 0 || results.Len() != 1:
		case m.Name() == "OpenAPISchemaType" && types.TypeString(results.At(0).Type(), nil) == "[]string":
			if names = b.returned(m); names == nil {
				return b.refuse("OpenAPISchemaType must only return a list of strings", `write it as return []string{"string"}`)
			}
		case m.Name() == "OpenAPISchemaFormat" && types.TypeString(results.At(0).Type(), nil) == "string":
			formats := b.returned(m)
			if len(formats) != 1 {
				return b.refuse("OpenAPISchemaFormat must only return a string", `write it as return "date-time"`)
			}
			format = formats[0]
		}
	}
	if names == nil {
		return nil
	}
	s := shape.TypeSchema(names, format)
	if s == nil {
		return b.refuse("OpenAPISchemaType returns an unknown type", "return one of string, integer, number, boolean, array and object")
	}
	return s
}

// returned returns the strings that a method returns, or nil if the method does anything else.
func (b *Builder) returned(m *types.Func) []string {
	pos := b.program.Position(m.Pos())
	file, err := parser.ParseFile(token.NewFileSet(), pos.Filename, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	for _, decl := range file.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || fn.Recv == nil || fn.Name.Name != m.Name() || fn.Body == nil || receiver(fn) != receiverName(m) {
			continue
		}
		if len(fn.Body.List) != 1 {
			return nil
		}
		ret, ok := fn.Body.List[0].(*ast.ReturnStmt)
		if !ok || len(ret.Results) != 1 {
			return nil
		}
		return stringsIn(ret.Results[0])
	}
	return nil
}

func receiver(fn *ast.FuncDecl) string {
	expr := fn.Recv.List[0].Type
	for {
		switch e := expr.(type) {
		case *ast.StarExpr:
			expr = e.X
		case *ast.IndexExpr:
			expr = e.X
		case *ast.IndexListExpr:
			expr = e.X
		case *ast.Ident:
			return e.Name
		default:
			return ""
		}
	}
}

func receiverName(m *types.Func) string {
	t := m.Signature().Recv().Type()
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	if named, ok := t.(*types.Named); ok {
		return named.Obj().Name()
	}
	return ""
}

// stringsIn evaluates a string or a list of strings.
func stringsIn(expr ast.Expr) []string {
	switch e := expr.(type) {
	case *ast.BasicLit:
		if s, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
			return []string{s}
		}
	case *ast.CompositeLit:
		var list []string
		for _, elt := range e.Elts {
			one, ok := elt.(*ast.BasicLit)
			if !ok {
				return nil
			}
			list = append(list, stringsIn(one)...)
		}
		return list
	}
	return nil
}
