// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"bytes"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestBlankBodies(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"a body", "func f() { x }", "func f() {   }"},
		{"several lines", "func f() {\n\ta()\n}\n", "func f() {\n    \n}\n"},
		{"a method", "func (f *F[T]) g() (a, b int) { x }", "func (f *F[T]) g() (a, b int) {   }"},
		{"results with braces", "func f() struct{ A int } { x }", "func f() struct{ A int } {   }"},
		{"a map of structs", "func f() map[string]struct{} { x }", "func f() map[string]struct{} {   }"},
		{"an interface parameter", "func f(a interface{ B() }) interface{} { x }", "func f(a interface{ B() }) interface{} {   }"},
		{"a constraint", "func f[T interface{ ~int }](T) { x }", "func f[T interface{ ~int }](T) {   }"},
		{"braces in text", "func f() { \"}\" + `}` + '}' /* } */ }", "func f() {                         }"},
		{"a quote in a comment", "func f() { // don't }\n}", "func f() {           \n}"},
		{"escapes", `func f() { "\"}" + '\'' + '\\' }`, `func f() {                     }`},
		{"no body", "func f()\nvar x = []int{1}\n", "func f()\nvar x = []int{1}\n"},
		{"a type", "type F func(struct{})\nvar x = F{}", "type F func(struct{})\nvar x = F{}"},
		{"an indented function", "var f = func() { x }", "var f = func() { x }"},
		{"a comment before the body", "func f() /* { */ { x }", "func f() /* { */ {   }"},
	} {
		got := []byte(tt.in)
		if !blankBodies(got) || string(got) != tt.want {
			t.Errorf("%s: blankBodies = %q, want %q", tt.name, got, tt.want)
		}
	}
	for _, in := range []string{"func f() {", "func f() }", "`", "\"\n\"", "/*"} {
		if blankBodies([]byte(in)) {
			t.Errorf("blankBodies(%q) = true, want false", in)
		}
	}
}

// What is left of real sources is what the parser finds in them outside of bodies, at the same places.
func TestBlankBodiesKeepsDeclarations(t *testing.T) {
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"reflect", "time", "net/http", "encoding/json", "runtime", "go/types", "go/parser"} {
		paths, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(root)), "src", dir, "*.go"))
		if err != nil || len(paths) == 0 {
			t.Fatalf("no sources of %s: %v", dir, err)
		}
		for _, path := range paths {
			src, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			blank := bytes.Clone(src)
			if !blankBodies(blank) {
				t.Errorf("%s: blankBodies = false", path)
			}
			if want, got := signatures(t, path, src), signatures(t, path, blank); !bytes.Equal(want, got) {
				t.Errorf("%s: the declarations differ", path)
			}
		}
	}
}

// signatures writes the declarations of a file without the bodies of its functions.
func signatures(t *testing.T, path string, src []byte) []byte {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for _, decl := range file.Decls {
		b.WriteString(fset.Position(decl.Pos()).String() + " " + fset.Position(decl.End()).String() + " ")
		if f, ok := decl.(*ast.FuncDecl); ok {
			f.Body = nil
		}
		if err := format.Node(&b, fset, decl); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}
