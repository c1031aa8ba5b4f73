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
	return ofKinds(ctx, patterns, o, "crds", (*run).definitions)
}

// assemble makes the definitions of all kinds, once.
func (r *run) assemble() {
	if r.crds != nil {
		return
	}
	r.crds = map[string]*crd.CRD{}
	versions := map[string][]crd.Version{}
	for _, v := range r.versions() {
		v.Schema = v.Schema.Clone() // whose descriptions may be shortened
		versions[v.CRDName()] = append(versions[v.CRDName()], v)
	}
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

// versions describes all kinds with their rules, in the order of the sources, once.
func (r *run) versions() []crd.Version {
	if r.described != nil {
		return r.described
	}
	builder := schema.New(r.program, r.problems.add)
	r.described = []crd.Version{}
	for _, p := range r.plans {
		for _, k := range p.kinds {
			s := r.schema(builder, k)
			if s == nil {
				continue
			}
			s.Validations = append(s.Validations, k.Rules...)
			v := crd.Version{Kind: k, Schema: s}
			if r.program.Package(k.Package).Foreign {
				v.Warn = r.warnings.add
			}
			r.described = append(r.described, v)
		}
	}
	return r.described
}

// definitions makes the files of the CRDs.
func (r *run) definitions(dir string) {
	r.assemble()
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
