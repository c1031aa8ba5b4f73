// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
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

// String returns "plural.group", or "plural" for the core group: the name people and RBAC rules use.
func (r Resource) String() string {
	if r.Group == "" {
		return r.Plural
	}
	return r.Plural + "." + r.Group
}

// Validate reports every name that is missing or can't be part of a URL.
func (r Resource) Validate() error {
	var errs []error
	check := func(field, value string, need bool) {
		switch {
		case value == "" && need:
			errs = append(errs, fmt.Errorf("resource: %s is empty", field))
		case strings.ContainsAny(value, "/%?# ") || value == "." || value == "..":
			errs = append(errs, fmt.Errorf("resource: %s %q can't be part of a URL", field, value))
		}
	}
	check("Group", r.Group, false)
	check("Version", r.Version, true)
	check("Kind", r.Kind, true)
	check("Plural", r.Plural, true)
	return errors.Join(errs...)
}

// Describer is a kind that knows its own [Resource]. Generated kinds do; write the method by hand for any other type
// that is not from k8s.io/api.
type Describer interface {
	KubeResource() Resource
}

// UnknownKindError is returned by [ResourceOf] for a type that nothing describes.
type UnknownKindError struct {
	Type string // the Go type
}

// Error names the type with the ways to describe it.
func (e *UnknownKindError) Error() string {
	return fmt.Sprintf("%s: not a known kind: generate it with kube-derive, give it a method KubeResource() core.Resource, "+
		"or name its resource explicitly", e.Type)
}

// ResourceOf returns what K is called on the wire: from K's own [Describer] method, else, for the kinds of k8s.io/api,
// from a generated table that links none of them. Types such as unstructured.Unstructured that can be of any kind have
// no resource of their own.
//
// Errors: [*UnknownKindError].
func ResourceOf[K any, P ObjectPtr[K]]() (Resource, error) {
	if d, ok := any(P(new(K))).(Describer); ok {
		r := d.KubeResource()
		if err := r.Validate(); err != nil {
			return Resource{}, fmt.Errorf("%s: KubeResource: %w", reflect.TypeFor[K](), err)
		}
		return r, nil
	}
	t := reflect.TypeFor[K]()
	if r, ok := builtin(t.PkgPath(), t.Name()); ok {
		return r, nil
	}
	return Resource{}, &UnknownKindError{Type: t.String()}
}

// builtin looks a type of k8s.io/api up. The table is ordered by package path, then name.
func builtin(pkg, name string) (Resource, bool) {
	path, ok := strings.CutPrefix(pkg, "k8s.io/api/")
	if !ok {
		return Resource{}, false
	}
	i, ok := slices.BinarySearchFunc(builtinKinds, path+"."+name, func(row builtinKind, key string) int {
		return strings.Compare(row.goType, key)
	})
	if !ok {
		return Resource{}, false
	}
	return builtinKinds[i].resource(), true
}
