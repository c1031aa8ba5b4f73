// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"cmp"
	"context"
	"fmt"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kube-go/sdk/derive/internal/crd"
	"github.com/kube-go/sdk/derive/internal/deepcopy"
	"github.com/kube-go/sdk/derive/internal/emit"
	"github.com/kube-go/sdk/derive/internal/finder"
	"github.com/kube-go/sdk/derive/internal/kind"
	"github.com/kube-go/sdk/derive/internal/load"
)

// Options are the options of a run. The zero value of a field is its default.
type Options struct {
	Dir string // the directory of relative patterns and of Out. Default: the current directory

	// Out is the directory of the files other than Go files. For [Run], it is that of the CRDs. The default is the
	// directory of the marker //kube:output, if the patterns match its package, or otherwise "crds" for CRDs,
	// "config/rbac" for roles, "config/webhook" for webhook configurations, "docs/api" for documentation, "schemas" for
	// JSON Schemas and "samples" for samples. If the marker disables an output, the function for this output returns an
	// error.
	Out string

	// Loaded, if it is set, is called with the number of packages when they have been read.
	Loaded func(packages int)

	// MaxDescriptionBytes is the maximum size of a description in a CRD, in bytes. Longer ones are shortened to whole
	// sentences, or to whole words. Zero means no limit, and a negative number removes all descriptions.
	MaxDescriptionBytes int

	// MaxBytes is the maximum size of a CRD in bytes, as JSON without white space. The descriptions of a larger one are
	// shortened to their first sentence, and then removed, from the innermost fields outwards until it fits. Zero means no
	// limit. Servers store up to 1.5 MB, and kubectl apply without --server-side supports up to 262000 bytes.
	MaxBytes int

	// Lenient turns mistakes in the sources into warnings, see [Files.Warnings], and generates the files without them.
	// A run with mistakes removes no files. Default: return a [*SourceError] and no files.
	//
	// Use it for sources that were written for controller-gen, which ignores unknown markers and markers on the wrong
	// declarations.
	Lenient bool

	// RoleName is the name of the role with the rules of +kubebuilder:rbac markers without a role. Default:
	// "manager-role".
	RoleName string
}

// Run reads the packages that match the patterns, which are those of the go command. It returns the files of the kinds
// that they define, and the files that other markers enable: roles (+kubebuilder:rbac), webhook configurations
// (+kubebuilder:webhook), and the outputs of //kube:output.
//
// Errors: [*SourceError] for mistakes in the sources.
func Run(ctx context.Context, patterns []string, o *Options) (*Files, error) {
	r, err := open(ctx, patterns, o, emit.CorePath, emit.MetaPath, emit.RuntimePath)
	if err != nil {
		return nil, err
	}
	return r.run()
}

// open reads the packages of a run with their types.
func open(ctx context.Context, patterns []string, o *Options, imports ...string) (*run, error) {
	return newRun(ctx, patterns, o, &load.Config{Imports: imports})
}

// newRun reads the packages of a run.
func newRun(ctx context.Context, patterns []string, o *Options, cfg *load.Config) (*run, error) {
	var opts Options
	if o != nil {
		opts = *o
	}
	dir, err := filepath.Abs(opts.Dir)
	if err != nil {
		return nil, fmt.Errorf("find the directory: %w", err)
	}
	opts.Dir = dir
	r := &run{opts: opts, generated: cmp.Or(cfg.Generated, load.GeneratedFile), problems: problems{dir: dir}, warnings: problems{dir: dir}, notes: problems{dir: dir}}
	cfg.Dir, cfg.Patterns, cfg.Report, cfg.Warn = dir, patterns, r.problems.add, r.warnings.add
	if r.program, err = load.Load(ctx, cfg); err != nil {
		return nil, err
	}
	if opts.Loaded != nil {
		opts.Loaded(len(r.program.Roots))
	}
	return r, nil
}

// run is a run for the packages of a program.
type run struct {
	opts      Options
	program   *load.Program
	generated string // the name of the Go file that is written to each package
	problems  problems
	warnings  problems
	notes     problems
	files     []File
	plans     []*plan
	described []crd.Version            // all kinds, see versions
	crds      map[string]*crd.CRD      // by the name of the CRD, see assemble
	planned   map[*types.TypeName]bool // types that get deep copies

	incomplete bool // a type or a kind could not be described, so rules may refer to missing fields
	unmade     bool // a kind or a deep copy could not be generated, so Go code may refer to missing declarations
	keys       bool // keys of lists that are optional in their items have been reported
}

