// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Object is what every Kubernetes object can do because it embeds metav1.TypeMeta and metav1.ObjectMeta.
type Object interface {
	metav1.Object
	GetObjectKind() schema.ObjectKind
}

// ObjectPtr is the constraint that constructors put on a kind K: *K is an [Object].
type ObjectPtr[K any] interface {
	*K
	Object
}

// ObjectRef says which object of a known kind is meant: its namespace, empty for cluster-scoped kinds, and its name.
// It is comparable, so it serves as a map key.
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

// String returns "namespace/name", or "name" when there is no namespace.
func (r ObjectRef) String() string {
	if r.Namespace == "" {
		return r.Name
	}
	return r.Namespace + "/" + r.Name
}

// List is one answer to a list request, or one page of it.
type List[K any] struct {
	metav1.ListMeta

	// Items are the caller's own. Each is a value by itself, so keeping one does not keep the others alive.
	Items []*K
}

// EventType is what happened to the object of a watch event, as the server spells it.
type EventType string

// The types of watch events, see https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes.
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

	// Object is the object after the change; for Deleted its last state. For a Bookmark only its resource version
	// (and annotations) are set.
	Object *K
}

// InitialEventsEnd reports whether an object is the bookmark that ends the initial events of a streaming list,
// see https://kubernetes.io/docs/reference/using-api/api-concepts/#streaming-lists.
func InitialEventsEnd(obj metav1.Object) bool {
	return obj.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
}
