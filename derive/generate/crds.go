// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kube-go/sdk/derive/internal/crd"
	"github.com/kube-go/sdk/derive/internal/finder"
	"github.com/kube-go/sdk/derive/internal/kind"
	"github.com/kube-go/sdk/derive/internal/schema"
	"github.com/kube-go/sdk/derive/internal/structural"
)

// CRDs is [Run] for the CRDs only. It also takes packages that do not use the SDK, such as those of other modules. In
// these, each type that embeds metav1.TypeMeta and metav1.ObjectMeta in a package with a +groupName is a kind, and an
// invalid marker is a warning.
//
// Errors: [*SourceError] for mistakes in the sources.
func CRDs(ctx context.Context, patterns []string, o *Options) (*Files, error) {
	return ofKinds(ctx, patterns, o, "crds", (*run).definitions)
}

// assemble returns the definitions of all kinds. It creates them once.
func (r *run) assemble() {
	if r.crds != nil {
		return
	}
	r.crds = map[string]*crd.CRD{}
	versions := map[string][]crd.Version{}
	byKind := map[string]crd.Version{}
	for _, v := range r.versions() {
		r.samePlural(byKind, v)
		v.Schema = v.Schema.Clone() // its descriptions may be shortened
		versions[v.CRDName()] = append(versions[v.CRDName()], v)
	}
	var all []assembled
	for _, name := range slices.Sorted(maps.Keys(versions)) {
		list := versions[name]
		slices.SortStableFunc(list, func(a, b crd.Version) int { return cmp.Compare(a.Version, b.Version) })
		before := r.problems.count()
		c := crd.Assemble(list, r.problems.add)
		r.limit(c, list)
		r.unstored(list)
		all = append(all, assembled{c, list, r.problems.count() > before})
		r.crds[name] = c
	}
	r.accepted(all)
}

// samePlural reports a version of a kind whose plural differs from that of an earlier one: these would be two
// definitions of one kind, which servers do not serve.
func (r *run) samePlural(byKind map[string]crd.Version, v crd.Version) {
	name := v.Name + "." + v.Group
	first, ok := byKind[name]
	if !ok {
		byKind[name] = v
	} else if first.Plural != v.Plural {
		r.program.Mistake(r.program.Package(v.Package), v.Pos, fmt.Sprintf("versions %s and %s of %s have different plurals: "+
			"%s and %s: use the same value in all versions", first.Version, v.Version, v.Name, first.Plural, v.Plural))
	}
}

// assembled is a definition with its versions.
type assembled struct {
	crd      *crd.CRD
	versions []crd.Version
	mistaken bool // mistakes outside of its schemas have been reported
}

// versions returns all kinds with their schemas and rules, in the order of the sources. It describes them once.
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

// definitions writes the files of the CRDs.
func (r *run) definitions(dir string) {
	r.assemble()
	names := slices.Sorted(maps.Keys(r.crds))
	written := sideBySide(names, func(name string) ([]byte, error) { return r.crds[name].YAML() })
	for i, body := range written {
		c := r.crds[names[i]]
		path := filepath.Join(dir, c.FileName())
		if body.err != nil {
			r.problems.add(token.Position{Filename: path}, body.err.Error())
			continue
		}
		if !r.whole(names[i], path) {
			delete(r.crds, names[i]) // the Go files of its kinds contain it
			continue
		}
		r.files = append(r.files, File{Path: path, Content: append([]byte(header(c.Packages)), body.value...)})
		if len(body.value) > maxAnnotation/2 { // smaller ones are not too large as JSON either
			r.measure(c, path)
		}
	}
	r.leftovers(dir, "*_*.yaml", r.unmarked) // see crd.CRD.FileName
}

// whole reports whether a new definition has all versions of the file that an earlier run has written, except for those
// that no longer exist. It reports a problem for each missing version that a source may define which was not read.
func (r *run) whole(name, path string) bool {
	packages, err := origin(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.problems.add(token.Position{Filename: path}, err.Error())
	}
	packages = slices.DeleteFunc(packages, func(path string) bool { return !r.inModule(path) || !r.unread(path) })
	if len(packages) == 0 {
		return true
	}
	lost, err := r.lost(name, path)
	if err != nil {
		r.problems.add(token.Position{Filename: path}, err.Error())
	}
	cause, remedy := "build constraints exclude files of ", "include them, with GOOS or GOFLAGS=-tags=…"
	if omitted := slices.DeleteFunc(slices.Clone(packages), r.program.IsRoot); len(omitted) > 0 {
		cause, remedy, packages = "this run does not read ", "name all packages of the kind in one run", omitted
	}
	for _, version := range lost {
		r.problems.add(token.Position{Filename: path}, fmt.Sprintf("it also has version %s, and %s%s: %s, or remove the "+
			"file if the version no longer exists", version, cause, strings.Join(packages, ", "), remedy))
	}
	return err == nil && len(lost) == 0
}

// lost returns the versions of the file of a definition that the run has not found.
func (r *run) lost(name, path string) ([]string, error) {
	body, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	versions, err := crd.VersionNames(body)
	if err != nil {
		return nil, fmt.Errorf("%w: remove the file if it is damaged", err)
	}
	return slices.DeleteFunc(versions, func(version string) bool {
		return slices.ContainsFunc(r.versions(), func(v crd.Version) bool {
			return v.CRDName() == name && v.Version == version
		})
	}), nil
}

// unmarked reports whether a file belongs to a kind that exists, but for which this run writes no definition: [CRDs]
// writes definitions of kinds that [Run] ignores.
func (r *run) unmarked(name string) bool {
	for _, pkg := range r.program.Roots {
		for _, k := range finder.Find(r.program, pkg, finder.All, func(token.Position, string) {}) {
			if c := (crd.CRD{Group: k.Group, Plural: k.Plural}); c.FileName() == name {
				return true
			}
		}
	}
	return false
}

// maxAnnotation is the maximum size of a CRD that kubectl apply can store in an annotation of the CRD. Servers limit
// all annotations of an object to 262144 bytes, with their names.
const maxAnnotation = 262_000

// measure adds a note if a CRD is too large for kubectl apply without --server-side.
func (r *run) measure(c *crd.CRD, path string) {
	body, err := c.Compact()
	if err != nil || len(body) <= maxAnnotation { // encoding errors have been reported
		return
	}
	r.notes.add(token.Position{Filename: path}, fmt.Sprintf(
		"it has %d bytes, but kubectl apply supports more than %d only with --server-side; -max-size and -max-description shorten descriptions",
		len(body), maxAnnotation))
}

// schema returns the structural schema of a kind. It omits mistakes, so that one run finds all of them.
func (r *run) schema(builder *schema.Builder, k *kind.Kind) *structural.Schema {
	before := r.problems.count()
	doc := builder.Describe(k)
	s, err := structural.Rewrite(doc)
	r.incomplete = r.incomplete || builder.Refused() > 0
	if err != nil {
		if r.problems.count() == before || r.opts.Lenient { // otherwise earlier mistakes may be its cause
			r.problems.add(k.Pos, err.Error())
		}
		r.incomplete = true
		return nil
	}
	if err := s.CheckKeys(); err != nil && r.problems.count() == before {
		r.keys = true
		r.program.Mistake(r.program.Package(k.Package), k.Pos, k.Name+err.Error())
	}
	return s
}
