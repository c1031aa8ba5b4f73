// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kube-go/sdk/derive/internal/scaffold"
)

// newProject starts a project without the files that the go command makes.
func newProject(t *testing.T) (dir string) {
	t.Helper()
	sdk, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	if code, _, stderr := call(t, dir, "init", "--sdk", sdk, "--files-only", "--kind", "Order", "."); code != 0 {
		t.Fatal(stderr)
	}
	return dir
}

func TestAddListsTheFiles(t *testing.T) {
	dir := newProject(t)
	below := filepath.Join(dir, "internal") // as the go command, it finds the root
	code, stdout, stderr := call(t, below, "add", "kind", "Invoice", "--files-only")
	const kind = `created api/v1/invoice_types.go
created config/samples/invoice.yaml
changed internal/controller/controllers.go
created internal/controller/invoice.go
created internal/controller/invoice_test.go
created test/e2e/invoice_test.go
What next:

  go mod tidy && make generate && go mod tidy && make test run
  kubectl apply -f config/samples/invoice.yaml  # in another terminal
`
	if code != 0 || stdout != kind || stderr != "" {
		t.Errorf("add kind = %d\nstdout: %s\nstderr: %s", code, stdout, stderr)
	}
	code, stdout, stderr = call(t, dir, "add", "webhook", "--mutate", "Order", "--files-only")
	const hook = `changed config/deploy/controller.yaml
created config/webhook/service.yaml
created internal/webhook/order_mutate.go
created internal/webhook/order_mutate_test.go
created internal/webhook/outside.go
created internal/webhook/webhooks.go
created internal/webhook/webhooks_test.go
changed main.go
changed test/e2e/e2e_test.go
created test/e2e/webhooks_test.go
What next:
`
	if code != 0 || !strings.HasPrefix(stdout, hook) || stderr != "" {
		t.Errorf("add webhook = %d\nstdout: %s\nstderr: %s", code, stdout, stderr)
	}
	code, stdout, stderr = call(t, dir, "add", "version", "Order", "v2", "--files-only")
	const version = `changed api/v1/order_types.go
created api/v2/doc.go
created api/v2/order_conversion.go
created api/v2/order_types.go
changed config/deploy/controller.yaml
created config/samples/order_v2.yaml
created internal/webhook/order_conversion.go
created internal/webhook/order_conversion_test.go
changed internal/webhook/webhooks.go
What next:
`
	if code != 0 || !strings.HasPrefix(stdout, version) || stderr != "" {
		t.Errorf("add version = %d\nstdout: %s\nstderr: %s", code, stdout, stderr)
	}
}

func TestAddHelp(t *testing.T) {
	for _, args := range [][]string{{"add"}, {"add", "-h"}, {"help", "add"}} {
		code, stdout, stderr := call(t, ".", args...)
		if code != 0 || stderr != "" || !strings.HasPrefix(stdout, "usage: kube-derive add kind|version|webhook …\n") ||
			!strings.Contains(stdout, "  kube-derive add version [flags] KIND VERSION\n") {
			t.Errorf("%q = %d\nstdout: %s\nstderr: %s", args, code, stdout, stderr)
		}
	}
	for _, args := range [][]string{{"add", "kind", "-h"}, {"help", "add", "kind"}} {
		code, stdout, _ := call(t, ".", args...)
		if code != 0 || !strings.HasPrefix(stdout, "usage: kube-derive add kind [flags] NAME\n") || !strings.Contains(stdout, "-cluster-scoped") {
			t.Errorf("%q = %d\nstdout: %s", args, code, stdout)
		}
	}
}

