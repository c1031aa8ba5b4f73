// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/packages"
)

// HasTypeErrors reports whether a root, with the generated file that it has now, does not compile.
func (pkg *Package) HasTypeErrors() bool {
	return len(pkg.source.Errors) > 0 || len(pkg.source.TypeErrors) > 0
}

// TypeErrorAt returns what the compiler says about a line, "" when it has nothing to say.
func (p *Program) TypeErrorAt(pos token.Position) string {
	for _, root := range p.Roots {
		for _, e := range root.source.TypeErrors {
			if at := p.fset.Position(e.Pos); at.Filename == pos.Filename && at.Line == pos.Line {
				return e.Msg
			}
		}
	}
	return ""
}

// Check type-checks roots with their new generated files, which are keyed by package path, and reports the errors that
// are left.
func (p *Program) Check(generated map[string][]byte) {
	checked := map[string]*types.Package{}
	for _, root := range p.Roots {
		src, ok := generated[root.Path]
		if !ok || p.mixes(root, generated) {
			continue
		}
		file, err := parser.ParseFile(p.fset, filepath.Join(root.Dir, p.generated), src, parser.SkipObjectResolution)
		if err != nil {
			p.report(token.Position{Filename: filepath.Join(root.Dir, p.generated)}, err.Error())
			continue
		}
		files := append([]*ast.File{file}, root.Files...)
		if root.apply != nil {
			files = append(files, root.apply)
		}
		checked[root.Path] = p.check(root, files, checked)
	}
}

// mixes reports whether a root sees another that gets a new file not only directly but also through a package that gets
// none. That package was loaded with the old file, so its types would not match the new ones; the check is left to the
// compiler.
func (p *Program) mixes(root *Package, generated map[string][]byte) bool {
	seen := map[*packages.Package]bool{}
	var leads func(pkg *packages.Package) bool
	leads = func(pkg *packages.Package) bool {
		if seen[pkg] {
			return false
		}
		seen[pkg] = true
		for _, dep := range pkg.Imports {
			if _, anew := generated[dep.PkgPath]; anew || leads(dep) {
				return true
			}
		}
		return false
	}
	for _, dep := range root.source.Imports {
		if _, anew := generated[dep.PkgPath]; !anew && leads(dep) {
			return true
		}
	}
	return false
}

func (p *Program) check(root *Package, files []*ast.File, checked map[string]*types.Package) *types.Package {
	var errs []types.Error
	conf := types.Config{
		FakeImportC: true,
		Importer: importer(func(path string) (*types.Package, error) {
			if pkg := checked[path]; pkg != nil {
				return pkg, nil
			}
			if path == "unsafe" {
				return types.Unsafe, nil
			}
			if src := root.source.Imports[path]; src != nil && src.Types != nil {
				if pkg := checked[src.PkgPath]; pkg != nil {
					return pkg, nil
				}
				return src.Types, nil
			}
			return nil, fmt.Errorf("package %s could not be loaded", path)
		}),
		Error: func(err error) {
			if e, ok := err.(types.Error); ok { //nolint:errorlint // what the checker hands over
				errs = append(errs, e)
			}
		},
	}
	if m := root.source.Module; m != nil && m.GoVersion != "" {
		conf.GoVersion = "go" + m.GoVersion
	}
	pkg, _ := conf.Check(root.Path, p.fset, files, nil) // errors went to conf.Error
	p.typeErrors(errs)
	return pkg
}

// typeErrors reports errors. One that begins with a tab says more about the one before it.
func (p *Program) typeErrors(errs []types.Error) {
	for i, e := range errs {
		if strings.HasPrefix(e.Msg, "\t") || filepath.Base(p.fset.Position(e.Pos).Filename) == ApplyFile {
			continue // apply structs that are out of date are for those to renew who want them
		}
		msg := []string{e.Msg}
		for _, more := range errs[i+1:] {
			if !strings.HasPrefix(more.Msg, "\t") {
				break
			}
			at := p.fset.Position(more.Pos)
			msg = append(msg, fmt.Sprintf("%s in %s:%d", strings.TrimSpace(more.Msg), filepath.Base(at.Filename), at.Line))
		}
		p.report(p.fset.Position(e.Pos), strings.Join(msg, "; "))
	}
}

type importer func(path string) (*types.Package, error)

func (f importer) Import(path string) (*types.Package, error) { return f(path) }
