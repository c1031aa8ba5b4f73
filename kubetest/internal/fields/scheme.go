// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fields

import (
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// scheme converts and creates unstructured objects for the field manager of apimachinery, as a runtime.Scheme does for
// objects of Go types.
type scheme struct {
	manager *Manager
}

// ConvertToVersion changes only the API version, as conversion strategy None does.
func (s scheme) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	obj, ok := in.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("object is a %T: convert it to an unstructured object", in)
	}
	kind, ok := target.KindForGroupVersionKinds([]schema.GroupVersionKind{obj.GroupVersionKind()})
	if !ok || kind == obj.GroupVersionKind() {
		return obj, nil
	}
	// The content is shared: the field manager changes nothing in what it converts.
	converted := maps.Clone(obj.Object)
	converted["apiVersion"] = kind.GroupVersion().String()
	return &unstructured.Unstructured{Object: converted}, nil
}

// Convert is never called by the field manager.
func (s scheme) Convert(in, out, _ any) error {
	return fmt.Errorf("convert %T to %T: not supported", in, out)
}

// ConvertFieldLabel is never called by the field manager.
func (s scheme) ConvertFieldLabel(_ schema.GroupVersionKind, label, _ string) (string, string, error) {
	return "", "", fmt.Errorf("convert field label %s: not supported", label)
}

// Default does nothing: the caller of Apply sets the defaults of the result.
func (s scheme) Default(runtime.Object) {}

// New returns the object that exists before the first fields are set.
func (s scheme) New(schema.GroupVersionKind) (runtime.Object, error) {
	return s.manager.before(nil), nil
}
