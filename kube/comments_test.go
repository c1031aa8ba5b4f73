// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestPackageCommentListsEveryPackage compares the list in the package comment with the public packages of the modules.
func TestPackageCommentListsEveryPackage(t *testing.T) {
	const prefix = "//   - [github.com/kube-go/sdk/"
	listed := map[string]bool{}
	for _, group := range facade(t)["doc.go"].Comments {
		for _, line := range group.List {
			if rest, ok := strings.CutPrefix(line.Text, prefix); ok {
				folder, _, _ := strings.Cut(rest, "]")
				listed[folder] = true
			}
		}
	}
	for folder := range publicPackages(t) {
		if !listed[folder] {
			t.Errorf("the package comment does not list %s", folder)
		}
		delete(listed, folder)
	}
	for folder := range listed {
		t.Errorf("the package comment lists %s, which does not exist", folder)
	}
}

// TestCommentsListFieldsAndMethods checks that the comment of an alias for a struct lists all exported fields, or says
// that there are more. If the struct has no exported fields, the comment lists its exported methods. Types of the
// package have all methods that it lists.
func TestCommentsListFieldsAndMethods(t *testing.T) {
	packages := publicPackages(t)
	for name, file := range facade(t) {
		folders := map[string]string{}
		for _, spec := range file.Imports {
			imported := strings.Trim(spec.Path.Value, `"`)
			folders[path.Base(imported)] = strings.TrimPrefix(imported, "github.com/kube-go/sdk/")
		}
		ast.Inspect(file, func(n ast.Node) bool {
			decl, ok := n.(*ast.GenDecl)
			if !ok {
				return true
			}
			for _, spec := range decl.Specs {
				alias, ok := spec.(*ast.TypeSpec)
				if !ok {
					continue
				}
				doc := alias.Doc
				if doc == nil {
					doc = decl.Doc
				}
				target := alias.Type
				switch index := target.(type) {
				case *ast.IndexExpr:
					target = index.X
				case *ast.IndexListExpr:
					target = index.X
				}
				sel := target.(*ast.SelectorExpr)
				of := packages[folders[sel.X.(*ast.Ident).Name]]
				want, text := of.worthNaming(sel.Sel.Name), doc.Text()
				for _, method := range listedMethods(text) {
					if !slices.Contains(slices.Concat(slices.Collect(maps.Values(of.methods))...), method) {
						t.Errorf("%s: the comment of %s lists the method %s, which does not exist", name, alias.Name, method)
					}
				}
				words := strings.FieldsFunc(text, func(r rune) bool { return !token.IsIdentifier("x" + string(r)) })
				for _, member := range want {
					if !slices.Contains(words, member) && !strings.Contains(text, "and more") {
						t.Errorf("%s: the comment of %s does not name %s", name, alias.Name, member)
					}
				}
			}
			return true
		})
	}
}

// listedMethods returns the methods of a list such as "Methods: Run, Ready, which …; Len."
func listedMethods(comment string) (list []string) {
	_, text, _ := strings.Cut(strings.ReplaceAll(comment, "\n", " "), "Methods: ")
	text, _, _ = strings.Cut(text, ". ")
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(",;", r) }) {
		word, _, _ := strings.Cut(strings.TrimSpace(part), " ")
		if word = strings.TrimSuffix(word, "."); token.IsExported(word) && token.IsIdentifier(word) {
			list = append(list, word)
		}
	}
	return list
}

// members are the exported fields and methods of the types of a package, by the name of the type.
type members struct{ fields, methods map[string][]string }

// worthNaming returns the exported fields of a type, or its exported methods if it has none.
func (m members) worthNaming(typ string) []string {
	if fields := m.fields[typ]; len(fields) > 0 {
		return fields
	}
	common := []string{"Error", "Unwrap", "Is", "String", "Format", "GoString", "LogValue", "MarshalJSON", "MarshalText"}
	return slices.DeleteFunc(slices.Clone(m.methods[typ]), func(name string) bool { return slices.Contains(common, name) })
}

// publicPackages returns the public packages of the modules below kube, by their folder.
func publicPackages(t *testing.T) map[string]members {
	t.Helper()
	packages := map[string]members{}
	for _, module := range []string{"core", "client", "runtime", "derive", "kubetest", "wasm", "contrib"} {
		err := filepath.WalkDir(filepath.Join("..", module), func(file string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && slices.Contains([]string{"internal", "testdata", "cmd", "conformance", "guests"}, d.Name()):
				return fs.SkipDir
			case !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go"):
				return nil
			}
			syntax, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			folder := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(file)), "../")
			if _, ok := packages[folder]; !ok {
				packages[folder] = members{map[string][]string{}, map[string][]string{}}
			}
			packages[folder].add(syntax)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(packages) == 0 {
		t.Fatal("no packages were found")
	}
	return packages
}

// add adds the members of the types of a file.
func (m members) add(file *ast.File) {
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Recv != nil && decl.Name.IsExported() {
				typ := receiver(decl.Recv.List[0].Type)
				m.methods[typ] = append(m.methods[typ], decl.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				if spec, ok := spec.(*ast.TypeSpec); ok {
					if body, ok := spec.Type.(*ast.StructType); ok {
						m.fields[spec.Name.Name] = exportedFields(body)
					}
				}
			}
		}
	}
}

// receiver returns the name of a method's type.
func receiver(e ast.Expr) string {
	for {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

func exportedFields(body *ast.StructType) []string {
	names := map[string]bool{}
	for _, field := range body.Fields.List {
		for _, id := range field.Names {
			if id.IsExported() {
				names[id.Name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}
