// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package scaffold

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/kube-go/sdk/derive/internal/kind"
	"github.com/kube-go/sdk/derive/internal/marker"
)

// Tree is the files of a project. Its methods change them in memory.
type Tree struct {
	module string
	files  map[string][]byte // by slashed path, relative to the project, with the line endings of Unix
	before map[string][]byte // as they were read
}

// maxFileBytes limits the files that are read.
const maxFileBytes = 4 << 20

// Open reads the project in a directory, which is the root of its module.
func Open(dir string) (*Tree, error) {
	var files []File
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && skipped(dir, name):
			return fs.SkipDir
		case !d.Type().IsRegular() || !isRead(name):
			return nil
		}
		if info, err := d.Info(); err != nil || info.Size() > maxFileBytes {
			return err
		}
		content, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		files = append(files, File{name, content})
		return err
	})
	if err != nil {
		return nil, err
	}
	return newTree(files)
}

// skipped reports whether a directory does not belong to the module.
func skipped(dir, name string) bool {
	base := path.Base(name)
	if name == "." {
		return false
	}
	_, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name), "go.mod"))
	return err == nil || base == "vendor" || base == "testdata" || base[0] == '.' || base[0] == '_'
}

// isRead reports whether a file matters to the commands that extend a project.
func isRead(name string) bool {
	switch path.Ext(name) {
	case ".go", ".yaml":
		return true
	}
	return name == "go.mod" || name == "Makefile"
}

// generated is the line of generated files, see https://go.dev/s/generatedcode.
var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// newTree returns the project with files.
func newTree(files []File) (*Tree, error) {
	t := &Tree{files: map[string][]byte{}}
	for _, f := range files {
		t.files[f.Path] = f.Content
	}
	t.before = maps.Clone(t.files)
	for name, text := range t.files {
		t.files[name] = unixLines(text)
	}
	text, ok := t.files["go.mod"]
	if !ok {
		return nil, errors.New("it has no go.mod: run this in the root of a project that kube-derive init has started")
	}
	mod, err := modfile.ParseLax("go.mod", text, nil)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: correct it first", err)
	case mod.Module == nil:
		return nil, errors.New("go.mod has no module line: correct it first")
	case !slices.ContainsFunc(mod.Require, func(r *modfile.Require) bool { return r.Mod.Path == "github.com/kube-go/sdk/kube" }):
		return nil, errors.New("go.mod does not require github.com/kube-go/sdk/kube: run this in a project that " +
			"kube-derive init has started")
	}
	t.module = mod.Module.Mod.Path
	return t, nil
}

// unixLines returns a text with the line endings of Unix. Git may write those of Windows when it checks out a project.
func unixLines(text []byte) []byte { return bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")) }

// Changes returns the files that differ from those that were read, ordered by path. A file with Windows line endings
// keeps them.
func (t *Tree) Changes() []Change {
	var list []Change
	for _, name := range slices.Sorted(maps.Keys(t.files)) {
		old, existed := t.before[name]
		text := t.files[name]
		if existed && bytes.Equal(text, unixLines(old)) {
			continue
		}
		if bytes.Contains(old, []byte("\r\n")) {
			text = bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))
		}
		list = append(list, Change{File: File{name, text}, Old: old, New: !existed})
	}
	return list
}

// Files returns all files, ordered by path.
func (t *Tree) Files() []File {
	var list []File
	for _, name := range slices.Sorted(maps.Keys(t.files)) {
		list = append(list, File{name, t.files[name]})
	}
	return list
}

// create adds files, none of which may exist.
func (t *Tree) create(files ...File) error {
	var there []string
	for _, f := range files {
		if _, ok := t.files[f.Path]; ok {
			there = append(there, f.Path)
		}
	}
	if len(there) > 0 {
		return fmt.Errorf("the project has %s already, and nothing is overwritten: rename it, or choose another name",
			strings.Join(there, ", "))
	}
	for _, f := range files {
		t.files[f.Path] = f.Content
	}
	return nil
}

