// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package derive

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/core"
)

// Definer is a kind that knows its own CustomResourceDefinition, as JSON. Kinds that kube-derive generates do.
type Definer interface {
	KubeCRD() []byte
}

// UndefinedKindError is returned by [CRD] for a type that is not a [Definer].
type UndefinedKindError struct {
	Type string // the Go type
}

// Error names the type and the remedy.
func (e *UndefinedKindError) Error() string {
	return e.Type + ": has no CustomResourceDefinition: generate it with kube-derive, or give it a method KubeCRD() []byte"
}

// CRD returns the CustomResourceDefinition of K. It is the caller's own.
//
// Errors: [*UndefinedKindError].
func CRD[K any, P core.ObjectPtr[K]]() (*unstructured.Unstructured, error) {
	d, ok := any(P(new(K))).(Definer)
	if !ok {
		return nil, &UndefinedKindError{Type: reflect.TypeFor[K]().String()}
	}
	crd := &unstructured.Unstructured{}
	if err := crd.UnmarshalJSON(d.KubeCRD()); err != nil {
		return nil, fmt.Errorf("decode the CustomResourceDefinition of %s: %w", reflect.TypeFor[K](), err)
	}
	return crd, nil
}

// CRDResource returns what CustomResourceDefinitions themselves are called on the wire.
func CRDResource() core.Resource {
	return core.Resource{
		Group:        "apiextensions.k8s.io",
		Version:      "v1",
		Kind:         "CustomResourceDefinition",
		Plural:       "customresourcedefinitions",
		Singular:     "customresourcedefinition",
		ShortNames:   []string{"crd", "crds"},
		Subresources: []string{"status"},
	}
}
