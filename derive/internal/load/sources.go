// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"go/parser"
	"go/scanner"
	"sync"

	"golang.org/x/tools/go/packages"
)

// sourceMode is for who wants comments alone: nothing is compiled.
const sourceMode = packages.NeedName | packages.NeedFiles | packages.NeedModule

// parseAll reads the files of packages that were loaded without them.
func (p *Program) parseAll(roots []*packages.Package) {
	var wg sync.WaitGroup
	for _, r := range roots {
		wg.Go(func() {
			for _, name := range r.GoFiles {
				file, err := parser.ParseFile(p.fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
				if err != nil {
					r.Errors = append(r.Errors, parseError(name, err))
					continue
				}
				r.Syntax = append(r.Syntax, file)
			}
		})
	}
	wg.Wait()
}

// parseError is the first thing that is wrong with a file.
func parseError(name string, err error) packages.Error {
	if list, ok := err.(scanner.ErrorList); ok && len(list) > 0 { //nolint:errorlint // what the parser returns
		return packages.Error{Pos: list[0].Pos.String(), Msg: list[0].Msg, Kind: packages.ParseError}
	}
	return packages.Error{Pos: name, Msg: err.Error(), Kind: packages.ParseError}
}
