// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package generate_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/derive"
	"github.com/kube-go/sdk/derive/generate"
	"github.com/kube-go/sdk/derive/generate/testdata/shapes"
	"github.com/kube-go/sdk/derive/validation"
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

// Task is a kind with types of Kubernetes that have most in them.
type Task struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec struct {
		Template corev1.PodTemplateSpec           `json:"template"`
		Claim    corev1.PersistentVolumeClaimSpec `json:"claim,omitzero"`
		Service  *corev1.ServiceSpec              `json:"service,omitempty"`
		Policy   []networkingv1.NetworkPolicySpec `json:"policy,omitempty"`
	} `json:"spec"`
}

// KubeResource tells what the kind is called.
func (Task) KubeResource() core.Resource {
	return core.Resource{Group: "shapes.example.com", Version: "v1", Kind: "Task", Plural: "tasks"}
}

func TestReflectionTakesWhatKubernetesHas(t *testing.T) {
	crd, err := derive.CRD[Task]()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range validation.Check(crd) {
		t.Error(p)
	}
	path := []string{"spec", "template", "spec", "containers"}
	at := crd.Object["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any)["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any)
	for _, name := range path {
		at = at["properties"].(map[string]any)[name].(map[string]any)
	}
	if text, ok := at["description"].(string); !ok || !strings.Contains(text, "containers belonging to the pod") {
		t.Errorf("description of %s = %q, want what Kubernetes says of it", strings.Join(path, "."), at["description"])
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
