// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestReportHasTheOutputOfGoTestAndSkippedTests(t *testing.T) {
	const header = "package x\n\nimport \"testing\"\n\n"
	for _, tt := range []struct {
		name, code, want string
	}{
		{"a package that passes", `
			func TestA(t *testing.T) { t.Log("quiet") }`, `
			ok  	x	0s
		`},
		{"skipped tests, by reason", `
			func TestA(t *testing.T) { t.Skip("not run: not here:\na reason of\ntwo lines") }
			func TestB(t *testing.T) { t.Run("c", func(t *testing.T) { t.Skip("not now") }) }
			func TestD(t *testing.T) { t.Skip("not now") }
			func TestE(t *testing.T) { t.SkipNow() }`, `
			ok  	x	0s
			NOT RUN: no reason is given
			         x TestE
			NOT RUN: not here: a reason of two lines
			         x TestA
			NOT RUN: not now
			         x TestB/c
			         x TestD
		`},
		{"a test that fails, without those that pass", `
			func TestA(t *testing.T) { t.Error("loud") }
			func TestB(t *testing.T) { t.Log("quiet") }`, `
			=== RUN   TestA
			    x_test.go:6: loud
			--- FAIL: TestA (0s)
			FAIL
			FAIL	x	0s
		`},
		{"a test that panics", `
			func TestA(t *testing.T) { t.Log("last words"); go panic("now"); select {} }`, `
			=== RUN   TestA
			    x_test.go:6: last words
			panic: now
		`},
		{"a package that does not compile", `
			func TestA(t *testing.T) { t.Nothing() }`, `
			# x [x.test]
			./x_test.go:6:33: t.Nothing undefined (type *testing.T has no field or method Nothing)
			FAIL	x [build failed]
		`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, content := range map[string]string{"go.mod": "module x\ngo 1.26.0\n", "x_test.go": header + tt.code} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-json", "./...")
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=")
			in, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			if err := report(in, &out); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // the exit status does not matter
			got := regexp.MustCompile(`\d+\.\d+s`).ReplaceAllString(out.String(), "0s")
			want := strings.ReplaceAll(strings.TrimSpace(tt.want), "\n\t\t\t", "\n")
			if got = strings.TrimSpace(got); !strings.HasPrefix(got, want) || !strings.Contains(want, "panic") && got != want {
				t.Errorf("report:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}
