// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package scaffold_test

import (
	"errors"
	"go/format"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/kube-go/sdk/derive/internal/scaffold"
)

func shop() *scaffold.Project {
	return &scaffold.Project{Module: "example.org/shop", Group: "shop.example.org", Kind: "Policy", Version: "v1.2.3"}
}

func files(t *testing.T, p *scaffold.Project) []scaffold.File {
	t.Helper()
	list, err := p.Files()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func content(t *testing.T, list []scaffold.File, path string) string {
	t.Helper()
	i := slices.IndexFunc(list, func(f scaffold.File) bool { return f.Path == path })
	if i < 0 {
		t.Fatalf("there is no %s", path)
	}
	return string(list[i].Content)
}

func TestFiles(t *testing.T) {
	list := files(t, shop())
	var paths []string
	for _, f := range list {
		paths = append(paths, f.Path)
	}
	want := []string{
		"Dockerfile", "Makefile", "README.md", "api/v1/doc.go", "api/v1/policy_types.go", "config/deploy/controller.yaml",
		"config/deploy/namespace.yaml", "config/samples/policy.yaml", ".dockerignore", ".gitignore", "go.mod", ".golangci.yml",
		"internal/controller/controllers.go", "internal/controller/controllers_test.go", "internal/controller/policy.go",
		"internal/controller/policy_test.go", "main.go",
		"test/e2e/e2e_test.go", "test/e2e/policy_test.go",
	}
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	for path, part := range map[string]string{
		"go.mod":                        "module example.org/shop\n\ngo 1.26.0\n\nrequire (\n\tgithub.com/kube-go/sdk/derive v1.2.3\n\tgithub.com/kube-go/sdk/kube v1.2.3\n\tgithub.com/kube-go/sdk/kubetest v1.2.3\n)\n",
		"main.go":                       `"example.org/shop/internal/controller"`,
		"api/v1/policy_types.go":        "//kube:resource group=shop.example.org version=v1 kind=Policy plural=policies\n",
		"internal/controller/policy.go": "groups=shop.example.org,resources=policies/status,verbs=patch",
		"config/samples/policy.yaml":    "apiVersion: shop.example.org/v1\nkind: Policy\n",
		"Makefile":                      "/tests/cluster/cmd/kubecluster@v1.2.3\n",
		"Dockerfile":                    "-o /policy-controller .\n",
	} {
		if !strings.Contains(content(t, list, path), part) {
			t.Errorf("%s has no %q", path, part)
		}
	}
}

// TestNothingIsLeftOfTheTemplate holds that all names are the project's, and that files have the form that tools give
// them.
func TestNothingIsLeftOfTheTemplate(t *testing.T) {
	left := regexp.MustCompile(`(?i)widget|api/v1/|\bv1\.[A-Z]|kube-project|group\.example\.com|v0\.0\.0-sdk`)
	for i, kind := range []string{"A", "Policy", "HTTPRoute", "Type", "VeryLongNameOfAKindThatGoesOn"} {
		p := shop()
		p.Kind, p.Webhook, p.KindVersion = kind, i%2 == 0, "v1alpha1"
		for _, f := range files(t, p) {
			if found := left.FindString(f.Path + "\n" + string(f.Content)); found != "" {
				t.Errorf("kind %s: %s has %q in it", kind, f.Path, found)
			}
			switch filepath.Ext(f.Path) {
			case ".go":
				if formatted, err := format.Source(f.Content); err != nil || string(formatted) != string(f.Content) {
					t.Errorf("kind %s: %s is not formatted: %v", kind, f.Path, err)
				}
			case ".yaml", ".yml":
				for document := range strings.SplitSeq(string(f.Content), "\n---\n") {
					if err := yaml.UnmarshalStrict([]byte(document), &map[string]any{}); err != nil {
						t.Errorf("kind %s: %s: %v", kind, f.Path, err)
					}
				}
			}
		}
	}
}

func TestVersionOfTheKind(t *testing.T) {
	p := shop()
	p.KindVersion, p.Webhook = "v1alpha1", true
	list := files(t, p)
	for path, part := range map[string]string{
		"api/v1alpha1/doc.go":                 "package v1alpha1\n",
		"api/v1alpha1/policy_types.go":        " version=v1alpha1 kind=Policy ",
		"config/samples/policy.yaml":          "apiVersion: shop.example.org/v1alpha1\n",
		"internal/controller/controllers.go":  "v1alpha1 \"example.org/shop/api/v1alpha1\"\n",
		"internal/webhook/policy_validate.go": ",versions=v1alpha1,",
		"README.md":                           "[api/v1alpha1/policy_types.go](api/v1alpha1/policy_types.go)",
	} {
		if !strings.Contains(content(t, list, path), part) {
			t.Errorf("%s has no %q", path, part)
		}
	}
}

func TestCheckout(t *testing.T) {
	p := shop()
	p.SDK = "/src/the sdk"
	list := files(t, p)
	if got, want := content(t, list, "Makefile"), "KUBECLUSTER ?= go -C '/src/the sdk/tests/cluster' run ./cmd/kubecluster\n"; !strings.Contains(got, want) {
		t.Errorf("the Makefile has no %q:\n%s", want, got)
	}
	mod := content(t, list, "go.mod")
	for _, module := range []string{"client", "core", "derive", "kube", "runtime"} {
		if want := "\tgithub.com/kube-go/sdk/" + module + " => \"/src/the sdk/" + module + "\"\n"; !strings.Contains(mod, want) {
			t.Errorf("go.mod has no %q:\n%s", want, mod)
		}
	}
}

func TestCheck(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*scaffold.Project)
		want   string
	}{
		{"no module", func(p *scaffold.Project) { p.Module = "" }, `module "" is not a module path`},
		{"a module with a space", func(p *scaffold.Project) { p.Module = "a b" }, `module "a b" is not a module path`},
		{"a module that is a flag", func(p *scaffold.Project) { p.Module = "-x" }, `module "-x" is not a module path`},
		{"a kind in lower case", func(p *scaffold.Project) { p.Kind = "order" }, `kind "order" must begin with a capital letter`},
		{"a kind of other letters", func(p *scaffold.Project) { p.Kind = "Bücher" }, `kind "Bücher" must begin`},
		{"a kind that is too long", func(p *scaffold.Project) { p.Kind = "O" + strings.Repeat("o", 52) }, "has 53 letters; the names that are made of it leave room for 52"},
		{"a version that is not one", func(p *scaffold.Project) { p.KindVersion = "alpha" }, `version "alpha" is not a version`},
		{"a group without a dot", func(p *scaffold.Project) { p.Group = "shop" }, `group "shop" must have a dot in it`},
		{"a group that is not a domain", func(p *scaffold.Project) { p.Group = "Shop.example.com" }, `group "Shop.example.com": a lowercase RFC 1123 subdomain`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := shop()
			tt.change(p)
			if _, err := p.Files(); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Files = %v, want %q", err, tt.want)
			}
		})
	}
}

