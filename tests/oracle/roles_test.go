// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package oracle_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/rbac"
	"sigs.k8s.io/controller-tools/pkg/webhook"
	"sigs.k8s.io/yaml"

	"github.com/kube-go/sdk/derive/generate"
)

// Each random case is a role, so that one run covers all cases.
const randomRoles = 500

// TestRolesEqualThoseOfControllerGen checks that markers are merged into the same rules, in the same order.
func TestRolesEqualThoseOfControllerGen(t *testing.T) {
	t.Run("of cluster-api", func(t *testing.T) {
		compareManifests(t, "", controllersOfClusterAPI(), generate.Roles, rbac.Generator{RoleName: "manager-role"}, 1)
	})
	t.Run("of random rules", func(t *testing.T) {
		dir := t.TempDir()
		r := rand.New(rand.NewPCG(1, 2))
		var source strings.Builder
		source.WriteString("package random\n\n")
		for role := range randomRoles {
			for range 1 + r.IntN(8) {
				fmt.Fprintf(&source, "// +kubebuilder:rbac:%s,roleName=r%03d\n", randomRule(r), role)
			}
			source.WriteString("\n")
		}
		writeFiles(t, dir, map[string]string{"go.mod": "module example.com/random\n\ngo 1.26.0\n", "random.go": source.String()})
		compareManifests(t, dir, []string{"./..."}, generate.Roles, rbac.Generator{RoleName: "manager-role"}, randomRoles)
	})
}

// controllersOfClusterAPI are the packages with markers for permissions. They can't be built here, because their
// imports are not required.
func controllersOfClusterAPI() []string {
	const root = "sigs.k8s.io/cluster-api/"
	return []string{
		root + "bootstrap/kubeadm/internal/controllers", root + "controlplane/kubeadm/internal/controllers",
		root + "internal/controllers/...", root + "internal/webhooks",
	}
}

// randomRule writes one rule with a small vocabulary, so that many rules can be merged.
func randomRule(r *rand.Rand) string {
	some := func(words ...string) string {
		r.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
		return strings.Join(words[:1+r.IntN(len(words))], ";")
	}
	if r.IntN(5) == 0 {
		return fmt.Sprintf("urls=%s,verbs=%s", some("/a", "/b", "/c"), some("get", "post"))
	}
	rule := fmt.Sprintf("groups=%s,resources=%s,verbs=%s", some(`""`, "core", "apps", "a.example.com"), some("pods", "things", "pods/status"),
		some("get", "list", "watch", "*"))
	if r.IntN(4) == 0 {
		rule += ",resourceNames=" + some("x", "y")
	}
	if r.IntN(4) == 0 {
		rule += ",namespace=" + []string{"prod", "test"}[r.IntN(2)]
	}
	return rule
}

// TestWebhooksEqualThoseOfControllerGen checks that the same markers produce the same configurations.
func TestWebhooksEqualThoseOfControllerGen(t *testing.T) {
	t.Run("of cluster-api", func(t *testing.T) {
		compareManifests(t, "", []string{"sigs.k8s.io/cluster-api/internal/webhooks"}, generate.Webhooks, webhook.Generator{}, 2)
	})
	t.Run("of each argument", func(t *testing.T) {
		const common = "// +kubebuilder:webhook:groups=apps,resources=deployments,versions=v1,admissionReviewVersions=v1,"
		dir := t.TempDir()
		writeFiles(t, dir, map[string]string{"go.mod": "module example.com/hooks\n\ngo 1.26.0\n", "hooks.go": `package hooks

` + common + `name=z.example.com,path=/validate,mutating=false,failurePolicy=fail,sideEffects=None,verbs=create;update
` + common + `name=a.example.com,path=/validate/a,mutating=false,failurePolicy=Ignore,sideEffects=noneOnDryRun,verbs=*,matchPolicy=exact,timeoutSeconds=5
` + common + `name=m.example.com,path=/mutate,mutating=true,failurePolicy=ignore,sideEffects=none,verbs=DELETE;connect,reinvocationPolicy=ifneeded,serviceName=s,serviceNamespace=n,servicePort=8443
` + common + `name=u.example.com,url="https://a.example.com:8443/x",mutating=true,failurePolicy=fail,sideEffects=None,verbs=create,matchPolicy=Equivalent,webhookVersions=v1
// +kubebuilder:webhook:groups=core;"",resources=pods/*,versions=*,admissionReviewVersions={v1,v1beta1},name=p.example.com,path=/p,mutating=false,failurePolicy=fail,sideEffects=None,verbs={create},patch=` +
			"`" + `{"namespaceSelector":{"matchLabels":{"a":"b"}},"objectSelector":{"matchExpressions":[{"key":"k","operator":"In","values":["v"]}]},"matchConditions":[{"name":"x","expression":"true"}],"timeoutSeconds":7,"matchPolicy":"Exact"}` + "`" + `

// +kubebuilder:webhookconfiguration:mutating=true,name=ours
`})
		compareManifests(t, dir, []string{"./..."}, generate.Webhooks, webhook.Generator{}, 2)
	})
}

// compareManifests compares the file that both tools generate from the same packages, document by document.
func compareManifests(t *testing.T, dir string, packages []string, ours generateFunc, theirs genall.Generator, documents int) {
	t.Helper()
	files, err := ours(t.Context(), packages, &generate.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if len(files.Files) != 1 {
		t.Fatalf("kube-derive wrote %d files, want one", len(files.Files))
	}
	for _, w := range files.Warnings {
		t.Logf("warning: %v", w)
	}
	got := documentsOf(t, files.Files[0].Content)
	if len(got) < documents {
		t.Errorf("%d documents, want at least %d", len(got), documents)
	}
	if dir != "" {
		t.Chdir(dir) // controller-gen reads the working directory
	}
	if diff := cmp.Diff(documentsOf(t, manifests(t, theirs, packages)), got); diff != "" {
		t.Errorf("controller-gen differs from kube-derive (-theirs +ours):\n%s", diff)
	}
}

// manifests returns the file that a generator of controller-gen writes.
func manifests(t *testing.T, g genall.Generator, packages []string) []byte {
	t.Helper()
	generators := genall.Generators{&g}
	run, err := generators.ForRoots(packages...)
	if err != nil {
		t.Fatalf("controller-gen: %v", err)
	}
	out := t.TempDir()
	var problems bytes.Buffer
	run.ErrorWriter = &problems
	run.OutputRules = genall.OutputRules{Default: genall.OutputToDirectory(out)}
	if run.Run() {
		t.Logf("controller-gen: %s", problems.String()) // of packages with missing imports
	}
	names, err := fs.Glob(os.DirFS(out), "*.yaml")
	if err != nil || len(names) != 1 {
		t.Fatalf("controller-gen wrote %v, %v; want one file", names, err)
	}
	content, err := os.ReadFile(filepath.Join(out, names[0]))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// documentsOf decodes each document of a file.
func documentsOf(t *testing.T, content []byte) []any {
	t.Helper()
	var all []any
	for doc := range bytes.SplitSeq(append([]byte("\n"), content...), []byte("\n---\n")) {
		var v any
		if err := yaml.Unmarshal(doc, &v); err != nil {
			t.Fatal(err)
		}
		if v != nil {
			all = append(all, v)
		}
	}
	return all
}

func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
