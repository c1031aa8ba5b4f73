// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// call runs the command in a directory.
func call(t *testing.T, dir string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	t.Chdir(dir)
	var out, errs bytes.Buffer
	code = run(t.Context(), args, streams{&out, &errs, time.Hour})
	return code, out.String(), errs.String()
}

// newPackage makes a module that requires what derive does, of the smallest package that has a kind.
func newPackage(t *testing.T) string {
	t.Helper()
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "")
	core, err := filepath.Abs("../../../core")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for to, from := range map[string]string{
		"go.mod":      "../../go.mod",
		"go.sum":      "../../go.sum",
		"document.go": "../../generate/testdata/document/document.go",
	} {
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		text = bytes.Replace(text, []byte("module github.com/kube-go/sdk/derive\n"), []byte("module example.com/test\n"), 1)
		text = bytes.Replace(text, []byte("=> ../core"), []byte("=> "+core), 1)
		if err := os.WriteFile(filepath.Join(dir, to), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestCommandWritesAndVerifies(t *testing.T) {
	dir := newPackage(t)
	for _, step := range []struct {
		name   string
		args   []string
		code   int
		stdout string
		stderr string
	}{
		{
			"verify names what is missing",
			[]string{"-verify", "-out", "manifests"},
			1, "",
			"manifests/docs.example.com_documents.yaml: out of date\nzz_generated.kube.go: out of date\nkube-derive: 2 files out of date; run kube-derive again without --verify\n",
		},
		{
			"a run writes it",
			[]string{"-out", "manifests"},
			0,
			"wrote manifests/docs.example.com_documents.yaml\nwrote zz_generated.kube.go\nkube-derive: wrote 2 files, 0 already up to date\n", "",
		},
		{"a second run has nothing to do", []string{"-out", "manifests", "."}, 0, "kube-derive: wrote 0 files, 2 already up to date\n", ""},
		{"verify agrees", []string{"--verify", "--out=manifests"}, 0, "kube-derive: 2 files up to date\n", ""},
		{"CRDs alone are up to date too", []string{"crd", ".", "--verify", "--out", "manifests"}, 0, "kube-derive: 1 file up to date\n", ""},
		{"CRDs alone can be missing", []string{"crd", "--out=config", ".", "--verify"}, 1, "", "config/docs.example.com_documents.yaml: out of date\nkube-derive: 1 file out of date; run kube-derive again without --verify\n"},
		{"CRDs alone are written", []string{"crd", ".", "--out=config"}, 0, "wrote config/docs.example.com_documents.yaml\nkube-derive: wrote 1 file, 0 already up to date\n", ""},
		{"another output directory", nil, 0, "wrote crds/docs.example.com_documents.yaml\nkube-derive: wrote 1 file, 1 already up to date\n", ""},
	} {
		code, stdout, stderr := call(t, dir, step.args...)
		if code != step.code || stdout != step.stdout || stderr != step.stderr {
			t.Errorf("%s: run(%q) = %d\nstdout: %s\nstderr: %s", step.name, step.args, code, stdout, stderr)
		}
	}
}

// TestDefinitionsAreWrittenSideBySide shows the race detector the goroutines of the generator: there is one for each
// definition, as far as there are processors.
func TestDefinitionsAreWrittenSideBySide(t *testing.T) {
	dir := newPackage(t)
	src, err := os.ReadFile(filepath.Join(dir, "document.go"))
	if err != nil {
		t.Fatal(err)
	}
	const rule = `+kubebuilder:validation:XValidation:rule="self != 'x'"`
	for _, kind := range []string{"Note", "Page", "Book"} {
		text := strings.NewReplacer("Document", kind, "doc\n", strings.ToLower(kind[:2])+"\n", "+kubebuilder:validation:MaxLength=80", rule).Replace(string(src))
		if err := os.WriteFile(filepath.Join(dir, kind+".go"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	code, stdout, stderr := call(t, dir)
	if code != 0 || !strings.Contains(stdout, "wrote 5 files") {
		t.Errorf("run = %d\nstdout: %s\nstderr: %s", code, stdout, stderr)
	}
}

func TestCommandReportsMistakesAndWritesNothing(t *testing.T) {
	dir := newPackage(t)
	path := filepath.Join(dir, "document.go")
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.Replace(src, []byte("MaxLength"), []byte("MaxLenght"), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := call(t, dir)
	const want = "document.go:14:5: unknown marker +kubebuilder:validation:MaxLenght; did you mean +kubebuilder:validation:MaxLength?\n" +
		"kube-derive: 1 mistake; nothing was written (-lenient turns mistakes into warnings and writes the rest)\n"
	if code != 1 || stdout != "" || stderr != want {
		t.Errorf("run = %d\nstdout: %s\nstderr: %s\nwant stderr: %s", code, stdout, stderr, want)
	}
	files, err := fs.Glob(os.DirFS(dir), "*")
	if want := []string{"document.go", "go.mod", "go.sum"}; err != nil || !slices.Equal(files, want) {
		t.Errorf("files = %v, %v, want %v", files, err, want)
	}
}

func TestLenientWritesInSpiteOfMistakes(t *testing.T) {
	dir := newPackage(t)
	path := filepath.Join(dir, "document.go")
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.Replace(src, []byte("MaxLength"), []byte("MaxLenght"), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	const warning = "document.go:14:5: warning: unknown marker +kubebuilder:validation:MaxLenght; did you mean +kubebuilder:validation:MaxLength?\n"
	code, stdout, stderr := call(t, dir, "crd", "--lenient")
	if code != 0 || stdout != "wrote crds/docs.example.com_documents.yaml\nkube-derive: wrote 1 file, 0 already up to date\n" || stderr != warning {
		t.Errorf("run = %d\nstdout: %s\nstderr: %s\nwant stderr: %s", code, stdout, stderr, warning)
	}
	code, stdout, stderr = call(t, dir, "crd", "--lenient", "--verify")
	if code != 0 || stdout != "kube-derive: 1 file up to date\n" || stderr != warning {
		t.Errorf("run --verify = %d\nstdout: %s\nstderr: %s", code, stdout, stderr)
	}
}

func TestCommandExplainsItself(t *testing.T) {
	for _, tt := range []struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		{[]string{"-h"}, 0, "usage: kube-derive [command] [flags] [packages]", ""},
		{[]string{"help"}, 0, "usage: kube-derive [command] [flags] [packages]", ""},
		{[]string{"help", "help"}, 0, "  docs      reference documentation", ""},
		{[]string{"help", "crd"}, 0, "usage: kube-derive crd [flags] [packages]", ""},
		{[]string{"crd", "-h"}, 0, "kube-derive crd ./api/... --out config/crd", ""},
		{[]string{"crd", ".", "--help"}, 0, "  -out directory\n", ""},
		{[]string{"help", "crt"}, 2, "", `unknown command "crt"; did you mean crd?`},
		{[]string{"version"}, 0, "kube-derive ", ""},
		{[]string{"--version"}, 0, "kube-derive ", ""},
		{[]string{"crds"}, 2, "", `unknown command "crds"; did you mean crd? For a package, write ./crds`},
		{[]string{"whatever"}, 2, "", `unknown command "whatever", see kube-derive help; for a package, write ./whatever`},
		{[]string{"-q", "crd"}, 2, "", `"crd": flags must follow the command; for a package, write ./crd`},
		{[]string{"crd", ".", "-nonsense"}, 2, "", "kube-derive crd: flag provided but not defined: -nonsense\nusage: kube-derive crd [flags] [packages]"},
		{[]string{"docs", "-format=pdf"}, 2, "", "must be markdown or html"},
		{[]string{"crd", "--max-description", "0"}, 2, "", "-max-description: write -1 to omit descriptions, or no flag to keep"},
		{[]string{"crd", "--max-description", "many"}, 2, "", "-max-description: must be an integer"},
		{
			[]string{"crd", "paths={./api/..., ./x}"},
			2, "",
			`kube-derive crd: "paths={./api/..., ./x}" is an argument of controller-gen: write ./api/... ./x; see "Moving`,
		},
		{[]string{"paths=./a;./b"}, 2, "", `kube-derive: "paths=./a;./b" is an argument of controller-gen: write ./a ./b; see`},
		{[]string{"-q", "./a", "output:crd:dir=config/crd"}, 2, "", `is an argument of controller-gen: write -out config/crd; see`},
		{[]string{"object:headerFile=a/b.txt", "paths=."}, 2, "", `is an argument of controller-gen: the command is kube-derive deepcopy; see`},
		{[]string{"crd:maxDescLen=0", "."}, 2, "", `is an argument of controller-gen: the command is kube-derive crd; see`},
		{[]string{"rbac", "webhook", "paths=."}, 2, "", `"paths=." is an argument of controller-gen: write .; see`},
		{[]string{"-nonsense"}, 2, "", "flag provided but not defined: -nonsense"},
		{[]string{"./nowhere"}, 1, "", "directory not found"},
		{[]string{"crd", "./x...;./y..."}, 1, "", "no packages match ./x...;./y...\n"},
		{[]string{"."}, 0, "found no kinds", ""},
		{[]string{"rbac"}, 0, "found no rules: no comment has the marker +kubebuilder:rbac\n", ""},
		{[]string{"webhook"}, 0, "found no webhooks: no comment has the marker +kubebuilder:webhook\n", ""},
		{[]string{"deepcopy"}, 0, "found no types: nothing has the marker +kubebuilder:object:root=true", ""},
		{[]string{"-q"}, 0, "", ""},
	} {
		code, stdout, stderr := call(t, ".", tt.args...)
		if code != tt.code || !strings.Contains(stdout, tt.stdout) || !strings.Contains(stderr, tt.stderr) ||
			(tt.stdout == "") != (stdout == "") || (tt.stderr == "") != (stderr == "") {
			t.Errorf("run(%q) = %d\nstdout: %s\nstderr: %s", tt.args, code, stdout, stderr)
		}
	}
}

func TestEveryCommandIsDocumented(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range commands() {
		if !bytes.Contains(doc, []byte("\n// # kube-derive "+c.name+"\n")) {
			t.Errorf("doc.go has no section about %s", c.name)
		}
		code, stdout, stderr := call(t, ".", "help", c.name)
		if code != 0 || stderr != "" || !regexp.MustCompile(`\n\t.*kube-derive\S* `+c.name).MatchString(stdout) {
			t.Errorf("help %s = %d, %s%s, want an example", c.name, code, stdout, stderr)
		}
		for line := range strings.Lines(stdout) {
			if len(line) > 100 {
				t.Errorf("help %s has a line that is too long: %s", c.name, line)
			}
		}
	}
}

func TestEachOutputIsWrittenAndVerified(t *testing.T) {
	dir := newPackage(t)
	for command, want := range map[string]string{
		"apply":              "zz_generated.apply.go",
		"docs":               "docs/api/docs.example.com_v1.md",
		"docs --format=html": "docs/api/docs.example.com_v1.html",
		"schema":             "schemas/docs.example.com/document_v1.json",
	} {
		args := strings.Fields(command)
		verify := append(slices.Clone(args), "-verify")
		if code, _, stderr := call(t, dir, verify...); code != 1 || !strings.Contains(stderr, want+": out of date\n") {
			t.Errorf("%v before = %d, %s", verify, code, stderr)
		}
		if code, stdout, stderr := call(t, dir, args...); code != 0 || stdout != "wrote "+want+"\nkube-derive: wrote 1 file, 0 already up to date\n" {
			t.Errorf("%v = %d, %s%s", args, code, stdout, stderr)
		}
		if code, stdout, stderr := call(t, dir, verify...); code != 0 || stdout != "kube-derive: 1 file up to date\n" {
			t.Errorf("%v after = %d, %s%s", verify, code, stdout, stderr)
		}
	}
}
