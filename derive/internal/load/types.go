// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"cmp"
	"errors"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/kube-go/sdk/derive/internal/marker"
)

// checker type-checks packages from source, together with everything that they refer to. Of an imported package, it
// keeps the constants, and the other declarations that kept ones refer to, where a type comes with its methods. So
// every kept declaration is complete, and a package that none of them refers to is not even read.
type checker struct {
	program *Program
	nodes   map[*packages.Package]*node
	queue   []*node // packages whose files have not been read
}

// node is a package that is type-checked.
type node struct {
	source  *packages.Package
	syntax  []*ast.File // set before for a package that is kept as a whole, including the generated file
	bodies  bool        // function bodies are checked too
	files   []*keptFile
	whole   bool                   // everything is kept
	indexed bool                   // decls is set
	decls   map[string][]*optional // by name; those of methods by the name of the receiver's type
	wanted  map[string]bool        // names whose declarations are kept
	types   *types.Package
	errs    []types.Error
}

// keptFile is one file of a node.
type keptFile struct {
	*ast.File
	imports map[string]*packages.Package // by the name that the file uses
	decls   []ast.Decl                   // those that are kept
}

// optional is a declaration that is kept if another one refers to it.
type optional struct {
	file *keptFile
	decl ast.Decl
	kept bool
}

func (p *Program) newChecker() *checker {
	return &checker{program: p, nodes: map[*packages.Package]*node{}}
}

// metaPath is the package of TypeMeta, which all kinds have.
const metaPath = "k8s.io/apimachinery/pkg/apis/meta/v1"

// loadTypes type-checks the roots with kinds, without function bodies.
func (p *Program) loadTypes() {
	c := p.newChecker()
	for _, root := range p.Roots {
		if slices.ContainsFunc(root.Files, p.needsTypes) {
			files := root.syntax
			if file := p.missingKinds(root); file != nil {
				files = append(slices.Clip(files), file)
			}
			c.add(root, files)
		}
	}
	if len(c.nodes) > 0 {
		if pkg := p.byPath[metaPath]; pkg != nil {
			c.want(c.reach(pkg.source), "TypeMeta")
		}
	}
	c.collect()
	for _, n := range c.nodes {
		pkg := p.byPath[n.source.PkgPath]
		pkg.Types = c.check(n)
		pkg.typeErrors = n.errs
	}
}

// needsTypes reports whether a file has a marker of a type, field or constant, or one that makes types kinds.
func (p *Program) needsTypes(file *ast.File) bool {
	for _, group := range file.Comments {
		for _, c := range group.List {
			m, err := p.set.Parse(c.Text)
			if err == nil && m != nil && (!p.set.Loose(m) && p.set.On(m) != marker.Package || m.Name == "groupName") {
				return true
			}
		}
	}
	return false
}

// add adds a package that is kept as a whole.
func (c *checker) add(pkg *Package, files []*ast.File) *node {
	n := c.reach(pkg.source)
	n.syntax, n.whole = files, true
	return n
}

// reach adds a package that a kept declaration refers to.
func (c *checker) reach(source *packages.Package) *node {
	n := c.nodes[source]
	if n == nil {
		n = &node{source: source, wanted: map[string]bool{}}
		c.nodes[source] = n
		c.queue = append(c.queue, n)
	}
	return n
}

// collect reads the packages in the queue, and those that they refer to.
func (c *checker) collect() {
	for len(c.queue) > 0 {
		queue := c.queue
		c.queue = nil
		var unread []*packages.Package
		for _, n := range queue {
			if n.syntax == nil {
				unread = append(unread, n.source)
			}
		}
		c.program.parse(unread, false)
		for _, n := range queue {
			c.index(n)
		}
	}
}

// index decides which declarations of a package are kept.
func (c *checker) index(n *node) {
	if n.syntax == nil {
		for _, name := range n.source.GoFiles {
			if file := c.program.parsed[name].File; file != nil {
				n.syntax = append(n.syntax, file)
			}
		}
	}
	n.decls = map[string][]*optional{}
	for _, syntax := range n.syntax {
		n.files = append(n.files, c.file(n, syntax))
	}
	for _, file := range n.files {
		for _, decl := range file.File.Decls {
			c.decl(n, file, decl)
		}
	}
	n.indexed = true
	for name := range n.wanted {
		c.keepNamed(n, name)
	}
	if n.whole {
		c.keepAll(n)
	}
}

// file resolves the imports of a file.
func (c *checker) file(n *node, syntax *ast.File) *keptFile {
	file := &keptFile{File: syntax, imports: map[string]*packages.Package{}}
	for _, spec := range syntax.Imports {
		source := c.program.imported(n.source, spec)
		switch {
		case source == nil, source.Name == "", source.PkgPath == "unsafe":
		case spec.Name == nil:
			file.imports[source.Name] = source
		case spec.Name.Name == ".":
			c.want(c.reach(source), "")
		default:
			file.imports[spec.Name.Name] = source
		}
	}
	return file
}

// imported returns the package that an import refers to, nil if it is unknown.
func (p *Program) imported(from *packages.Package, spec *ast.ImportSpec) *packages.Package {
	path, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return nil
	}
	return p.resolve(from, path)
}

// resolve returns the package that an import path stands for in another package, nil if it is unknown.
func (p *Program) resolve(from *packages.Package, path string) *packages.Package {
	if source := from.Imports[path]; source != nil {
		return source
	}
	if pkg := p.byPath[path]; pkg != nil && slices.Contains(p.imports, path) { // a new file imports it
		return pkg.source
	}
	return nil
}

