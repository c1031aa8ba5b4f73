// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

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

// allowedImports says for each package what it may import besides the standard library, with the reason. What is in no
// list is an architecture decision.
func allowedImports() map[string]map[string]string {
	const sdk = "github.com/kube-go/sdk/"
	return map[string]map[string]string{
		".": {
			"github.com/coder/websocket":                        "the protocol below streams",
			sdk + "client/internal/channels":                    "several streams in one WebSocket",
			sdk + "client/internal/redact":                      "keeps sent credentials out of errors",
			sdk + "client/auth":                                 "credentials that come from a plugin or a provider",
			sdk + "client/config":                               "where the server is",
			sdk + "client/middleware":                           "the layers around a request",
			sdk + "core":                                        "our own words",
			sdk + "core/patch":                                  "tells what was changed",
			sdk + "core/request":                                "builds requests",
			sdk + "core/wire":                                   "encodes and decodes bodies",
			"k8s.io/apimachinery/pkg/apis/meta/v1":              "the ecosystem's words: ListMeta, Status",
			"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured": "the type of objects of any kind",
			"k8s.io/apimachinery/pkg/runtime/schema":            "the ecosystem's words: GroupVersionKind",
			"k8s.io/apimachinery/pkg/fields":                    "selects the one object that is waited for",
			"k8s.io/apimachinery/pkg/types":                     "the ecosystem's words: UID",
			"k8s.io/apimachinery/pkg/util/intstr":               "the port behind a service: a number or a name",
		},
		"internal/redact":   {},
		"internal/spelling": {},
		"internal/channels": {
			"github.com/coder/websocket": "the protocol below",
		},
		"podfiles": {
			sdk + "client":       "runs tar in a container",
			sdk + "core":         "our own words",
			sdk + "core/request": "says what can't be sent",
		},
		"auth": {
			sdk + "client/config":          "what to get credentials from, and where to write new ones",
			sdk + "client/internal/redact": "keeps sent credentials out of errors",
			sdk + "client/middleware":      "sends credentials",
			"golang.org/x/oauth2":          "redeems refresh tokens",
			sdk + "core/wire":              "reads what plugins print",
		},
		"config": {
			sdk + "client/internal/spelling": "says which name was meant",
			sdk + "core/wire":                "reads kubeconfigs",
		},
		"webhook": {
			sdk + "core/admission":  "reviews of requests",
			sdk + "core/conversion": "reviews of versions",
			sdk + "core/wire":       "bounds what is read",
		},
		"drain": {
			sdk + "client":                         "asks the server",
			sdk + "client/middleware":              "sends each request once, since it waits by itself",
			sdk + "core":                           "our own words",
			sdk + "core/request":                   "the options of verbs",
			sdk + "core/wire":                      "looks at packed objects",
			"k8s.io/apimachinery/pkg/apis/meta/v1": "the ecosystem's words: ObjectMeta",
			"k8s.io/apimachinery/pkg/fields":       "selects the pods of a node",
			"k8s.io/apimachinery/pkg/types":        "the ecosystem's words: UID",
		},
		"middleware": {},
		"access": {
			sdk + "client":                         "asks the server",
			sdk + "core":                           "our own words",
			sdk + "core/request":                   "says what can't be sent",
			"k8s.io/apimachinery/pkg/apis/meta/v1": "the frame of every object",
		},
		"discovery": {
			sdk + "client/internal/spelling": "says which name was meant",
			sdk + "client":                   "asks the server",
			sdk + "core":                     "our own words",
			sdk + "core/request":             "a request is a value",
			sdk + "core/wire":                "decodes bodies",
			"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured": "the type of objects of any kind",
			"k8s.io/apimachinery/pkg/runtime/schema":            "the ecosystem's words: GroupVersionKind",
			"k8s.io/apimachinery/pkg/version":                   "the ecosystem's words: what a server's version is",
		},
	}
}

// eachFile calls visit with every file of the module: its package's folder, its name, its text and its syntax.
func eachFile(t *testing.T, visit func(dir, name, text string, file *ast.File)) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ParseComments)
		if err == nil {
			visit(filepath.ToSlash(filepath.Dir(path)), filepath.Base(path), string(text), file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestArchitecture holds the module to its rules: which package may import what, a licence in every file, a package
// comment in doc.go only, nothing global, and only config looks into the environment.
func TestArchitecture(t *testing.T) {
	const licence = "// Copyright The kube authors.\n// SPDX-License-Identifier: Apache-2.0\n\n"
	allowed := allowedImports()
	documented, used := map[string]bool{}, map[string]bool{}
	eachFile(t, func(dir, name, text string, file *ast.File) {
		path := dir + "/" + name
		if !strings.HasPrefix(text, licence) {
			t.Errorf("%s does not start with the licence", path)
		}
		if strings.HasSuffix(name, "_test.go") {
			return
		}
		if hasDoc := file.Doc != nil; hasDoc != (name == "doc.go") {
			t.Errorf("%s has a package comment: %v; it belongs into doc.go alone", path, hasDoc)
		}
		documented[dir] = documented[dir] || name == "doc.go"
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			first, _, _ := strings.Cut(imported, "/")
			if used[dir+" "+imported] = true; strings.Contains(first, ".") && allowed[dir][imported] == "" {
				t.Errorf("%s imports %s, which is in no list of allowed imports", path, imported)
			}
		}
		checkGlobals(t, path, file)
		if dir != "config" && slices.ContainsFunc([]string{"os.Getenv", "os.LookupEnv", "os.Environ"}, func(f string) bool { return strings.Contains(text, f) }) {
			t.Errorf("%s reads the environment, which only config may", path)
		}
	})
	for dir, reasons := range allowed {
		if !documented[dir] {
			t.Errorf("package %s has no doc.go", dir)
		}
		for imported := range reasons {
			if !used[dir+" "+imported] {
				t.Errorf("%s may import %s, but does not", dir, imported)
			}
		}
	}
	if len(documented) != len(allowed) {
		t.Errorf("packages %v, want one list of allowed imports for each", documented)
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
