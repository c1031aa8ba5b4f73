// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"

	"github.com/kube-go/sdk/derive/internal/load"
)

// output is something that is written besides Go files.
type output struct {
	name  string // as in //kube:output
	dir   string // where it goes when nobody says otherwise
	asked bool   // made only when //kube:output names it, not whenever the sources have something for it
	make  func(r *run, dir string)
}

// outputs are what [Run] makes. The kinds have been found and described when they are called.
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

// fromMarkers makes one output of which the markers say all, so that types need not be known.
func fromMarkers(ctx context.Context, patterns []string, o *Options, name string) (*Files, error) {
	r, err := newRun(ctx, patterns, o, &load.Config{Sources: true})
	if err != nil {
		return nil, err
	}
	for _, out := range outputs() {
		if out.name == name {
			out.make(r, r.place(out))
		}
	}
	return r.outcome()
}

// place returns the directory of an output.
func (r *run) place(out output) string {
	return r.abs(cmp.Or(r.opts.Out, out.dir))
}

// abs returns a path of the options as an absolute one.
func (r *run) abs(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(r.opts.Dir, path)
}

// all makes each output that the markers ask for, where they ask for it.
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

// none is what an output that is not wanted is set to.
const none = "none"

// request is what a marker says of one output.
type request struct {
	value string
	dir   string // absolute
	at    *load.Marker
}

// asked reads the markers //kube:output. Paths in them are relative to the root of the module, so that they do not depend
// on where the command runs. Packages that say different things of one output are mistaken.
func (r *run) asked() map[string]request {
	asked := map[string]request{}
	r.each("kube:output", func(pkg *load.Package, m *load.Marker) []error {
		var errs []error
		for name := range m.Args {
			value := m.Args.String(name)
			dir := filepath.Join(pkg.Root, filepath.FromSlash(value))
			if filepath.IsAbs(value) {
				dir = value
			}
			if old, ok := asked[name]; ok && old.value != value {
				errs = append(errs, fmt.Errorf("%s=%s: %s says %s=%s", name, value, r.problems.relative(old.at.Pos), name, old.value))
				continue
			}
			asked[name] = request{value, dir, m}
		}
		return errs
	})
	return asked
}

// roleName is that of the role to which rules belong that name none.
func (r *run) roleName() string {
	return cmp.Or(r.opts.RoleName, r.asked()["roleName"].value, "manager-role")
}

// each calls fn with each marker of a name that stands in the packages that were asked for, and reports what fn says is
// wrong with it.
func (r *run) each(name string, fn func(*load.Package, *load.Marker) []error) {
	for _, pkg := range r.program.Roots {
		for _, m := range r.program.PackageMarkers(pkg, name) {
			for _, err := range fn(pkg, m) {
				r.program.Mistake(pkg, m.Pos, fmt.Sprintf("%s: %v", r.program.Markers().Spelling(m.Marker), err))
			}
		}
	}
}
