// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Object is core.Object, which this package can't import, because core's tests import this package.
type Object interface {
	metav1.Object
	runtime.Object
}

// A Kind is a type of k8s.io/api that is an object.
type Kind struct {
	schema.GroupVersionKind
	Type reflect.Type // the struct
}

// New returns a new value of the kind.
func (k Kind) New() Object {
	return reflect.New(k.Type).Interface().(Object)
}

// Kinds returns every type of k8s.io/api that is an object, ordered by package path, then name.
func Kinds(t testing.TB) []Kind {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range adders() {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	var kinds []Kind
	for gvk, typ := range scheme.AllKnownTypes() {
		_, isObject := reflect.TypeAssert[Object](reflect.New(typ))
		if isObject && strings.HasPrefix(typ.PkgPath(), "k8s.io/api/") {
			kinds = append(kinds, Kind{gvk, typ})
		}
	}
	slices.SortFunc(kinds, func(a, b Kind) int {
		return strings.Compare(a.Type.PkgPath()+"."+a.Type.Name(), b.Type.PkgPath()+"."+b.Type.Name())
	})
	return kinds
}