// atomically undoes the changes of f if it returns an error.
func (t *Tree) atomically(f func() error) error {
	old := maps.Clone(t.files)
	err := f()
	if err != nil {
		t.files = old
	}
	return err
}

// goFiles returns the paths of the files of a package, without tests and generated files, ordered.
func (t *Tree) goFiles(dir string) []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(t.files)) {
		if path.Dir(name) == dir && path.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go") &&
			!generated.Match(t.files[name]) {
			list = append(list, name)
		}
	}
	return list
}

// parse parses a file of the project.
func (t *Tree) parse(name string) (*source, error) {
	s := &source{path: name, text: t.files[name], set: token.NewFileSet()}
	var err error
	s.file, err = parser.ParseFile(s.set, name, s.text, parser.ParseComments|parser.SkipObjectResolution)
	return s, err // it names the file and the line
}

// source is a Go file.
type source struct {
	path string
	text []byte
	set  *token.FileSet
	file *ast.File
}

// offset returns the place of a node in the text.
func (s *source) offset(p token.Pos) int { return s.set.Position(p).Offset }

// kindOf is one version of a kind of the project.
type kindOf struct {
	dir      string // of its package
	pkg      string
	path     string // of the file with its spec
	spec     string // the name of the type with the marker
	marker   string // the line
	group    string
	name     string
	version  string
	plural   string
	status   string // the type of the status; "" for none
	converts string // the strategy of //kube:conversion; "" for none
	stored   bool   // says storage=true
}

// kinds returns the versions of the kinds that //kube:resource markers declare, ordered by path.
func (t *Tree) kinds() ([]kindOf, error) {
	var list []kindOf
	for _, name := range slices.Sorted(maps.Keys(t.files)) {
		isSource := path.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go")
		if !isSource || !bytes.Contains(t.files[name], []byte("//kube:resource ")) {
			continue
		}
		s, err := t.parse(name)
		if err != nil {
			return nil, err
		}
		for _, typ := range s.types() {
			k, err := readKind(s, typ)
			if err != nil {
				return nil, err
			}
			if k != nil {
				list = append(list, *k)
			}
		}
	}
	return list, nil
}

// readKind returns the kind that a type is marked as; nil for none.
func readKind(s *source, typ commented) (*kindOf, error) {
	markers := marker.NewSet()
	var k *kindOf
	converts, status := "", ""
	for _, c := range typ.comments {
		if !strings.HasPrefix(c.Text, "//kube:") {
			continue
		}
		m, err := markers.Parse(c.Text)
		if err != nil || m == nil {
			return nil, fmt.Errorf("%s: %w", s.set.Position(c.Pos()), err)
		}
		switch m.Name {
		case "kube:resource":
			a := m.Args
			k = &kindOf{
				dir: path.Dir(s.path), pkg: s.file.Name.Name, path: s.path, spec: typ.spec.Name.Name, marker: c.Text,
				group: a.String("group"), name: a.String("kind"), version: a.String("version"),
				plural: a.String("plural"), stored: a.Bool("storage", false),
			}
		case "kube:conversion":
			converts = cmp.Or(m.Args.String("strategy"), "Webhook")
		case "kube:subresource":
			if m.Args.Has("status") {
				status = cmp.Or(m.Args.String("status"), "Status")
			}
		}
	}
	if k != nil {
		k.plural = cmp.Or(k.plural, kind.Pluralize(k.name))
		if status == "Status" {
			status = k.name + status
		}
		k.converts, k.status = converts, status
	}
	return k, nil
}

// names returns the names of the kinds.
func names(kinds []kindOf) string {
	var list []string
	for _, k := range kinds {
		if !slices.Contains(list, k.name) {
			list = append(list, k.name)
		}
	}
	return strings.Join(list, ", ")
}
