// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package scaffold_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/kube-go/sdk/derive/generate"
	"github.com/kube-go/sdk/derive/internal/scaffold"
)

// compile runs the go command in a module with the kinds of a project, what kube-derive makes of them, and their
// converters. The module requires what derive does: the test of a converter calls core.CRD and not kube.CRD.
func compile(t *testing.T, tree *scaffold.Tree, args ...string) {
	t.Helper()
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "")
	core, err := filepath.Abs("../../../core")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	module := strings.NewReplacer("github.com/kube-go/sdk/derive\n", "example.org/shop\n", "=> ../core", "=> "+core)
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(dir, name), module.Replace(string(text)))
	}
	withoutFacade := strings.NewReplacer("kube-go/sdk/kube", "kube-go/sdk/core", "kube.CRD", "core.CRD")
	for _, f := range tree.Files() {
		if strings.HasPrefix(f.Path, "api/") || strings.Contains(f.Path, "_conversion") {
			writeFile(t, filepath.Join(dir, f.Path), withoutFacade.Replace(string(f.Content)))
		}
	}
	files, err := generate.Run(t.Context(), []string{"./..."}, &generate.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := files.Write(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// withKind returns a new project with the files of a kind.
func withKind(t *testing.T, name string) *scaffold.Tree {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/kinds/" + name + ".txtar")
	if err != nil {
		t.Fatal(err)
	}
	dir := started(t)
	for _, f := range archive.Files {
		writeFile(t, filepath.Join(dir, f.Name), string(f.Data))
	}
	return open(t, dir)
}

// TestTheHubStaysWhenTheStorageVersionMoves holds that the functions of older versions stay those of the converter.
func TestTheHubStaysWhenTheStorageVersionMoves(t *testing.T) {
	dir := started(t)
	tree := open(t, dir)
	if err := tree.AddVersion("Policy", "", "v2"); err != nil {
		t.Fatal(err)
	}
	if _, err := scaffold.Apply(dir, tree.Changes()); err != nil {
		t.Fatal(err)
	}
	tree = open(t, dir,
		"api/v1/policy_types.go", " storage=true", ` served=true deprecated="the storage=true of \"v2\" is newer"`,
		"api/v2/policy_types.go", "plural=policies", "plural=policies storage=true")
	if err := tree.AddVersion("Policy", "", "v3"); err != nil {
		t.Fatal(err)
	}
	lines, texts := summary(t, tree)
	want := []string{
		"+ api/v3/doc.go", "+ api/v3/policy_conversion.go", "+ api/v3/policy_types.go", "+ config/samples/policy_v3.yaml",
		"~ internal/webhook/policy_conversion.go",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	contains(t, texts, map[string][]string{
		"api/v3/policy_types.go": {"//kube:resource group=shop.example.org version=v3 kind=Policy plural=policies\n"},
		"api/v3/policy_conversion.go": {
			"// These functions convert between v3 and v1, the hub of the conversions.",
			"func PolicyToV1(in *Policy) (*v1.Policy, error) {",
		},
		"internal/webhook/policy_conversion.go": {
			"[]conversion.Spoke[v1.Policy]{\n\t\tconversion.Between(v2.PolicyToV1, v2.PolicyFromV1),\n" +
				"\t\tconversion.Between(v3.PolicyToV1, v3.PolicyFromV1),\n\t}",
		},
	})
	compile(t, tree, "test", "./...")
	if err := tree.AddWebhook("Policy", "", scaffold.Webhooks{Conversion: true}); err != nil {
		t.Error(err)
	}
	lines, _ = summary(t, tree)
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("changes after a webhook that is there (-want +got):\n%s", diff)
	}
}

// TestAddVersionCopiesMethods promises that copied types have their methods, also those of other files, and what these
// use.
func TestAddVersionCopiesMethods(t *testing.T) {
	tree := open(t, started(t),
		"api/v1/percent.go", "", `package v1

// Percent is written as a string.
// +kubebuilder:validation:Type=string
type Percent int
`,
		"api/v1/percent_json.go", "", `package v1

// MarshalJSON writes 5 as "5%".
func (p Percent) MarshalJSON() ([]byte, error) { return quote(int(p)), nil }

// UnmarshalJSON reads it.
func (p *Percent) UnmarshalJSON(b []byte) error { return unquote(b, p) }
`,
		"api/v1/quote.go", "", `package v1

import "fmt"

func quote(n int) []byte { return fmt.Appendf(nil, "\"%d%%\"", n) }

func unquote(b []byte, p *Percent) error {
	_, err := fmt.Sscanf(string(b), "\"%d%%\"", (*int)(p))
	return err
}
`,
		"api/v1/policy_types.go", "type PolicySpec struct {\n",
		"type PolicySpec struct {\n\tShare Percent `json:\"share,omitempty\"`\n\n")
	if err := tree.AddVersion("Policy", "", "v2"); err != nil {
		t.Fatal(err)
	}
	_, texts := summary(t, tree)
	for _, name := range []string{"percent.go", "percent_json.go", "quote.go"} {
		if want := strings.Replace(content(t, tree.Files(), "api/v1/"+name), "v1", "v2", 1); texts["api/v2/"+name] != want {
			t.Errorf("api/v2/%s = %q, want %q", name, texts["api/v2/"+name], want)
		}
	}
	compile(t, tree, "vet", "./...")
}

// TestConversionsConvertEverything runs the tests of the converter.
func TestConversionsConvertEverything(t *testing.T) {
	tree := withKind(t, "convertible")
	if err := tree.AddVersion("Gadget", "", "v2"); err != nil {
		t.Fatal(err)
	}
	_, texts := summary(t, tree)
	contains(t, texts, map[string][]string{
		"api/v2/gadget_types.go": {" version=v2 kind=Gadget scope=Cluster\n"},
		"api/v2/parts.go":        {"package v2\n"},
		"api/v2/gadget_conversion.go": {
			"func strictToV1(in Strict) v1.Strict {\n\treturn v1.Strict(convertList(in, ruleToV1))\n}",
			"func hugeFromV1(in v1.Huge) Huge {\n\treturn Huge(in)\n}",
			"func sameFromV1(in v1.Same) Same {\n\treturn Same{\n\t\tDeny: sizeFromV1(in.Deny),\n\t}\n}",
		},
	})
	if text := texts["api/v2/gadget_conversion.go"]; strings.Contains(text, "TODO") {
		t.Errorf("something is not converted:\n%s", text)
	}
	compile(t, tree, "test", "./...")
}

// TestConversionsSayWhatIsLeft holds that the functions compile, so that the command succeeds.
func TestConversionsSayWhatIsLeft(t *testing.T) {
	tree := withKind(t, "partial")
	for _, name := range []string{"Policy", "Gadget"} {
		if err := tree.AddVersion(name, "", "v2"); err != nil {
			t.Fatal(err)
		}
	}
	_, texts := summary(t, tree)
	contains(t, texts, map[string][]string{"api/v2/gadget_conversion.go": {
		"\t\t// TODO: convert the fields of part, which is not exported.\n",
		"\t\t// TODO: convert Box, which has a generic type.\n",
		"\t\t// TODO: convert Level, which has the unexported type level.\n",
		"\t\t// TODO: convert Parts, which has the unexported type part.\n",
		"\t// TODO: convert Pair, which is an array.\n\tvar out v1.Pair\n\treturn out\n",
		"\t// TODO: convert Table, which has keys of another type.\n\tvar out Table\n\treturn out\n",
		"\t\t// TODO: convert Boxes, which has a generic type.\n",
		"\t\t// TODO: convert Policy, which has objects of the kind Policy.\n",
		"\t\t// TODO: convert Inline, which has a type without a name.\n",
		"func secretToV1(in Secret) v1.Secret {\n\treturn v1.Secret{\n\t\t// TODO: convert text, which is not exported.\n\t}\n}",
	}})
	compile(t, tree, "vet", "./...")
}
