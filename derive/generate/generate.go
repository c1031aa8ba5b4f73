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

// Options say what to make of the packages, and where to write it. The zero value of each field is its default.
type Options struct {
	Dir string // what patterns and Out are relative to; default: the current directory

	// Out is the directory of the files that are no Go files. Each function has a default of its own: "crds" for CRDs,
	// "config/rbac" for roles, "config/webhook" for webhook configurations. For [Run], it is that of the CRDs.
	Out string

	// Loaded, when it is set, is called once the packages have been read, with their number.
	Loaded func(packages int)

	// MaxDescription is how many bytes a description in a CRD may have. Longer ones end at the last sentence that fits, or
	// else at the last word. Zero sets no limit; a negative number leaves out all descriptions.
	MaxDescription int

	// MaxSize is how many bytes a CRD may have, in JSON without white space. Of one that is larger, descriptions are
	// shortened to their first sentence, and then left out, from the innermost fields outwards until it fits. Zero sets no
	// limit. Servers store a megabyte and a half; kubectl apply without --server-side wants at most 262000.
	MaxSize int

	// Lenient turns mistakes in the sources into warnings, see [Files.Warnings]. What is mistaken is left out, and the rest is
	// made. Nothing is removed in a run that has mistakes. The default is to return a [*SourceError] and no files.
	//
	// Use it for the sources of others that controller-gen reads: it ignores markers that it does not know, or that stand
	// where they have no effect.
	Lenient bool

	// RoleName is the name of the role that gets the rules of +kubebuilder:rbac markers that name none; default:
	// "manager-role".
	RoleName string
}

// Run reads the packages that match the patterns, as the go command understands them, and returns the files that
// belong to the kinds they define, and those that other markers in them ask for: roles for +kubebuilder:rbac, webhook
// configurations for +kubebuilder:webhook, and what //kube:output names.
//
// Errors: [*SourceError] for mistakes in the sources.
func Run(ctx context.Context, patterns []string, o *Options) (*Files, error) {
	r, err := open(ctx, patterns, o, emit.CorePath, emit.MetaPath, emit.RuntimePath)
	if err != nil {
		return nil, err
	}
	return r.run()
}

// open reads the packages of one run with their types.
func open(ctx context.Context, patterns []string, o *Options, imports ...string) (*run, error) {
	return newRun(ctx, patterns, o, &load.Config{Imports: imports})
}

// newRun reads the packages of one run.
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

// run is one run over the packages of a program.
type run struct {
	opts      Options
	program   *load.Program
	generated string // the name of the Go file that is written into each package
	problems  problems
	warnings  problems
	notes     problems
	files     []File
	plans     []*plan
	described []crd.Version            // all kinds, see versions
	crds      map[string]*crd.CRD      // by the name of the CRD, see assemble
	planned   map[*types.TypeName]bool // types that are given deep copies

	incomplete bool // a type or a kind could not be described, so rules may refer to what is not there
	unmade     bool // a kind or a deep copy could not be made, so Go code may refer to what is not there
	keys       bool // keys of lists that items may lack have been reported
}

// plan is what is to be generated for one package.
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

// check type-checks the packages with their new Go files. When one of these could not be made, code that uses it would get
// errors that only follow from that.
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

// outcome returns the files, unless there were mistakes that are no warnings.
func (r *run) outcome() (*Files, error) {
	if err := r.problems.err(); err != nil && !r.opts.Lenient {
		return nil, err
	}
	if !r.problems.none() { // the files that are missing may be those with mistakes
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

// plan decides what a package needs.
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
	p.copied = deepcopy.Reach(pkg.Types, from, func(t *types.Named) bool {
		return r.method(t, "DeepCopyInto") != nil || r.method(t, "DeepCopy") != nil
	})
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

// method finds a method that a type has by itself, and not from a file that a run writes anew.
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

// source renders the Go file of a package.
func (r *run) source(p *plan) []byte {
	f := r.file(p)
	for _, k := range p.kinds {
		if obj := r.declared(p.pkg, k.Name); k.Root == nil && obj != nil {
			r.unmade = true
			r.problems.add(k.Pos, fmt.Sprintf("%s is to be generated, but is declared at %s too: remove it there, or mark that type with "+
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

// file is the Go file of a package without its kinds.
func (r *run) file(p *plan) *emit.File {
	return &emit.File{
		Package:   p.pkg.Types,
		Header:    p.pkg.Licence(),
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
			if at := r.program.Position(pos); !r.problems.onLine(at) { // where a type is refused, that is enough
				r.problems.add(at, label+": no deep copy: "+e.Reason)
			}
		},
	}
}

// render writes a Go file. It returns nil when it can't be written, which has been reported then.
func (r *run) render(p *plan, f *emit.File) []byte {
	src, err := f.Render()
	if err != nil {
		if r.problems.none() || r.opts.Lenient { // otherwise it follows from types that do not exist
			r.problems.add(token.Position{Filename: p.pkg.Dir}, err.Error())
		}
		return nil
	}
	r.files = append(r.files, File{Path: filepath.Join(p.pkg.Dir, r.generated), Content: src})
	return src
}

// declared finds a declaration of the package's own sources.
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

// relative writes a path as people refer to it from a directory.
func relative(dir, path string) string {
	rel, err := filepath.Rel(dir, path)
	if err != nil || strings.HasPrefix(rel, "..") {
		return path
	}
	return rel
}
