// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package oracle_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-tools/pkg/deepcopy"
	"sigs.k8s.io/controller-tools/pkg/genall"

	"github.com/kube-go/sdk/derive/generate"
)

// TestDeepCopiesEqualThoseOfControllerGen checks that the same types get the same methods, and that a program that
// copies values of all types has the same output with either tool.
func TestDeepCopiesEqualThoseOfControllerGen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "copies")
	if err := os.CopyFS(dir, os.DirFS("testdata/copies")); err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	mod, sum := read(t, "go.mod"), read(t, "go.sum")
	mod = strings.ReplaceAll(strings.Replace(mod, "module github.com/kube-go/sdk/tests/oracle", "module example.com/copies", 1), "=> ../", "=> "+root+"/../")
	writeFiles(t, dir, map[string]string{"go.mod": mod, "go.sum": sum})
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "-mod=mod -trimpath")
	files, err := generate.DeepCopies(t.Context(), []string{"./..."}, &generate.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := files.Write(); err != nil {
		t.Fatal(err)
	}
	if stale, err := files.Stale(); err != nil || len(stale) > 0 {
		t.Errorf("Stale() after Write = %v, %v", stale, err)
	}
	path := filepath.Join(dir, "zz_generated.deepcopy.go")
	ours, ourText := printed(t, dir), read(t, path)
	again, err := generate.DeepCopies(t.Context(), []string{"./..."}, &generate.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if stale, err := again.Stale(); err != nil || len(stale) > 0 {
		t.Errorf("a second run changes %v, %v", stale, err)
	}
	t.Chdir(dir) // controller-gen reads the working directory
	var generator genall.Generator = deepcopy.Generator{}
	run, err := genall.Generators{&generator}.ForRoots("./...")
	if err != nil {
		t.Fatal(err)
	}
	run.OutputRules = genall.OutputRules{Default: genall.OutputArtifacts{Config: genall.OutputToDirectory(dir)}}
	if run.Run() {
		t.Fatal("controller-gen failed")
	}
	if diff := cmp.Diff(methods(read(t, path)), methods(ourText)); diff != "" {
		t.Errorf("controller-gen writes other methods than kube-derive (-theirs +ours):\n%s", diff)
	}
	theirs := printed(t, dir)
	if len(theirs) < 500 {
		t.Fatalf("the program prints only %q", theirs)
	}
	if diff := cmp.Diff(theirs, ours); diff != "" {
		t.Errorf("with the copies of controller-gen, the output differs (-theirs +ours):\n%s", diff)
	}
}

// methods lists the declarations of the methods in a file, in order.
func methods(text string) []string {
	found := regexp.MustCompile(`(?m)^func \(in [^)]*\) DeepCopy\w*\(.*$`).FindAllString(text, -1)
	slices.Sort(found)
	return found
}

// printed returns the output of the program in a folder.
func printed(t *testing.T, dir string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "run", "./print")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go run: %v\n%s", err, out)
	}
	return string(out)
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
