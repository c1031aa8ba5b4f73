// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fsmtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kube-go/sdk/runtime/fsm"
)

// Registered reads the Go files in a folder, and fails the test for each type that may follow a state of the graph, by
// its methods and those of the structs of the package that it embeds, but is not a state of the graph: it was never
// added, or its methods are declared on the pointer. Otherwise, the first pass that goes there fails. A type without the
// method Step is not reported, such as one that states only embed. The folder is that of the package with the states,
// usually "."; the test fails if it has the method Step of no state of the graph.
func Registered(t testing.TB, g *fsm.Graph, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("fsmtest: %s has %d Go files, %v", dir, len(files), err)
	}
	s := sources{
		edges: map[string]edge{}, embeds: map[string][]string{}, methods: map[string][]string{}, next: map[string]string{},
	}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range parsed.Decls {
			s.read(decl)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.embeds)) {
		s.inherit(name)
	}
	added := map[string]bool{}
	for _, state := range g.States {
		added[state.Name[strings.LastIndexByte(state.Name, '.')+1:]] = true
	}
	if !slices.ContainsFunc(slices.Collect(maps.Keys(added)), s.steps) {
		t.Errorf("fsmtest: %s has the method Step of no state of the machine: give the folder of the package with its states",
			dir)
		return
	}
	for _, from := range slices.Sorted(maps.Keys(s.next)) {
		want := s.wanted(s.next[from])
		for _, to := range slices.Sorted(maps.Keys(s.methods)) {
			lacks := func(method string) bool { return !slices.Contains(s.methods[to], method) }
			switch follows := len(want) > 0 && !slices.ContainsFunc(want, lacks); {
			case !added[from] || !follows:
			case !added[strings.TrimPrefix(to, "*")]:
				if !s.steps(strings.TrimPrefix(to, "*")) {
					continue
				}
				t.Errorf("%s may follow the state %s, but is not added to the machine", to, from)
			case strings.HasPrefix(to, "*"):
				t.Errorf("%s can't follow the state %s: declare %s on the struct, not on the pointer",
					to, from, strings.Join(want, ", "))
			}
		}
	}
}

// sources are the declarations of a package that concern states.
type sources struct {
	edges   map[string]edge     // the interfaces
	embeds  map[string][]string // the types that each struct embeds, "T" or "*T"
	methods map[string][]string // the methods of each type; "*T" has those of the pointer only
	next    map[string]string   // the interface of the next states of each state
}

// edge is an interface.
type edge struct {
	methods []string
	embeds  []ast.Expr // the interfaces that it embeds
}

func edgeOf(x *ast.InterfaceType) (e edge) {
	for _, m := range x.Methods.List {
		for _, name := range m.Names {
			e.methods = append(e.methods, name.Name)
		}
		if len(m.Names) == 0 {
			e.embeds = append(e.embeds, m.Type)
		}
	}
	return e
}

// inherit adds the methods of the structs that a struct embeds to its own, and the next states of their Step.
func (s *sources) inherit(name string) {
	embeds := s.embeds[name]
	delete(s.embeds, name) // it has inherited
	for _, embedded := range embeds {
		typ, pointer := strings.CutPrefix(embedded, "*")
		s.inherit(typ)
		s.methods[name] = append(s.methods[name], s.methods[typ]...)
		of := "*" + name
		if pointer {
			of = name
		}
		s.methods[of] = append(s.methods[of], s.methods["*"+typ]...)
		if s.next[name] == "" && s.next[typ] != "" {
			s.next[name] = s.next[typ]
		}
	}
}

// steps reports whether a type has the method Step.
func (s *sources) steps(typ string) bool {
	return slices.Contains(s.methods[typ], "Step") || slices.Contains(s.methods["*"+typ], "Step")
}

// wanted returns the methods of an interface, also those of the interfaces that it embeds. It returns none if one of
// these is not in the package.
func (s *sources) wanted(name string) []string {
	e, ok := s.edges[name]
	if !ok {
		return nil
	}
	methods := slices.Clone(e.methods)
	for _, x := range e.embeds {
		var inner []string
		if embedded, ok := x.(*ast.Ident); ok && embedded.Name != name {
			inner = s.wanted(embedded.Name)
		}
		if inner == nil {
			return nil
		}
		methods = append(methods, inner...)
	}
	return methods
}

// read adds a declaration.
func (s *sources) read(decl ast.Decl) {
	switch d := decl.(type) {
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			typ, ok := spec.(*ast.TypeSpec)
			if !ok {
				continue
			}
			switch x := typ.Type.(type) {
			case *ast.InterfaceType:
				s.edges[typ.Name.Name] = edgeOf(x)
			case *ast.Ident: // of another interface, if it is one
				s.edges[typ.Name.Name] = edge{embeds: []ast.Expr{x}}
			case *ast.StructType:
				for _, f := range x.Fields.List {
					if embedded := receiver(f.Type); len(f.Names) == 0 && embedded != "" {
						s.embeds[typ.Name.Name] = append(s.embeds[typ.Name.Name], embedded)
					}
				}
			}
		}
	case *ast.FuncDecl:
		if d.Recv == nil || len(d.Recv.List) != 1 {
			return
		}
		of := receiver(d.Recv.List[0].Type)
		s.methods[of] = append(s.methods[of], d.Name.Name)
		if params := d.Type.Params.List; d.Name.Name == "Step" && len(params) > 0 {
			if to, ok := params[len(params)-1].Type.(*ast.IndexExpr); ok {
				if edge, ok := to.Index.(*ast.Ident); ok {
					s.next[of] = edge.Name
				}
			}
		}
	}
}

// receiver returns the name of the type of a receiver: "T" or "*T".
func receiver(e ast.Expr) string {
	switch x := e.(type) {
	case *ast.StarExpr:
		return "*" + receiver(x.X)
	case *ast.Ident:
		return x.Name
	}
	return "" // a generic type
}
