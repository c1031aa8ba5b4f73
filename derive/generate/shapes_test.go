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

	"github.com/kube-go/sdk/derive"
	"github.com/kube-go/sdk/derive/generate"
	"github.com/kube-go/sdk/derive/generate/testdata/shapes"
)

// Types of every shape have one schema, however one looks at them: in their source, or by reflection.
func TestSourceAndReflectionAgree(t *testing.T) {
	dir := filepath.Join("testdata", "shapes")
	files, err := generate.CRDs(t.Context(), []string{"."}, &generate.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if len(files.Files) != 1 {
		t.Fatalf("CRDs made %d files, want one", len(files.Files))
	}
	made := files.Files[0]
	if *update {
		if _, err := files.Write(); err != nil {
			t.Fatal(err)
		}
	}
	old, err := os.ReadFile(made.Path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(old), string(made.Content)); diff != "" {
		t.Errorf("%s is not as committed; run go test -update if it should change:\n%s", made.Path, diff)
	}
	fromSource := &unstructured.Unstructured{}
	asJSON, err := yaml.YAMLToJSON(made.Content)
	if err != nil {
		t.Fatal(err)
	}
	if err := fromSource.UnmarshalJSON(asJSON); err != nil {
		t.Fatal(err)
	}
	byReflection, err := derive.CRD[shapes.Shape]()
	if err != nil {
		t.Fatal(err)
	}
	align(fromSource.Object, byReflection.Object)
	if diff := cmp.Diff(fromSource.Object, byReflection.Object); diff != "" {
		t.Errorf("CRD (-source +reflection):\n%s", diff)
	}
}

// align takes off what need not agree: comments are gone at run time, unless the type has a method that has them on one
// line.
func align(source, reflection any) {
	switch source := source.(type) {
	case map[string]any:
		other, _ := reflection.(map[string]any)
		for key, value := range source {
			text, isText := value.(string)
			switch said, ok := other[key].(string); {
			case key != "description" || !isText:
				align(value, other[key])
			case !ok:
				delete(source, key)
			default:
				source[key], other[key] = strings.Join(strings.Fields(text), " "), strings.Join(strings.Fields(said), " ")
			}
		}
	case []any:
		other, _ := reflection.([]any)
		for i, item := range source {
			if i < len(other) {
				align(item, other[i])
			}
		}
	}
}
