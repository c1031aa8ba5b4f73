// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"bytes"
	"flag"
	"go/ast"
	"go/doc"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestExportedAPI compares the exported names of each module with the list in api/<module>.txt, so that each change of
// them is made on purpose. go test ./kube -run ExportedAPI -update writes the lists.
func TestExportedAPI(t *testing.T) {
	for _, module := range []string{
		"core", "client", "runtime", "derive", "kube", "kubetest", "wasm", "tests/cluster", "contrib/otel", "contrib/prometheus",
		"contrib/zstd",
	} {
		t.Run(module, func(t *testing.T) {
			got := strings.Join(exported(t, filepath.Join("..", module)), "\n") + "\n"
			golden := filepath.Join("..", "api", strings.ReplaceAll(module, "/", "-")+".txt")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("the exported names of %s have changed (-listed +got); if that is intended, run "+
					"go test ./kube -run ExportedAPI -update and describe the change in CHANGELOG.md:\n%s", module, diff)
			}
		})
	}
}

// exported returns the exported declarations of all public packages below a folder, one per line, sorted.
func exported(t *testing.T, root string) []string {
	t.Helper()
	var lines []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || !d.IsDir():
			return err
		case slices.Contains([]string{"internal", "testdata", "cmd"}, d.Name()) || d.Name()[0] == '_':
			return fs.SkipDir
		}
		folder, err := filepath.Rel(root, path)
		for _, line := range exportedIn(t, path) {
			lines = append(lines, filepath.ToSlash(folder)+": "+line)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(lines)
	return lines
}

// exportedIn returns the exported declarations of the package of a folder, with methods of embedded unexported types.
func exportedIn(t *testing.T, folder string) (lines []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	positions := token.NewFileSet()
	var files []*ast.File
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(positions, filepath.Join(folder, e.Name()), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	if len(files) == 0 {
		return nil
	}
	p, err := doc.NewFromFiles(positions, files, folder)
	if err != nil {
		t.Fatal(err)
	}
	values, funcs := slices.Concat(p.Consts, p.Vars), p.Funcs
	for _, typ := range p.Types {
		values, funcs = slices.Concat(values, typ.Consts, typ.Vars), slices.Concat(funcs, typ.Funcs, typ.Methods)
		lines = append(lines, declarations(t, positions, typ.Decl)...)
	}
	for _, v := range values {
		lines = append(lines, declarations(t, positions, v.Decl)...)
	}
	for _, f := range funcs {
		lines = append(lines, declarations(t, positions, f.Decl)...)
	}
	return lines
}

// declarations returns a line for each name that a declaration exports, and one for each exported field of a struct.
func declarations(t *testing.T, files *token.FileSet, decl ast.Decl) []string {
	t.Helper()
	text := func(node any) string {
		var b bytes.Buffer
		if err := format.Node(&b, files, node); err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(b.String()), " ")
	}
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		decl.Doc, decl.Body = nil, nil
		return []string{text(decl)}
	case *ast.GenDecl:
		var lines []string
		for _, spec := range decl.Specs {
			switch spec := spec.(type) {
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					lines = append(lines, decl.Tok.String()+" "+name.Name)
				}
			case *ast.TypeSpec:
				lines = append(lines, typeLines(spec, text)...)
			}
		}
		return lines
	}
	return nil
}

func typeLines(spec *ast.TypeSpec, text func(any) string) []string {
	spec.Doc, spec.Comment = nil, nil
	fields, ok := spec.Type.(*ast.StructType)
	if !ok {
		return []string{"type " + text(spec)}
	}
	head := *spec
	head.Type = &ast.StructType{Fields: &ast.FieldList{}}
	lines := []string{"type " + text(&head)}
	for _, field := range fields.Fields.List {
		for _, name := range field.Names {
			lines = append(lines, "type "+spec.Name.Name+" struct, "+name.Name+" "+text(field.Type))
		}
		if len(field.Names) == 0 {
			lines = append(lines, "type "+spec.Name.Name+" struct, embeds "+text(field.Type))
		}
	}
	return lines
}
