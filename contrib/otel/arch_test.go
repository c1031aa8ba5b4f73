// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kubeotel_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// allowedImports says what the package may import besides the standard library, with the reason.
func allowedImports() map[string]string {
	return map[string]string{
		"github.com/kube-go/sdk/client/middleware": "tells of requests",
		"go.opentelemetry.io/otel/attribute":       "what is said of a request",
		"go.opentelemetry.io/otel/codes":           "how a span has ended",
		"go.opentelemetry.io/otel/metric":          "gets the metrics",
		"go.opentelemetry.io/otel/metric/noop":     "where nobody gets them",
		"go.opentelemetry.io/otel/propagation":     "tells the server of the trace",
		"go.opentelemetry.io/otel/trace":           "gets the spans",
		"go.opentelemetry.io/otel/trace/noop":      "where nobody gets them",
	}
}

// TestArchitecture holds the module to its rules: which imports, a licence in every file, a package comment in doc.go
// only, nothing global, and no look into the environment.
func TestArchitecture(t *testing.T) {
	const licence = "// Copyright The kube authors.\n// SPDX-License-Identifier: Apache-2.0\n\n"
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	allowed, used := allowedImports(), map[string]bool{}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(text), licence) {
			t.Errorf("%s does not start with the licence", name)
		}
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if hasDoc := file.Doc != nil; hasDoc != (name == "doc.go") {
			t.Errorf("%s has a package comment: %v; it belongs into doc.go alone", name, hasDoc)
		}
		if strings.Contains(string(text), "os.Getenv") || strings.Contains(string(text), "os.LookupEnv") {
			t.Errorf("%s reads the environment", name)
		}
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			first, _, _ := strings.Cut(imported, "/")
			if used[imported] = true; strings.Contains(first, ".") && allowed[imported] == "" {
				t.Errorf("%s imports %s, which is not in the list of allowed imports", name, imported)
			}
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				t.Errorf("%s has a function init", name)
			}
			if v, ok := decl.(*ast.GenDecl); ok && v.Tok == token.VAR {
				t.Errorf("%s has a global variable", name)
			}
		}
	}
	for imported := range allowed {
		if !used[imported] {
			t.Errorf("%s may be imported, but is not", imported)
		}
	}
}
