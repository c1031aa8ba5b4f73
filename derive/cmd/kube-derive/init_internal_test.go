// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kube-go/sdk/derive/internal/scaffold"
)

func TestInitWritesFiles(t *testing.T) {
	sdk, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	args := []string{"init", "--sdk", sdk, "--files-only", "--kind", "Order", "shop"}
	code, stdout, stderr := call(t, dir, args...)
	const left = "What is left to do there:\n\n  go mod tidy\n  go generate ./...\n  go mod tidy\n\n"
	if code != 0 || stdout != left || stderr != "kube-derive init: wrote 16 files to shop\n" {
		t.Fatalf("init = %d\nstdout: %s\nstderr: %s", code, stdout, stderr)
	}
	mod, err := os.ReadFile(filepath.Join(dir, "shop", "go.mod"))
	if err != nil || !strings.Contains(string(mod), "module example.com/shop\n") || !strings.Contains(string(mod), "=> "+sdk+"/kube\n") {
		t.Errorf("go.mod is %s, %v", mod, err)
	}
	types, err := os.ReadFile(filepath.Join(dir, "shop", "api", "v1", "order_types.go"))
	if err != nil || !strings.Contains(string(types), "group=order.example.com version=v1 kind=Order plural=orders") {
		t.Errorf("the kind is %s, %v", types, err)
	}

	code, stdout, stderr = call(t, dir, args...)
	const want = "kube-derive init: shop/Dockerfile is there already, and nothing is overwritten: choose another directory, or move the file away\n"
	if code != 1 || stdout != "" || stderr != want {
		t.Errorf("init once more = %d\nstdout: %s\nstderr: %s\nwant %s", code, stdout, stderr, want)
	}
}

func TestInitSaysWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"no directory", nil, "it wants one directory, and not 0\nusage: kube-derive init [flags] DIR; see kube-derive init -h\n"},
		{"two directories", []string{"a", "b"}, "it wants one directory, and not 2"},
		{"no release", []string{"a"}, "and not of a release that a project can require; run go run github.com/kube-go/sdk/derive/cmd/kube-derive@latest init, or name a checkout with -sdk"},
		{"no checkout", []string{"--sdk", dir, "a"}, "is no checkout of the SDK: it has no kube/go.mod"},
		{"a bad kind", []string{"--sdk", "../../..", "--kind", "order", "a"}, `kind "order" must begin with a capital letter`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, stdout, stderr := call(t, ".", append([]string{"init"}, tt.args...)...)
			if code != 2 || stdout != "" || !strings.Contains(stderr, tt.want) {
				t.Errorf("init %q = %d\nstdout: %s\nstderr: %s\nwant %s", tt.args, code, stdout, stderr, tt.want)
			}
		})
	}
}

func TestInitTakesItsOwnRelease(t *testing.T) {
	for version, want := range map[string]bool{
		"v1.2.3": true, "v0.0.0-20260101000000-abcdefabcdef": true, "(devel)": false, "v0.0.0-20260101000000-abcdefabcdef+dirty": false,
	} {
		i := &initializer{project: &scaffold.Project{Kind: "Order"}, dir: "shop"}
		err := i.complete(version)
		if (err == nil) != want || err == nil && i.project.Version != version {
			t.Errorf("complete(%s) = %v, project %+v", version, err, i.project)
		}
	}
}

func TestInitSaysWhyTheGoCommandFails(t *testing.T) {
	var stderr strings.Builder
	i := &initializer{dir: t.TempDir(), std: streams{err: &stderr}}
	err := i.goCommand(t.Context(), []string{"mod", "tidy"})
	if err == nil || !strings.Contains(err.Error(), "exit status 1; the files are there") || !strings.Contains(stderr.String(), "go.mod file not found") {
		t.Errorf("goCommand = %v, and it has printed %s", err, stderr.String())
	}
}
