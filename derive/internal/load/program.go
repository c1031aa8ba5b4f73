// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/kube-go/sdk/derive/internal/marker"
)

// GeneratedFile is the name of the file that kube-derive writes into a package.
const GeneratedFile = "zz_generated.kube.go"

// DeepCopyFile is the name of the file with deep copies alone. Others expect it under this name.
const DeepCopyFile = "zz_generated.deepcopy.go"

// Program is the packages that were asked for, and all that they import.
type Program struct {
	Roots []*Package // each comes after those that it imports

	fset    *token.FileSet
	set     *marker.Set
	byPath  map[string]*Package
	report  func(token.Position, string)
	warn    func(token.Position, string)
	imports []string

	generated string // the name of the file that is written anew

	overlay map[string][]byte     // generated files with the imports that they will have, by path
	parsed  map[string]parsedFile // by path
}

// Package is one package of a program.
type Package struct {
	Path  string
	Name  string
	Dir   string
	Root  string      // the directory of its module, "" when it has none
	Files []*ast.File // of a root, without the generated file

	// Types has the types, constants and methods of the package, and everything that a root declares. It is empty for packages
	// that no kind refers to.
	Types *types.Package

	// Strict is true when the markers of the package are its users' own, so that mistakes in them are errors.
	Strict bool

	// Foreign is true for a root that belongs to somebody else. Mistakes in its markers are warnings.
	Foreign bool

	// Generated is true when the package has a file that kube-derive wrote.
	Generated bool

	source     *packages.Package
	syntax     []*ast.File // of a root, including the generated file
	apply      *ast.File   // with the apply structs, nil when there is none
	typeErrors []types.Error
	indexed    map[string]bool // paths of the files that decls covers
	decls      map[token.Pos]*Decl
	markers    []*Marker // of the package itself
	scanned    bool
}

// Config says what to load.
type Config struct {
	Dir      string
	Patterns []string

	// Imports are the packages that a generated file needs. They are loaded even where it does not exist yet.
	Imports []string

	// Generated is the name of the file that is written anew; default: GeneratedFile.
	Generated string

	// Sources says that only comments are wanted. Nothing is compiled, and no package has types.
	Sources bool

	// Report is called for every mistake in a marker. Warn is called for those in roots of other modules, and for what is no
	// mistake.
	Report func(token.Position, string)
	Warn   func(token.Position, string)
}

// mode asks the go command for the files of all packages. It compiles nothing.
const mode = packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps | packages.NeedModule

// sourceMode is mode without the packages that are imported.
const sourceMode = packages.NeedName | packages.NeedFiles | packages.NeedModule

