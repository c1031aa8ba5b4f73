// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
)

// Metadata returns the same API for the metadata of objects: the server sends nothing else, for any kind. The TypeMeta of
// the results is that of the objects. The API also patches, applies and deletes; a Create or Update would write objects
// that have nothing but metadata, and is refused.
//
// [Of] with metav1.PartialObjectMetadata, or with a struct that does nothing but embed it, returns the same.
func (a *API[K]) Metadata() *API[metav1.PartialObjectMetadata] {
	return &API[metav1.PartialObjectMetadata]{
		client: a.client, target: metadataOf(a.target), oneSpace: a.oneSpace, setup: a.setup, onItemError: a.onItemError,
	}
}

// Metadata returns the feed of the metadata of the same objects, see [API.Metadata].
func (f *Feed) Metadata() *Feed {
	return &Feed{client: f.client, target: metadataOf(f.target), setup: f.setup}
}

// metadataOf returns the target for nothing but the metadata of its objects.
func metadataOf(t request.Target) request.Target {
	t.View, t.Encoding = request.ViewMetadata, wire.Protobuf
	return t
}

// isMetadata reports whether a type holds the metadata of objects of any kind: metav1.PartialObjectMetadata, or a struct
// that does nothing but embed it, so that it can describe its kind.
func isMetadata(t reflect.Type) bool {
	for t.Kind() == reflect.Struct && t.NumField() == 1 && t.Field(0).Anonymous {
		t = t.Field(0).Type
	}
	return t == reflect.TypeFor[metav1.PartialObjectMetadata]()
}
