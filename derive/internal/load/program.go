// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/kube-go/sdk/derive/internal/marker"
)

// GeneratedFile is the name of the file that kube-derive writes to a package.
const GeneratedFile = "zz_generated.kube.go"

// DeepCopyFile is the name of a file with deep copies only, as in other tools.
const DeepCopyFile = "zz_generated.deepcopy.go"

// Program is a set of root packages, and all packages that they import.
type Program struct {
	Roots []*Package // each follows the packages that it imports

	fset    *token.FileSet
	set     *marker.Set
	byPath  map[string]*Package
	report  func(token.Position, string)
	warn    func(token.Position, string)
	imports []string

	generated string // the name of the file that will be written

	overlay map[string][]byte     // generated files with their future imports, by path
	parsed  map[string]parsedFile // by path
}

// Package is a package of a program.
type Package struct {
	Path  string
	Name  string
	Dir   string
	Root  string      // the directory of its module, or empty
	Files []*ast.File // of a root, without the generated file

	// Types has the types, constants and methods of the package, and all declarations of a root. It is empty for packages
	// that no kind refers to.
	Types *types.Package

	// Strict is true if the package belongs to the user, so that mistakes in its markers are errors.
	Strict bool

	// Foreign is true for a root of a downloaded module. Mistakes in its markers are warnings.
	Foreign bool

	// Generated is true if the package has a file that kube-derive has written.
	Generated bool

	source     *packages.Package
	syntax     []*ast.File // of a root, including the generated file
	apply      *ast.File   // the file with the apply structs, or nil
	typeErrors []types.Error
	indexed    map[string]bool // paths of the files that decls covers
	decls      map[token.Pos]*Decl
	markers    []*Marker // the markers of the package itself
	scanned    bool
}

// Config selects the packages to load.
type Config struct {
	Dir      string
	Patterns []string

	// Imports are the packages that a generated file needs. They are loaded even if the file does not exist yet.
	Imports []string

	// Generated is the name of the file that will be written. Default: GeneratedFile.
	Generated string

	// Sources loads only comments. Nothing is type-checked, and no package has types.
	Sources bool

	// Report is called for every mistake in a marker. Warn is called for those in roots of other modules.
	Report func(token.Position, string)
	Warn   func(token.Position, string)
}

// mode lists the files of all packages, without compiling anything.
const mode = packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps | packages.NeedModule

// sourceMode is mode without the imported packages.
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
	if len(roots) == 0 {
		return nil, fmt.Errorf("no packages match %s", strings.Join(cfg.Patterns, " "))
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

// missingImports returns files with the imports of generated files, for the packages with kinds that do not have all of
// these imports yet.
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

// hasKinds reports whether a file has a marker that causes a generated file.
func (p *Program) hasKinds(file *ast.File) bool {
	for _, group := range file.Comments {
		for _, c := range group.List {
			if m, err := p.set.Parse(c.Text); err == nil && m != nil {
				switch m.Name {
				case "kubebuilder:object:root", "k8s:deepcopy-gen:interfaces":
					return true
				case "kube:resource", "kubebuilder:object:generate":
					if p.generated != DeepCopyFile { // its code for these markers needs no import
						return true
					}
				}
			}
		}
	}
	return false
}

// listErrors returns the errors of packages that do not exist or can't be parsed. It omits type errors, which may come
// from an outdated generated file.
func (p *Program) listErrors(roots []*packages.Package) error {
	var errs []error
	for _, r := range roots {
		for _, e := range r.Errors {
			if p.stops(e) {
				errs = append(errs, p.listError(e))
			}
		}
	}
	return errors.Join(append(errs, p.unresolved(roots)...)...)
}

// stops returns the error that makes a package unusable. Errors in the file that will be written do not.
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

// unresolved returns errors for imports of generated code that the go command does not find.
func (p *Program) unresolved(roots []*packages.Package) []error {
	var errs []error
	for _, path := range p.imports {
		for _, r := range roots {
			if dep := r.Imports[path]; dep != nil && dep.Name == "" {
				errs = append(errs, unresolvedError(path, dep))
				break
			}
		}
	}
	return errs
}

// unresolvedError describes an import of generated code that the go command does not find, with the remedy.
func unresolvedError(path string, dep *packages.Package) error {
	cause := "no required module provides "
	if len(dep.Errors) > 0 {
		cause = strings.Join(strings.Fields(dep.Errors[0].Msg), " ")
	}
	switch {
	case strings.Contains(cause, "no required module provides "):
		return fmt.Errorf("generated code imports %s, which no required module provides: run go get %s", path, path)
	case strings.Contains(cause, "-mod=vendor"):
		return fmt.Errorf("generated code imports %s, which is not in the vendor directory: set GOFLAGS=-mod=mod for this "+
			"command, and then run go mod vendor", path)
	}
	return fmt.Errorf("generated code imports %s, which the go command can't load: %s", path, cause)
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

// foreign reports whether a module was downloaded, so that users can't change it.
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

// Excludes reports whether build constraints exclude files of the package, which may have other declarations and
// markers. Files of another package in its directory, such as programs with the constraint ignore, do not count.
func (pkg *Package) Excludes() bool {
	return slices.ContainsFunc(pkg.source.IgnoredFiles, func(name string) bool {
		if filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return false
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.PackageClauseOnly)
		return err != nil || file.Name.Name == pkg.Name
	})
}

// Position returns the position of a token.
func (p *Program) Position(pos token.Pos) token.Position { return p.fset.Position(pos) }

// Markers returns the set of marker definitions of the program.
func (p *Program) Markers() *marker.Set { return p.set }

// Mistake reports a mistake in a marker of a package. It ignores mistakes in packages of other modules that are not
// roots.
func (p *Program) Mistake(pkg *Package, pos token.Position, msg string) {
	switch {
	case pkg == nil:
	case pkg.Strict:
		p.report(pos, msg)
	case pkg.Foreign:
		p.warn(pos, msg)
	}
}

// Package returns the package with a path, or nil if nothing imports it.
func (p *Program) Package(path string) *Package { return p.byPath[path] }

// IsRoot reports whether the package is a root.
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

// License returns the license comment at the beginning of a root's files, or "" if they have none.
func (pkg *Package) License() string {
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
