// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"io"
	"iter"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
)

// Objects and their names.
type (
	// Object is implemented by pointers to structs that embed metav1.TypeMeta and metav1.ObjectMeta. See [core.Object].
	Object = core.Object
	// ObjectPtr is the constraint of functions for any kind K: *K is an [Object]. The compiler infers the second parameter
	// of func list[K any, P kube.ObjectPtr[K]](c *kube.Client). See [core.ObjectPtr].
	ObjectPtr[K any] = core.ObjectPtr[K]
	// ObjectRef identifies an object of a known kind by Namespace and Name. It can be a map key. [RefOf] returns one.
	// See [core.ObjectRef].
	ObjectRef = core.ObjectRef
	// Resource is the names of a kind in the API: Group, Version, Kind, Plural, Namespaced; after discovery also
	// Singular, ShortNames, Categories, Verbs and Subresources. See [core.Resource].
	Resource = core.Resource
	// Row is an object as a row of a table, as kubectl get prints it: its metadata, Columns and Cells. Method Rows of an
	// [API] returns the API of rows. See [core.Row].
	Row = core.Row
	// WatchEvent is one change of one object: Type ([Added], [Modified], [Deleted] or [Bookmark]) and Object. See
	// [core.WatchEvent].
	WatchEvent[K any] = core.WatchEvent[K]
)

// The types of a [WatchEvent].
const (
	Added    = core.Added
	Modified = core.Modified
	Deleted  = core.Deleted
	Bookmark = core.Bookmark // only the resource version has advanced
)

// RefOf returns the reference of an object. See [core.RefOf].
func RefOf(obj metav1.Object) ObjectRef { return core.RefOf(obj) }

// ControllerRef returns the owner reference that makes owner the controller of another object, for an apply
// configuration. See [core.ControllerRef].
func ControllerRef(owner Object) (metav1.OwnerReference, error) { return core.ControllerRef(owner) }

// OwnerRef returns an owner reference to owner, which is not the controller. See [core.OwnerRef].
func OwnerRef(owner Object) (metav1.OwnerReference, error) { return core.OwnerRef(owner) }

// SetController adds the owner reference of [ControllerRef] to an object before it is written. An object that another
// owner controls is an error. See [core.SetController].
func SetController(obj metav1.Object, owner Object) error { return core.SetController(obj, owner) }

// Documents yields the objects of YAML or JSON documents, such as a manifest for kubectl apply. Each has Kind, Line and
// Index, and the methods Decode and DecodeStrict. An error names the document and the line. See [wire.Documents].
func Documents(r io.Reader, limits *wire.Limits) iter.Seq2[wire.Document, error] {
	return wire.Documents(r, limits)
}
