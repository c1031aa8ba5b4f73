// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"context"
	"path/filepath"

	"github.com/kube-go/sdk/derive/internal/docs"
	"github.com/kube-go/sdk/derive/internal/schema"
)

// Markdown returns reference documentation of the kinds that [CRDs] finds, as <group>_<version>.md in [Options.Out].
// They include the diagrams that //kube:diagram names.
//
// Errors: [*SourceError] for mistakes in the sources.
func Markdown(ctx context.Context, patterns []string, o *Options) (*Files, error) {
	return ofKinds(ctx, patterns, o, "docs", (*run).markdown)
}

// HTML is [Markdown] with self-contained HTML files.
//
// Errors: [*SourceError] for mistakes in the sources.
func HTML(ctx context.Context, patterns []string, o *Options) (*Files, error) {
	return ofKinds(ctx, patterns, o, "docs", (*run).html)
}

func (r *run) markdown(dir string) {
	for _, p := range r.pages() {
		r.files = append(r.files, File{Path: filepath.Join(dir, p.Name()+".md"), Content: p.Markdown()})
	}
}

func (r *run) html(dir string) {
	for _, p := range r.pages() {
		path := filepath.Join(dir, p.Name()+".html")
		body, err := p.HTML()
		if err != nil {
			r.problems.add(r.program.Position(0), path+": "+err.Error())
			continue
		}
		r.files = append(r.files, File{Path: path, Content: body})
	}
}

// pages documents all kinds.
func (r *run) pages() []*docs.Page {
	builder := schema.New(r.program, r.problems.add)
	src := &docs.Source{
		Describe: builder.Describe,
		Own: func(pkgPath string) bool {
			pkg := r.program.Package(pkgPath)
			return pkg != nil && (pkg.Strict || r.program.IsRoot(pkgPath))
		},
		Link: func(pkgPath, name string) string {
			version := ""
			if pkg := r.program.Package(pkgPath); pkg != nil {
				_, version = pkg.Module()
			}
			return docs.Link(pkgPath, version, name)
		},
		Diagrams: r.diagrams,
	}
	for _, p := range r.plans {
		src.Kinds = append(src.Kinds, p.kinds...)
	}
	return docs.Pages(src)
}
