// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package derive_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/invopop/jsonschema"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/derive"
	"github.com/kube-go/sdk/derive/generate/testdata/zoo"
)

// Ship is a kind without generated code.
type Ship struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ShipSpec   `json:"spec"`
	Status ShipStatus `json:"status,omitzero"`
}

// KubeResource returns the names of the kind.
func (Ship) KubeResource() core.Resource {
	return core.Resource{
		Group: "ships.example.com", Version: "v1", Kind: "Ship", Plural: "ships", Namespaced: true,
		ShortNames: []string{"sh"}, Subresources: []string{"status"},
	}
}

// JSONSchemaExtend adds a description and a rule for two fields.
func (Ship) JSONSchemaExtend(s *jsonschema.Schema) {
	s.Description = "Ship is a ship."
	s.Extras = map[string]any{"x-kubernetes-validations": []map[string]string{
		{"rule": "self.spec.crew >= self.status.aboard", "message": "aboard must not exceed crew"},
	}}
}

type ShipSpec struct {
	Name     string `json:"name" jsonschema:"minLength=1,maxLength=80,description=Name is painted on the bow."`
	Crew     int32  `json:"crew" jsonschema:"minimum=1,default=2"`
	Replicas *int32 `json:"replicas,omitempty"`
}

type ShipStatus struct {
	Aboard   int32  `json:"aboard,omitempty" jsonschema:"default=0"`
	Replicas int32  `json:"replicas,omitempty"`
	Selector string `json:"selector,omitempty"`
}

