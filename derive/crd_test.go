// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package derive_test

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/kube-go/sdk/derive"
	"github.com/kube-go/sdk/derive/generate/testdata/document"
	"github.com/kube-go/sdk/derive/generate/testdata/zoo"
)

func ExampleCRD() {
	crd, err := derive.CRD[document.Document]()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(crd.GetKind(), crd.GetName())
	// Output: CustomResourceDefinition documents.docs.example.com
}

func TestCRDIsWhatTheFileSays(t *testing.T) {
	crd, err := derive.CRD[zoo.Zoo]()
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile("generate/testdata/zoo/crds/zoo.example.com_menageries.yaml")
	if err != nil {
		t.Fatal(err)
	}
	asJSON, err := yaml.YAMLToJSON(file)
	if err != nil {
		t.Fatal(err)
	}
	want := crd.DeepCopy()
	if err := want.UnmarshalJSON(asJSON); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Object, crd.Object); diff != "" {
		t.Errorf("CRD (-file +got):\n%s", diff)
	}
	if got := derive.CRDResource(); got.APIVersion() != crd.GetAPIVersion() || got.Kind != crd.GetKind() || got.Validate() != nil {
		t.Errorf("CRDResource() = %+v, want the resource of a %s %s", got, crd.GetAPIVersion(), crd.GetKind())
	}
}

// broken is a kind whose definition is no JSON.
type broken struct {
	metav1.TypeMeta
	metav1.ObjectMeta
}

func (*broken) KubeCRD() []byte { return []byte("{") }

func TestCRDOfOtherTypesIsAnError(t *testing.T) {
	_, err := derive.CRD[corev1.Pod]()
	e, ok := errors.AsType[*derive.UndefinedKindError](err)
	if !ok || e.Type != "v1.Pod" {
		t.Errorf("CRD of a Pod: %v, want an UndefinedKindError that names it", err)
	}
	const want = "v1.Pod: has no CustomResourceDefinition: generate it with kube-derive, or give it a method KubeCRD() []byte"
	if err.Error() != want {
		t.Errorf("CRD of a Pod: %v, want %s", err, want)
	}
	if _, err := derive.CRD[broken](); err == nil {
		t.Error("CRD of a kind whose definition is no JSON: no error")
	}
}
