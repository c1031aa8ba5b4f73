// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package derive_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/kube-go/sdk/derive"

// allowedImports says for each package what it may import besides the standard library and the other packages of this
// module, with the reason. None of them is linked into users' programs unless these ask for it: package kube imports none.
func allowedImports() map[string]map[string]string {
	const meta = "k8s.io/apimachinery/pkg/"
	return map[string]map[string]string{
		".": {
			"github.com/kube-go/sdk/core":      "what a kind is",
			meta + "apis/meta/v1/unstructured": "the type of objects of any kind",
		},
		"cmd/kube-derive": {
			meta + "apis/meta/v1/unstructured": "the type of objects of any kind",
			"sigs.k8s.io/yaml":                 "reads CRDs to compare",
		},
		"evolution": {
			"github.com/kube-go/sdk/core":      "the order of versions",
			meta + "apis/meta/v1/unstructured": "the type of objects of any kind",
		},
		"generate":            {},
		"internal/applytypes": {},
		"internal/cel": {
			"github.com/google/cel-go/cel":                 "the language of rules",
			"github.com/google/cel-go/checker":             "what rules cost at worst",
			"github.com/google/cel-go/common":              "the units of cost",
			"github.com/google/cel-go/common/ast":          "the parts of rules",
			"github.com/google/cel-go/common/types":        "the values of rules",
			"github.com/google/cel-go/common/types/ref":    "the values of rules",
			"github.com/google/cel-go/common/types/traits": "the values of rules",
			"github.com/google/cel-go/ext":                 "the libraries that servers have",
			"github.com/google/cel-go/interpreter":         "what rules have cost",
			"k8s.io/kube-openapi/pkg/validation/strfmt":    "the formats that servers know",
			meta + "api/equality":                          "what servers take for the same",
			meta + "api/resource":                          "the quantities of rules",
			meta + "api/validation":                        "what servers accept as names",
			meta + "util/validation":                       "what servers accept as names",
			meta + "util/validation/field":                 "the errors of servers",
		},
		"internal/crd": {
			meta + "apis/meta/v1/unstructured": "the type of objects of any kind",
			"sigs.k8s.io/yaml":                 "writes YAML as kubectl does",
		},
		"internal/deepcopy": {},
		"internal/definition": {
			meta + "api/equality":          "what servers take for the same",
			meta + "api/validation":        "what servers accept as metadata",
			meta + "runtime":               "copies values",
			meta + "util/validation":       "what servers accept as names",
			meta + "util/validation/field": "the errors of servers",
		},
		"internal/docs":        {"github.com/invopop/jsonschema": "the form of documents"},
		"internal/emit":        {},
		"internal/jsonschemas": {},
		"internal/finder":      {meta + "util/validation": "what servers accept as names"},
		"internal/kind":        {},
		"internal/load":        {"golang.org/x/tools/go/packages": "reads packages as the go command does"},
		"internal/marker":      {},
		"internal/openapi": {
			"github.com/kube-go/sdk/core/wire": "reads and writes JSON",
			meta + "apis/meta/v1":              "the metadata of definitions",
		},
		"internal/rbac": {
			meta + "util/validation": "what servers accept as names",
			"sigs.k8s.io/yaml":       "writes YAML as kubectl does",
		},
		"internal/reflected": {
			"github.com/invopop/jsonschema": "the form of documents, and the methods with which types say theirs",
			meta + "apis/meta/v1":           "the types whose tags are in comments",
		},
		"internal/manifests": {"sigs.k8s.io/yaml": "writes scalars as kubectl does"},
		"internal/sample": {
			meta + "runtime":               "copies values",
			meta + "util/validation/field": "the errors of servers",
		},
		"internal/scaffold":   {meta + "util/validation": "what servers accept as names"},
		"internal/schema":     {"github.com/invopop/jsonschema": "the form of documents"},
		"internal/shape":      {"github.com/invopop/jsonschema": "the form of documents"},
		"internal/structural": {"github.com/invopop/jsonschema": "the form of documents"},
		"internal/suggest":    {},
		"internal/value": {
			"github.com/kube-go/sdk/core/wire":          "reads and writes JSON",
			"k8s.io/kube-openapi/pkg/validation/strfmt": "the formats that servers know",
			meta + "api/validation":                     "what servers accept as metadata",
			meta + "api/validate/content":               "what servers accept as names",
			meta + "apis/meta/v1":                       "the type of metadata",
			meta + "runtime":                            "copies values",
			meta + "runtime/schema":                     "reads API versions",
			meta + "util/validation":                    "what servers accept as names",
			meta + "util/validation/field":              "the errors of servers",
		},
		"internal/webhook": {
			meta + "apis/meta/v1":    "checks selectors",
			meta + "util/validation": "what servers accept as names",
			"sigs.k8s.io/yaml":       "writes YAML as kubectl does",
		},
		"validation": {
			"github.com/kube-go/sdk/core":         "the error of an answer",
			module:                                "the definitions of kinds",
			"github.com/kube-go/sdk/core/request": "what is done about unknown fields",
			"github.com/kube-go/sdk/core/wire":    "reads and writes JSON",
			meta + "api/errors":                   "the answers of servers",
			meta + "api/validation":               "what servers accept as metadata",
			meta + "apis/meta/v1":                 "the reasons of servers",
			meta + "apis/meta/v1/unstructured":    "the type of objects of any kind",
			meta + "runtime":                      "copies values",
			meta + "runtime/schema":               "the names of kinds",
			meta + "util/validation/field":        "the errors of servers",
			"sigs.k8s.io/yaml":                    "reads YAML as kubectl does",
		},
	}
}

