// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package scaffold

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// EditError says that a file of the project does not have the expected form.
type EditError struct {
	Path   string // as that of [File]
	Reason string
	Lines  string // what to add by hand
}

// Error says what to do.
func (e *EditError) Error() string {
	return fmt.Sprintf("%s: %s. Add this by hand where it belongs, and then run the command again:\n\n%s\n\n"+
		"Nothing was changed", e.Path, e.Reason, strings.TrimRight(e.Lines, "\n"))
}

// insertion is text for a place of a file.
type insertion struct {
	at   int
	text string
}

// insert returns a formatted file with insertions.
func (s *source) insert(list ...insertion) ([]byte, error) {
	var out []byte
	last := 0
	for _, in := range list { // they are in order
		out = append(append(out, s.text[last:in.at]...), in.text...)
		last = in.at
	}
	out, err := format.Source(append(out, s.text[last:]...))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.path, err)
	}
	return out, nil
}

// lineEnd returns the place behind the line of an offset.
func (s *source) lineEnd(offset int) int {
	if i := bytes.IndexByte(s.text[offset:], '\n'); i >= 0 {
		return offset + i + 1
	}
	return len(s.text)
}

// function returns a function of a file; nil for none.
func (s *source) function(name string) *ast.FuncDecl {
	for _, decl := range s.file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == name && f.Body != nil {
			return f
		}
	}
	return nil
}

// calls reports whether a file calls a function of its package.
func (s *source) calls(name string) bool {
	found := false
	ast.Inspect(s.file, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			id, ok := call.Fun.(*ast.Ident)
			found = found || ok && id.Name == name
		}
		return !found
	})
	return found
}

// addCall matches the names of functions that add a part of the project, such as addWidget.
var addCall = regexp.MustCompile(`^add[A-Z]`)

// appendCall adds a call behind the last call of the same form in a function: add… with a number of arguments, which it
// repeats. The file stays the same if it has the call already.
func (t *Tree) appendCall(name, function, callee string, example ...string) error {
	wrong := func(reason string) error {
		return &EditError{name, reason, "\t" + callee + "(" + strings.Join(example, ", ") + ")"}
	}
	if t.files[name] == nil {
		return wrong("the file does not exist")
	}
	s, err := t.parse(name)
	if err != nil {
		return err
	}
	if s.calls(callee) {
		return nil
	}
	f := s.function(function)
	if f == nil {
		return wrong("it has no function " + function)
	}
	var last *ast.CallExpr
	for _, stmt := range f.Body.List {
		e, ok := stmt.(*ast.ExprStmt)
		if !ok {
			continue
		}
		if call, ok := e.X.(*ast.CallExpr); ok && len(call.Args) == len(example) {
			if id, ok := call.Fun.(*ast.Ident); ok && addCall.MatchString(id.Name) {
				last = call
			}
		}
	}
	if last == nil {
		return wrong(fmt.Sprintf("the function %s has no call of the form add…(%s)", function, strings.Join(example, ", ")))
	}
	args := s.text[s.offset(last.Lparen):s.offset(last.End())]
	t.files[name], err = s.insert(insertion{s.lineEnd(s.offset(last.End())), callee + string(args) + "\n"})
	return err
}

// appendElement adds an element to the list or map that a function returns or passes on, behind the others: the first
// literal of one. The file stays the same if a literal in it has the element already, or a call has it as an argument.
func (t *Tree) appendElement(name, function, element string) error {
	wrong := func(reason string) error { return &EditError{name, reason, "\t\t" + element + ","} }
	if t.files[name] == nil {
		return wrong("the file does not exist")
	}
	s, err := t.parse(name)
	if err != nil {
		return err
	}
	if s.hasElement(element) {
		return nil
	}
	f := s.function(function)
	if f == nil {
		return wrong("it has no function " + function)
	}
	var list *ast.CompositeLit
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if lit, ok := n.(*ast.CompositeLit); ok && list == nil {
			switch lit.Type.(type) {
			case *ast.ArrayType, *ast.MapType:
				list = lit
			}
		}
		return list == nil
	})
	if list == nil {
		return wrong(fmt.Sprintf("the function %s has no list", function))
	}
	if len(list.Elts) == 0 {
		t.files[name], err = s.insert(insertion{s.offset(list.Lbrace) + 1, "\n" + element + ",\n"})
		return err
	}
	end := list.Elts[len(list.Elts)-1].End()
	in := insertion{s.lineEnd(s.offset(end)), element + ",\n"}
	if s.set.Position(end).Line == s.set.Position(list.Rbrace).Line {
		in = insertion{s.offset(end), ", " + element}
	}
	t.files[name], err = s.insert(in)
	return err
}

