// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Command arch checks the architecture of the repository whose root it is given: each package imports only what is
// listed in imports.go, the comment of each public package is in its doc.go and not too long, and the laws in laws.go
// have tests. Tests may import anything.
package main

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

const module = "github.com/kube-go/sdk"

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: arch ROOT")
		os.Exit(2)
	}
	root := os.DirFS(os.Args[1])
	packages, err := read(root)
	if err != nil {
		fmt.Fprintln(os.Stderr, "arch:", err)
		os.Exit(2)
	}
	complaints, err := checkLaws(root, laws())
	if err != nil {
		fmt.Fprintln(os.Stderr, "arch:", err)
		os.Exit(2)
	}
	complaints = append(complaints, checkImports(packages, allowed())...)
	complaints = append(complaints, checkComments(packages, allowed())...)
	for _, complaint := range complaints {
		fmt.Println(complaint)
	}
	if len(complaints) > 0 {
		os.Exit(1)
	}
}

// A pkg has the checked properties of a package. It covers the files for every operating system, without the tests.
type pkg struct {
	name     string
	imports  map[string]string // from the import path to the first line that imports it
	comments []string          // the files that have a package comment
	lines    int               // of these comments
}

// read returns the packages below root, keyed by their folder, such as ./core/wire.
func read(root fs.FS) (map[string]*pkg, error) {
	packages := map[string]*pkg{}
	err := fs.WalkDir(root, ".", func(file string, d fs.DirEntry, err error) error {
		ignored := file != "." && strings.ContainsAny(d.Name()[:1], "._") // as in the go command
		switch {
		case err != nil:
			return err
		case d.IsDir() && (ignored || d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir() || ignored || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		content, err := fs.ReadFile(root, file)
		if err != nil {
			return err
		}
		positions := token.NewFileSet()
		syntax, err := parser.ParseFile(positions, file, content, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		dir := "./" + path.Dir(file)
		if packages[dir] == nil {
			packages[dir] = &pkg{name: syntax.Name.Name, imports: map[string]string{}}
		}
		p := packages[dir]
		if syntax.Doc != nil {
			p.comments = append(p.comments, path.Base(file))
			p.lines += positions.Position(syntax.Doc.End()).Line - positions.Position(syntax.Doc.Pos()).Line + 1
		}
		for _, spec := range syntax.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if folder, ours := strings.CutPrefix(imported, module+"/"); ours {
				imported = "./" + folder
			}
			if p.imports[imported] == "" {
				p.imports[imported] = fmt.Sprintf("%s:%d", file, positions.Position(spec.Pos()).Line)
			}
		}
		return nil
	})
	return packages, err
}

// matches reports whether a package matches a pattern of the go command: all, std, ./core/... or a single package.
func matches(pattern, pkg string) bool {
	switch pattern {
	case "all":
		return true
	case "std":
		first, _, _ := strings.Cut(pkg, "/")
		return !strings.Contains(first, ".")
	default:
		folder, below := strings.CutSuffix(pattern, "/...")
		return pkg == folder || below && strings.HasPrefix(pkg, folder+"/")
	}
}

// checkImports reports the imports that no list allows, the packages without a list, and the entries that are unused or
// have no reason. The keys of allowed are packages or patterns of packages.
func checkImports(packages map[string]*pkg, allowed map[string]map[string]string) []string {
	var complaints []string
	complain := func(format string, args ...any) { complaints = append(complaints, fmt.Sprintf(format, args...)) }
	unused := map[string]map[string]string{}
	for key, list := range allowed {
		unused[key] = maps.Clone(list)
	}
	for _, dir := range slices.Sorted(maps.Keys(packages)) {
		refused := maps.Clone(packages[dir].imports)
		for key, list := range allowed {
			if !matches(key, dir) {
				continue
			}
			for pattern := range list {
				for imported := range packages[dir].imports {
					if matches(pattern, imported) {
						delete(refused, imported)
						delete(unused[key], pattern)
					}
				}
			}
		}
		if _, listed := allowed[dir]; !listed && !mayImportAll(dir, allowed) {
			complain("%s has no list of imports: add it to tools/arch/imports.go, with a reason for each import:\n%s",
				dir, newList(dir, refused))
			continue
		}
		for _, imported := range slices.Sorted(maps.Keys(refused)) {
			complain("%s: %s may not import %s: remove the import, or add it to tools/arch/imports.go with a reason",
				refused[imported], dir, imported)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(allowed)) {
		if packages[key] == nil && !strings.HasSuffix(key, "/...") {
			complain("tools/arch/imports.go: package %s does not exist: remove its list", key)
			continue
		}
		for _, pattern := range slices.Sorted(maps.Keys(allowed[key])) {
			if _, is := unused[key][pattern]; is {
				complain("tools/arch/imports.go: %s does not import %s: remove the entry", key, pattern)
			}
			if allowed[key][pattern] == "" {
				complain("tools/arch/imports.go: %s has no reason to import %s: add one", key, pattern)
			}
		}
	}
	return complaints
}

// newList returns a list for imports.go. The author adds the reasons.
func newList(dir string, imports map[string]string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "\t\t%q: {\n", dir)
	for _, imported := range slices.Sorted(maps.Keys(imports)) {
		fmt.Fprintf(&text, "\t\t\t%q: \"\",\n", imported)
	}
	return text.String() + "\t\t},"
}

// mayImportAll reports whether the imports of a package are unrestricted.
func mayImportAll(dir string, allowed map[string]map[string]string) bool {
	for key, list := range allowed {
		if _, all := list["all"]; all && matches(key, dir) {
			return true
		}
	}
	return false
}

// maxLines is the maximum length of a package comment, except that of package kube, which is a tour. Details belong to
// the comments of types and functions, or into docs.
const maxLines = 60

// checkComments reports the packages for users whose package comment is not in doc.go, and only there, or is too long.
// For commands and internal packages, linters check that there is one comment.
func checkComments(packages map[string]*pkg, allowed map[string]map[string]string) []string {
	var complaints []string
	for _, dir := range slices.Sorted(maps.Keys(packages)) {
		p := packages[dir]
		internal := slices.Contains(strings.Split(dir, "/"), "internal")
		if p.name == "main" || internal || mayImportAll(dir, allowed) {
			continue
		}
		if !slices.Equal(p.comments, []string{"doc.go"}) {
			complaints = append(complaints, fmt.Sprintf("%s has comments in %q: write one in doc.go", dir, p.comments))
		}
		if p.lines > maxLines && dir != "./kube" {
			complaints = append(complaints, fmt.Sprintf("%s/doc.go has %d lines, at most %d are allowed: move details to "+
				"the comments of types and functions, or to docs", dir, p.lines, maxLines))
		}
	}
	return complaints
}
