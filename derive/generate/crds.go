// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"cmp"
	"context"
	"go/token"
	"maps"
	"path/filepath"
	"slices"

	"github.com/kube-go/sdk/derive/internal/crd"
	"github.com/kube-go/sdk/derive/internal/emit"
	"github.com/kube-go/sdk/derive/internal/finder"
	"github.com/kube-go/sdk/derive/internal/kind"
	"github.com/kube-go/sdk/derive/internal/schema"
	"github.com/kube-go/sdk/derive/internal/structural"
)

// CRDs is [Run] for the CRDs alone. It takes packages that have nothing else to do with this module, also such that
// belong to others: there, every type that embeds metav1.TypeMeta and metav1.ObjectMeta in a package that has a
// +groupName is a kind, and a marker that makes no sense is a warning.
//
// Errors: [*SourceError] for mistakes in the sources.
func CRDs(ctx context.Context, patterns []string, o *Options) (*Files, error) {
	r, err := open(ctx, patterns, o, emit.MetaPath)
	if err != nil {
		return nil, err
	}
	for _, pkg := range r.program.Roots {
		if r.program.PackageMarker(pkg, "kubebuilder:skip") == nil {
			r.plans = append(r.plans, &plan{pkg: pkg, kinds: finder.Find(r.program, pkg, finder.All, r.problems.add)})
		}
	}
	r.assemble()
	r.definitions(r.abs(cmp.Or(r.opts.Out, "crds")))
	return r.outcome()
}

// assemble makes the definitions of all kinds.
func (r *run) assemble() {
	builder := schema.New(r.program, r.problems.add)
	versions := map[string][]crd.Version{}
	for _, p := range r.plans {
		for _, k := range p.kinds {
			if s := r.schema(builder, k); s != nil {
				v := crd.Version{Kind: k, Schema: s}
				if r.program.Package(k.Package).Foreign {
					v.Warn = r.warnings.add
				}
				versions[k.CRDName()] = append(versions[k.CRDName()], v)
			}
		}
	}
	r.crds = map[string]*crd.CRD{}
	for name, list := range versions {
		slices.SortStableFunc(list, func(a, b crd.Version) int { return cmp.Compare(a.Version, b.Version) })
		before := r.problems.count()
		c := crd.Assemble(list, r.problems.add)
		r.limit(c, list)
		if r.problems.count() == before {
			r.accepted(c, list)
		}
		r.crds[name] = c
	}
}

// definitions makes the files of the CRDs.
func (r *run) definitions(dir string) {
	for _, name := range slices.Sorted(maps.Keys(r.crds)) {
		c := r.crds[name]
		path := filepath.Join(dir, c.FileName())
		body, err := c.YAML()
		if err != nil {
			r.problems.add(token.Position{Filename: path}, err.Error())
			continue
		}
		r.files = append(r.files, File{Path: path, Content: body})
	}
}

// schema makes the structural schema of a kind.
func (r *run) schema(builder *schema.Builder, k *kind.Kind) *structural.Schema {
	before := r.problems.count()
	doc := builder.Describe(k)
	if r.problems.count() > before {
		return nil
	}
	s, err := structural.Rewrite(doc)
	if err != nil {
		r.problems.add(k.Pos, err.Error())
		return nil
	}
	if err := s.CheckKeys(); err != nil {
		r.program.Mistake(r.program.Package(k.Package), k.Pos, k.Name+err.Error())
	}
	return s
}
