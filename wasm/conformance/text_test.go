// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package conformance_test

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// abiSource returns the files of package core/abi.
func abiSource(t *testing.T) (*token.FileSet, []*ast.File) {
	t.Helper()
	fset := token.NewFileSet()
	names, err := filepath.Glob("../../core/abi/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return fset, files
}

// abiConstants returns the integer constants of package core/abi by their types: Operation, Flags, Code, and none for
// the limits.
func abiConstants(t *testing.T) map[string]map[string]int64 {
	t.Helper()
	fset, files := abiSource(t)
	config := types.Config{Importer: importer.Default(), Error: func(error) {}} // other packages are not needed
	pkg, _ := config.Check("abi", fset, files, nil)
	all := map[string]map[string]int64{}
	for _, name := range pkg.Scope().Names() {
		c, ok := pkg.Scope().Lookup(name).(*types.Const)
		if !ok || c.Val().Kind() != constant.Int {
			continue
		}
		kind := ""
		if named, ok := c.Type().(*types.Named); ok {
			kind = named.Obj().Name()
		}
		if all[kind] == nil {
			all[kind] = map[string]int64{}
		}
		all[kind][name], _ = constant.Int64Val(c.Val())
	}
	return all
}

// read returns a text file.
func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// headerConstants returns the constants of the enums of kube.h.
func headerConstants(t *testing.T) map[string]int64 {
	t.Helper()
	all := map[string]int64{}
	enums := regexp.MustCompile(`(?s)enum \{(.*?)\}`)
	for _, enum := range enums.FindAllStringSubmatch(read(t, "../guests/c/kube.h"), -1) {
		next := int64(0)
		for entry := range strings.SplitSeq(enum[1], ",") {
			name, value, given := strings.Cut(strings.TrimSpace(entry), " = ")
			if given {
				n, err := strconv.ParseInt(value, 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				next = n
			}
			if name != "" {
				all[name] = next
				next++
			}
		}
	}
	return all
}

// inC returns the name of a constant in kube.h.
func inC(name string) string {
	name = strings.TrimPrefix(strings.TrimPrefix(name, "Op"), "Flag")
	return "KUBE_" + strings.ToUpper(regexp.MustCompile(`([a-z])([A-Z])`).ReplaceAllString(name, "${1}_${2}"))
}

func TestTextAndHeaderHaveTheNumbersOfTheInterface(t *testing.T) {
	text, header := read(t, "../ABI.md"), headerConstants(t)
	all := abiConstants(t)
	if len(all["Operation"]) < 6 || len(all["Code"]) < 11 || len(all["Flags"]) < 4 {
		t.Fatalf("the constants of core/abi are %v", all)
	}
	row := func(kind, name string, n int64) string {
		switch kind {
		case "Operation":
			return fmt.Sprintf("| %d | %s |", n, strings.ToLower(strings.TrimPrefix(name, "Op")))
		case "Flags":
			return fmt.Sprintf("| %d | %s |", n, strings.ToLower(strings.TrimPrefix(inC(name), "KUBE_")))
		}
		return fmt.Sprintf("| %d | %s |", n, name)
	}
	for kind, constants := range all {
		for name, n := range constants {
			if want := row(kind, name, n); !strings.Contains(text, want) {
				t.Errorf("ABI.md has no row that begins with %q", want)
			}
			if got, ok := header[inC(name)]; kind != "" && (!ok || got != n) {
				t.Errorf("kube.h has %s = %d, want %d", inC(name), got, n)
			}
		}
	}
}

// typeOf returns a type of a field as ABI.md has it.
func typeOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.ArrayType:
		return "[" + typeOf(e.Elt) + "]"
	case *ast.MapType:
		return "{" + typeOf(e.Key) + ": " + typeOf(e.Value) + "}"
	case *ast.SelectorExpr:
		return "JSON"
	case *ast.Ident:
		if strings.HasPrefix(e.Name, "int") || e.Name == "Code" {
			return "integer"
		}
		return e.Name
	}
	return "?"
}

// messages returns the rows of the messages. An optional field has a question mark.
func messages(t *testing.T) []string {
	t.Helper()
	var rows []string
	_, files := abiSource(t)
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			s, ok := spec.Type.(*ast.StructType)
			if !ok {
				return true
			}
			var fields []string
			for _, f := range s.Fields.List {
				tag, _ := strconv.Unquote(f.Tag.Value)
				name, options, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
				if options == "omitempty" {
					name += "?"
				}
				fields = append(fields, name+" "+typeOf(f.Type))
			}
			rows = append(rows, fmt.Sprintf("| %s | %s |", spec.Name.Name, strings.Join(fields, ", ")))
			return true
		})
	}
	slices.Sort(rows)
	return rows
}

func TestTextHasTheFieldsOfAllMessages(t *testing.T) {
	text := read(t, "../ABI.md")
	for _, row := range messages(t) {
		if !strings.Contains(text, row+"\n") {
			t.Errorf("ABI.md has no row\n%s", row)
		}
	}
}
