// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
)

// IsMetadata reports whether K is a type for the metadata of objects of any kind: metav1.PartialObjectMetadata, or a
// struct that only embeds it. Package client requests metadata by the same rule.
func IsMetadata[K any]() bool {
	t := reflect.TypeFor[K]()
	for t.Kind() == reflect.Struct && t.NumField() == 1 && t.Field(0).Anonymous {
		t = t.Field(0).Type
	}
	return t == reflect.TypeFor[metav1.PartialObjectMetadata]()
}

// IsRow reports whether K is core.Row, the type of the rows of tables. Package client compares the names, too, because
// reflect.TypeFor would link the methods of core.Row into each program.
func IsRow[K any]() bool {
	t := reflect.TypeFor[K]()
	return t.Name() == "Row" && t.PkgPath() == "github.com/kube-go/sdk/core"
}

// Source returns the source for objects of type K. For a metadata type, it replaces a client's feed of whole objects by
// a feed of metadata. It returns any other source unchanged.
func Source[K, S any](src S) S {
	feed, ok := any(src).(interface{ Metadata() *client.Feed })
	if !ok || !IsMetadata[K]() {
		return src
	}
	return any(feed.Metadata()).(S)
}

// Complete sets the TypeMeta of an object that the server has sent without it, or as metadata.
func Complete(obj core.Object, res core.Resource) {
	kind := obj.GetObjectKind()
	if t, ok := kind.(*metav1.TypeMeta); ok && t.Kind == "" { // nearly always, and faster
		t.APIVersion, t.Kind = res.GroupVersionKind().ToAPIVersionAndKind()
		return
	}
	partial := metav1.SchemeGroupVersion.WithKind("PartialObjectMetadata")
	if gvk := kind.GroupVersionKind(); gvk.Kind == "" || gvk == partial {
		kind.SetGroupVersionKind(res.GroupVersionKind())
	}
}
