// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// facade parses the package's own files.
func facade(t *testing.T) map[string]*ast.File {
	t.Helper()
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]*ast.File{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files[path] = file
	}
	return files
}

// TestNoLogic checks that types are aliases, values come from a layer, and functions return one call of a layer.
func TestNoLogic(t *testing.T) {
	for name, file := range facade(t) {
		layers := layersOf(t, file)
		for _, decl := range file.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				checkFunc(t, layers, decl)
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					if typ, ok := spec.(*ast.TypeSpec); ok && typ.Doc == nil {
						typ.Doc = decl.Doc
					}
					checkSpec(t, layers, spec)
				}
			default:
				t.Errorf("%s: unexpected declaration: %T", name, decl)
			}
		}
	}
}

// layersOf returns the names of the SDK's packages that a file imports.
func layersOf(t *testing.T, file *ast.File) []string {
	t.Helper()
	var names []string
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(imported, "github.com/kube-go/sdk/") {
			names = append(names, path.Base(imported))
		}
	}
	return names
}

// layerName returns the package.Name that an expression refers to, without type arguments, if it is a layer's.
func layerName(layers []string, e ast.Expr) (string, bool) {
	switch index := e.(type) {
	case *ast.IndexExpr:
		e = index.X
	case *ast.IndexListExpr:
		e = index.X
	}
	sel, ok := e.(*ast.SelectorExpr)
	if !ok {
		return "", false
	}
	pkg, ok := sel.X.(*ast.Ident)
	if !ok || !slices.Contains(layers, pkg.Name) {
		return "", false
	}
	return pkg.Name + "." + sel.Sel.Name, true
}

func checkFunc(t *testing.T, layers []string, f *ast.FuncDecl) {
	t.Helper()
	if f.Recv != nil || len(f.Body.List) != 1 {
		t.Errorf("%s is a method, or has more than one statement", f.Name)
		return
	}
	ret, ok := f.Body.List[0].(*ast.ReturnStmt)
	if !ok || len(ret.Results) != 1 {
		t.Errorf("%s does not return one call", f.Name)
		return
	}
	call, ok := ret.Results[0].(*ast.CallExpr)
	if !ok {
		t.Errorf("%s does not return a call", f.Name)
		return
	}
	target, ok := layerName(layers, call.Fun)
	if !ok {
		t.Errorf("%s does not return a call of a layer", f.Name)
	}
	for _, arg := range call.Args {
		if part, ok := arg.(*ast.CallExpr); ok { // an API may be passed on as its feed, and a view as its store
			if sel, ok := part.Fun.(*ast.SelectorExpr); ok && (sel.Sel.Name == "Feed" || sel.Sel.Name == "Store") {
				arg = sel.X
			}
		}
		if _, ok := arg.(*ast.Ident); !ok {
			t.Errorf("%s does not pass on its arguments unchanged", f.Name)
		}
	}
	checkLink(t, f.Name.Name, f.Doc, target)
}

func checkSpec(t *testing.T, layers []string, spec ast.Spec) {
	t.Helper()
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		target, ok := layerName(layers, spec.Type)
		if !ok || !spec.Assign.IsValid() {
			t.Errorf("%s is not an alias of a layer's type", spec.Name)
		}
		checkLink(t, spec.Name.Name, spec.Doc, target)
	case *ast.ValueSpec:
		for i, name := range spec.Names {
			if i >= len(spec.Values) {
				t.Errorf("%s has no value", name)
			} else if _, ok := layerName(layers, spec.Values[i]); !ok {
				t.Errorf("%s is not a value of a layer", name)
			}
		}
	}
}

// checkLink checks that a comment links the original of a name, where its methods and fields are documented.
func checkLink(t *testing.T, name string, doc *ast.CommentGroup, target string) {
	t.Helper()
	if !strings.Contains(doc.Text(), "["+target+"]") {
		t.Errorf("the comment of %s does not link [%s]", name, target)
	}
}
