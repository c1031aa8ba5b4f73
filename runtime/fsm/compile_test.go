// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fsm_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestWrongTransitionsDoNotCompile builds the programs of testdata/compile. Each has at most one line with a comment
// such as "want: roam does not implement fromEat", and the compiler must report this line with this text. A program
// without such a line must compile.
func TestWrongTransitionsDoNotCompile(t *testing.T) {
	programs, err := filepath.Glob("testdata/compile/*/main.go")
	if err != nil || len(programs) < 5 {
		t.Fatalf("found %d programs, %v", len(programs), err)
	}
	for _, program := range programs {
		t.Run(filepath.Base(filepath.Dir(program)), func(t *testing.T) {
			t.Parallel()
			line, want := wanted(t, program)
			out, err := build(t.Context(), filepath.Dir(program))
			switch {
			case want == "" && err != nil:
				t.Errorf("it does not compile: %s", out)
			case want == "":
			case err == nil:
				t.Errorf("it compiles, want an error with %q", want)
			case !strings.Contains(out, line) || !strings.Contains(out, want):
				t.Errorf("the compiler reports\n%s\nwant %s with %q", out, line, want)
			}
		})
	}
}

// TestMachinesKeepNoUnusedMethods checks that the linker drops methods that nothing calls: it keeps all exported
// methods of all types in a program that may call a method by a name that is not a constant. That adds about a third to
// its size.
func TestMachinesKeepNoUnusedMethods(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	link := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-dumpdep", "-o", program, "./testdata/compile/good")
	link.Env = append(os.Environ(), "CGO_ENABLED=0") // like other programs without the race detector
	dependencies, err := link.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, dependencies)
	}
	var callers []string
	linked := false
	for line := range strings.Lines(string(dependencies)) {
		linked = linked || strings.Contains(line, "runtime/fsm.")
		if strings.Contains(line, "<ReflectMethod>") {
			callers = append(callers, line)
		}
	}
	if !linked || len(callers) > 0 {
		t.Errorf("package fsm is linked: %t; methods are called by variable names in\n%s", linked, strings.Join(callers, ""))
	}
}

// wanted returns the wanted text of a program, and its line as the compiler writes it.
func wanted(t *testing.T, program string) (line, want string) {
	t.Helper()
	source, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	text, want, ok := strings.Cut(string(source), "// want: ")
	if !ok {
		return "", ""
	}
	want, _, _ = strings.Cut(want, "\n")
	return fmt.Sprintf("main.go:%d:", 1+strings.Count(text, "\n")), want
}

func build(ctx context.Context, folder string) (out string, err error) {
	cmd := exec.CommandContext(ctx, "go", "build", "-o", os.DevNull, "./"+folder)
	text, err := cmd.CombinedOutput()
	return string(text), err
}
