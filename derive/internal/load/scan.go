// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"fmt"
	"go/ast"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/kube-go/sdk/derive/internal/marker"
)

// scan assigns the comments of a file to its declarations.
type scan struct {
	program *Program
	pkg     *Package
	file    *ast.File
	claimed map[*ast.CommentGroup]bool
	seen    map[*Decl]map[string]*Marker // by name, to find repetitions
}

func newScan(p *Program, pkg *Package, file *ast.File) *scan {
	return &scan{
		program: p,
		pkg:     pkg,
		file:    file,
		claimed: map[*ast.CommentGroup]bool{},
		seen:    map[*Decl]map[string]*Marker{},
	}
}

func (s *scan) run() {
	end := s.file.Name.End()
	for _, decl := range s.file.Decls {
		gen, ok := decl.(*ast.GenDecl)
		switch {
		case ok && gen.Tok == token.TYPE:
			s.typeDecl(gen, end)
		case ok && gen.Tok == token.CONST:
			s.constDecl(gen, end)
		}
		end = decl.End()
	}
	s.packageMarkers()
}

// typeDecl reads the types of one declaration. The previous declaration ends at end.
func (s *scan) typeDecl(gen *ast.GenDecl, end token.Pos) {
	single := !gen.Lparen.IsValid()
	if !single {
		end = gen.Lparen
	}
	for _, spec := range gen.Specs {
		spec, ok := spec.(*ast.TypeSpec)
		if !ok {
			continue
		}
		doc, start := spec.Doc, spec.Pos()
		if single {
			start = gen.Pos()
			if doc == nil {
				doc = gen.Doc
			}
		}
		d := s.declare(spec.Name, doc, start, end, marker.Type)
		d.of = s.of(spec.Type)
		s.pkg.decls[spec.Name.Pos()] = d
		s.structs(spec.Type)
		end = spec.End()
	}
}

// constDecl reads the constants of a declaration that have markers.
func (s *scan) constDecl(gen *ast.GenDecl, end token.Pos) {
	single := !gen.Lparen.IsValid()
	if !single {
		end = gen.Lparen
	}
	for _, spec := range gen.Specs {
		spec, ok := spec.(*ast.ValueSpec)
		if !ok {
			continue
		}
		doc, start := spec.Doc, spec.Pos()
		if single {
			start = gen.Pos()
			if doc == nil {
				doc = gen.Doc
			}
		}
		if s.hasMarkers(doc) {
			d := s.declare(spec.Names[0], doc, start, end, marker.Const)
			for _, name := range spec.Names {
				s.pkg.decls[name.Pos()] = d
			}
		}
		end = spec.End()
	}
}

// hasMarkers reports whether a comment may have markers of a constant. Other markers there belong to no declaration.
func (s *scan) hasMarkers(doc *ast.CommentGroup) bool {
	if doc == nil {
		return false
	}
	for _, c := range doc.List {
		if m, err := s.program.set.Parse(c.Text); err == nil && m != nil && s.program.set.On(m)&marker.Const != 0 {
			return true
		}
	}
	return false
}

// of returns the base of the declaration of a type with a type expression.
func (s *scan) of(expr ast.Expr) base {
	switch expr := expr.(type) {
	case *ast.Ident:
		return base{name: expr.Name}
	case *ast.SelectorExpr:
		if pkg, ok := expr.X.(*ast.Ident); ok {
			return base{s.imported(pkg.Name), expr.Sel.Name}
		}
	case *ast.IndexExpr:
		return s.of(expr.X)
	case *ast.IndexListExpr:
		return s.of(expr.X)
	}
	return base{}
}

// imported returns the path of the package that has a name in the file.
func (s *scan) imported(name string) string {
	for _, spec := range s.file.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		known := ""
		if spec.Name != nil {
			known = spec.Name.Name
		} else if pkg := s.program.byPath[path]; pkg != nil {
			known = pkg.Name
		}
		if known == name {
			return path
		}
	}
	return ""
}

// structs reads the fields of all structs in a type expression.
func (s *scan) structs(expr ast.Expr) {
	ast.Inspect(expr, func(n ast.Node) bool {
		st, ok := n.(*ast.StructType)
		if !ok {
			_, isFunc := n.(*ast.FuncType)
			return !isFunc
		}
		end := st.Fields.Opening
		for _, f := range st.Fields.List {
			s.field(f, end)
			end = f.End()
			s.structs(f.Type)
		}
		return false
	})
}

func (s *scan) field(f *ast.Field, end token.Pos) {
	names := f.Names
	if len(names) == 0 {
		if id := embeddedName(f.Type); id != nil {
			names = []*ast.Ident{id}
		}
	}
	if len(names) == 0 {
		return
	}
	d := s.declare(names[0], f.Doc, f.Pos(), end, marker.Field)
	for _, name := range names {
		s.pkg.decls[name.Pos()] = d
	}
}

// embeddedName returns the identifier of the type of an embedded field or a receiver.
func embeddedName(expr ast.Expr) *ast.Ident {
	switch e := expr.(type) {
	case *ast.Ident:
		return e
	case *ast.StarExpr:
		return embeddedName(e.X)
	case *ast.ParenExpr:
		return embeddedName(e.X)
	case *ast.SelectorExpr:
		return e.Sel
	case *ast.IndexExpr:
		return embeddedName(e.X)
	case *ast.IndexListExpr:
		return embeddedName(e.X)
	}
	return nil
}

