// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// names gives names to the values that differ between runs. The zero value is not usable, see newNames.
type names struct {
	values map[string]string // by name, such as $rv1
	names  map[string]string // by prefix and value, such as "$rv 4711"
	count  map[string]int    // by prefix
}

// newNames returns names that are fixed.
func newNames(values map[string]string) *names {
	return &names{values: values, names: map[string]string{}, count: map[string]int{}}
}

// clone returns a copy, for a response that may be replaced by a later one.
func (n *names) clone() *names {
	return &names{values: maps.Clone(n.values), names: maps.Clone(n.names), count: maps.Clone(n.count)}
}

// name returns the name of a value, and makes one if it has none.
func (n *names) name(prefix, value string) string {
	if name, ok := n.names[prefix+" "+value]; ok {
		return name
	}
	return n.fresh(prefix, value)
}

// fresh returns a new name for a value.
func (n *names) fresh(prefix, value string) string {
	n.count[prefix]++
	name := fmt.Sprintf("%s%d", prefix, n.count[prefix])
	n.values[name] = value
	n.names[prefix+" "+value] = name
	return name
}

// expand replaces the names in a request by their values. Other words that begin with a dollar sign are not names.
func (n *names) expand(s string) string {
	return regexp.MustCompile(`\$[a-z]+[0-9]*`).ReplaceAllStringFunc(s, func(name string) string {
		return cmp.Or(n.values[name], name)
	})
}

// shorten replaces the values in a text of a response by their names.
func (n *names) shorten(s string) string {
	fixed := slices.DeleteFunc(slices.Collect(maps.Keys(n.values)), func(name string) bool {
		return strings.ContainsAny(name, "0123456789")
	})
	for _, name := range slices.Sorted(slices.Values(fixed)) {
		s = strings.ReplaceAll(s, n.values[name], name)
	}
	s = n.replace(s, `()([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})`, "$uid", "<uid>")
	s = n.replace(s, `(\b)(gen-[a-z0-9]{5})\b`, "$name", "<name>")
	s = n.replace(s, `((?i:resource ?version)[a-z ]*(?:: |\())([0-9]+)`, "$rv", "")
	s = n.replace(s, `(current: |too old resource version: 1 \()([0-9]+)`, "", "<rv>")
	s = n.replace(s, `(Key: )(/[^,]+)`, "", "<key>")
	return regexp.MustCompile(`\b[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z`).ReplaceAllStringFunc(s, func(value string) string {
		if t, err := time.Parse(time.RFC3339, value); err != nil || time.Since(t).Abs() > time.Hour {
			return value // not the time of an event in this run
		}
		return "<time>"
	})
}

// replace replaces the second group of an expression by its name with a prefix, or otherwise by a text if it is not
// empty.
func (n *names) replace(s, expression, prefix, other string) string {
	re := regexp.MustCompile(expression)
	return re.ReplaceAllStringFunc(s, func(match string) string {
		groups := re.FindStringSubmatch(match)
		return groups[1] + cmp.Or(n.names[prefix+" "+groups[2]], other, groups[2])
	})
}
