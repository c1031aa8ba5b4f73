// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Resource is the names of a kind in the API, and the verbs and subresources that the server has for it. Group,
// Version, Kind and Plural identify it. The other fields may be empty if they are not known.
type Resource struct {
	Group   string // empty for the core group
	Version string
	Kind    string
	Plural  string // lower case, as in the URL

	// Namespaced is true if objects of the kind have a namespace.
	Namespaced bool

	Singular     string
	ShortNames   []string
	Categories   []string
	Verbs        []string
	Subresources []string
}

// APIVersion returns "group/version", or "version" for the core group.
func (r Resource) APIVersion() string {
	if r.Group == "" {
		return r.Version
	}
	return r.Group + "/" + r.Version
}

// GroupVersionKind returns the kind's full name.
func (r Resource) GroupVersionKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind}
}

// GroupVersionResource returns the resource's full name.
func (r Resource) GroupVersionResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: r.Group, Version: r.Version, Resource: r.Plural}
}

// CheckRef returns why a reference is invalid for the kind, or nil.
func (r Resource) CheckRef(ref ObjectRef) error {
	switch {
	case ref.Name == "":
		return errors.New("the name is empty: set ObjectRef.Name")
	case ref.Namespace == "" && r.Namespaced:
		return fmt.Errorf("the namespace is empty: set ObjectRef.Namespace, because %s live in namespaces", r)
	case ref.Namespace != "" && !r.Namespaced:
		return fmt.Errorf("the namespace is %q: leave ObjectRef.Namespace empty, because %s are cluster-scoped",
			ref.Namespace, r)
	}
	return nil
}

// String returns "plural.group", or "plural" for the core group, as kubectl prints it. Without a plural it returns the
// kind.
func (r Resource) String() string {
	switch {
	case r.Plural == "":
		return r.Kind
	case r.Group == "":
		return r.Plural
	}
	return r.Plural + "." + r.Group
}

// Validate returns an error for each name that is missing or can't be part of a URL without escaping.
func (r Resource) Validate() error {
	var errs []error
	if r.Kind == "" {
		errs = append(errs, errors.New("resource: Kind is empty"))
	}
	segment := func(field, value string) {
		switch {
		case value == "":
			errs = append(errs, fmt.Errorf("resource: %s is empty", field))
		case value == "." || value == ".." || url.PathEscape(value) != value:
			errs = append(errs, fmt.Errorf("resource: %s %q can't be part of a URL", field, value))
		}
	}
	if r.Group != "" {
		segment("Group", r.Group)
	}
	segment("Version", r.Version)
	segment("Plural", r.Plural)
	return errors.Join(errs...)
}

// Describer is a kind that returns its own [Resource]. Generated kinds have the method. Write it for any other type
// that is not of k8s.io/api.
type Describer interface {
	KubeResource() Resource
}

// UnknownKindError is returned by [ResourceOf] for a type without a known resource.
type UnknownKindError struct {
	Type   string // the Go type
	Reason string // why a type of k8s.io/api or apimachinery has no resource of its own; empty for other types
}

// Error names the type with the reason, or with the ways to describe it.
func (e *UnknownKindError) Error() string {
	if e.Reason != "" {
		return fmt.Sprintf("%s: has no resource of its own: %s", e.Type, e.Reason)
	}
	return fmt.Sprintf(
		"%s: not a known kind: generate it with kube-derive, give it a method KubeResource() core.Resource, "+
			"or name its resource explicitly",
		e.Type,
	)
}

// ResourceOf returns the resource of K: from the method of K if it is a [Describer], or from a generated table for the
// kinds of k8s.io/api, which links none of them. Types for any kind, such as unstructured.Unstructured, have no
// resource. If there is an error, the Resource has only a Kind: the Go type, for messages.
//
// Errors: [*UnknownKindError].
func ResourceOf[K any, P ObjectPtr[K]]() (Resource, error) {
	return ResourceOfObject(P(new(K)))
}

// ResourceOfObject returns the resource of an object's Go type, as [ResourceOf] does for a type parameter. It ignores
// the apiVersion and kind of the object.
//
// Errors: [*UnknownKindError].
func ResourceOfObject(obj Object) (Resource, error) {
	t := reflect.TypeOf(obj)
	if t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil {
		return Resource{}, errors.New("the object is nil")
	}
	return resourceOf(obj, t)
}

// metaPackages have the types for objects of any kind: PartialObjectMetadata and Unstructured.
const metaPackages = "k8s.io/apimachinery/pkg/apis/meta/"

// resourceOf is ResourceOfObject for a pointer to t.
func resourceOf(obj any, t reflect.Type) (Resource, error) {
	if d, ok := obj.(Describer); ok {
		r := d.KubeResource()
		if err := r.Validate(); err != nil {
			return unknown(t), fmt.Errorf("%s: KubeResource: %w", t, err)
		}
		return r, nil
	}
	if strings.HasPrefix(t.PkgPath(), metaPackages) {
		return unknown(t), &UnknownKindError{Type: t.String(), Reason: "it can be of any kind; name the resource explicitly"}
	}
	row, ok := builtin(t.PkgPath(), t.Name())
	if !ok || row.plural == "" {
		return unknown(t), &UnknownKindError{Type: t.String(), Reason: row.note}
	}
	return row.resource(), nil
}

// unknown returns the resource of a type without a known one.
func unknown(t reflect.Type) Resource { return Resource{Kind: t.String()} }
