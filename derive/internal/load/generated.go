// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"iter"
	"path/filepath"
	"strings"
)

// ApplyFile is the name of the file with apply structs, which kube-derive writes only on request.
const ApplyFile = "zz_generated.apply.go"

// HasApplyFile reports whether a root has apply structs.
func (pkg *Package) HasApplyFile() bool { return pkg.apply != nil }

// Module returns the path and the version of a package's module. Both are empty for the standard library, and the
// version is empty for main modules and local replacements.
func (pkg *Package) Module() (path, version string) {
	m := pkg.source.Module
	if m == nil {
		return "", ""
	}
	if m.Replace != nil {
		return m.Path, m.Replace.Version
	}
	return m.Path, m.Version
}

// SetApplyFile replaces the file of apply structs for [Program.Check].
func (p *Program) SetApplyFile(pkg *Package, src []byte) error {
	file, err := parser.ParseFile(p.fset, filepath.Join(pkg.Dir, ApplyFile), src, parser.SkipObjectResolution)
	pkg.apply = file
	return err
}

// missingKinds returns a file with the kinds of a root that its generated file does not have yet, or nil. Other types
// may refer to them, such as lists.
func (p *Program) missingKinds(root *Package) *ast.File {
	if p.resolve(root.source, metaPath) == nil {
		return nil
	}
	p.scan(root)
	declared := map[string]bool{}
	for _, file := range root.syntax {
		for name := range typeNames(file) {
			declared[name.Name] = true
		}
	}
	var b strings.Builder
	for _, file := range root.Files {
		for spec := range typeNames(file) {
			decl := root.decls[spec.Pos()]
			resource := decl.Get("kube:resource")
			if resource == nil {
				continue
			}
			kind := resource.Args.String("kind")
			if declared[kind] {
				continue
			}
			declared[kind] = true
			fmt.Fprintf(&b, "\ntype %s struct {\n\tkubemeta.TypeMeta `json:\",inline\"`\n"+
				"\tkubemeta.ObjectMeta `json:\"metadata,omitzero\"`\n\tSpec %s `json:\"spec\"`\n", kind, spec.Name)
			for _, m := range decl.Markers {
				if m.Name == "kube:subresource" && m.Args.Has("status") {
					status := cmp.Or(m.Args.String("status"), kind+"Status")
					fmt.Fprintf(&b, "\tStatus %s `json:\"status,omitzero\"`\n", status)
				}
			}
			b.WriteString("}\n")
		}
	}
	if b.Len() == 0 {
		return nil
	}
	src := fmt.Sprintf("package %s\n\nimport kubemeta %q\n%s", root.Name, metaPath, b.String())
	file, err := parser.ParseFile(p.fset, filepath.Join(root.Dir, p.generated), src, parser.SkipObjectResolution)
	if err != nil {
		return nil // a name is not valid, which is reported later
	}
	return file
}

// typeNames returns the names of the types that a file declares.
func typeNames(file *ast.File) iter.Seq[*ast.Ident] {
	return func(yield func(*ast.Ident) bool) {
		for _, decl := range file.Decls {
			gen, ok := decl.(*ast.GenDecl)
			if !ok || gen.Tok != token.TYPE {
				continue
			}
			for _, spec := range gen.Specs {
				if !yield(spec.(*ast.TypeSpec).Name) { //nolint:forcetypeassert // the token says so
					return
				}
			}
		}
	}
}
