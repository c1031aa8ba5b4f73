// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package generate_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kube-go/sdk/derive/generate"
	"github.com/kube-go/sdk/derive/validation"
)

const declaredDir = "testdata/declared"

// declaredCase is one of the cases.yaml, which the end-to-end tests try on a real server.
type declaredCase struct {
	Name   string         `json:"name"`
	Create map[string]any `json:"create"`
	Update map[string]any `json:"update"`
	Wants  string         `json:"wants"`
}

// object is an object with a spec.
func (declaredCase) object(spec map[string]any) *unstructured.Unstructured {
	if _, ok := spec["text"]; !ok {
		spec["text"] = "abc"
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "declared.example.com/v1",
		"kind":       "Declared",
		"metadata":   map[string]any{"name": "a", "namespace": "default", "resourceVersion": "1"},
		"spec":       spec,
	}}
}

func TestDeclaredValidationHolds(t *testing.T) {
	files, err := generate.CRDs(t.Context(), []string{"./..."}, &generate.Options{Dir: declaredDir})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(declaredDir, "crds", "declared.example.com_declareds.yaml")
	if *update {
		if _, err := files.Write(); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(readFile(t, path), string(files.Files[0].Content)); diff != "" {
		t.Errorf("the CRD is not as committed; run go test -update if it should change:\n%s", diff)
	}
	crd := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(files.Files[0].Content, &crd.Object); err != nil {
		t.Fatal(err)
	}
	validator, err := validation.New(crd, "v1", nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := os.ReadFile(filepath.Join(declaredDir, "cases.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []declaredCase
	if err := yaml.UnmarshalStrict(body, &cases); err != nil {
		t.Fatal(err)
	}
	for _, tt := range cases {
		t.Run(tt.Name, func(t *testing.T) {
			created := tt.object(tt.Create)
			created.SetResourceVersion("")
			err := validator.Create(created)
			if tt.Update != nil {
				if err != nil {
					t.Fatalf("Create = %v, want nothing before the update", err)
				}
				err = validator.Update(tt.object(tt.Update), tt.object(tt.Create))
			}
			switch {
			case tt.Wants == "" && err != nil:
				t.Errorf("the object is refused: %v", err)
			case tt.Wants != "" && (err == nil || !strings.Contains(err.Error(), tt.Wants)):
				t.Errorf("the object is refused with %v, want %q in it", err, tt.Wants)
			}
		})
	}
}
