// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/scanner"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestREADME checks that every Go snippet of the README is a complete, formatted program that compiles.
func TestREADME(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	snippets := goBlocks(string(readme))
	if len(snippets) == 0 {
		t.Fatal("the README has no Go snippet")
	}
	// An overlay places the snippets in the examples module, which requires the modules that they import.
	examples, err := filepath.Abs("../examples")
	if err != nil {
		t.Fatal(err)
	}
	// With several packages, go build discards the results.
	replace, packages := map[string]string{}, []string{"github.com/kube-go/sdk/kube"}
	for i, text := range snippets {
		checkProgram(t, i+1, text)
		file := filepath.Join(t.TempDir(), "main.go")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		folder := fmt.Sprintf("readme-snippet-%d", i+1)
		replace[filepath.Join(examples, folder, "main.go")] = file
		packages = append(packages, "./"+folder)
	}
	overlay := filepath.Join(t.TempDir(), "overlay.json")
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(overlay, data, 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", append([]string{"build", "-overlay", overlay}, packages...)...)
	build.Dir, build.Env = examples, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("go build of the README's snippets: %v\n%s", err, out)
	}
}

// TestREADMECountsLines checks the numbers of lines of the program with two controllers and of its counterpart.
func TestREADMECountsLines(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	peer, err := os.ReadFile("../bench/internal/peer/main.go")
	if err != nil {
		t.Fatal(err)
	}
	programs := goBlocks(string(readme))
	at := slices.IndexFunc(programs, func(text string) bool { return strings.Contains(text, "kube.NewManager") })
	if at < 0 {
		t.Fatal("the README has no program with a manager")
	}
	ours, theirs := countLines(t, programs[at]), countLines(t, string(peer))
	text := strings.ReplaceAll(string(readme), "\n", " ")
	for _, part := range []string{
		fmt.Sprintf("This is %d lines, not counting imports, comments and blank lines.", ours),
		fmt.Sprintf("(bench/internal/peer/main.go) has %d,", theirs),
	} {
		if !strings.Contains(text, part) {
			t.Errorf("README.md does not say %q", part)
		}
	}
	if ours > 25 {
		t.Errorf("the program has %d lines, want at most 25", ours)
	}
}

// countLines returns the number of lines with code, without those of the package clause and the imports.
func countLines(t *testing.T, text string) int {
	t.Helper()
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, "", text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	body := parsed.Name.End()
	for _, decl := range parsed.Decls {
		if d, ok := decl.(*ast.GenDecl); ok && d.Tok == token.IMPORT {
			body = d.End()
		}
	}
	var lines scanner.Scanner // without scanner.ScanComments it skips comments
	source := []byte(text)
	lines.Init(files.AddFile("", -1, len(source)), source, nil, 0)
	start := int(body) - files.File(parsed.Pos()).Base()
	found := map[int]bool{}
	for {
		pos, tok, literal := lines.Scan()
		if tok == token.EOF {
			return len(found)
		}
		if p := files.Position(pos); p.Offset >= start && literal != "\n" {
			found[p.Line] = true
		}
	}
}

// goBlocks returns the fenced blocks of Go in a Markdown text.
func goBlocks(markdown string) []string {
	var blocks []string
	for i, part := range strings.Split("\n"+markdown, "\n```") {
		if text, ok := strings.CutPrefix(part, "go\n"); ok && i%2 == 1 {
			blocks = append(blocks, text+"\n")
		}
	}
	return blocks
}

// checkProgram checks that a snippet is a formatted file of package main with a function main.
func checkProgram(t *testing.T, number int, text string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), fmt.Sprintf("snippet %d", number), text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	hasMain := false
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		hasMain = hasMain || ok && f.Recv == nil && f.Name.Name == "main"
	}
	if file.Name.Name != "main" || !hasMain {
		t.Errorf("snippet %d is not a complete program", number)
	}
	formatted, err := format.Source([]byte(text))
	if err != nil || string(formatted) != text {
		t.Errorf("snippet %d is not formatted: %v\n%s", number, err, formatted)
	}
}

// TestGuides checks that each snippet of the guides for users of controller-runtime and for tests compiles in a
// function.
func TestGuides(t *testing.T) {
	var snippets []string
	for _, name := range []string{"controller-runtime.md", "testing.md"} {
		guide, err := os.ReadFile(filepath.Join("..", "docs", name))
		if err != nil {
			t.Fatal(err)
		}
		blocks := goBlocks(string(guide))
		if len(blocks) == 0 {
			t.Fatalf("%s has no Go snippet", name)
		}
		snippets = append(snippets, blocks...)
	}
	program, err := os.ReadFile("testdata/guide.txt")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.Write(program)
	for i, text := range snippets {
		// Variables of the snippets may be unused, which go vet does not report, and the compiler does.
		fmt.Fprintf(&b, "\nfunc snippet%d() {\n%s%s}\n", i, text, uses(t, text))
	}
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", os.DevNull, file)
	build.Dir = "../examples"
	workspace, err := filepath.Abs("../go.work") // for the snippets with contrib/prometheus
	if err != nil {
		t.Fatal(err)
	}
	build.Env = append(os.Environ(), "GOWORK="+workspace, "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("go build of the snippets: %v\n%s\n%s", err, out, b.String())
	}
}

// uses returns statements that use the variables which a snippet declares outside of nested blocks.
func uses(t *testing.T, text string) string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc f() {\n"+text+"}", parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, stmt := range file.Decls[0].(*ast.FuncDecl).Body.List {
		if assign, ok := stmt.(*ast.AssignStmt); ok && assign.Tok == token.DEFINE {
			for _, name := range assign.Lhs {
				fmt.Fprintf(&b, "_ = %s\n", name)
			}
		}
	}
	return b.String()
}