// plan has the declarations to generate for a package.
type plan struct {
	pkg     *load.Package
	kinds   []*kind.Kind
	copied  []*types.TypeName
	objects []*types.TypeName
}

func (r *run) run() (*Files, error) {
	r.planned = map[*types.TypeName]bool{}
	for _, pkg := range r.program.Roots {
		r.plan(pkg)
	}
	r.assemble()
	r.all()
	generated := map[string][]byte{}
	for _, p := range r.plans {
		if src := r.source(p); src != nil {
			generated[p.pkg.Path] = src
		}
	}
	r.applies()
	r.check(generated)
	return r.outcome()
}

// check type-checks the packages with their new Go files. It ignores errors that a missing Go file may cause.
func (r *run) check(generated map[string][]byte) {
	if r.unmade || len(generated) < len(r.plans) {
		return
	}
	before := r.problems
	r.problems.list = nil
	r.program.Check(generated)
	for _, p := range r.problems.list {
		follows := !before.none() && (strings.Contains(p.Message, "undefined") || filepath.Base(p.Position.Filename) == r.generated)
		if !follows && !before.onLine(p.Position) { // otherwise it is the same mistake
			before.list = append(before.list, p)
		}
	}
	r.problems = before
}

// outcome returns the files, or the mistakes that are not warnings.
func (r *run) outcome() (*Files, error) {
	if err := r.problems.err(); err != nil && !r.opts.Lenient {
		return nil, err
	}
	if !r.problems.none() { // files may be missing because of the mistakes
		r.files = slices.DeleteFunc(r.files, func(f File) bool { return f.Content == nil })
		r.warnings.list = append(r.warnings.list, r.problems.list...)
	}
	slices.SortFunc(r.files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	files := &Files{Files: r.files, Warnings: r.warnings.sorted(), Notes: r.notes.sorted(), Packages: len(r.program.Roots), dir: r.opts.Dir}
	for _, p := range r.plans {
		files.Kinds += len(p.kinds)
	}
	return files, nil
}

// plan decides which declarations to generate for a package.
func (r *run) plan(pkg *load.Package) {
	if r.program.PackageMarker(pkg, "kubebuilder:skip") != nil {
		return
	}
	before := r.problems.count()
	p := &plan{pkg: pkg, kinds: finder.Find(r.program, pkg, finder.Marked, r.problems.add)}
	r.unmade = r.unmade || r.problems.count() > before
	var from []*types.TypeName
	for _, k := range p.kinds {
		for _, obj := range []*types.TypeName{k.Root, k.Spec, k.Status} {
			if obj != nil {
				from = append(from, obj)
			}
		}
	}
	all := enabled(r.program.PackageMarker(pkg, "kubebuilder:object:generate"))
	for _, obj := range pkg.TypeNames() {
		decl := r.program.Decl(obj)
		root := enabled(decl.Get("kubebuilder:object:root"))
		if root || enabled(decl.Get("kubebuilder:object:generate")) || all && obj.Exported() && !disabled(decl.Get("kubebuilder:object:generate")) {
			from = append(from, obj)
		}
		if named, ok := obj.Type().(*types.Named); ok && root && r.method(named, "DeepCopyObject") == nil {
			p.objects = append(p.objects, obj)
		}
	}
	for _, k := range p.kinds {
		if obj, ok := pkg.Types.Scope().Lookup(k.Name).(*types.TypeName); ok && k.Root == nil {
			r.planned[obj] = true // the methods of the type are generated with the kind; a list may refer to it
		}
	}
	p.copied = deepcopy.Reach(pkg.Types, from, func(t *types.Named) bool {
		return r.method(t, "DeepCopyInto") != nil || r.method(t, "DeepCopy") != nil ||
			r.planned[t.Obj()] && r.declared(pkg, t.Obj().Name()) == nil
	})
	for _, obj := range from { // a type that needs both methods may have one
		named, ok := types.Unalias(obj.Type()).(*types.Named)
		if ok && named.Obj().Pkg() == pkg.Types && copiable(named) && r.copiedByOne(named) &&
			!slices.Contains(p.copied, named.Obj()) {
			p.copied = append(p.copied, named.Obj())
		}
	}
	for _, obj := range p.copied {
		r.planned[obj] = true
	}
	if len(p.kinds) > 0 || len(p.copied) > 0 || len(p.objects) > 0 {
		r.plans = append(r.plans, p)
	} else if pkg.Generated {
		r.files = append(r.files, File{Path: filepath.Join(pkg.Dir, r.generated)})
	}
}

func enabled(m *load.Marker) bool  { return m != nil && m.Args.Bool("", false) }
func disabled(m *load.Marker) bool { return m != nil && !m.Args.Bool("", true) }

// method returns a method of a type that is not in a file that the run writes, or nil.
func (r *run) method(t *types.Named, name string) *types.Func {
	for m := range t.Methods() {
		if m.Name() != name {
			continue
		}
		anew := filepath.Base(r.program.Position(m.Pos()).Filename) == r.generated
		if anew && r.program.IsRoot(t.Obj().Pkg().Path()) {
			return nil
		}
		return m
	}
	return nil
}

// copiedByOne reports whether a type has one of the methods for copies, and not the other.
func (r *run) copiedByOne(t *types.Named) bool {
	return (r.method(t, "DeepCopyInto") == nil) != (r.method(t, "DeepCopy") == nil)
}

// source returns the Go file of a package, or nil if it can't be generated or a kind has no definition.
func (r *run) source(p *plan) []byte {
	f := r.file(p)
	for i, k := range p.kinds {
		r.sameType(k, p.kinds[:i])
		if obj := r.declared(p.pkg, k.Name); k.Root == nil && obj != nil {
			r.unmade = true
			r.problems.add(k.Pos, fmt.Sprintf("%s can't be generated, since it is declared at %s: remove it there, or mark that type with "+
				"+kubebuilder:object:root=true instead of using //kube:resource", k.Name, r.problems.relative(r.program.Position(obj.Pos()))))
		}
		c := r.crds[k.CRDName()]
		if c == nil {
			return nil
		}
		body, err := c.JSON()
		if err != nil {
			r.problems.add(k.Pos, err.Error())
			return nil
		}
		f.Kinds = append(f.Kinds, emit.Kind{Kind: k, CRD: body})
	}
	return r.render(p, f)
}

// sameType reports a kind whose Go type would have the name of an earlier kind of the package. Two kinds of one version
// have been reported.
func (r *run) sameType(k *kind.Kind, earlier []*kind.Kind) {
	for _, other := range earlier {
		if other.Name != k.Name || other.APIVersion() == k.APIVersion() {
			continue
		}
		r.unmade = true
		r.problems.add(k.Pos, fmt.Sprintf("the package already has a kind %s, at %s: move each of them to a package of "+
			"its own", k.Name, r.problems.relative(other.Pos)))
		return
	}
}

// file returns the Go file of a package without its kinds.
func (r *run) file(p *plan) *emit.File {
	return &emit.File{
		Package:   p.pkg.Types,
		Header:    p.pkg.License(),
		Copied:    p.copied,
		Objects:   p.objects,
		Method:    r.method,
		Generated: func(t *types.Named) bool { return r.planned[t.Obj()] },
		Declared:  func(name string) bool { return r.declared(p.pkg, name) != nil },
		Refused: func(obj *types.TypeName, e *deepcopy.RefusedError) {
			pos, label := obj.Pos(), obj.Name()
			if e.Field != nil && e.Field.Pkg() == obj.Pkg() {
				pos, label = e.Field.Pos(), label+": field "+e.Field.Name()
			}
			r.unmade = true
			r.unusable(r.program.Position(pos), label, "no deep copy: "+e.Reason)
		},
	}
}

// unusable reports a type for which no code can be generated. If the type does not exist, it reports the error of the
// compiler.
func (r *run) unusable(at token.Position, label, msg string) {
	if r.problems.onLine(at) {
		return // the type has been reported
	}
	r.program.ReportImports()
	r.problems.add(at, label+": "+cmp.Or(r.program.TypeErrorAt(at), msg))
}

// render returns a Go file, or nil after it has reported an error.
func (r *run) render(p *plan, f *emit.File) []byte {
	src, err := f.Render()
	if err != nil {
		if r.problems.none() || r.opts.Lenient { // otherwise missing types are the cause
			r.problems.add(token.Position{Filename: p.pkg.Dir}, err.Error())
		}
		return nil
	}
	r.files = append(r.files, File{Path: filepath.Join(p.pkg.Dir, r.generated), Content: src})
	return src
}

// declared returns a declaration of the package's own sources, or nil.
func (r *run) declared(pkg *load.Package, name string) types.Object {
	obj := pkg.Types.Scope().Lookup(name)
	if obj == nil {
		return nil
	}
	switch filepath.Base(r.program.Position(obj.Pos()).Filename) {
	case load.GeneratedFile, load.ApplyFile:
		return nil
	}
	return obj
}

// relative returns a path relative to a directory, if that is shorter.
func relative(dir, path string) string {
	rel, err := filepath.Rel(dir, path)
	if err != nil || strings.HasPrefix(rel, "..") {
		return path
	}
	return rel
}