// declare collects the markers of a declaration: those of its documentation, and those of the comment before it, if
// only white space separates the two.
func (s *scan) declare(name *ast.Ident, doc *ast.CommentGroup, start, end token.Pos, on marker.Target) *Decl {
	d := &Decl{Doc: docText(doc), Pos: s.program.fset.Position(name.Pos())}
	if doc != nil {
		start = doc.Pos()
	}
	if before := s.commentBefore(start, end); before != nil {
		s.claimed[before] = true
		start = before.Pos()
		for _, m := range s.parse(before) {
			// A marker of the package may be above a declaration.
			if s.program.set.On(m.Marker)&on == 0 && s.ofPackage(m, before) {
				s.pkg.markers = append(s.pkg.markers, m)
				continue
			}
			s.add(d, m, on)
		}
	}
	if doc != nil {
		s.claimed[doc] = true
		for _, m := range s.parse(doc) {
			s.add(d, m, on)
		}
	}
	d.Start = s.program.fset.Position(start)
	s.conflicts(d.Markers)
	return d
}

// commentBefore returns the last comment on its own lines between two positions.
func (s *scan) commentBefore(start, end token.Pos) *ast.CommentGroup {
	var last *ast.CommentGroup
	for _, group := range s.file.Comments {
		if group.End() >= start {
			break
		}
		if group.Pos() > end && !s.sameLine(group.Pos(), end) && group != s.file.Doc {
			last = group
		}
	}
	return last
}

func (s *scan) sameLine(a, b token.Pos) bool {
	return s.program.fset.Position(a).Line == s.program.fset.Position(b).Line
}

// add adds a marker to a declaration that may have it.
func (s *scan) add(d *Decl, m *Marker, on marker.Target) {
	if s.program.set.Loose(m.Marker) {
		s.pkg.markers = append(s.pkg.markers, m)
		return
	}
	if err := s.program.set.Allowed(m.Marker, on); err != nil {
		s.mistake(m.Pos, err.Error())
		return
	}
	spelling := s.program.set.Spelling(m.Marker)
	if !s.program.set.Repeatable(m.Marker) {
		if s.seen[d] == nil {
			s.seen[d] = map[string]*Marker{}
		}
		if old := s.seen[d][spelling]; old != nil {
			s.mistake(m.Pos, fmt.Sprintf("%s is set twice, first at %s:%d", spelling, filepath.Base(old.Pos.Filename), old.Pos.Line))
			d.Markers = slices.DeleteFunc(d.Markers, func(other *Marker) bool { // as in controller-gen, the last one applies
				return other == old && other.Name != "kubebuilder:resource" // only its names remain
			})
		}
		s.seen[d][spelling] = m
	}
	d.Markers = append(d.Markers, m)
}

// packageMarkers reads the remaining comments. Their markers belong to the package, or are misplaced.
func (s *scan) packageMarkers() {
	for _, group := range s.file.Comments {
		if s.claimed[group] {
			continue
		}
		for _, m := range s.parse(group) {
			if !s.ofPackage(m, group) {
				s.mistake(m.Pos, s.program.set.Spelling(m.Marker)+" belongs to no declaration: move it to the comment above a "+
					s.program.set.On(m.Marker).String())
				continue
			}
			s.pkg.markers = append(s.pkg.markers, m)
		}
	}
}

// ofPackage reports whether a marker belongs to the package. It does if the package may have it, and its comment is
// outside of all declarations and their doc comments, and not on a line where a declaration ends. A loose marker
// belongs to it from any position.
func (s *scan) ofPackage(m *Marker, group *ast.CommentGroup) bool {
	if s.program.set.Loose(m.Marker) {
		return true
	}
	return s.program.set.On(m.Marker)&marker.Package != 0 && !slices.ContainsFunc(s.file.Decls, func(d ast.Decl) bool {
		return group == marker.DocOf(d) || group.Pos() > d.Pos() && (group.Pos() < d.End() || s.sameLine(group.Pos(), d.End()))
	})
}

// parse returns the markers of a comment.
func (s *scan) parse(group *ast.CommentGroup) []*Marker {
	var markers []*Marker
	for _, c := range group.List {
		m, err := s.program.set.Parse(c.Text)
		pos := s.program.fset.Position(c.Pos())
		if err != nil {
			if e, ok := err.(*marker.SyntaxError); ok { //nolint:errorlint // the only kind that Parse returns
				pos = s.within(c, e.Offset)
			}
			s.mistake(pos, err.Error())
			continue
		}
		if m != nil {
			markers = append(markers, &Marker{Marker: m, Pos: s.within(c, m.Offset)})
		}
	}
	return slices.Clip(markers)
}

// within returns the position of a byte of a comment.
func (s *scan) within(c *ast.Comment, offset int) token.Position {
	pos := s.program.fset.Position(c.Pos())
	before := c.Text[:min(offset, len(c.Text))]
	pos.Offset += len(before)
	if i := strings.LastIndexByte(before, '\n'); i >= 0 {
		pos.Line += strings.Count(before, "\n")
		pos.Column = len(before) - i
	} else {
		pos.Column += len(before)
	}
	return pos
}

func (s *scan) mistake(pos token.Position, msg string) {
	s.program.Mistake(s.pkg, pos, msg)
}
