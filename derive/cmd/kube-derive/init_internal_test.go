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
	const next = `What next:

  cd shop
  go mod tidy                                 # makes what is missing
  go generate ./...                           # makes what is missing
  go mod tidy                                 # makes what is missing
  make test                                   # without a cluster
  make run                                    # on the cluster of your kubeconfig; make cluster starts one
  kubectl apply -f config/samples/order.yaml  # in another terminal

Change the kind in api/v1/order_types.go and its reconcile in internal/controller/order.go, then run make generate.
go tool kube-derive add adds kinds, versions and webhooks.
`
	if code != 0 || stdout != next || stderr != "kube-derive init: wrote 19 files to shop\n" {
		t.Fatalf("init = %d\nstdout: %s\nstderr: %s", code, stdout, stderr)
	}
	mod, err := os.ReadFile(filepath.Join(dir, "shop", "go.mod"))
	if err != nil || !strings.Contains(string(mod), "module example.com/shop\n") || !strings.Contains(string(mod), "=> \""+sdk+"/kube\"\n") {
		t.Errorf("go.mod is %s, %v", mod, err)
	}
	types, err := os.ReadFile(filepath.Join(dir, "shop", "api", "v1", "order_types.go"))
	if err != nil || !strings.Contains(string(types), "group=order.example.com version=v1 kind=Order plural=orders") {
		t.Errorf("the kind is %s, %v", types, err)
	}

	code, stdout, stderr = call(t, dir, args...)
	const want = "kube-derive init: shop has Dockerfile, Makefile, "
	if code != 1 || stdout != "" || !strings.HasPrefix(stderr, want) {
		t.Errorf("init once more = %d\nstdout: %s\nstderr: %s\nwant %s", code, stdout, stderr, want)
	}
}

func TestInitTakesTheVersionOfTheKind(t *testing.T) {
	sdk, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	code, stdout, stderr := call(t, dir, "init", "--sdk", sdk, "--files-only", "--version", "v1alpha1", "shop")
	if code != 0 || !strings.Contains(stdout, "Change the kind in api/v1alpha1/widget_types.go ") {
		t.Errorf("init = %d\nstdout: %s\nstderr: %s", code, stdout, stderr)
	}
	if _, err := os.Stat(filepath.Join(dir, "shop", "api", "v1alpha1", "widget_types.go")); err != nil {
		t.Error(err)
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
		{"not a checkout", []string{"--sdk", dir, "a"}, "is not a checkout of the SDK: it has no kube/go.mod"},
		{"a bad version", []string{"--sdk", "../../..", "--version", "alpha", "a"}, `version "alpha" is not a version`},
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

func TestInitWritesNothingWhenTheGoCommandFails(t *testing.T) {
	sdk, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		env  map[string]string
		want string
	}{
		{"without a network", map[string]string{"GOPROXY": "off", "GOMODCACHE": t.TempDir(), "GOFLAGS": ""}, "kube-derive init: go mod tidy: exit status 1; nothing was written to shop\n"},
		{"without a go command", map[string]string{"PATH": t.TempDir()}, "install Go 1.26 or newer from https://go.dev/dl, or write the rest with -files-only; nothing was written to shop\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for name, value := range tt.env {
				t.Setenv(name, value)
			}
			t.Setenv("TMPDIR", t.TempDir())
			dir := t.TempDir()
			code, stdout, stderr := call(t, dir, "init", "--sdk", sdk, "--kind", "Order", "shop")
			if code != 1 || stdout != "" || !strings.HasSuffix(stderr, tt.want) {
				t.Errorf("init = %d\nstdout: %s\nstderr: %s\nwant %s", code, stdout, stderr, tt.want)
			}
			for _, where := range []string{dir, os.TempDir()} {
				if left, err := os.ReadDir(where); err != nil || len(left) > 0 {
					t.Errorf("%s has %v, %v; want nothing", where, left, err)
				}
			}
		})
	}
}

func TestInitSaysHowToGoOn(t *testing.T) {
	i := &initializer{project: &scaffold.Project{Kind: "Order"}, dir: "my shop/"}
	if got, want := i.next("/src/go.work"), "\n  cd 'my shop'\n  go work use .                               # makes it a part of /src/go.work\n"; !strings.Contains(got, want) {
		t.Errorf("next = %s\nwant %s", got, want)
	}
	i.dir = "./"
	if got, want := i.next(""), "What next:\n\n  make test   "; !strings.HasPrefix(got, want) {
		t.Errorf("next = %s\nwant %s", got, want)
	}
}

func TestInitFindsTheWorkspaceAround(t *testing.T) {
	t.Setenv("GOWORK", "")
	i := &initializer{dir: "/"} // it has no parent with a go.work, unlike a temporary directory, perhaps
	if got := i.workspace(t.Context()); got != "" {
		t.Errorf("workspace = %q, want none", got)
	}
	dir := t.TempDir()
	i.dir = dir
	work := filepath.Join(dir, "go.work")
	if err := os.WriteFile(work, []byte("go 1.26.0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := i.workspace(t.Context()); got != work {
		t.Errorf("workspace = %q, want %s", got, work)
	}
}
