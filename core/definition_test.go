// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package core_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
)

// defined is a kind with a definition, as kube-derive generates it.
type defined struct {
	metav1.TypeMeta
	metav1.ObjectMeta
}

func (*defined) KubeCRD() []byte {
	return []byte(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"things.example.com"}}`)
}

// broken is a kind whose definition is not JSON.
type broken struct {
	metav1.TypeMeta
	metav1.ObjectMeta
}

func (*broken) KubeCRD() []byte { return []byte("{") }

func ExampleCRD() {
	crd, err := core.CRD[defined]()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(crd.GetKind(), crd.GetName())
	// Output: CustomResourceDefinition things.example.com
}

func TestCRDReturnsACopy(t *testing.T) {
	first, err := core.CRD[defined]()
	if err != nil {
		t.Fatal(err)
	}
	first.SetName("changed")
	second, err := core.CRD[defined]()
	if err != nil || second.GetName() != "things.example.com" {
		t.Errorf("CRD = %v, %v, want the definition of the kind", second, err)
	}
	if r := core.CRDResource(); r.APIVersion() != second.GetAPIVersion() || r.Kind != second.GetKind() || r.Validate() != nil {
		t.Errorf("CRDResource() = %+v, want the resource of a %s %s", r, second.GetAPIVersion(), second.GetKind())
	}
}

func TestCRDOfOtherTypesIsAnError(t *testing.T) {
	_, err := core.CRD[corev1.Pod]()
	if e, ok := errors.AsType[*core.UndefinedKindError](err); !ok || e.Type != "v1.Pod" {
		t.Errorf("CRD of a Pod: %v, want an UndefinedKindError that names it", err)
	}
	const want = "v1.Pod: has no CustomResourceDefinition: generate it with kube-derive, give it a method KubeCRD() []byte, " +
		"or make one by reflection with derive.Reflect"
	if err == nil || err.Error() != want {
		t.Errorf("CRD of a Pod: %v, want %s", err, want)
	}
	if _, err := core.CRD[broken](); err == nil || !strings.HasPrefix(err.Error(), "decode the CustomResourceDefinition of core_test.broken: ") {
		t.Errorf("CRD of a kind whose definition is not JSON: %v, want an error that names it", err)
	}
}