func TestAddSaysWhatIsWrong(t *testing.T) {
	module, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	dir := newProject(t)
	for _, tt := range []struct {
		name string
		dir  string // the root has no parent with a go.mod, unlike a temporary directory, perhaps
		args []string
		code int
		want string
	}{
		{"an unknown part", dir, []string{"controller"}, 2, `"controller" is not one of kind, version and webhook; see kube-derive add -h`},
		{"no name", dir, []string{"kind"}, 2, "kube-derive add kind: specify the NAME of a kind, and not 0 arguments\nusage: kube-derive add kind [flags] NAME"},
		{"no version", dir, []string{"version", "Order"}, 2, "specify the KIND and the VERSION, and not 1 argument"},
		{"an unknown flag", dir, []string{"kind", "-scope", "X"}, 2, "flag provided but not defined: -scope"},
		{"no module", "/", []string{"kind", "Invoice"}, 1, "is in no Go module: change to a project, or start one with kube-derive init"},
		{"another module", module, []string{"kind", "Invoice"}, 1, "go.mod does not require github.com/kube-go/sdk/kube: run this in a project that kube-derive init has started"},
		{"an existing kind", dir, []string{"kind", "Order"}, 1, "kube-derive add kind: kind Order is in api/v1/order_types.go already"},
		{"an unknown kind", dir, []string{"webhook", "Ordre"}, 1, "the project has no kind Ordre marked //kube:resource; it has Order"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, stdout, stderr := call(t, tt.dir, append([]string{"add"}, tt.args...)...)
			if code != tt.code || stdout != "" || !strings.Contains(stderr, tt.want) {
				t.Errorf("add %q = %d\nstdout: %s\nstderr: %s\nwant %s", tt.args, code, stdout, stderr, tt.want)
			}
		})
	}
}

// TestAddChangesNothingWhenSomethingFails lets the go command fail at each of its calls, and the sources have a
// mistake.
func TestAddChangesNothingWhenSomethingFails(t *testing.T) {
	dir := newProject(t)
	before := snapshot(t, dir)
	for _, tt := range []struct{ name, script, want string }{
		{"go.mod is not tidy", "echo diff go.mod; exit 1", "go.mod or go.sum is not tidy: run make generate and go mod tidy, or use -files-only; nothing was changed:\ndiff go.mod"},
		{"the modules are missing", `[ "$*" = "mod tidy -diff" ] && exit; echo x > go.sum; exit 1`, "go mod tidy: exit status 1; nothing was changed"},
		{"the packages can't be read", `case "$*" in "mod tidy -diff") exit;; "mod tidy") echo x > go.sum; exit;; esac; exit 1`, "; nothing was changed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bin := t.TempDir()
			if err := os.WriteFile(filepath.Join(bin, "go"), []byte("#!/bin/sh\n"+tt.script+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			t.Setenv("PATH", bin)
			code, stdout, stderr := call(t, dir, "add", "version", "Order", "v2")
			if code != 1 || stdout != "" || !strings.Contains(stderr, tt.want) {
				t.Errorf("add = %d\nstdout: %s\nstderr: %s\nwant %s", code, stdout, stderr, tt.want)
			}
			if after := snapshot(t, dir); after != before {
				t.Errorf("files before: %s\nand after: %s", before, after)
			}
		})
	}
}

// TestAddIgnoresTheWorkspaceAround checks that a project below a go.work that does not use it is read without the
// workspace, as by init.
func TestAddIgnoresTheWorkspaceAround(t *testing.T) {
	dir := newProject(t)
	t.Setenv("GOWORK", filepath.Join(filepath.Dir(dir), "go.work"))
	bin := t.TempDir()
	const script = `#!/bin/sh
case "$*" in "mod tidy -diff"|"mod tidy") exit;; esac
echo "$1 with GOWORK=$GOWORK" >> "${0%/go}/calls"
exit 1
`
	if err := os.WriteFile(filepath.Join(bin, "go"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	if code, _, stderr := call(t, dir, "add", "kind", "Invoice"); code != 1 {
		t.Errorf("add = %d, want the error of the go command\n%s", code, stderr)
	}
	calls, err := os.ReadFile(filepath.Join(bin, "calls"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(calls)) {
		if !strings.HasSuffix(line, " with GOWORK=off\n") {
			t.Errorf("the packages were read by go %s", line)
		}
	}
}

// snapshot returns all files of a folder as a text.
func snapshot(t *testing.T, dir string) string {
	t.Helper()
	files, err := scaffold.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for _, f := range files {
		b.WriteString(f.Path + "\n" + string(f.Content))
	}
	return b.String()
}
