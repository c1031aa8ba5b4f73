// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Definer is a kind that knows its own CustomResourceDefinition, as JSON. Kinds that kube-derive generates do.
type Definer interface {
	KubeCRD() []byte
}

// UndefinedKindError is returned by [CRD] for a type that is not a [Definer].
type UndefinedKindError struct {
	Type string // the Go type
}

// Error names the type and the remedies.
func (e *UndefinedKindError) Error() string {
	return e.Type + ": has no CustomResourceDefinition: generate it with kube-derive, give it a method KubeCRD() []byte, " +
		"or have derive.CRD make one by reflection"
}

// CRD returns the CustomResourceDefinition that K knows of itself. It is the caller's own. For any other struct, the
// function of the same name in package derive makes one by reflection; that package is heavier.
//
// Errors: [*UndefinedKindError].
func CRD[K any, P ObjectPtr[K]]() (*unstructured.Unstructured, error) {
	return definitionOf(P(new(K)), reflect.TypeFor[K]())
}

// definitionOf is CRD for one of the kind's objects, so that there is one copy of it for all kinds.
func definitionOf(obj any, t reflect.Type) (*unstructured.Unstructured, error) {
	d, ok := obj.(Definer)
	if !ok {
		return nil, &UndefinedKindError{Type: t.String()}
	}
	crd := &unstructured.Unstructured{}
	if err := crd.UnmarshalJSON(d.KubeCRD()); err != nil {
		return nil, fmt.Errorf("decode the CustomResourceDefinition of %s: %w", t, err)
	}
	return crd, nil
}

// CRDResource returns what CustomResourceDefinitions themselves are called on the wire.
func CRDResource() Resource {
	return Resource{
		Group:        "apiextensions.k8s.io",
		Version:      "v1",
		Kind:         "CustomResourceDefinition",
		Plural:       "customresourcedefinitions",
		Singular:     "customresourcedefinition",
		ShortNames:   []string{"crd", "crds"},
		Subresources: []string{"status"},
	}
}
