// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/invopop/jsonschema"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/derive"
	"github.com/kube-go/sdk/kube"
)

// Ship is a kind without generated code.
type Ship struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ShipSpec   `json:"spec"`
	Status ShipStatus `json:"status,omitzero"`
}

// KubeResource returns the names of the kind.
func (Ship) KubeResource() kube.Resource {
	return kube.Resource{
		Group: "reflected.e2e.example.com", Version: "v1", Kind: "Ship", Plural: "ships", Namespaced: true,
		Subresources: []string{"status"},
	}
}

// ShipSpec is the desired state of a ship.
type ShipSpec struct {
	Name  string   `json:"name" jsonschema:"minLength=1,maxLength=80,description=Name is painted on the bow."`
	Class string   `json:"class,omitempty" jsonschema:"enum=frigate,enum=sloop,default=sloop"`
	Ports []string `json:"ports,omitempty" jsonschema:"maxItems=16,maxLength=40" jsonschema_extras:"x-kubernetes-list-type=set"`
	Crew  int32    `json:"crew" jsonschema:"minimum=1" jsonschema_extras:"x-kubernetes-validations=self >= oldSelf"`
	Guns  int32    `json:"guns,omitempty"`
}

// JSONSchemaExtend adds the rules about more than one field.
func (ShipSpec) JSONSchemaExtend(s *jsonschema.Schema) {
	s.Extras = map[string]any{"x-kubernetes-validations": []map[string]string{
		{"rule": "!has(self.guns) || self.guns <= self.crew", "message": "a gun takes a sailor"},
	}}
}

// ShipStatus is the observed state of a ship.
type ShipStatus struct {
	Conditions []metav1.Condition `json:"conditions,omitempty" jsonschema_extras:"x-kubernetes-list-type=map,x-kubernetes-list-map-keys=type"`
}

// TestReflectedDefinitionIsEnforced checks that the server accepts a definition that was made at run time without any
// changes, and enforces what the tags of the struct declare.
func TestReflectedDefinitionIsEnforced(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	crd, err := derive.Reflect[Ship](&derive.Options{
		Columns:          []derive.Column{{Name: "Class", JSONPath: ".spec.class"}},
		SelectableFields: []string{".spec.class"},
	})
	if err != nil {
		t.Fatal(err)
	}
	crds := kube.Dynamic(c, kube.CRDResource())
	strict := &kube.CreateOptions{DryRun: true, FieldValidation: metav1.FieldValidationStrict}
	stored, err := crds.Create(limit(t), crd.DeepCopy(), strict)
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range missing("", crd.Object, stored.Object) {
		t.Errorf("the server has dropped or changed %s", field)
	}
	if err := kube.InstallCRDs(limit(t), c, []*unstructured.Unstructured{crd}, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := crds.Delete(context.WithoutCancel(t.Context()), crd.GetName(), nil)
		if err != nil && !errors.Is(err, kube.ErrNotFound) {
			t.Error(err)
		}
	})
	ships := kube.Namespaced[Ship](c, newNamespace(t, c))
	ship := func(name string, spec ShipSpec) *Ship {
		return &Ship{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}
	}
	good := ShipSpec{Name: "Good", Crew: 3, Guns: 2, Ports: []string{"a", "b"}}
	made, err := ships.Create(limit(t), ship("good", good), nil)
	if err != nil {
		t.Fatal(err)
	}
	if made.Spec.Class != "sloop" {
		t.Errorf("class = %q, want the default", made.Spec.Class)
	}
	for _, tt := range []struct {
		name string
		spec ShipSpec
		want string
	}{
		{
			"an empty name",
			ShipSpec{Crew: 1},
			"spec.name: Invalid value: \"\": spec.name in body should be at least 1 chars long",
		},
		{"an unknown class", ShipSpec{Name: "x", Crew: 1, Class: "barge"}, `supported values: "frigate", "sloop"`},
		{"a missing crew", ShipSpec{Name: "x"}, "spec.crew in body should be greater than or equal to 1"},
		{"a duplicate port", ShipSpec{Name: "x", Crew: 1, Ports: []string{"a", "a"}}, "spec.ports[1]: Duplicate value"},
		{"more guns than sailors", ShipSpec{Name: "x", Crew: 1, Guns: 2}, "a gun takes a sailor"},
	} {
		_, err := ships.Create(limit(t), ship("bad", tt.spec), nil)
		if !errors.Is(err, kube.ErrInvalid) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want an error with %s", tt.name, err, tt.want)
		}
	}
	made.Spec.Crew = 2
	_, err = ships.Update(limit(t), made, nil)
	if !errors.Is(err, kube.ErrInvalid) || !strings.Contains(err.Error(), "self >= oldSelf") {
		t.Errorf("a smaller crew: %v, want an error about the rule", err)
	}
	list, err := ships.List(limit(t), &kube.ListOptions{FieldSelector: "spec.class=sloop"})
	if err != nil || len(list.Items) != 1 {
		t.Errorf("sloops = %v, %v, want one", list, err)
	}
	want := []string{"a", "b"}
	if diff := cmp.Diff(want, list.Items[0].Spec.Ports); diff != "" {
		t.Errorf("ports (-want +got):\n%s", diff)
	}
}
