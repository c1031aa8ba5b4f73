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

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/kube"
)

// TestDeclaredValidation promises that the server refuses what the markers of Kubernetes' own validation say it should, in
// the words that are promised, and nothing else.
func TestDeclaredValidation(t *testing.T) {
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
	res := kube.Resource{Group: "declared.example.com", Version: "v1", Kind: "Declared", Plural: "declareds", Namespaced: true}
	objects := kube.Dynamic(c, res).In(newNamespace(t, c))
	var cases []struct {
		Name   string         `json:"name"`
		Create map[string]any `json:"create"`
		Update map[string]any `json:"update"`
		Wants  string         `json:"wants"`
	}
	readYAML(t, filepath.Join(dir, "cases.yaml"), &cases)
	if len(cases) < 50 {
		t.Fatalf("%d cases, want all of them", len(cases))
	}
	for _, tt := range cases {
		t.Run(tt.Name, func(t *testing.T) {
			obj := &unstructured.Unstructured{Object: map[string]any{"spec": withText(tt.Create)}}
			obj.SetGenerateName("case-")
			made, err := objects.Create(limit(t), obj, &kube.CreateOptions{FieldValidation: request.ValidationStrict})
			if tt.Update != nil {
				if err != nil {
					t.Fatalf("Create before the update: %v", err)
				}
				made.Object["spec"] = withText(tt.Update)
				_, err = objects.Update(limit(t), made, nil)
			}
			switch {
			case tt.Wants == "" && err != nil:
				t.Errorf("the server refuses it: %v", err)
			case tt.Wants != "" && (err == nil || !strings.Contains(err.Error(), tt.Wants)):
				t.Errorf("the server says %v, want %q in it", err, tt.Wants)
			}
		})
	}
}

// withText adds the field that each object of the cases has.
func withText(spec map[string]any) map[string]any {
	if _, ok := spec["text"]; !ok {
		spec["text"] = "abc"
	}
	return spec
}

// readYAML decodes a file.
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
