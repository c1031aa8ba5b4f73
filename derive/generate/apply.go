// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"context"
	"go/token"
	"go/types"
	"path/filepath"

	"github.com/kube-go/sdk/derive/internal/applytypes"
	"github.com/kube-go/sdk/derive/internal/emit"
	"github.com/kube-go/sdk/derive/internal/finder"
	"github.com/kube-go/sdk/derive/internal/load"
)

// acGenerate is the marker that enables or disables apply structs.
const acGenerate = "kubebuilder:ac:generate"

// Apply returns the apply structs of the kinds that the packages define: for each kind, and each struct that it uses, a
// struct with optional fields, for server-side applies that own only the fields that are set. They are in
// zz_generated.apply.go in the package of the kind. Kinds with +kubebuilder:ac:generate=false have no apply structs,
// and other structs with +kubebuilder:ac:generate=true have one.
//
// Errors: [*SourceError] for mistakes in the sources.
func Apply(ctx context.Context, patterns []string, o *Options) (*Files, error) {
	r, err := open(ctx, patterns, o, emit.CorePath, emit.MetaPath)
	if err != nil {
		return nil, err
	}
	for _, pkg := range r.program.Roots {
		switch {
		case r.program.PackageMarker(pkg, "kubebuilder:skip") != nil:
		case pkg.Foreign:
			r.problems.add(token.Position{Filename: pkg.Dir}, "apply structs belong to the package of the kinds, but this package is in another module")
		default:
			p := &plan{pkg: pkg, kinds: finder.Find(r.program, pkg, finder.All, r.problems.add)}
			r.plans = append(r.plans, p)
			r.applyStructs(p, true)
		}
	}
	return r.outcome()
}

// applies writes the apply structs that the markers of the planned packages enable.
func (r *run) applies() {
	for _, p := range r.plans {
		r.applyStructs(p, enabled(r.program.PackageMarker(p.pkg, acGenerate)))
	}
}

// applyStructs writes the apply structs of a package. all includes kinds without the marker.
func (r *run) applyStructs(p *plan, all bool) {
	pkg := p.pkg
	f := &applytypes.File{
		Package:  pkg.Types,
		Header:   pkg.License(),
		Doc:      func(obj types.Object) string { return r.program.Decl(obj).Doc },
		Declared: func(name string) bool { return r.declared(pkg, name) != nil },
		Refused: func(obj types.Object, msg string) {
			at := r.program.Decl(obj).Pos // in other packages without a column
			r.unusable(at, obj.Name(), msg)
		},
	}
	marked := func(obj *types.TypeName) *load.Marker { return r.program.Decl(obj).Get(acGenerate) }
	isKind := map[*types.TypeName]bool{}
	for _, k := range p.kinds {
		obj := k.Root
		if obj == nil {
			obj = k.Spec
		}
		isKind[obj] = true
		if m := marked(obj); enabled(m) || all && !disabled(m) {
			f.Kinds = append(f.Kinds, k)
		}
	}
	for _, obj := range pkg.TypeNames() {
		if _, isStruct := obj.Type().Underlying().(*types.Struct); isStruct && !isKind[obj] && enabled(marked(obj)) {
			f.Types = append(f.Types, obj)
		}
	}
	path := filepath.Join(pkg.Dir, load.ApplyFile)
	if len(f.Kinds) == 0 && len(f.Types) == 0 {
		if pkg.HasApplyFile() && all {
			r.files = append(r.files, File{Path: path})
		}
		return
	}
	src, err := f.Render()
	if err == nil {
		err = r.program.SetApplyFile(pkg, src)
	}
	if err != nil {
		r.problems.add(token.Position{Filename: path}, err.Error())
		return
	}
	r.files = append(r.files, File{Path: path, Content: src})
}
