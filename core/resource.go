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

// Resource is what a kind is called on the wire, and what the server lets one do with it.
// Group, Version, Kind and Plural identify it; the rest may be empty when it is not known.
type Resource struct {
	Group   string // empty for the core group
	Version string
	Kind    string
	Plural  string // lower case, as in the URL

	// Namespaced is true when objects of the kind live in namespaces.
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

// String returns "plural.group", or "plural" for the core group: the name people and RBAC rules use. Without a plural it
// returns the kind.
func (r Resource) String() string {
	switch {
	case r.Plural == "":
		return r.Kind
	case r.Group == "":
		return r.Plural
	}
	return r.Plural + "." + r.Group
}

// Validate reports every name that is missing or can't be part of a URL as it stands.
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

// Describer is a kind that knows its own [Resource]. Generated kinds do; write the method by hand for any other type
// that is not from k8s.io/api.
type Describer interface {
	KubeResource() Resource
}

// UnknownKindError is returned by [ResourceOf] for a type that nothing describes.
type UnknownKindError struct {
	Type   string // the Go type
	Reason string // why a type of k8s.io/api or apimachinery has no resource of its own; empty for other types
}

// Error names the type with the reason, or with the ways to describe it.
func (e *UnknownKindError) Error() string {
	if e.Reason != "" {
		return fmt.Sprintf("%s: has no resource of its own: %s", e.Type, e.Reason)
	}
	return fmt.Sprintf("%s: not a known kind: generate it with kube-derive, give it a method KubeResource() core.Resource, "+
		"or name its resource explicitly", e.Type)
}

// ResourceOf returns what K is called on the wire: from K's own [Describer] method, else, for the kinds of k8s.io/api,
// from a generated table that links none of them. Types such as unstructured.Unstructured that can be of any kind have
// no resource of their own. Beside an error, the Resource has only a Kind: the Go type, for messages.
//
// Errors: [*UnknownKindError].
func ResourceOf[K any, P ObjectPtr[K]]() (Resource, error) {
	return resourceOf(P(new(K)), reflect.TypeFor[K]())
}

// ResourceOfObject returns what the kind of an object's type is called on the wire, as [ResourceOf] does for a type that is
// known when the program is built. What the object states as its apiVersion and kind does not matter.
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

// metaPackages hold the types of objects of any kind: PartialObjectMetadata, Unstructured.
const metaPackages = "k8s.io/apimachinery/pkg/apis/meta/"

// resourceOf is ResourceOf for one of the kind's objects, so that there is one copy of it for all kinds.
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

// unknown is the resource of a type that has none.
func unknown(t reflect.Type) Resource { return Resource{Kind: t.String()} }