// source is a file of the module that is not a test and not generated.
type source struct {
	path string
	dir  string
	text string
	ast  *ast.File
}

func sources(t *testing.T) []source {
	t.Helper()
	var files []source
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "testdata":
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ParseComments)
		files = append(files, source{filepath.ToSlash(path), filepath.ToSlash(filepath.Dir(path)), string(text), file})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 30 {
		t.Fatalf("only %d files found", len(files))
	}
	return files
}

func TestImportsAreTheAllowedOnes(t *testing.T) {
	unused := map[string]bool{}
	for dir, paths := range allowedImports() {
		for path := range paths {
			unused[dir+" "+path] = true
		}
	}
	for _, f := range sources(t) {
		if strings.HasSuffix(f.path, "_test.go") {
			continue
		}
		allowed, known := allowedImports()[f.dir]
		if !known {
			t.Errorf("%s: package %s has no list of allowed imports", f.path, f.dir)
		}
		for _, spec := range f.ast.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			delete(unused, f.dir+" "+path)
			first, _, _ := strings.Cut(path, "/")
			std := !strings.Contains(first, ".")
			ours := strings.HasPrefix(path, module+"/")
			if !std && !ours && allowed[path] == "" {
				t.Errorf("%s imports %s, which is not allowed", f.path, path)
			}
		}
	}
	for entry := range unused {
		t.Errorf("the list allows %s, which is not imported", entry)
	}
}

func TestFilesAreWrittenAsAgreed(t *testing.T) {
	const header = "// Copyright The kube authors.\n// SPDX-License-Identifier: Apache-2.0\n\n"
	comments := map[string]int{}
	for _, f := range sources(t) {
		if !strings.HasPrefix(f.text, header) {
			t.Errorf("%s does not start with\n%s", f.path, header)
		}
		if strings.HasSuffix(f.path, "_test.go") {
			continue
		}
		comments[f.dir] += 0
		if f.ast.Doc != nil {
			comments[f.dir]++
		}
		for _, decl := range f.ast.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Recv == nil && decl.Name.Name == "init" {
					t.Errorf("%s has a function init", f.path)
				}
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					if v, ok := spec.(*ast.ValueSpec); ok && decl.Tok == token.VAR && v.Names[0].IsExported() {
						t.Errorf("%s exports the variable %s", f.path, v.Names[0])
					}
				}
			}
		}
	}
	for dir, n := range comments {
		if n != 1 {
			t.Errorf("package %s has %d comments, want one", dir, n)
		}
	}
}
