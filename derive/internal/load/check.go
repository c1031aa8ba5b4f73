// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"
)

// TypeErrorAt returns the type error of a line, or "" if the line has none.
func (p *Program) TypeErrorAt(pos token.Position) string {
	for _, root := range p.Roots {
		for _, e := range root.typeErrors {
			if at := p.fset.Position(e.Pos); at.Filename == pos.Filename && at.Line == pos.Line {
				return e.Msg
			}
		}
	}
	return ""
}

// ReportImports reports the imports of roots that can't be resolved. Call it when a type is unknown: other imports do
// not matter.
func (p *Program) ReportImports() {
	for _, root := range p.Roots {
		for _, e := range root.typeErrors {
			if strings.HasPrefix(e.Msg, "could not import ") {
				p.report(p.fset.Position(e.Pos), e.Msg)
			}
		}
	}
}

// Check type-checks roots with their new generated files, by package path, and reports the remaining errors. It also
// checks function bodies.
func (p *Program) Check(generated map[string][]byte) {
	c := p.newChecker()
	for _, root := range p.Roots {
		src, ok := generated[root.Path]
		if !ok {
			continue
		}
		file, err := parser.ParseFile(p.fset, filepath.Join(root.Dir, p.generated), src, parser.SkipObjectResolution)
		if err != nil {
			p.report(token.Position{Filename: filepath.Join(root.Dir, p.generated)}, err.Error())
			continue
		}
		files := append([]*ast.File{file}, root.Files...)
		if root.apply != nil {
			files = append(files, root.apply)
		}
		c.add(root, files).bodies = true
	}
	c.collect()
	for _, root := range p.Roots {
		if n := c.nodes[root.source]; n != nil && n.bodies {
			c.check(n)
			p.typeErrors(n.errs)
		}
	}
}

// typeErrors reports errors. An error that begins with a tab belongs to the previous one.
func (p *Program) typeErrors(errs []types.Error) {
	for i, e := range errs {
		if strings.HasPrefix(e.Msg, "\t") || filepath.Base(p.fset.Position(e.Pos).Filename) == ApplyFile {
			continue // apply structs that are out of date do not fail a run that does not write them
		}
		msg := []string{e.Msg}
		for _, more := range errs[i+1:] {
			if !strings.HasPrefix(more.Msg, "\t") {
				break
			}
			at := p.fset.Position(more.Pos)
			msg = append(msg, fmt.Sprintf("%s in %s:%d", strings.TrimSpace(more.Msg), filepath.Base(at.Filename), at.Line))
		}
		p.report(p.fset.Position(e.Pos), strings.Join(msg, "; "))
	}
}