func ExampleReflect() {
	crd, err := derive.Reflect[Ship](&derive.Options{
		Columns: []derive.Column{{Name: "Name", JSONPath: ".spec.name"}, {Name: "Crew", JSONPath: ".spec.crew"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := yaml.Marshal(crd.Object["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any)["additionalPrinterColumns"])
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s\n%s", crd.GetName(), text)
	// Output:
	// ships.ships.example.com
	// - jsonPath: .spec.name
	//   name: Name
	//   type: string
	// - jsonPath: .spec.crew
	//   name: Crew
	//   type: integer
}

func TestCRDMatchesGeneratedFile(t *testing.T) {
	crd, err := core.CRD[zoo.Zoo]()
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile("generate/testdata/zoo/crds/zoo.example.com_menageries.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(parsed(t, string(file)).Object, crd.Object); diff != "" {
		t.Errorf("CRD (-file +got):\n%s", diff)
	}
}

func parsed(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	asJSON, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(asJSON); err != nil {
		t.Fatal(err)
	}
	return u
}

func TestReflectUsesAllOptions(t *testing.T) {
	got, err := derive.Reflect[Ship](&derive.Options{
		Columns: []derive.Column{
			{Name: "Crew", JSONPath: ".spec.crew", Format: "int32", Description: "how many", Priority: 1},
			{Name: "Age", JSONPath: ".metadata.creationTimestamp"},
		},
		SelectableFields: []string{".spec.name"},
		Scale:            &derive.Scale{SpecReplicasPath: ".spec.replicas", StatusReplicasPath: ".status.replicas", LabelSelectorPath: ".status.selector"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := parsed(t, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ships.ships.example.com}
spec:
  group: ships.example.com
  names: {kind: Ship, listKind: ShipList, plural: ships, singular: ship, shortNames: [sh]}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    additionalPrinterColumns:
    - {name: Crew, jsonPath: .spec.crew, type: integer, format: int32, description: how many, priority: 1}
    - {name: Age, jsonPath: .metadata.creationTimestamp, type: date}
    selectableFields: [{jsonPath: .spec.name}]
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas, labelSelectorPath: .status.selector}
    schema:
      openAPIV3Schema:
        description: Ship is a ship.
        type: object
        required: [spec]
        x-kubernetes-validations:
        - {rule: self.spec.crew >= self.status.aboard, message: aboard must not exceed crew}
        properties:
          apiVersion: {type: string}
          kind: {type: string}
          metadata: {type: object}
          spec:
            type: object
            required: [crew, name]
            properties:
              name: {type: string, minLength: 1, maxLength: 80, description: Name is painted on the bow.}
              crew: {type: integer, format: int32, minimum: 1, default: 2}
              replicas: {type: integer, format: int32}
          status:
            type: object
            properties:
              aboard: {type: integer, format: int32, default: 0}
              replicas: {type: integer, format: int32}
              selector: {type: string}
`)
	schema := got.Object["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any)["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any)
	for _, name := range []string{"apiVersion", "kind"} { // apimachinery defines their descriptions
		field := schema["properties"].(map[string]any)[name].(map[string]any)
		if field["description"] == nil {
			t.Errorf("%s has no description", name)
		}
		delete(field, "description")
	}
	if diff := cmp.Diff(want.Object, got.Object); diff != "" {
		t.Errorf("Reflect (-want +got):\n%s", diff)
	}
}

func TestReflectReturnsCopies(t *testing.T) {
	first, err := derive.Reflect[Ship](nil)
	if err != nil {
		t.Fatal(err)
	}
	first.Object["spec"] = "changed"
	second, err := derive.Reflect[Ship](nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := second.Object["spec"].(map[string]any); !ok {
		t.Errorf("spec = %v, want a map", second.Object["spec"])
	}
}

// wrong is a type with several mistakes.
type wrong struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec struct {
		Any  any    `json:"any"`
		Name string `json:"name" jsonschema:"maxLenght=3"`
	} `json:"spec"`
}

func (wrong) KubeResource() core.Resource {
	return core.Resource{Group: "example", Version: "v1", Kind: "Wrong", Plural: "wrongs", Subresources: []string{"scale"}}
}

func TestReflectRejectsInvalidTypes(t *testing.T) {
	ships := Ship{}.KubeResource()
	scaled := ships
	scaled.Subresources = []string{"scale"}
	for _, tt := range []struct {
		name string
		make func() (*unstructured.Unstructured, error)
		want string
	}{
		{
			"a type without a resource",
			func() (*unstructured.Unstructured, error) { return derive.Reflect[metav1.PartialObjectMetadata](nil) },
			"v1.PartialObjectMetadata: has no resource of its own: it can be of any kind; name the resource explicitly",
		},
		{
			"a built-in kind",
			func() (*unstructured.Unstructured, error) { return derive.Reflect[corev1.Namespace](nil) },
			`v1.Namespace: group "" is invalid: use a domain name with a dot, such as docs.example.com`,
		},
		{
			"several mistakes of a type",
			func() (*unstructured.Unstructured, error) { return derive.Reflect[wrong](nil) },
			`derive_test.wrong: group "example" is invalid: use a domain name with a dot, such as docs.example.com
derive_test.wrong: wrong.Spec.Any: an interface has no schema: use runtime.RawExtension for any object, or a struct with one field for each alternative
derive_test.wrong: wrong.Spec.Name: tag jsonschema: maxLenght: unknown keyword; did you mean maxLength?`,
		},
		{
			"a path that does not exist",
			func() (*unstructured.Unstructured, error) {
				return derive.Reflect[Ship](&derive.Options{Columns: []derive.Column{{Name: "Crew", JSONPath: ".spec.crews"}}})
			},
			"derive_test.Ship: column Crew: path .spec.crews does not exist; did you mean .spec.crew?",
		},
		{
			"a subresource scale without paths",
			func() (*unstructured.Unstructured, error) {
				return derive.Reflect[Ship](&derive.Options{Resource: scaled})
			},
			"derive_test.Ship: the resource has the subresource scale: set its paths with Options.Scale",
		},
		{
			"a resource without a plural",
			func() (*unstructured.Unstructured, error) {
				r := ships
				r.Plural = ""
				return derive.Reflect[Ship](&derive.Options{Resource: r})
			},
			"derive_test.Ship: resource: Plural is empty",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			crd, err := tt.make()
			if err == nil {
				t.Fatalf("Reflect = %v, want an error", crd)
			}
			if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
	_, err := derive.Reflect[wrong](nil)
	if e, ok := errors.AsType[*derive.ReflectError](err); !ok || !strings.HasSuffix(e.Type, "wrong") || len(e.Problems) != 3 {
		t.Errorf("error = %#v, want a ReflectError with three problems", err)
	}
	if _, ok := errors.AsType[*core.UnknownKindError](firstError(derive.Reflect[metav1.PartialObjectMetadata](nil))); !ok {
		t.Error("Reflect of PartialObjectMetadata: not an UnknownKindError")
	}
}

func firstError(_ any, err error) error { return err }
