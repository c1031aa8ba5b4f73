// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kube-go/sdk/kube"
)

// TestServerAcceptsDerivedCRDs checks that the server accepts every CustomResourceDefinition that kube-derive
// generates from the types in its testdata, which use all its features.
func TestServerAcceptsDerivedCRDs(t *testing.T) { // not in parallel: other tests install one of these definitions
	c := connect(t, nil)
	golden, err := filepath.Glob("../../derive/generate/testdata/*/crds/*.yaml")
	if err != nil || len(golden) < 4 {
		t.Fatalf("CRDs of testdata = %v, %v", golden, err)
	}
	for _, path := range golden {
		takes(t, c, path)
	}
}

// TestServerAcceptsCRDsOfKubernetesTypes checks that the server accepts the definitions that kube-derive generates from
// the types of Kubernetes, which API authors embed.
func TestServerAcceptsCRDsOfKubernetesTypes(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	dir := t.TempDir()
	deriveCRDs(t, "../oracle", dir, "./kinds")
	generated, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil || len(generated) < 40 {
		t.Fatalf("CRDs of the types of Kubernetes = %v, %v", generated, err)
	}
	for _, path := range generated {
		takes(t, c, path)
	}
}

// deriveCRDs runs kube-derive in a module of this repository.
func deriveCRDs(t *testing.T, module, out string, patterns ...string) {
	t.Helper()
	goAlone(t, module, programPath(t, "kube-derive"), append([]string{"crd", "--out", out}, patterns...)...)
}

// goAlone runs a command that uses the go command in a module, without the workspace.
func goAlone(t *testing.T, module, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0") // like the programs of users, see newUser
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
}

// takes checks that the server accepts the definition in a file, in a dry run with strict validation.
func takes(t *testing.T, c *kube.Client, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	crd := &unstructured.Unstructured{}
	if text, err = yaml.YAMLToJSON(text); err != nil {
		t.Fatal(err)
	}
	if err := crd.UnmarshalJSON(text); err != nil {
		t.Fatal(err)
	}
	want := crd.DeepCopy()
	crds := kube.Dynamic(c, kube.CRDResource())
	got, err := crds.Create(limit(t), crd, &kube.CreateOptions{DryRun: true, FieldValidation: metav1.FieldValidationStrict})
	if err != nil {
		t.Errorf("%s: %v", filepath.Base(path), err)
		return
	}
	for _, field := range missing("", want.Object, got.Object) {
		t.Errorf("%s: the server dropped or changed %s", filepath.Base(path), field)
	}
}
