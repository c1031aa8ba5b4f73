// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"encoding/json"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/core"
)

// Object is an object that can be encoded both as JSON and as protobuf.
type Object interface {
	core.Object
	Marshal() ([]byte, error)
}

// Collection is the objects of one resource of the core group. It is safe for concurrent use.
type Collection struct {
	resource core.Resource
	count    int
	object   func(i int) Object

	mu    sync.Mutex // guards forms
	forms map[form][][]byte
}

// NewCollection returns a collection of count objects. object returns an object; it must always return an equal one for
// the same number, and the caller owns the result.
func NewCollection(res core.Resource, count int, object func(i int) Object) *Collection {
	return &Collection{resource: res, count: count, object: object, forms: make(map[form][][]byte)}
}

// form is one of the ways to encode an object.
type form struct {
	protobuf bool
	metadata bool // as PartialObjectMetadata
}

// encoded returns all objects in a form. The first call for a form encodes them.
func (c *Collection) encoded(f form) ([][]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if all, ok := c.forms[f]; ok {
		return all, nil
	}
	all := make([][]byte, c.count)
	for i := range all {
		var err error
		if all[i], err = f.encode(c.object(i)); err != nil {
			return nil, fmt.Errorf("encode %s %d: %w", c.resource, i, err)
		}
	}
	c.forms[f] = all
	return all, nil
}

// kind returns the kind of the objects in a form.
func (c *Collection) kind(f form) schema.GroupVersionKind {
	if f.metadata {
		return schema.GroupVersionKind{Group: "meta.k8s.io", Version: "v1", Kind: "PartialObjectMetadata"}
	}
	return c.resource.GroupVersionKind()
}

// encode returns the bytes of an object: JSON, or a protobuf message without its envelope.
func (f form) encode(obj Object) ([]byte, error) {
	if f.metadata {
		obj = metadataOf(obj)
	}
	if f.protobuf {
		return obj.Marshal()
	}
	return json.Marshal(obj)
}

func metadataOf(obj core.Object) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadata"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: obj.GetNamespace(), Name: obj.GetName(), GenerateName: obj.GetGenerateName(),
			UID: obj.GetUID(), ResourceVersion: obj.GetResourceVersion(), Generation: obj.GetGeneration(),
			CreationTimestamp: obj.GetCreationTimestamp(), Labels: obj.GetLabels(), Annotations: obj.GetAnnotations(),
			OwnerReferences: obj.GetOwnerReferences(), ManagedFields: obj.GetManagedFields(),
		},
	}
}
