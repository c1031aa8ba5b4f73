// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package scaffold

import (
	"go/ast"
	"go/token"
	"slices"

	"github.com/kube-go/sdk/derive/internal/marker"
)

// commented is a type that a file declares, with the comments that have its markers.
type commented struct {
	spec     *ast.TypeSpec
	comments []*ast.Comment
}

// types returns the types of a file with their comments: the doc comment of a type, and the last comment before it.
func (s *source) types() (list []commented) {
	end := s.file.Name.End()
	for _, decl := range s.file.Decls {
		g, ok := decl.(*ast.GenDecl)
		if !ok || g.Tok != token.TYPE {
			end = decl.End()
			continue
		}
		if g.Lparen.IsValid() {
			end = g.Lparen
		}
		for _, spec := range g.Specs {
			spec, ok := spec.(*ast.TypeSpec)
			if !ok {
				continue
			}
			doc, start := spec.Doc, spec.Pos()
			if !g.Lparen.IsValid() {
				doc, start = g.Doc, g.Pos()
			}
			c := commented{spec: spec}
			if doc != nil {
				start = doc.Pos()
			}
			if before := s.commentBefore(start, end); before != nil {
				c.comments = append(c.comments, before.List...)
			}
			if doc != nil {
				c.comments = append(c.comments, doc.List...)
			}
			list = append(list, c)
			end = spec.End()
		}
		end = g.End()
	}
	return list
}

// commentBefore returns the last comment between two positions that does not begin on the line of the first one; nil
// for none.
func (s *source) commentBefore(start, end token.Pos) (last *ast.CommentGroup) {
	for _, group := range s.file.Comments {
		if group.Pos() > end && group.End() < start && group != s.file.Doc &&
			s.set.Position(group.Pos()).Line > s.set.Position(end).Line {
			last = group
		}
	}
	return last
}

// packageMarkers returns the lines with the markers of the package in a file, without those that are of one version, of
// the whole project, or of the code below them.
func (s *source) packageMarkers(markers *marker.Set) (lines []string) {
	ofTypes := map[*ast.Comment]bool{}
	for _, t := range s.types() {
		for _, c := range t.comments {
			ofTypes[c] = true
		}
	}
	for _, group := range s.file.Comments {
		ofDecl := slices.ContainsFunc(s.file.Decls, func(d ast.Decl) bool {
			return group == marker.DocOf(d) || group.Pos() > d.Pos() && group.Pos() < d.End()
		})
		if ofDecl {
			continue
		}
		for _, c := range group.List {
			m, err := markers.Parse(c.Text)
			if err != nil || m == nil || markers.Loose(m) || m.Name == "versionName" || m.Name == "kube:output" {
				continue
			}
			on := markers.On(m)
			ofType := ofTypes[c] && on&marker.Type != 0
			if on&marker.Package != 0 && !ofType && !slices.Contains(lines, c.Text) {
				lines = append(lines, c.Text)
			}
		}
	}
	return lines
}
