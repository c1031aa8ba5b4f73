// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"cmp"
	"fmt"
	"go/token"
	"slices"
	"strings"
)

// Problem is a mistake in the sources.
type Problem struct {
	Position token.Position // its file name is relative to the directory of the run
	Message  string
}

// String returns file:line:column: message.
func (p Problem) String() string {
	if !p.Position.IsValid() {
		if p.Position.Filename != "" {
			return p.Position.Filename + ": " + p.Message
		}
		return p.Message
	}
	return fmt.Sprintf("%s: %s", p.Position, p.Message)
}

// SourceError is the error for mistakes in the sources.
type SourceError struct {
	Problems []Problem // ordered by position, at least one
}

// Error returns the problems, one on a line.
func (e *SourceError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// problems collects the mistakes of a run.
type problems struct {
	dir  string
	list []Problem
}

func (p *problems) add(pos token.Position, msg string) {
	pos.Offset = 0
	problem := Problem{Position: p.relative(pos), Message: msg}
	if !slices.Contains(p.list, problem) {
		p.list = append(p.list, problem)
	}
}

func (p *problems) relative(pos token.Position) token.Position {
	pos.Filename = relative(p.dir, pos.Filename)
	return pos
}

// onLine reports whether the line of a position has a problem.
func (p *problems) onLine(pos token.Position) bool {
	pos = p.relative(pos)
	return slices.ContainsFunc(p.list, func(q Problem) bool {
		return q.Position.Filename == pos.Filename && q.Position.Line == pos.Line
	})
}

func (p *problems) count() int { return len(p.list) }
func (p *problems) none() bool { return len(p.list) == 0 }

func (p *problems) err() error {
	if p.none() {
		return nil
	}
	return &SourceError{Problems: p.sorted()}
}

// sorted returns the problems, ordered by position.
func (p *problems) sorted() []Problem {
	slices.SortStableFunc(p.list, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(a.Position.Filename, b.Position.Filename),
			cmp.Compare(a.Position.Line, b.Position.Line),
			cmp.Compare(a.Position.Column, b.Position.Column),
		)
	})
	return p.list
}
