// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"github.com/kube-go/sdk/derive/internal/marker"
)

// Decl has the documentation and the markers of a type or a field.
type Decl struct {
	Doc     string // without the markers
	Markers []*Marker
	Pos     token.Position
	Start   token.Position // of the comments that belong to the declaration

	of base // of a type
}

// base is the name in the declaration "type Name Base" or "type Name Base[Argument]" of a type. Type-checked packages
// have only the underlying type.
type base struct {
	path string // of its package, or empty for the same one
	name string // empty for other declarations
}

// Marker is a marker with its position.
type Marker struct {
	*marker.Marker
	Pos token.Position
}

// Get returns the first marker of a name, or nil if the declaration has none.
func (d *Decl) Get(name string) *Marker { return get(d.Markers, name) }

// Has reports whether the declaration has a marker of one of the names.
func (d *Decl) Has(names ...string) bool {
	for _, name := range names {
		if d.Get(name) != nil {
			return true
		}
	}
	return false
}

func get(markers []*Marker, name string) *Marker {
	for _, m := range markers {
		if m.Name == name && !m.Items {
			return m
		}
	}
	return nil
}

// PackageMarker returns the first marker of a name that the package itself has.
func (p *Program) PackageMarker(pkg *Package, name string) *Marker {
	p.scan(pkg)
	return get(pkg.markers, name)
}

// PackageMarkers returns all markers of a name that the package itself has.
func (p *Program) PackageMarkers(pkg *Package, name string) []*Marker {
	p.scan(pkg)
	var found []*Marker
	for _, m := range pkg.markers {
		if m.Name == name {
			found = append(found, m)
		}
	}
	return found
}

// Decl returns the documentation and the markers of a type name or a struct field. It is never nil.
func (p *Program) Decl(obj types.Object) *Decl {
	empty := &Decl{Pos: p.fset.Position(obj.Pos())}
	if obj.Pkg() == nil {
		return empty
	}
	pkg := p.byPath[obj.Pkg().Path()]
	if pkg == nil {
		return empty
	}
	if len(pkg.Files) > 0 {
		p.scan(pkg)
	} else if file := p.fset.File(obj.Pos()); file != nil {
		p.scanFile(pkg, file.Name())
	}
	if d := pkg.decls[obj.Pos()]; d != nil {
		return d
	}
	return empty
}

// Base returns the type Base of a declaration "type Name Base" or "type Name Base[Argument]", or nil for other
// declarations. The markers of the type also apply to Name.
func (p *Program) Base(obj *types.TypeName) *types.TypeName {
	of := p.Decl(obj).of
	if of.name == "" {
		return nil
	}
	pkg := obj.Pkg()
	if of.path != "" {
		found := p.byPath[of.path]
		if found == nil || found.Types == nil {
			return nil
		}
		pkg = found.Types
	}
	named, _ := pkg.Scope().Lookup(of.name).(*types.TypeName)
	return named
}

// scan reads the markers of all files of a package.
func (p *Program) scan(pkg *Package) {
	if pkg.scanned {
		return
	}
	pkg.scanned = true
	for _, file := range pkg.Files {
		newScan(p, pkg, file).run()
	}
	if len(pkg.Files) == 0 {
		for _, name := range pkg.source.GoFiles {
			p.scanFile(pkg, name)
		}
	}
}

// scanFile reads the markers of one file of an imported package, once.
func (p *Program) scanFile(pkg *Package, name string) {
	if pkg.indexed[name] {
		return
	}
	pkg.indexed[name] = true
	if file := p.parsed[name]; file.err == nil && file.File != nil {
		newScan(p, pkg, file.File).run()
	}
}

// docText joins the lines of a comment that are not markers. Like the generators of Kubernetes, it omits TODO lines and
// all lines after a line of dashes, which are for developers.
func docText(groups ...*ast.CommentGroup) string {
	var kept ast.CommentGroup
	block := false
	for _, group := range groups {
		if group == nil {
			continue
		}
		for _, c := range group.List {
			if isMarkerLine(c.Text) {
				continue
			}
			block = block || strings.HasPrefix(c.Text, "/*")
			kept.List = append(kept.List, c)
		}
	}
	var out []string
	code := false
	for line := range strings.SplitSeq(strings.TrimSuffix(kept.Text(), "\n"), "\n") {
		if block {
			line = strings.TrimSpace(line)
		}
		if strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~") {
			code = !code
		}
		if !code && strings.HasPrefix(line, "TODO") {
			continue
		}
		if !code && strings.HasPrefix(line, "---") {
			break
		}
		out = append(out, line)
	}
	return strings.TrimRight(strings.Join(out, "\n"), "\n")
}

// isMarkerLine reports whether a comment is a marker of any tool, and not documentation.
func isMarkerLine(comment string) bool {
	text, ok := strings.CutPrefix(comment, "//")
	return ok && !marker.IsCode(comment) && strings.HasPrefix(strings.TrimSpace(text), "+")
}
