// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Object is a Kubernetes object: a type that embeds metav1.TypeMeta and metav1.ObjectMeta.
type Object interface {
	metav1.Object
	GetObjectKind() schema.ObjectKind
}

// ObjectPtr is the constraint of constructors for a kind K: *K is an [Object].
type ObjectPtr[K any] interface {
	*K
	Object
}

// ObjectRef identifies an object of a known kind by its namespace, which is empty for cluster-scoped kinds, and its
// name. It is comparable, so it can be a map key.
type ObjectRef struct {
	Namespace string
	Name      string
}

// RefOf returns the reference of an object.
func RefOf(obj metav1.Object) ObjectRef {
	return ObjectRef{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// ParseObjectRef is the inverse of [ObjectRef.String].
func ParseObjectRef(s string) ObjectRef {
	if ns, name, ok := strings.Cut(s, "/"); ok {
		return ObjectRef{Namespace: ns, Name: name}
	}
	return ObjectRef{Name: s}
}

// String returns "namespace/name", or "name" without a namespace.
func (r ObjectRef) String() string {
	if r.Namespace == "" {
		return r.Name
	}
	return r.Namespace + "/" + r.Name
}

// List is the response to a list request, or one page of it.
type List[K any] struct {
	metav1.ListMeta

	// Items belong to the caller. Each is a separate allocation, so keeping one does not keep the others alive.
	Items []*K
}

// EventType is the type of a watch event, as the server spells it.
type EventType string

// The types of watch events, see
// https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes.
const (
	Added    EventType = "ADDED"
	Modified EventType = "MODIFIED"
	Deleted  EventType = "DELETED"
	Bookmark EventType = "BOOKMARK"
)

// WatchEvent is one change of one object. An ERROR event of the server is not a WatchEvent: it ends the watch as a
// [*StatusError].
type WatchEvent[K any] struct {
	Type EventType

	// Object is the object after the change, or its last state for Deleted. A Bookmark has only the resource version
	// (and annotations).
	Object *K
}

// InitialEventsEnd reports whether an object is the bookmark that ends the initial events of a streaming list,
// see https://kubernetes.io/docs/reference/using-api/api-concepts/#streaming-lists.
func InitialEventsEnd(obj metav1.Object) bool {
	return obj.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
}
