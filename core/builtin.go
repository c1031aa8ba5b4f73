// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"cmp"
	"slices"
	"strings"
)

//go:generate go run ./internal/cmd/kindgen

// builtinKind is a row of the table of k8s.io/api kinds. Lists are joined by commas, so that the table is plain data
// that costs no time at start-up.
type builtinKind struct {
	goType       string // package path relative to k8s.io/api, a dot, the type's name, which is the kind
	group        string
	plural       string
	namespaced   bool
	shortNames   string
	categories   string
	verbs        string // empty: allVerbs
	subresources string
	note         string // when plural is empty: why the kind has no collection
}

const allVerbs = "create,delete,deletecollection,get,list,patch,update,watch"

// builtin looks a type of k8s.io/api up.
func builtin(pkg, name string) (builtinKind, bool) {
	path, ok := strings.CutPrefix(pkg, "k8s.io/api/")
	if !ok {
		return builtinKind{}, false
	}
	i, ok := slices.BinarySearchFunc(builtinKinds, path+"."+name, func(row builtinKind, key string) int {
		return strings.Compare(row.goType, key)
	})
	if !ok {
		return builtinKind{}, false
	}
	return builtinKinds[i], true
}

// resource spells the row out.
func (b builtinKind) resource() Resource {
	path, kind, _ := strings.Cut(b.goType, ".")
	return Resource{
		Group:        b.group,
		Version:      path[strings.LastIndex(path, "/")+1:],
		Kind:         kind,
		Plural:       b.plural,
		Namespaced:   b.namespaced,
		Singular:     strings.ToLower(kind),
		ShortNames:   splitList(b.shortNames),
		Categories:   splitList(b.categories),
		Verbs:        splitList(cmp.Or(b.verbs, allVerbs)),
		Subresources: splitList(b.subresources),
	}
}

// splitList is the inverse of joining by commas; an empty list is nil.
func splitList(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}
