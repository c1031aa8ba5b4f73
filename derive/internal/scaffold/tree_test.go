// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package scaffold_test

import (
	"errors"
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/derive/internal/scaffold"
)

// started writes a new project to a folder.
func started(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := scaffold.Write(dir, files(t, shop())); err != nil {
		t.Fatal(err)
	}
	return dir
}

// open reads a project, after edits: a path, and pairs of old and new texts.
func open(t *testing.T, dir string, edits ...string) *scaffold.Tree {
	t.Helper()
	for i := 0; i+2 < len(edits); i += 3 {
		name := filepath.Join(dir, edits[i])
		text, err := os.ReadFile(name)
		if err != nil && edits[i+1] != "" {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), edits[i+1]) {
			t.Fatalf("%s has no %q", edits[i], edits[i+1])
		}
		edited := strings.ReplaceAll(string(text), edits[i+1], edits[i+2])
		if edits[i+1] == "" {
			edited = edits[i+2]
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(edited), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tree, err := scaffold.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// summary returns the changes as lines such as "+ api/v1/order_types.go", and checks that Go files are formatted.
func summary(t *testing.T, tree *scaffold.Tree) (lines []string, texts map[string]string) {
	t.Helper()
	texts = map[string]string{}
	for _, c := range tree.Changes() {
		sign := "~ "
		if c.New {
			sign = "+ "
		}
		lines = append(lines, sign+c.Path)
		texts[c.Path] = string(c.Content)
		if strings.HasSuffix(c.Path, ".go") {
			if formatted, err := format.Source(c.Content); err != nil || string(formatted) != string(c.Content) {
				t.Errorf("%s is not formatted: %v", c.Path, err)
			}
		}
	}
	return lines, texts
}

func contains(t *testing.T, texts map[string]string, wants map[string][]string) {
	t.Helper()
	for path, list := range wants {
		for _, want := range list {
			if !strings.Contains(texts[path], want) {
				t.Errorf("%s has no %q:\n%s", path, want, texts[path])
			}
		}
	}
}

func TestAddKind(t *testing.T) {
	tree := open(t, started(t))
	if err := tree.AddKind(&scaffold.Kind{Name: "Order"}); err != nil {
		t.Fatal(err)
	}
	lines, texts := summary(t, tree)
	want := []string{
		"+ api/v1/order_types.go", "+ config/samples/order.yaml", "~ internal/controller/controllers.go",
		"+ internal/controller/order.go", "+ internal/controller/order_test.go", "+ test/e2e/order_test.go",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	contains(t, texts, map[string][]string{
		"api/v1/order_types.go":              {"//kube:resource group=shop.example.org version=v1 kind=Order plural=orders\n"},
		"internal/controller/controllers.go": {"\taddPolicy(m, c, cache)\n\taddOrder(m, c, cache)\n}", "\t\tkube.CRD[v1.Policy],\n\t\tkube.CRD[v1.Order],\n\t}"},
		"internal/controller/order.go": {
			`v1 "example.org/shop/api/v1"`, "groups=shop.example.org,resources=orders/status", `name := "order-" + obj.Name`,
		},
		"config/samples/order.yaml": {"\n  name: order-sample\n  namespace: default\n"},
		"test/e2e/order_test.go":    {`configMaps.Get(ctx, "order-hello", nil)`},
	})
}

func TestAddKindOfAnotherGroup(t *testing.T) {
	tree := open(t, started(t))
	for _, k := range []*scaffold.Kind{
		{Name: "Region", Group: "widget.example.org", Version: "v1beta1", Cluster: true},
		{Name: "Country", Group: "widget.example.org"},
	} {
		if err := tree.AddKind(k); err != nil {
			t.Fatal(err)
		}
	}
	_, texts := summary(t, tree)
	contains(t, texts, map[string][]string{
		"api/widget/v1beta1/doc.go":           {"// Package v1beta1 is version v1beta1 of the API group widget.example.org.\npackage v1beta1\n"},
		"api/widget/v1beta1/region_types.go":  {"group=widget.example.org version=v1beta1 kind=Region plural=regions scope=Cluster\n"},
		"api/widget/v1beta1/country_types.go": {"group=widget.example.org version=v1beta1 kind=Country plural=countries\n"},
		"internal/controller/region.go":       {`widgetv1beta1 "example.org/shop/api/widget/v1beta1"`, "const regionNamespace", "*kube.API[widgetv1beta1.Region]"},
		"internal/controller/region_test.go":  {`widgetv1beta1.NewRegion("hello", widgetv1beta1.RegionSpec{`, "setRegionConfigMap"},
		"test/e2e/region_test.go":             {`objects, "e2e-region"`, `configMaps.Get(ctx, "region-e2e-region", nil)`},
		"internal/controller/controllers.go":  {"kube.CRD[widgetv1beta1.Region],", "\taddRegion(m, c, cache)\n\taddCountry(m, c, cache)\n"},
		"config/samples/region.yaml":          {"apiVersion: widget.example.org/v1beta1\nkind: Region\nmetadata:\n  name: region-sample\nspec:"},
	})
	for _, word := range []string{"obj.Namespace", "(c, ns)"} {
		if strings.Contains(texts["internal/controller/region.go"]+texts["test/e2e/region_test.go"], word) {
			t.Errorf("a kind without namespaces uses %s", word)
		}
	}
}

// TestEditsOfAuthorsAreKept holds that comments, names of variables and other statements survive.
func TestEditsOfAuthorsAreKept(t *testing.T) {
	tree := open(t, started(t),
		"internal/controller/controllers.go", "m *kube.Manager, c *kube.Client)", "mgr *kube.Manager, client *kube.Client)",
		"internal/controller/controllers.go", "\tcache := kube.NewCache(c, nil)\n\taddPolicy(m, c, cache)\n",
		"\tshared := kube.NewCache(client, nil)\n\taddPolicy(mgr, client, shared) // the first\n\n\t// The last line.\n\tmgr.AddReadinessCheck(\"x\", nil)\n",
		"internal/controller/controllers.go", "{\n\t\tkube.CRD[v1.Policy],\n\t}", "{kube.CRD[v1.Policy]}")
	if err := tree.AddKind(&scaffold.Kind{Name: "Order"}); err != nil {
		t.Fatal(err)
	}
	_, texts := summary(t, tree)
	contains(t, texts, map[string][]string{"internal/controller/controllers.go": {
		"\taddPolicy(mgr, client, shared) // the first\n\taddOrder(mgr, client, shared)\n\n\t// The last line.\n\tmgr.AddReadinessCheck(\"x\", nil)\n",
		"{kube.CRD[v1.Policy], kube.CRD[v1.Order]}",
	}})
}

// TestLinesAddedByHandAreNotAddedAgain holds that the remedy of an EditError works.
func TestLinesAddedByHandAreNotAddedAgain(t *testing.T) {
	dir := started(t)
	const file = "internal/controller/controllers.go"
	tree := open(t, dir, file, "\taddPolicy(m, c, cache)\n", "\tfor _, add := range list() {\n\t\tadd(m, c, cache)\n\t}\n")
	err := tree.AddKind(&scaffold.Kind{Name: "Order"})
	e, ok := errors.AsType[*scaffold.EditError](err)
	if !ok || e.Path != file || e.Lines != "\taddOrder(m, c, cache)" || len(tree.Changes()) > 0 {
		t.Fatalf("AddKind = %v, %d changes", err, len(tree.Changes()))
	}
	tree = open(t, dir, file, "add(m, c, cache)", "add(m, c, cache)\n\t\taddOrder(m, c, cache)")
	if err := tree.AddKind(&scaffold.Kind{Name: "Order"}); err != nil {
		t.Fatal(err)
	}
	_, texts := summary(t, tree)
	if n := strings.Count(texts[file], "addOrder("); n != 1 {
		t.Errorf("%s calls addOrder %d times:\n%s", file, n, texts[file])
	}
}

// TestCommentsAreNotElements promises that a definition is added although a comment mentions it.
func TestCommentsAreNotElements(t *testing.T) {
	const file = "internal/controller/controllers.go"
	tree := open(t, started(t),
		file, "// definitions returns", "// Later also: kube.CRD[v1.Order]\n//\n// definitions returns")
	if err := tree.AddKind(&scaffold.Kind{Name: "Order"}); err != nil {
		t.Fatal(err)
	}
	_, texts := summary(t, tree)
	contains(t, texts, map[string][]string{file: {"\t\tkube.CRD[v1.Policy],\n\t\tkube.CRD[v1.Order],\n"}})
}

func TestAddVersionChangesEachDocumentOfASample(t *testing.T) {
	dir := started(t)
	const file, of = "config/samples/policy.yaml", "apiVersion: shop.example.org/%s\nkind: %s\nmetadata:\n  name: %s\n"
	sample := func(version string) string {
		return fmt.Sprintf(of+"---\n"+of+"---\n"+of, version, "Policy", "a", "v1", "PolicyReport", "b", version, "Policy", "c")
	}
	if err := os.WriteFile(filepath.Join(dir, file), []byte(sample("v1")), 0o600); err != nil {
		t.Fatal(err)
	}
	tree := open(t, dir)
	if err := tree.AddVersion("Policy", "", "v2"); err != nil {
		t.Fatal(err)
	}
	_, texts := summary(t, tree)
	if diff := cmp.Diff(sample("v2"), texts["config/samples/policy_v2.yaml"]); diff != "" {
		t.Errorf("the sample (-want +got):\n%s", diff)
	}
}

func TestAddVersion(t *testing.T) {
	tree := open(t, started(t))
	for _, version := range []string{"v2", "v3alpha1"} {
		if err := tree.AddVersion("Policy", "", version); err != nil {
			t.Fatal(err)
		}
	}
	lines, texts := summary(t, tree)
	want := []string{
		"~ api/v1/policy_types.go", "+ api/v2/doc.go", "+ api/v2/policy_conversion.go", "+ api/v2/policy_types.go",
		"+ api/v3alpha1/doc.go", "+ api/v3alpha1/policy_conversion.go", "+ api/v3alpha1/policy_types.go",
		"~ config/deploy/controller.yaml", "+ config/samples/policy_v2.yaml", "+ config/samples/policy_v3alpha1.yaml",
		"+ config/webhook/service.yaml", "+ internal/webhook/outside.go", "+ internal/webhook/policy_conversion.go",
		"+ internal/webhook/policy_conversion_test.go", "+ internal/webhook/webhooks.go",
		"+ internal/webhook/webhooks_test.go", "~ main.go", "~ test/e2e/e2e_test.go", "+ test/e2e/webhooks_test.go",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	contains(t, texts, map[string][]string{
		"api/v1/policy_types.go": {" plural=policies storage=true\n//kube:conversion strategy=Webhook service=policy-system/policy-controller path=/convert/policies\n"},
		"api/v2/policy_types.go": {" version=v2 kind=Policy plural=policies\n//kube:description"},
		"api/v2/policy_conversion.go": {
			"func PolicyToV1(in *Policy) (*v1.Policy, error) {\n\treturn &v1.Policy{\n\t\tSpec:   policySpecToV1(in.Spec),",
			"func policySpecFromV1(in v1.PolicySpec) PolicySpec {\n\treturn PolicySpec{\n\t\tMessage: in.Message,\n",
		},
		"internal/webhook/policy_conversion.go": {
			"[]conversion.Spoke[v1.Policy]{\n\t\tconversion.Between(v2.PolicyToV1, v2.PolicyFromV1),\n\t\tconversion.Between(v3alpha1.PolicyToV1, v3alpha1.PolicyFromV1),\n\t}",
			"resourceNames=policies.shop.example.org,",
		},
		"internal/webhook/webhooks.go":  {"{\n\t\tpolicyConverter,\n\t}"},
		"config/samples/policy_v2.yaml": {"apiVersion: shop.example.org/v2\n"},
		"config/deploy/controller.yaml": {
			"        - -metrics=:8080\n        - -webhooks=:9443\n",
			"since the first lists of the caches may need conversions\n          httpGet:\n            path: /readyz\n            port: 9443\n            scheme: HTTPS\n          periodSeconds: 2\n",
		},
		"config/webhook/service.yaml": {"  name: policy-controller\n  namespace: policy-system\n", `    app.kubernetes.io/name: "policy-controller"` + "\n"},
		"main.go": {
			"\twebhooks := flags.String(", "\t\tif err := controller.Install(ctx, c, webhook.CallAt(*webhookURL)); err != nil {",
			"\t\tif err := webhook.Add(m, c, *webhooks, *webhookURL); err != nil {", `"example.org/shop/internal/webhook"`,
		},
		"test/e2e/e2e_test.go":         {"controller.Install(ctx, c, callWebhooks)", "\tm := kube.NewManager(c, nil)\n\taddWebhooks(ctx, t, m, c)\n"},
		"api/v3alpha1/doc.go":          {"package v3alpha1\n"},
		"api/v3alpha1/policy_types.go": {"package v3alpha1\n"},
	})
	if n := strings.Count(texts["api/v1/policy_types.go"], "//kube:conversion"); n != 1 {
		t.Errorf("//kube:conversion occurs %d times", n)
	}
}

// TestAddVersionCopiesPackageMarkers promises that the new package has the markers of the package that determine how
// its types are read, and only those.
func TestAddVersionCopiesPackageMarkers(t *testing.T) {
	tree := open(t, started(t),
		"api/v1/doc.go", "", "//kube:output rbac=config/rbac\n\n"+
			"// +kubebuilder:rbac:groups=\"\",resources=pods,verbs=get\n\n"+
			"// Package v1 is version v1.\n// +kubebuilder:validation:Optional\n// +versionName=v1\npackage v1\n",
		"api/v1/more.go", "", "package v1\n\n// +kubebuilder:ac:generate=true\n\n// +kubebuilder:object:generate=true\n\n"+
			"// Other is a type.\ntype Other struct{}\n",
	)
	if err := tree.AddVersion("Policy", "", "v2"); err != nil {
		t.Fatal(err)
	}
	_, texts := summary(t, tree)
	const want = "// Package v2 is version v2 of the API group shop.example.org.\n//\n" +
		"// +kubebuilder:validation:Optional\n// +kubebuilder:ac:generate=true\npackage v2\n"
	if diff := cmp.Diff(want, texts["api/v2/doc.go"]); diff != "" {
		t.Errorf("api/v2/doc.go (-want +got):\n%s", diff)
	}
}

// TestGroupedKindsAreKinds promises that kinds are found in a group of types, and with an empty line below the markers.
func TestGroupedKindsAreKinds(t *testing.T) {
	const marker = "//kube:resource group=shop.example.org version=v1 kind=Order"
	for name, text := range map[string]string{
		"a group":       "type (\n\t// OrderSpec is.\n\t//\n\t" + marker + "\n\tOrderSpec struct{}\n)\n",
		"an empty line": marker + "\n\n// OrderSpec is.\ntype OrderSpec struct{}\n",
	} {
		tree := open(t, started(t), "api/v1/order_types.go", "", "package v1\n\n"+text)
		err := tree.AddKind(&scaffold.Kind{Name: "Order"})
		if err == nil || !strings.HasPrefix(err.Error(), "kind Order is in ") {
			t.Errorf("%s: AddKind = %v, want an error", name, err)
		}
		if err := tree.AddVersion("Order", "", "v2"); err != nil {
			t.Errorf("%s: AddVersion = %v", name, err)
			continue
		}
		_, texts := summary(t, tree)
		contains(t, texts, map[string][]string{
			"api/v1/order_types.go": {marker + " storage=true\n"},
			"api/v2/order_types.go": {strings.Replace(marker, "v1", "v2", 1) + "\n"},
		})
	}
}

// policyTypes has fields of many shapes, and types of another file.
const policyTypes = `package v1

import "time"

//kube:resource group=shop.example.org version=v1 kind=Policy storage=true
//kube:subresource status=Progress
type PolicySpec struct {
	Common ` + "`json:\",inline\"`" + `
	Rules  []Rule
	Byname map[string]*Rule
	Mode   Mode
	Modes  []Mode
	Deep   [][]Rule
	When, Until time.Duration
	Pair   [2]Rule
	By     map[Mode]string
	hidden int
}

type Progress struct{ Last *Rule }
type Mode string
`

const commonTypes = `package v1

type Common struct{ Team string }

type (
	Rule struct { Allow bool; Next *Rule; Names Names }
	Names []string
)
`

func TestConversionsOfManyShapes(t *testing.T) {
	tree := open(t, started(t), "api/v1/policy_types.go", "", policyTypes, "api/v1/common.go", "", commonTypes)
	if err := tree.AddVersion("Policy", "", "v2"); err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, f := range tree.Files() {
		texts[f.Path] = strings.Join(strings.Fields(string(f.Content)), " ")
	}
	contains(t, texts, map[string][]string{
		"api/v2/common.go": {"package v2 type Common struct"},
		"api/v2/policy_conversion.go": {
			"Status: progressToV1(in.Status),",
			"return v1.PolicySpec{ Common: commonToV1(in.Common), Rules: convertList(in.Rules, ruleToV1), " +
				"Byname: convertMap(in.Byname, func(in *Rule) *v1.Rule { return convertPointer(in, ruleToV1) }), " +
				"Mode: modeToV1(in.Mode), Modes: convertList(in.Modes, modeToV1), " +
				"Deep: convertList(in.Deep, func(in []Rule) []v1.Rule { return convertList(in, ruleToV1) }), " +
				"When: in.When, Until: in.Until, // TODO: convert Pair, which is an array. // TODO: convert By, which has keys of another type. }",
			"func modeFromV1(in v1.Mode) Mode { return Mode(in) }",
			"func namesToV1(in Names) v1.Names { return v1.Names(in) }",
			"return Rule{ Allow: in.Allow, Next: convertPointer(in.Next, ruleFromV1), Names: namesFromV1(in.Names), }",
			"func convertPointer[A, B any](", "func convertList[A, B any](", "func convertMap[K comparable, A, B any](",
		},
	})
	if n := strings.Count(texts["api/v2/policy_conversion.go"], "func ruleToV1("); n != 1 {
		t.Errorf("ruleToV1 is declared %d times", n)
	}
}

func TestAddWebhook(t *testing.T) {
	tree := open(t, started(t))
	if err := tree.AddWebhook("Policy", "", scaffold.Webhooks{Validate: true, Mutate: true}); err != nil {
		t.Fatal(err)
	}
	_, texts := summary(t, tree)
	contains(t, texts, map[string][]string{
		"internal/webhook/webhooks.go":        {`"/validate/policies": kube.ValidateHandler(validatePolicy, nil),`, `"/mutate/policies":   kube.MutateHandler(mutatePolicy, nil),`},
		"internal/webhook/policy_validate.go": {"path=/validate/policies,mutating=false,", "versions=v1,name=validate.policies.shop.example.org,", "serviceName=policy-controller,serviceNamespace=policy-system\n"},
		"internal/webhook/policy_mutate.go":   {"path=/mutate/policies,mutating=true,"},
	})
	if n := strings.Count(texts["main.go"], "webhook.Add("); n != 1 {
		t.Errorf("main.go calls webhook.Add %d times", n)
	}
	var paths []string
	p := shop()
	p.Webhook = true
	for _, f := range files(t, p) {
		if want, ok := texts[f.Path]; ok {
			paths = append(paths, f.Path)
			if diff := cmp.Diff(want, string(f.Content)); diff != "" {
				t.Errorf("%s differs from that of a project that begins with webhooks:\n%s", f.Path, diff)
			}
		}
	}
	if len(paths) != len(texts) {
		t.Errorf("a project that begins with webhooks has only %v", paths)
	}
}

func TestMistakesChangeNothing(t *testing.T) {
	kind := func(k scaffold.Kind) func(*scaffold.Tree) error {
		return func(t *scaffold.Tree) error { return t.AddKind(&k) }
	}
	version := func(name, version string) func(*scaffold.Tree) error {
		return func(t *scaffold.Tree) error { return t.AddVersion(name, "", version) }
	}
	hook := func(name string, w scaffold.Webhooks) func(*scaffold.Tree) error {
		return func(t *scaffold.Tree) error { return t.AddWebhook(name, "", w) }
	}
	validate := scaffold.Webhooks{Validate: true}
	const second = "package v1\n\n//kube:resource group=shop.example.org version=v1 kind=Other\ntype OtherSpec struct{}\n"
	const percent = "package v1\n\ntype Percent int\n"
	const field, share = "type PolicySpec struct {\n", "type PolicySpec struct {\n\tShare Percent\n"
	const converter = "internal/webhook/policy_conversion.go"
	const hub = "package webhook\n\nimport v1 \"example.org/shop/api/other/v1\"\n\nvar _ = []conversion.Spoke[v1.Policy]{}\n"
	for _, tt := range []struct {
		name  string
		edits []string
		do    func(*scaffold.Tree) error
		want  string
	}{
		{"a bad kind", nil, kind(scaffold.Kind{Name: "order"}), `kind "order" must begin with a capital letter`},
		{"a bad group", nil, kind(scaffold.Kind{Name: "Order", Group: "shop"}), `group "shop" must have a dot in it, such as shop.example.com: set it with -group`},
		{"a bad version", nil, kind(scaffold.Kind{Name: "Order", Version: "2"}), `version "2" is not a version: use one such as v2`},
		{"an existing kind", nil, kind(scaffold.Kind{Name: "Policy"}), "kind Policy is in api/v1/policy_types.go already: choose another name, or add a version"},
		{"a kind in other letters", nil, kind(scaffold.Kind{Name: "POLICY"}), "kind Policy is in api/v1/policy_types.go already"},
		{"an existing plural", []string{"api/v1/policy_types.go", "plural=policies", "plural=orders"}, kind(scaffold.Kind{Name: "Order"}), "kind Order has the plural orders, as Policy"},
		{"an existing type", []string{"api/v1/more.go", "", "package v1\n\ntype OrderSpec struct{}\n"}, kind(scaffold.Kind{Name: "Order"}), "api/v1/more.go declares OrderSpec"},
		{"an existing file", []string{"config/samples/order.yaml", "", "x: y\n"}, kind(scaffold.Kind{Name: "Order"}), "the project has config/samples/order.yaml already"},
		{"a file that the project has", nil, kind(scaffold.Kind{Name: "Controllers"}), "internal/controller/controllers.go, internal/controller/controllers_test.go already"},
		{"another group in the package", []string{"api/other/v1/o.go", "", strings.ReplaceAll(second, "shop.", "other.")}, kind(scaffold.Kind{Name: "Order", Group: "other.example.com"}), "api/other/v1 is version v1 of the group other.example.org, and can't have a kind of other.example.com/v1: set -group=other.example.org and -version=v1"},
		{"no group", []string{"api/v1/policy_types.go", "//kube:resource", "// resource"}, kind(scaffold.Kind{Name: "Order"}), "it has no group: set one with -group"},
		{"several groups", []string{"api/other/v1/o.go", "", strings.ReplaceAll(second, "shop.", "other.")}, kind(scaffold.Kind{Name: "Order"}), "the project has the groups other.example.org, shop.example.org: choose one with -group"},
		{"another package clause", []string{"api/v2/x.go", "", "package two\n"}, kind(scaffold.Kind{Name: "Order", Version: "v2"}), "api/v2 is package two, and a new kind needs package v2"},
		{"no function Add", []string{"internal/controller/controllers.go", "func Add(", "func Install2("}, kind(scaffold.Kind{Name: "Order"}), "internal/controller/controllers.go: it has no function Add. Add this by hand where it belongs, and then run the command again:\n\n\taddOrder(m, c, cache)\n\nNothing was changed"},
		{"no list of definitions", []string{"internal/controller/controllers.go", "func definitions(", "func all("}, kind(scaffold.Kind{Name: "Order"}), "it has no function definitions"},
		{"no field manager", []string{"internal/controller/controllers.go", "const FieldManager", "const Manager"}, kind(scaffold.Kind{Name: "Order"}), "package controller has no constant FieldManager"},
		{"a file that does not parse", []string{"internal/controller/controllers.go", "package controller", "package"}, kind(scaffold.Kind{Name: "Order"}), "internal/controller/controllers.go:4:1: expected 'IDENT'"},
		{"a marker that is wrong", []string{"api/v1/policy_types.go", "kind=Policy", "kinds=Policy"}, kind(scaffold.Kind{Name: "Order"}), "api/v1/policy_types.go:15:1: "},

		{"a version of an unknown kind", nil, version("Order", "v2"), "the project has no kind Order marked //kube:resource; it has Policy"},
		{"an existing version", nil, version("Policy", "v1"), "kind Policy has the version v1 already, in api/v1/policy_types.go"},
		{"a bad name of a version", nil, version("Policy", "latest"), `version "latest" is not a version`},
		{"two kinds in one file", []string{"api/v1/policy_types.go", "type PolicyStatus", "//kube:resource group=shop.example.org version=v1 kind=Other\ntype OtherSpec struct{}\n\ntype PolicyStatus"}, version("Policy", "v2"), "api/v1/policy_types.go has the kinds Policy and Other: move one"},
		{"no stored version", []string{"api/v2/p.go", "", strings.NewReplacer("v1", "v2", "Other", "Policy").Replace(second)}, version("Policy", "v3"), "no version of Policy is marked storage=true"},
		{"a definition without conversions", []string{"api/v1/policy_types.go", "//kube:description", "//kube:conversion strategy=None\n//kube:description"}, version("Policy", "v2"), "api/v1/policy_types.go: it has the marker //kube:conversion strategy=None, with which the API server does not call the webhook: remove it. Add this by hand where it belongs, and then run the command again:\n\n//kube:conversion strategy=Webhook service=policy-system/policy-controller path=/convert/policies\n"},
		{"a converter without a hub", []string{converter, "", "package webhook\n"}, version("Policy", "v2"), converter + ": it has no list of the type []conversion.Spoke[…], which names the hub of the conversions. Add this by hand"},
		{"a hub of another package", []string{converter, "", hub}, version("Policy", "v2"), converter + " converts to the version in example.org/shop/api/other/v1, which is none of kind Policy of the group shop.example.org: change the type of its spokes"},
		{"a constant in the file of another kind", []string{"api/v1/policy_types.go", `"Ready"`, "ready", "api/v1/other.go", "", second + "\nconst ready = \"Ready\"\n"}, version("Policy", "v2"), "api/v1/other.go has another kind, and declares ready, which Policy uses: move ready to a file of its own first"},
		{
			"a method in the file of another kind", []string{
				"api/v1/percent.go", "", percent, "api/v1/policy_types.go", field, share,
				"api/v1/other.go", "", second + "\nfunc (p Percent) String() string { return \"\" }\n",
			}, version("Policy", "v2"), "api/v1/other.go has another kind, and declares Percent.String, which Policy uses: " +
				"move Percent.String to a file of its own first",
		},
		{
			"a method that uses another kind", []string{
				"api/v1/percent.go", "", percent + "\nfunc (p Percent) Of(*Other) int { return 0 }\n",
				"api/v1/policy_types.go", field, share, "api/v1/other.go", "", second,
			}, version("Policy", "v2"), "api/v1/percent.go: the function Of uses the kind Other, which api/v2 does not have, " +
				"and a copy of the file does not compile there: move the function to another file first",
		},
		{
			"other markers of the package", []string{
				"api/v1/doc.go", "package v1", "// +kubebuilder:validation:Optional\npackage v1",
				"api/v2/p.go", "", strings.ReplaceAll(second, "v1", "v2"),
			}, version("Policy", "v2"), "api/v1 has the marker +kubebuilder:validation:Optional and api/v2 does not, so the " +
				"copied types would have other required fields: use the same markers in both packages first",
		},
		{"no deployment", []string{"config/deploy/controller.yaml", "kind: Deployment", "kind: DaemonSet"}, version("Policy", "v2"), "config/deploy/controller.yaml has no Deployment"},

		{"another probe", []string{"config/deploy/controller.yaml", "path: /readyz", "path: /ready"}, version("Policy", "v2"), "config/deploy/controller.yaml: the readiness probe is not /readyz of the port health. Add this by hand"},
		{"a webhook of an unknown kind", nil, hook("Order", validate), "the project has no kind Order"},
		{"no webhook", nil, hook("Policy", scaffold.Webhooks{}), "no webhook is chosen: set -validate"},
		{"a conversion of one version", nil, hook("Policy", scaffold.Webhooks{Conversion: true}), "kind Policy has only the version v1"},
		{"a conversion without functions", []string{
			"api/v1/policy_types.go", "plural=policies", "plural=policies storage=true",
			"api/v2/p.go", "", strings.NewReplacer("v1", "v2", "Other", "Policy").Replace(second),
		}, hook("Policy", scaffold.Webhooks{Conversion: true}), "nothing converts version v2. Add this by hand"},
		{"no manager", []string{"main.go", "return m.Run(ctx)", "return start(m)"}, hook("Policy", validate), "main.go: it has no function run with flags.Parse, kube.NewManager and return m.Run"},
		{"no arguments", []string{"config/deploy/controller.yaml", "        - -", "        - --"}, hook("Policy", validate), "config/deploy/controller.yaml: the container has no argument"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tree := open(t, started(t), tt.edits...)
			err := tt.do(tree)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			if lines, _ := summary(t, tree); len(lines) > 0 {
				t.Errorf("changes: %v", lines)
			}
		})
	}
}

// TestWebhooksNeedNeitherInstallNorStart holds that authors may remove the flag -install, and change the end-to-end
// tests.
func TestWebhooksNeedNeitherInstallNorStart(t *testing.T) {
	tree := open(t, started(t), "main.go", "controller.Install(ctx, c)", "install(ctx, c)", "test/e2e/e2e_test.go", "func start(", "func begin(")
	if err := tree.AddWebhook("Policy", "", scaffold.Webhooks{Validate: true}); err != nil {
		t.Fatal(err)
	}
	_, texts := summary(t, tree)
	contains(t, texts, map[string][]string{"main.go": {"install(ctx, c)", "webhook.Configure(ctx, c, "}})
	for path := range texts {
		if strings.HasPrefix(path, "test/") {
			t.Errorf("%s has changed", path)
		}
	}
}

// TestTestsOfAKindNeedTheHelpersOfTheProject holds that a new kind has no test that does not compile, if authors have
// changed the functions that it calls.
func TestTestsOfAKindNeedTheHelpersOfTheProject(t *testing.T) {
	tree := open(t, started(t), "internal/controller/controllers_test.go", "func manifests(", "func files(",
		"test/e2e/e2e_test.go", "func start(", "func begin(")
	if err := tree.AddKind(&scaffold.Kind{Name: "Order", Version: "v1"}); err != nil {
		t.Fatal(err)
	}
	_, texts := summary(t, tree)
	if texts["internal/controller/order.go"] == "" {
		t.Error("the kind has no controller")
	}
	for path := range texts {
		if strings.HasSuffix(path, "order_test.go") {
			t.Errorf("%s is created", path)
		}
	}
}

// TestConfigurationsHaveOneName holds that one marker names each configuration, and none if a project has only
// conversions.
func TestConfigurationsHaveOneName(t *testing.T) {
	tree := open(t, started(t))
	count := func(want int) {
		t.Helper()
		n := 0
		for _, f := range tree.Files() {
			n += strings.Count(string(f.Content), "+kubebuilder:webhookconfiguration:")
		}
		if n != want {
			t.Errorf("%d markers, want %d", n, want)
		}
	}
	if err := errors.Join(tree.AddVersion("Policy", "", "v2"), tree.AddKind(&scaffold.Kind{Name: "Order", Version: "v1"})); err != nil {
		t.Fatal(err)
	}
	count(0)
	for _, name := range []string{"Policy", "Order"} {
		if err := tree.AddWebhook(name, "", scaffold.Webhooks{Validate: true, Mutate: true}); err != nil {
			t.Fatal(err)
		}
		count(2)
	}
}

func TestAWebhookIsNotAddedTwice(t *testing.T) {
	tree := open(t, started(t))
	validate := scaffold.Webhooks{Validate: true}
	if err := tree.AddWebhook("Policy", "", validate); err != nil {
		t.Fatal(err)
	}
	before := len(tree.Changes())
	err := tree.AddWebhook("Policy", "", scaffold.Webhooks{Validate: true, Mutate: true})
	if err == nil || !strings.Contains(err.Error(), "internal/webhook/policy_validate.go declares validatePolicy already") {
		t.Errorf("AddWebhook = %v", err)
	}
	if n := len(tree.Changes()); n != before {
		t.Errorf("%d changes, want %d", n, before)
	}
}

func TestOpenChecksTheModule(t *testing.T) {
	for _, tt := range []struct{ mod, want string }{
		{"", "it has no go.mod"},
		{"go 1.26.0\n", "go.mod has no module line"},
		{"module example.com/x\n", "go.mod does not require github.com/kube-go/sdk/kube"},
		{"module (\n", "go.mod:2: syntax error"},
	} {
		dir := t.TempDir()
		if tt.mod != "" {
			if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(tt.mod), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := scaffold.Open(dir); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Open of %q = %v, want %q", tt.mod, err, tt.want)
		}
	}
}

// TestFilesMayBeWrittenDifferently checks that equivalent edits of a project cause the same changes.
func TestFilesMayBeWrittenDifferently(t *testing.T) {
	changes := func(edits ...string) []string {
		tree := open(t, started(t), edits...)
		if err := tree.AddKind(&scaffold.Kind{Name: "Order"}); err != nil {
			t.Fatal(err)
		}
		if err := tree.AddWebhook("Policy", "", scaffold.Webhooks{Validate: true}); err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, c := range tree.Changes() {
			if c.New || c.Path == "internal/controller/controllers.go" {
				list = append(list, c.Path, string(c.Content))
			}
		}
		return list
	}
	want := changes()
	for _, edit := range [][]string{
		{"go.mod", "module example.org/shop\n", "module ( // the shop\n\t\"example.org/shop\"\n)\n"},
		{"config/deploy/controller.yaml", "---\n", "--- # next\n"},
	} {
		if diff := cmp.Diff(want, changes(edit...)); diff != "" {
			t.Errorf("with other changes if %s has %q (-want +got):\n%s", edit[0], edit[2], diff)
		}
	}
}

func TestApplyUndoes(t *testing.T) {
	dir := started(t)
	tree := open(t, dir)
	before := fmt.Sprint(read(t, dir))
	if err := tree.AddVersion("Policy", "", "v2"); err != nil {
		t.Fatal(err)
	}
	undo, err := scaffold.Apply(dir, tree.Changes())
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(read(t, dir)) == before {
		t.Error("nothing has changed")
	}
	if err := undo(); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(read(t, dir)) != before {
		t.Error("the changes were not undone")
	}
	if _, err := os.Stat(filepath.Join(dir, "internal/webhook")); err == nil {
		t.Error("an empty folder stays")
	}

	// A file that somebody else changes meanwhile stays, and nothing else changes.
	open(t, dir, "main.go", "package main", "// Edited.\npackage main")
	edited := fmt.Sprint(read(t, dir))
	if _, err := scaffold.Apply(dir, tree.Changes()); err == nil || !strings.Contains(err.Error(), "main.go has changed meanwhile") {
		t.Errorf("Apply = %v", err)
	}
	if fmt.Sprint(read(t, dir)) != edited {
		t.Error("a part of the changes was made")
	}
}

func read(t *testing.T, dir string) []scaffold.File {
	t.Helper()
	list, err := scaffold.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return list
}
