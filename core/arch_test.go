// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package core_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// std is what every package of core may import of the standard library: none of it does IO.
func std() []string {
	return []string{
		"bytes", "cmp", "context", "encoding/binary", "errors", "fmt", "io", "iter", "math", "net/url", "reflect", "slices",
		"strconv", "strings", "time", "unicode",
	}
}

// vocabulary is what every package of core may import besides, with the reason.
func vocabulary() map[string]string {
	return map[string]string{
		"github.com/kube-go/sdk/core":            "our own words",
		"k8s.io/apimachinery/pkg/apis/meta/v1":   "the ecosystem's words: ObjectMeta, Status, OwnerReference",
		"k8s.io/apimachinery/pkg/runtime/schema": "GroupVersionKind, which TypeMeta speaks",
		"k8s.io/apimachinery/pkg/types":          "UID",
	}
}

// allowedImports says for each package of core what else it may import, with the reason. What is in no list is an
// architecture decision: core does no IO, so that it builds for wasip1 and is tested without a peer.
func allowedImports() map[string]map[string]string {
	return map[string]map[string]string{
		".": {
			"hash/fnv": "what servers share objects by",
			"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured": "what a CustomResourceDefinition is, without linking its types",
			"k8s.io/apimachinery/pkg/version":                   "the order of versions, which is the server's own",
			"math/bits":                                         "divides the hashes among shards",
		},
		"admission": {
			"github.com/go-json-experiment/json/jsontext": "keeps objects as they are, and finds fields that are there twice",
			"github.com/kube-go/sdk/core/internal/tree":   "carries the changes of a struct over to what the server sent",
			"github.com/kube-go/sdk/core/patch":           "makes the patch of an answer",
			"github.com/kube-go/sdk/core/request":         "the operations of a patch",
			"github.com/kube-go/sdk/core/wire":            "reads and writes reviews",
		},
		"conversion": {
			"github.com/go-json-experiment/json/jsontext":       "keeps objects as they are, and finds fields that are there twice",
			"github.com/kube-go/sdk/core/internal/tree":         "finds what a conversion loses, and brings it back",
			"github.com/kube-go/sdk/core/wire":                  "reads and writes reviews",
			"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured": "a definition, and objects that need no conversion",
			"maps": "copies annotations",
		},
		"conversion/conversiontest": {
			"encoding/json":                                     "types with a form of their own are told by it",
			"github.com/google/go-cmp/cmp":                      "prints what is different; programs don't link this package, tests do",
			"github.com/kube-go/sdk/core/conversion":            "what is tested",
			"github.com/kube-go/sdk/core/wire":                  "objects as they are sent",
			"k8s.io/apimachinery/pkg/api/resource":              "random quantities",
			"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured": "a definition, and objects to compare",
			"k8s.io/apimachinery/pkg/runtime":                   "random objects in objects",
			"k8s.io/apimachinery/pkg/util/intstr":               "random ports and percentages",
			"maps":                                              "compares annotations",
			"math/rand/v2":                                      "random values, which follow from a seed",
			"testing":                                           "fails tests",
		},
		"internal/protobuf": {
			"google.golang.org/protobuf/encoding/protowire": "tags and lengths of protobuf",
			"k8s.io/apimachinery/pkg/api/resource":          "Quantity, which has a form of its own in protobuf",
			"math/bits":                                     "sizes of numbers",
			"sync":                                          "what was learnt of a type is kept, and buffers are used again",
			"unsafe":                                        "sets fields without the cost of reflection",
		},
		"internal/tree": {
			"github.com/kube-go/sdk/core/wire": "makes values of objects",
			"maps":                             "compares objects",
		},
		"managed": {
			"github.com/kube-go/sdk/core/internal/tree": "takes fields out of objects of any type",
			"github.com/kube-go/sdk/core/request":       "the operations of a migration",
			"github.com/kube-go/sdk/core/wire":          "reads and writes field sets",
			"maps":                                      "walks over field sets in order",
		},
		"patch": {
			"github.com/go-json-experiment/json/jsontext": "a null in an operation",
			"github.com/kube-go/sdk/core/internal/tree":   "compares objects of any type",
			"github.com/kube-go/sdk/core/request":         "the operations of a JSON patch",
			"maps":                                        "walks over objects in order",
		},
		"request": {
			"maps":         "copies queries",
			"math/rand/v2": "spreads the ends of watches",
			"github.com/go-json-experiment/json/jsontext": "checks that a patch is JSON",
			"github.com/kube-go/sdk/core/wire":            "encodes bodies",
			"k8s.io/apimachinery/pkg/fields":              "the server's own parser of field selectors",
			"k8s.io/apimachinery/pkg/labels":              "the server's own parser of label selectors",
		},
		"wire": {
			"bufio":                              "reads protobuf's numbers without a call to the reader for each byte",
			"encoding":                           "types that decode themselves are asked for no fields",
			"encoding/base64":                    "bytes in CBOR are base64 in JSON",
			"encoding/hex":                       "or base16",
			"encoding/json":                      "its Number is a type of its own",
			"github.com/go-json-experiment/json": "the engine of encoding/json/v2, which needs no GOEXPERIMENT",
			"github.com/go-json-experiment/json/jsontext":            "its tokenizer",
			"github.com/go-json-experiment/json/v1":                  "its options for the rules of encoding/json",
			"github.com/kube-go/sdk/core/internal/protobuf":          "the messages that objects are",
			"google.golang.org/protobuf/encoding/protowire":          "tags and lengths of protobuf",
			"go.yaml.in/yaml/v3":                                     "YAML, with the line of each value",
			"k8s.io/apimachinery/pkg/api/resource":                   "Quantity, whose exponents are bounded",
			"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured":      "the type of objects of any kind",
			"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct": "encodes CBOR; metav1.Time links it",
			"sync":         "parsers are used again",
			"unicode/utf8": "texts of CBOR and YAML are checked",
		},
	}
}

