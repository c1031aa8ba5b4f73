// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package runtime_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const sdk = "github.com/kube-go/sdk/"

// vocabulary is what every package of the module may import besides the standard library, with the reason.
func vocabulary() map[string]string {
	return map[string]string{
		sdk + "core":                           "our own words",
		sdk + "core/managed":                   "what was created becomes what was applied",
		sdk + "core/request":                   "options of verbs",
		sdk + "core/wire":                      "packed objects",
		"k8s.io/apimachinery/pkg/apis/meta/v1": "the ecosystem's words: ObjectMeta, Condition, Time",
		"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured": "the type of objects of any kind",
		"k8s.io/apimachinery/pkg/runtime/schema":            "GroupVersionKind, which TypeMeta speaks",
		"k8s.io/apimachinery/pkg/types":                     "UID",
		"k8s.io/apimachinery/pkg/labels":                    "parses label selectors, and matches them",
		"k8s.io/apimachinery/pkg/fields":                    "writes field selectors",
		"k8s.io/apimachinery/pkg/util/validation":           "the server's own rules for names",
		"k8s.io/apimachinery/pkg/util/resourceversion":      "the server's own rule of which version is newer",
	}
}

// arrows says which layer a package may stand on, besides the vocabulary. A package is never imported by one before it.
func arrows() map[string][]string {
	return map[string][]string{
		"internal/kinds": {"client"},
		"queue":          {},
		"watcher":        {"runtime/internal/kinds"},
		"reflector":      {"runtime/watcher", "runtime/internal/kinds"},
		"cache":          {"client", "runtime/reflector", "runtime/watcher"},
		"controller":     {"client", "runtime/cache", "runtime/queue", "runtime/reflector", "runtime/internal/kinds"},
		"finalizer":      {"client", "runtime/controller"},
		"events":         {"client"},
		"wait":           {"client", "runtime/watcher", "runtime/internal/kinds"},
		"install":        {"client", "runtime/wait"},
	}
}

// TestArchitecture holds the module to its rules: the folder itself has no package, every package imports what it may,
// every file has its licence, a package's comment stands in doc.go alone, and nothing is global or done at start-up.
func TestArchitecture(t *testing.T) {
	const licence = "// Copyright The kube authors.\n// SPDX-License-Identifier: Apache-2.0\n\n"
	allowed, documented := arrows(), map[string]bool{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ParseComments)
		if err != nil {
			return err
		}
		if !strings.HasPrefix(string(text), licence) {
			t.Errorf("%s does not start with the licence", path)
		}
		dir := filepath.ToSlash(filepath.Dir(path))
		if strings.HasSuffix(path, "_test.go") || strings.HasPrefix(dir, "internal/fake") {
			return nil // only tests import the fakes
		}
		layers, ok := allowed[dir]
		if !ok {
			t.Errorf("%s: package %s has no list of what it may stand on", path, dir)
		}
		isDoc := filepath.Base(path) == "doc.go"
		if documented[dir] = documented[dir] || isDoc; (file.Doc != nil) != isDoc {
			t.Errorf("%s has a package comment: %v; it belongs into doc.go alone", path, file.Doc != nil)
		}
		checkImports(t, path, file, layers)
		checkGlobals(t, path, file)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for dir := range allowed {
		if !documented[dir] {
			t.Errorf("package %s has no doc.go", dir)
		}
	}
}

func checkImports(t *testing.T, path string, file *ast.File, layers []string) {
	t.Helper()
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(imported, "/")
		layer, ours := strings.CutPrefix(imported, sdk)
		switch {
		case !strings.Contains(first, ".") || vocabulary()[imported] != "": // the standard library
		case !ours || !slices.Contains(layers, layer):
			t.Errorf("%s imports %s, which is in no list of what it may", path, imported)
		}
	}
}

// checkGlobals reports init functions, and exported variables that are no errors.
func checkGlobals(t *testing.T, path string, file *ast.File) {
	t.Helper()
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Recv == nil && decl.Name.Name == "init" {
				t.Errorf("%s has a function init", path)
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				value, ok := spec.(*ast.ValueSpec)
				if !ok || decl.Tok != token.VAR {
					continue
				}
				for _, name := range value.Names {
					if name.IsExported() && !strings.HasPrefix(name.Name, "Err") {
						t.Errorf("%s exports the variable %s", path, name)
					}
				}
			}
		}
	}
}