// hasElement reports whether an element of a literal, or an argument of a call, has a text.
func (s *source) hasElement(text string) bool {
	found := false
	ast.Inspect(s.file, func(n ast.Node) bool {
		var list []ast.Expr
		switch n := n.(type) {
		case *ast.CompositeLit:
			list = n.Elts
		case *ast.CallExpr:
			list = n.Args
		}
		found = found || slices.ContainsFunc(list, func(e ast.Expr) bool {
			words := strings.Fields(string(s.text[s.offset(e.Pos()):s.offset(e.End())])) // gofmt aligns values
			return strings.Join(words, " ") == text
		})
		return !found
	})
	return found
}

// addImport makes a file import a package of the project. It returns the name of the package in the file.
func (t *Tree) addImport(name, alias, importPath string) (string, error) {
	s, err := t.parse(name)
	if err != nil {
		return "", err
	}
	taken := map[string]bool{}
	var decl *ast.GenDecl
	last, local := token.NoPos, token.NoPos // the ends of the last import, and of the last one of the project
	for _, d := range s.file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.IMPORT {
			continue
		}
		decl = g
		for _, spec := range g.Specs {
			i := spec.(*ast.ImportSpec)
			p, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return "", err
			}
			used := path.Base(p)
			if i.Name != nil {
				used = i.Name.Name
			}
			if p == importPath {
				return used, nil
			}
			taken[used] = true
			last = i.End()
			if strings.HasPrefix(p, t.module+"/") {
				local = i.End()
			}
		}
	}
	for n := 2; taken[alias]; n++ {
		alias += strconv.Itoa(n)
	}
	spec := strconv.Quote(importPath)
	if alias != path.Base(importPath) || isVersionName(alias) {
		spec = alias + " " + spec
	}
	var in insertion
	switch {
	case decl == nil || !decl.Lparen.IsValid():
		at := s.offset(s.file.Name.End())
		if decl != nil {
			at = s.offset(decl.End())
		}
		in = insertion{s.lineEnd(at), "\nimport " + spec + "\n"}
	case local.IsValid():
		in = insertion{s.lineEnd(s.offset(local)), spec + "\n"}
	default:
		in = insertion{s.lineEnd(s.offset(last)), "\n" + spec + "\n"}
	}
	t.files[name], err = s.insert(in)
	return alias, err
}

// imported returns the path of the package with a name in a file; "" for none.
func (s *source) imported(name string) string {
	for _, i := range s.file.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		if err == nil && (i.Name != nil && i.Name.Name == name || i.Name == nil && path.Base(p) == name) {
			return p
		}
	}
	return ""
}

// replaceLine replaces a line of a file, which may be indented, by lines with its indentation.
func (t *Tree) replaceLine(name, old, updated string) error {
	before, after, ok := strings.Cut(string(t.files[name]), old+"\n")
	if !ok {
		return &EditError{name, "it does not have the line " + old, updated}
	}
	indent := before[strings.LastIndexByte(before, '\n')+1:]
	t.files[name] = []byte(before + strings.ReplaceAll(updated, "\n", "\n"+indent) + "\n" + after)
	return nil
}

// declares returns the file of a package that declares a name at its top level; "" for none. Generated files count.
func (t *Tree) declares(dir, name string) (string, error) {
	for file := range t.files {
		if path.Dir(file) != dir || path.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
			continue
		}
		s, err := t.parse(file)
		if err != nil {
			return "", err
		}
		for _, decl := range s.file.Decls {
			if slices.Contains(declaredNames(decl), name) {
				return file, nil
			}
		}
	}
	return "", nil
}

// declaredNames returns the names that a declaration makes known in its package.
func declaredNames(decl ast.Decl) (list []string) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil && d.Name.Name != "init" {
			list = append(list, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				list = append(list, spec.Name.Name)
			case *ast.ValueSpec:
				for _, id := range spec.Names {
					list = append(list, id.Name)
				}
			}
		}
	}
	return slices.DeleteFunc(list, func(name string) bool { return name == "_" })
}
