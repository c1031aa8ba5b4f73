// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"cmp"
	"context"
	"fmt"
	"go/token"
	"path/filepath"

	"sigs.k8s.io/yaml"

	"github.com/kube-go/sdk/derive/internal/load"
)

// output is a kind of generated files other than Go files.
type output struct {
	name  string // as in //kube:output
	dir   string // the default directory
	asked bool   // generated only if //kube:output names it, and not whenever the sources have markers for it
	make  func(r *run, dir string)
}

// outputs are the outputs of [Run]. Before they are generated, the kinds have been found and described.
func outputs() []output {
	return []output{
		{name: "crds", dir: "crds", make: (*run).definitions},
		{name: "rbac", dir: filepath.Join("config", "rbac"), make: (*run).roles},
		{name: "webhooks", dir: filepath.Join("config", "webhook"), make: (*run).webhooks},
		{name: "docs", dir: filepath.Join("docs", "api"), asked: true, make: (*run).markdown},
		{name: "schemas", dir: "schemas", asked: true, make: (*run).schemas},
		{name: "samples", dir: "samples", asked: true, make: (*run).samples},
	}
}

// fromMarkers generates an output that needs only markers, and no types.
func fromMarkers(ctx context.Context, patterns []string, o *Options, name string) (*Files, error) {
	r, err := newRun(ctx, patterns, o, &load.Config{Sources: true})
	if err != nil {
		return nil, err
	}
	for _, out := range outputs() {
		if out.name == name {
			r.only(out)
		}
	}
	return r.outcome()
}

// only generates one output, in the directory of the options, or otherwise of its marker.
func (r *run) only(out output) {
	if r.opts.Out != "" {
		out.make(r, r.abs(r.opts.Out))
		return
	}
	switch said, ok := r.asked()[out.name]; {
	case ok && said.value == none:
		r.problems.add(said.at.Pos, fmt.Sprintf("//kube:output: %s=%s disables this output: name a directory here, "+
			"or with -out", out.name, none))
	case ok:
		out.make(r, said.dir)
	default:
		out.make(r, r.abs(out.dir))
	}
}

// abs returns a path of the options as an absolute one.
func (r *run) abs(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(r.opts.Dir, path)
}

// all generates the outputs that the markers enable, in their directories.
func (r *run) all() {
	asked := r.asked()
	for _, out := range outputs() {
		said, ok := asked[out.name]
		switch {
		case out.name == "crds" && r.opts.Out != "":
			out.make(r, r.abs(r.opts.Out))
		case ok && said.value == none:
		case ok:
			out.make(r, said.dir)
		case !out.asked:
			out.make(r, r.abs(out.dir))
		}
	}
}

// none is the value of an output that is disabled.
const none = "none"

// request is the value of a marker for an output.
type request struct {
	value string
	dir   string // absolute
	at    *load.Marker
}

// asked reads the markers //kube:output of the root packages. The paths are relative to the root of the module, so that
// they do not depend on the current directory. Different values for one output are a mistake. Markers of packages that
// are not roots have no effect, nor do those of downloaded modules, since nothing is written there.
func (r *run) asked() map[string]request {
	asked := map[string]request{}
	r.each("kube:output", func(pkg *load.Package, m *load.Marker) []error {
		var errs []error
		if pkg.Foreign {
			return nil
		}
		for name := range m.Args {
			value := m.Args.String(name)
			dir := filepath.Join(pkg.Root, filepath.FromSlash(value))
			if filepath.IsAbs(value) {
				dir = value
			}
			if old, ok := asked[name]; ok && old.value != value {
				at := r.problems.relative(old.at.Pos)
				errs = append(errs, fmt.Errorf("%s=%s: %s sets %s=%s", name, value, at, name, old.value))
				continue
			}
			asked[name] = request{value, dir, m}
		}
		return errs
	})
	return asked
}

// roleName returns the name of the role of rules without a role.
func (r *run) roleName() string {
	return cmp.Or(r.opts.RoleName, r.asked()["roleName"].value, "manager-role")
}

// addDocuments adds a file with objects as YAML documents.
func addDocuments[T any](r *run, path string, packages []string, objects []T) {
	content := []byte(header(packages))
	for i, object := range objects {
		body, err := yaml.Marshal(object)
		if err != nil {
			r.problems.add(token.Position{Filename: path}, fmt.Sprintf("encode an object: %v", err))
		}
		if i > 0 {
			content = append(content, "---\n"...)
		}
		content = append(content, body...)
	}
	r.files = append(r.files, File{Path: path, Content: content})
}

// each calls fn with each marker of a name in the root packages, and reports the errors that fn returns.
func (r *run) each(name string, fn func(*load.Package, *load.Marker) []error) {
	for _, pkg := range r.program.Roots {
		for _, m := range r.program.PackageMarkers(pkg, name) {
			for _, err := range fn(pkg, m) {
				r.program.Mistake(pkg, m.Pos, fmt.Sprintf("%s: %v", r.program.Markers().Spelling(m.Marker), err))
			}
		}
	}
}
