// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"context"
	"path/filepath"

	"github.com/kube-go/sdk/derive/internal/emit"
	"github.com/kube-go/sdk/derive/internal/finder"
	"github.com/kube-go/sdk/derive/internal/jsonschemas"
)

// Schemas returns a JSON Schema for each version of the kinds that [CRDs] finds, for editors and for tools that check
// manifests. They are at <group>/<kind>_<version>.json below [Options.Out].
//
// Errors: [*SourceError] for mistakes in the sources.
func Schemas(ctx context.Context, patterns []string, o *Options) (*Files, error) {
	return ofKinds(ctx, patterns, o, "schemas", (*run).schemas)
}

// ofKinds generates an output that describes kinds, which [CRDs] finds, in the directory of the output.
func ofKinds(ctx context.Context, patterns []string, o *Options, name string, fill func(r *run, dir string)) (*Files, error) {
	r, err := open(ctx, patterns, o, emit.MetaPath)
	if err != nil {
		return nil, err
	}
	for _, pkg := range r.program.Roots {
		if r.program.PackageMarker(pkg, "kubebuilder:skip") == nil {
			r.plans = append(r.plans, &plan{pkg: pkg, kinds: finder.Find(r.program, pkg, finder.All, r.problems.add)})
		}
	}
	for _, out := range outputs() {
		if out.name == name {
			out.make = fill
			r.only(out)
		}
	}
	return r.outcome()
}

// schemas writes the JSON Schema files.
func (r *run) schemas(dir string) {
	for _, v := range r.versions() {
		body, err := jsonschemas.Render(v.Kind, v.Schema)
		if err != nil {
			r.problems.add(v.Pos, err.Error())
			continue
		}
		r.files = append(r.files, File{Path: filepath.Join(dir, filepath.FromSlash(jsonschemas.FileName(v.Kind))), Content: body})
	}
}
