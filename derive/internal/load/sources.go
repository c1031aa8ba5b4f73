// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/scanner"
	"os"
	"runtime"
	"sync"

	"golang.org/x/tools/go/packages"
)

// parsedFile is a parsed file, which may be incomplete.
type parsedFile struct {
	*ast.File
	err error
}

// parse parses the files of packages that have not been parsed yet. It omits function bodies in packages outside of the
// main module that are not roots.
func (p *Program) parse(list []*packages.Package, roots bool) {
	type job struct {
		name  string
		blank bool
	}
	var jobs []job
	for _, pkg := range list {
		blank := !roots && (pkg.Module == nil || !pkg.Module.Main)
		for _, name := range pkg.GoFiles {
			if _, ok := p.parsed[name]; !ok {
				p.parsed[name] = parsedFile{}
				jobs = append(jobs, job{name, blank})
			}
		}
	}
	files := make([]parsedFile, len(jobs))
	var wg sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, j := range jobs {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			files[i] = p.parseFile(j.name, j.blank)
		})
	}
	wg.Wait()
	for i, j := range jobs {
		p.parsed[j.name] = files[i]
	}
}

func (p *Program) parseFile(name string, blank bool) (file parsedFile) {
	const mode = parser.AllErrors | parser.ParseComments | parser.SkipObjectResolution
	src, ok := p.overlay[name]
	if !ok {
		if src, file.err = os.ReadFile(name); file.err != nil {
			return file
		}
		if blank {
			if text := bytes.Clone(src); blankBodies(text) {
				if file.File, file.err = parser.ParseFile(p.fset, name, text, mode); file.err == nil {
					return file
				}
			}
		}
	}
	file.File, file.err = parser.ParseFile(p.fset, name, src, mode)
	return file
}

// parseErrors returns the syntax errors of a file.
func parseErrors(name string, err error) []packages.Error {
	if err == nil {
		return nil
	}
	list, ok := err.(scanner.ErrorList) //nolint:errorlint // what the parser returns
	if !ok {
		return []packages.Error{{Pos: name, Msg: err.Error(), Kind: packages.ParseError}}
	}
	errs := make([]packages.Error, len(list))
	for i, e := range list {
		errs[i] = packages.Error{Pos: e.Pos.String(), Msg: e.Msg, Kind: packages.ParseError}
	}
	return errs
}