// decl keeps a constant, and notes other declarations, which may be kept later.
func (c *checker) decl(n *node, file *keptFile, decl ast.Decl) {
	note := func(decl ast.Decl, names ...*ast.Ident) {
		o := &optional{file: file, decl: decl}
		for _, name := range names {
			if name != nil {
				n.decls[name.Name] = append(n.decls[name.Name], o)
			}
		}
	}
	switch d := decl.(type) {
	case *ast.FuncDecl:
		name := d.Name
		if d.Recv != nil && len(d.Recv.List) > 0 {
			name = embeddedName(d.Recv.List[0].Type)
		}
		note(d, name)
	case *ast.GenDecl:
		if d.Tok != token.VAR && d.Tok != token.TYPE {
			c.keep(n, file, decl)
			return
		}
		for _, spec := range d.Specs {
			one := &ast.GenDecl{TokPos: spec.Pos(), Tok: d.Tok, Specs: []ast.Spec{spec}}
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				note(one, spec.Name)
			case *ast.ValueSpec:
				note(one, spec.Names...)
			}
		}
	}
}

// want keeps the declarations of a name, or all declarations if the name is empty.
func (c *checker) want(n *node, name string) {
	switch {
	case name == "":
		if !n.whole {
			n.whole = true
			c.keepAll(n)
		}
	case !n.wanted[name]:
		n.wanted[name] = true
		c.keepNamed(n, name)
	}
}

func (c *checker) keepAll(n *node) {
	for name := range n.decls {
		c.keepNamed(n, name)
	}
}

func (c *checker) keepNamed(n *node, name string) {
	if !n.indexed {
		return
	}
	for _, o := range n.decls[name] {
		if !o.kept {
			o.kept = true
			c.keep(n, o.file, o.decl)
		}
	}
}

// keep keeps a declaration and everything that it refers to.
func (c *checker) keep(n *node, file *keptFile, decl ast.Decl) {
	file.decls = append(file.decls, decl)
	refer := func(part ast.Node) { c.refer(n, file, part) }
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Recv != nil {
			refer(d.Recv)
		}
		refer(d.Type)
		if n.bodies && d.Body != nil {
			refer(d.Body)
		}
	case *ast.GenDecl:
		if d.Tok != token.IMPORT {
			refer(d)
		}
	}
}

// refer keeps what a part of a declaration refers to. A name may also be that of something local; then too much is
// kept.
func (c *checker) refer(n *node, file *keptFile, part ast.Node) {
	ast.Inspect(part, func(part ast.Node) bool {
		switch part := part.(type) {
		case *ast.Ident:
			c.want(n, part.Name)
		case *ast.Field:
			c.refer(n, file, part.Type)
			return false
		case *ast.FuncLit:
			if !n.bodies {
				c.refer(n, file, part.Type)
				return false
			}
		case *ast.SelectorExpr:
			pkg, ok := part.X.(*ast.Ident)
			if ok && file.imports[pkg.Name] != nil {
				c.want(c.reach(file.imports[pkg.Name]), part.Sel.Name)
			}
			c.refer(n, file, part.X)
			return false
		}
		return true
	})
}

// check type-checks a package after those that it refers to.
func (c *checker) check(n *node) *types.Package {
	if n.types != nil {
		return n.types
	}
	n.types = types.NewPackage(n.source.PkgPath, n.source.Name)
	conf := &types.Config{
		IgnoreFuncBodies: !n.bodies,
		FakeImportC:      true,
		Sizes:            types.SizesFor("gc", cmp.Or(os.Getenv("GOARCH"), runtime.GOARCH)),
		Importer:         importer(func(path string) (*types.Package, error) { return c.imported(n, path) }),
		Error: func(err error) {
			if e, ok := err.(types.Error); ok { //nolint:errorlint // what the type checker passes
				n.errs = append(n.errs, e)
			}
		},
	}
	if m := n.source.Module; m != nil && m.GoVersion != "" {
		conf.GoVersion = "go" + m.GoVersion
	}
	files := make([]*ast.File, len(n.files))
	for i, file := range n.files {
		stripped := *file.File
		stripped.Decls = file.decls
		slices.SortFunc(stripped.Decls, func(a, b ast.Decl) int { return cmp.Compare(a.Pos(), b.Pos()) })
		files[i] = &stripped
	}
	_ = types.NewChecker(conf, c.program.fset, n.types, nil).Files(files) // conf.Error has the errors
	return n.types
}

// imported returns a package that another one imports. It is empty if no kept declaration refers to it.
func (c *checker) imported(from *node, path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	source := c.program.resolve(from.source, path)
	switch {
	case source == nil || source.Name == "":
		if source != nil && len(source.Errors) > 0 {
			return nil, errors.New(strings.Join(strings.Fields(source.Errors[0].Msg), " "))
		}
		return nil, errors.New("package not found")
	case c.nodes[source] == nil:
		empty := types.NewPackage(source.PkgPath, source.Name)
		empty.MarkComplete()
		return empty, nil
	}
	pkg := c.check(c.nodes[source])
	if !pkg.Complete() {
		return nil, errors.New("import cycle")
	}
	return pkg, nil
}

type importer func(path string) (*types.Package, error)

func (f importer) Import(path string) (*types.Package, error) { return f(path) }