// source is a file of the module.
type source struct {
	path string // relative to the module, with slashes
	dir  string // its package's folder
	text string
	ast  *ast.File
}

func (s source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

// isTool reports whether the file is of a generator or of what helps tests, which users never link.
func (s source) isTool() bool {
	return strings.HasPrefix(s.path, "internal/cmd/") || strings.HasPrefix(s.path, "internal/apitest/")
}

func sources(t *testing.T) []source {
	t.Helper()
	var files []source
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ParseComments)
		slash := filepath.ToSlash(path)
		files = append(files, source{slash, filepath.ToSlash(filepath.Dir(path)), string(text), file})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 20 {
		t.Fatalf("only %d files found", len(files))
	}
	return files
}

func TestImportsAreTheAllowedOnes(t *testing.T) {
	allowed := allowedImports()
	unused := map[string]bool{}
	for _, path := range slices.Concat(std(), slices.Collect(maps.Keys(vocabulary()))) {
		unused[path] = true
	}
	for dir, reasons := range allowed {
		for path := range reasons {
			unused[dir+" "+path] = true
		}
	}
	for _, f := range sources(t) {
		if f.isTest() || f.isTool() {
			continue
		}
		if _, ok := allowed[f.dir]; !ok {
			t.Errorf("%s: package %s has no list of allowed imports", f.path, f.dir)
		}
		for _, spec := range f.ast.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			delete(unused, path)
			delete(unused, f.dir+" "+path)
			if !slices.Contains(std(), path) && vocabulary()[path] == "" && allowed[f.dir][path] == "" {
				t.Errorf("%s imports %s, which is in no list of allowed imports", f.path, path)
			}
		}
	}
	for path := range unused {
		t.Errorf("the lists allow %s, which nothing imports", path)
	}
}

func TestEveryFileStartsWithTheLicence(t *testing.T) {
	const header = "// Copyright The kube authors.\n// SPDX-License-Identifier: Apache-2.0\n\n"
	for _, f := range sources(t) {
		if !strings.HasPrefix(f.text, header) {
			t.Errorf("%s does not start with\n%s", f.path, header)
		}
	}
}

func TestEveryPackageHasItsCommentInOnePlace(t *testing.T) {
	comments := map[string][]string{}
	for _, f := range sources(t) {
		if f.isTest() {
			continue
		}
		comments[f.dir] = append(comments[f.dir], "")
		if f.ast.Doc != nil {
			comments[f.dir] = append(comments[f.dir], f.path)
		}
	}
	for dir, files := range comments {
		files = slices.DeleteFunc(files, func(f string) bool { return f == "" })
		if len(files) != 1 {
			t.Errorf("package %s has comments in %q, want exactly one", dir, files)
		} else if !strings.HasPrefix(dir, "internal") && filepath.Base(files[0]) != "doc.go" {
			t.Errorf("package %s has its comment in %s, want doc.go", dir, files[0])
		}
	}
}

func TestNothingIsGlobalOrDoneAtStartUp(t *testing.T) {
	for _, f := range sources(t) {
		if f.isTest() {
			continue
		}
		for _, decl := range f.ast.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Recv == nil && decl.Name.Name == "init" {
					t.Errorf("%s has a function init", f.path)
				}
			case *ast.GenDecl:
				for _, name := range variables(decl) {
					if name.IsExported() && !strings.HasPrefix(name.Name, "Err") {
						t.Errorf("%s exports the variable %s", f.path, name.Name)
					}
				}
			}
		}
	}
}

// variables returns the names that a declaration of variables declares.
func variables(decl *ast.GenDecl) []*ast.Ident {
	var names []*ast.Ident
	for _, spec := range decl.Specs {
		if value, ok := spec.(*ast.ValueSpec); ok && decl.Tok == token.VAR {
			names = append(names, value.Names...)
		}
	}
	return names
}

// A WASM module has no sockets; that core builds for one shows that nothing below it needs any either.
func TestCoreBuildsForWASM(t *testing.T) {
	args := []string{"build"}
	for dir := range allowedImports() {
		if !strings.HasPrefix(dir, "internal/") { // which the others link
			args = append(args, "./"+dir)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}