func TestWriteOverwritesNothing(t *testing.T) {
	dir := t.TempDir()
	for _, taken := range []string{"main.go", "README.md"} {
		if err := os.Symlink("nowhere", filepath.Join(dir, taken)); err != nil {
			t.Fatal(err)
		}
	}
	list := files(t, shop())
	err := scaffold.Write(dir, list)
	want := &scaffold.ExistsError{Dir: dir, Paths: []string{"README.md", "main.go"}}
	if e, ok := errors.AsType[*scaffold.ExistsError](err); !ok || !cmp.Equal(e, want) {
		t.Fatalf("Write = %v, want %v", err, want)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("the directory has %v, %v; want only what was there", entries, err)
	}
}

func TestWriteWritesAllOrNothing(t *testing.T) {
	dir := t.TempDir()
	blocked := filepath.Join(dir, "config")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	list := []scaffold.File{{Path: "Makefile", Content: []byte("all:\n")}, {Path: "config/sub/a.yaml"}}
	if err := scaffold.Write(dir, list); err == nil {
		t.Error("Write below a file = nil")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the directory has %v, %v; want only what was there", entries, err)
	}
	if err := scaffold.Write(blocked, list); err == nil || err.Error() != blocked+" exists and is not a directory: choose another" {
		t.Errorf("Write to a file = %v", err)
	}
	if err := os.Remove(blocked); err != nil {
		t.Fatal(err)
	}
	if err := scaffold.Write(dir, list); err != nil {
		t.Fatal(err)
	}
	got, err := scaffold.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	list[1].Content = []byte{}
	if diff := cmp.Diff(list, got); diff != "" {
		t.Errorf("what was written (-want +got):\n%s", diff)
	}
}

func TestTheReadmeAddsAnotherKind(t *testing.T) {
	p := shop()
	p.Kind = "Order" // of the README of the SDK
	if readme := content(t, files(t, p), "README.md"); strings.Contains(readme, "add kind Order") {
		t.Errorf("the command of the README fails, since the project has the kind:\n%s", readme)
	}
}
