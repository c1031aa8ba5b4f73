// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package config

import "slices"

// entry is a pointer to an entry of one of the lists of a kubeconfig.
type entry interface {
	key() string
	origin() string               // the file that the entry came from
	checkWritten(*checker, place) // reports values that must not be written
}

// list is one of the lists of a kubeconfig. The code that is the same for all lists uses this type, so that it is
// compiled once and not for each type of entries.
type list interface {
	entries() []entry
	put(i int, e entry)      // replaces the entry at i, or appends if i is negative
	remove(name string) bool // reports whether the entry existed
}

// section is a list of each kubeconfig.
type section struct {
	kind string
	of   func(*Kubeconfig) list
}

func sections() []section {
	return []section{
		{"cluster", func(k *Kubeconfig) list { return listOf(&k.Clusters) }},
		{"user", func(k *Kubeconfig) list { return listOf(&k.Users) }},
		{"context", func(k *Kubeconfig) list { return listOf(&k.Contexts) }},
		{"extension", func(k *Kubeconfig) list { return listOf(&k.Extensions) }},
	}
}

func (n *NamedCluster) key() string { return n.Name }
func (n *NamedUser) key() string    { return n.Name }
func (n *NamedContext) key() string { return n.Name }
func (n *Extension) key() string    { return n.Name }

func (n *NamedCluster) origin() string { return n.Cluster.Origin }
func (n *NamedUser) origin() string    { return n.User.Origin }
func (n *NamedContext) origin() string { return n.Context.Origin }
func (n *Extension) origin() string    { return "" }

// pointer is a pointer to T that is an entry.
type pointer[T any] interface {
	*T
	entry
}

// listOf returns a list that changes items.
func listOf[T any, P pointer[T]](items *[]T) list { return (*typed[T, P])(items) }

// typed is a list of entries of one type.
type typed[T any, P pointer[T]] []T

func (l *typed[T, P]) entries() []entry {
	out := make([]entry, len(*l))
	for i := range *l {
		out[i] = P(&(*l)[i])
	}
	return out
}

func (l *typed[T, P]) put(i int, e entry) {
	item := (*T)(e.(P))
	if i < 0 {
		*l = append(*l, *item)
	} else {
		(*l)[i] = *item
	}
}

func (l *typed[T, P]) remove(name string) bool {
	before := len(*l)
	for i := indexOf(l, name); i >= 0; i = indexOf(l, name) {
		*l = append((*l)[:i], (*l)[i+1:]...)
	}
	if len(*l) == 0 {
		*l = nil // the list is omitted from the file, not written as an empty list
	}
	return len(*l) < before
}

// find returns the entry with the name, or nil.
func find[T any, P pointer[T]](items []T, name string) *T {
	if i := indexOf(listOf[T, P](&items), name); i >= 0 {
		return &items[i]
	}
	return nil
}

// names returns the names of the entries in their order.
func names[T any, P pointer[T]](items []T) []string { return keys(listOf[T, P](&items)) }

// indexOf returns the index of the entry with the name, or -1.
func indexOf(l list, name string) int { return slices.Index(keys(l), name) }

func keys(l list) []string {
	entries := l.entries()
	out := make([]string, len(entries))
	for i, e := range entries {
		out[i] = e.key()
	}
	return out
}

// duplicates returns the names that occur more than once.
func duplicates(l list) []string {
	seen := map[string]int{}
	var out []string
	for _, name := range keys(l) {
		if seen[name]++; seen[name] == 2 {
			out = append(out, name)
		}
	}
	return out
}