// Load reads the packages that match the patterns.
func Load(ctx context.Context, cfg *Config) (*Program, error) {
	p := &Program{
		fset: token.NewFileSet(), set: marker.NewSet(), report: cfg.Report, warn: cfg.Warn, imports: cfg.Imports,
		generated: cmp.Or(cfg.Generated, GeneratedFile), parsed: map[string]parsedFile{},
	}
	roots, err := p.load(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if p.overlay = p.missingImports(roots); p.overlay != nil {
		for name := range p.overlay {
			delete(p.parsed, name)
		}
		if roots, err = p.load(ctx, cfg); err != nil {
			return nil, err
		}
	}
	if err := p.listErrors(roots); err != nil {
		return nil, err
	}
	p.index(roots)
	if !cfg.Sources {
		p.loadTypes()
	}
	return p, ctx.Err()
}

// load lists the packages and parses the roots.
func (p *Program) load(ctx context.Context, cfg *Config) ([]*packages.Package, error) {
	need := mode
	if cfg.Sources {
		need = sourceMode
	}
	roots, err := packages.Load(&packages.Config{Context: ctx, Mode: need, Dir: cfg.Dir, Overlay: p.overlay}, cfg.Patterns...)
	if err != nil {
		return nil, fmt.Errorf("load packages: %w", err)
	}
	p.parse(roots, true)
	for _, r := range roots {
		for _, name := range r.GoFiles {
			file := p.parsed[name]
			r.Errors = append(r.Errors, parseErrors(name, file.err)...)
			if file.File != nil {
				r.Syntax = append(r.Syntax, file.File)
			}
		}
	}
	return roots, nil
}

// missingImports makes a file that imports what a generated one needs, for each package with our markers that does not
// import all of it yet.
func (p *Program) missingImports(roots []*packages.Package) map[string][]byte {
	var overlay map[string][]byte
	for _, r := range roots {
		missing := slices.ContainsFunc(p.imports, func(path string) bool { return r.Imports[path] == nil })
		if !missing || foreign(r.Module) || len(r.GoFiles) == 0 || !slices.ContainsFunc(r.Syntax, p.hasKinds) {
			continue
		}
		var b strings.Builder
		fmt.Fprintf(&b, "package %s\n\nimport (\n", r.Name)
		for _, path := range p.imports {
			fmt.Fprintf(&b, "\t_ %q\n", path)
		}
		b.WriteString(")\n")
		if overlay == nil {
			overlay = map[string][]byte{}
		}
		overlay[filepath.Join(filepath.Dir(r.GoFiles[0]), p.generated)] = []byte(b.String())
	}
	return overlay
}

// hasKinds reports whether a file has a marker that makes us write something.
func (p *Program) hasKinds(file *ast.File) bool {
	for _, group := range file.Comments {
		for _, c := range group.List {
			if m, err := p.set.Parse(c.Text); err == nil && m != nil {
				switch m.Name {
				case "kubebuilder:object:root", "k8s:deepcopy-gen:interfaces":
					return true
				case "kube:resource", "kubebuilder:object:generate":
					if p.generated != DeepCopyFile { // which imports nothing for these
						return true
					}
				}
			}
		}
	}
	return false
}

// listErrors returns what stops a package from being read at all: it does not exist or does not parse. Type errors do
// not; they may be about the generated file.
func (p *Program) listErrors(roots []*packages.Package) error {
	var errs []error
	for _, r := range roots {
		for _, e := range r.Errors {
			if p.stops(e) {
				errs = append(errs, p.listError(e))
			}
		}
	}
	if len(roots) == 0 {
		errs = append(errs, errors.New("no packages match"))
	}
	return errors.Join(append(errs, p.unresolved(roots)...)...)
}

// stops reports whether a package with an error can't be read. An error in the file that is written anew does not matter.
func (p *Program) stops(e packages.Error) bool {
	return (e.Kind == packages.ListError || e.Kind == packages.ParseError) && !strings.Contains(e.Pos, p.generated+":")
}

func (p *Program) listError(e packages.Error) error {
	if strings.Contains(e.Msg, "("+p.generated+")") { // the package has been renamed since
		return fmt.Errorf("%s; remove %s and run again", e.Msg, p.generated)
	}
	if e.Pos == "" || e.Pos == "-" {
		return errors.New(e.Msg)
	}
	return fmt.Errorf("%s: %s", e.Pos, e.Msg)
}

// unresolved names the packages that generated code imports and that the go command does not find.
func (p *Program) unresolved(roots []*packages.Package) []error {
	var errs []error
	for _, path := range p.imports {
		for _, r := range roots {
			if dep := r.Imports[path]; dep != nil && dep.Name == "" {
				errs = append(errs, fmt.Errorf("generated code imports %s, which no required module provides: run go get %s", path, path))
				break
			}
		}
	}
	return errs
}

// index wraps the packages and orders the roots.
func (p *Program) index(roots []*packages.Package) {
	p.byPath = map[string]*Package{}
	isRoot := map[string]bool{}
	for _, r := range roots {
		isRoot[r.PkgPath] = true
	}
	packages.Visit(roots, nil, func(src *packages.Package) {
		pkg := p.wrap(src)
		pkg.Foreign = isRoot[src.PkgPath] && foreign(src.Module)
		pkg.Strict = pkg.Strict || isRoot[src.PkgPath] && !pkg.Foreign
		p.byPath[src.PkgPath] = pkg
		if isRoot[src.PkgPath] {
			p.Roots = append(p.Roots, pkg)
		}
	})
}

// foreign reports whether a module is one that its users can't change: it was downloaded.
func foreign(m *packages.Module) bool {
	return m != nil && !m.Main && (m.Replace == nil || m.Replace.Version != "")
}

func (p *Program) wrap(src *packages.Package) *Package {
	pkg := &Package{
		Path:    src.PkgPath,
		Name:    src.Name,
		Types:   types.NewPackage(src.PkgPath, src.Name),
		Strict:  src.Module != nil && src.Module.Main,
		source:  src,
		indexed: map[string]bool{},
		syntax:  src.Syntax,
		decls:   map[token.Pos]*Decl{},
	}
	if len(src.GoFiles) > 0 {
		pkg.Dir = filepath.Dir(src.GoFiles[0])
	}
	if src.Module != nil {
		pkg.Root = src.Module.Dir
	}
	for _, file := range src.Syntax {
		switch filepath.Base(p.fset.Position(file.Package).Filename) {
		case p.generated:
		case ApplyFile:
			pkg.apply = file
		default:
			pkg.Files = append(pkg.Files, file)
		}
	}
	if len(pkg.Files) > 0 {
		_, err := os.Stat(filepath.Join(pkg.Dir, p.generated))
		pkg.Generated = err == nil
	}
	return pkg
}

// Position returns where something is in the sources.
func (p *Program) Position(pos token.Pos) token.Position { return p.fset.Position(pos) }

// Markers returns the set that the program's markers were read with.
func (p *Program) Markers() *marker.Set { return p.set }

// Mistake reports something that is wrong with a marker of a package, as far as anybody wants to know: in the packages of
// other modules that were not asked for, nobody does.
func (p *Program) Mistake(pkg *Package, pos token.Position, msg string) {
	switch {
	case pkg == nil:
	case pkg.Strict:
		p.report(pos, msg)
	case pkg.Foreign:
		p.warn(pos, msg)
	}
}

// Warn reports something that is worth knowing and is no mistake.
func (p *Program) Warn(pos token.Position, msg string) { p.warn(pos, msg) }

// Package finds a package by its path, nil when nothing imports it.
func (p *Program) Package(path string) *Package { return p.byPath[path] }

// IsRoot reports whether the package was asked for.
func (p *Program) IsRoot(path string) bool {
	return slices.ContainsFunc(p.Roots, func(r *Package) bool { return r.Path == path })
}

// TypeNames returns the names of the types that the files of a root declare, in the order of the sources.
func (pkg *Package) TypeNames() []*types.TypeName {
	var names []*types.TypeName
	for _, file := range pkg.Files {
		for _, decl := range file.Decls {
			gen, ok := decl.(*ast.GenDecl)
			if !ok || gen.Tok != token.TYPE {
				continue
			}
			for _, spec := range gen.Specs {
				if obj, ok := pkg.Types.Scope().Lookup(spec.(*ast.TypeSpec).Name.Name).(*types.TypeName); ok {
					names = append(names, obj)
				}
			}
		}
	}
	return names
}

// Licence returns the comment about copyright that the files of a root begin with, "" when there is none.
func (pkg *Package) Licence() string {
	for _, file := range pkg.Files {
		if len(file.Comments) == 0 || file.Comments[0] == file.Doc || file.Comments[0].Pos() > file.Package {
			continue
		}
		lines := make([]string, len(file.Comments[0].List))
		for i, c := range file.Comments[0].List {
			lines[i] = c.Text
		}
		text := strings.Join(lines, "\n")
		if strings.Contains(text, "Copyright") || strings.Contains(text, "SPDX-License-Identifier") {
			return text
		}
	}
	return ""
}
