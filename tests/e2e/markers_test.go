// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kube-go/sdk/kube"
)

// TestDeclaredValidationIsEnforced checks that the server enforces the markers of Kubernetes' declarative validation
// with the expected messages, and rejects nothing else.
func TestDeclaredValidationIsEnforced(t *testing.T) {
	t.Parallel()
	const dir = "../../derive/generate/testdata/declared"
	c := connect(t, nil)
	crd := &unstructured.Unstructured{}
	readYAML(t, filepath.Join(dir, "crds", "declared.example.com_declareds.yaml"), &crd.Object)
	t.Cleanup(func() {
		err := kube.Dynamic(c, kube.CRDResource()).Delete(context.WithoutCancel(t.Context()), crd.GetName(), nil)
		if err != nil && !errors.Is(err, kube.ErrNotFound) {
			t.Error(err)
		}
	})
	if err := kube.InstallCRDs(limit(t), c, []*unstructured.Unstructured{crd}, nil); err != nil {
		t.Fatal(err)
	}
	res := kube.Resource{
		Group: "declared.example.com", Version: "v1", Kind: "Declared", Plural: "declareds", Namespaced: true,
	}
	objects := kube.Dynamic(c, res).In(newNamespace(t, c))
	var cases []struct {
		Name   string         `json:"name"`
		Create map[string]any `json:"create"`
		Update map[string]any `json:"update"`
		Wants  string         `json:"wants"`
	}
	readYAML(t, filepath.Join(dir, "cases.yaml"), &cases)
	if len(cases) < 50 {
		t.Fatalf("%d cases, want at least 50", len(cases))
	}
	for _, tt := range cases {
		t.Run(tt.Name, func(t *testing.T) {
			obj := &unstructured.Unstructured{Object: map[string]any{"spec": withText(tt.Create)}}
			obj.SetGenerateName("case-")
			made, err := objects.Create(limit(t), obj, &kube.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
			if tt.Update != nil {
				if err != nil {
					t.Fatalf("Create before the update: %v", err)
				}
				made.Object["spec"] = withText(tt.Update)
				_, err = objects.Update(limit(t), made, nil)
			}
			switch {
			case tt.Wants == "" && err != nil:
				t.Errorf("the server rejects the object: %v", err)
			case tt.Wants != "" && (err == nil || !strings.Contains(err.Error(), tt.Wants)):
				t.Errorf("error = %v, want one that contains %q", err, tt.Wants)
			}
		})
	}
}

// withText sets the field text, which each object of the cases needs, unless it is set, and returns the spec.
func withText(spec map[string]any) map[string]any {
	if _, ok := spec["text"]; !ok {
		spec["text"] = "abc"
	}
	return spec
}

// readYAML decodes a YAML file strictly.
func readYAML(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}
