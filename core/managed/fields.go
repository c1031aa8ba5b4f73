// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kube-go/sdk/core/wire"
)

// Fields is a set of fields, as an entry of metadata.managedFields has it. The nil set is empty. It is immutable.
type Fields struct {
	self  bool // the path to here is in the set
	inner map[string]*Fields
}

// Path is the way to a field: names (f:spec), keys of list elements (k:{"name":"web"}), values of sets (v:"x") and
// indexes (i:0), spelled as in FieldsV1.
type Path []string

// String returns the path as the server prints it, such as .spec.containers[name="web"].image.
func (p Path) String() string {
	var b strings.Builder
	for _, element := range p {
		kind, text, _ := strings.Cut(element, ":")
		switch kind {
		case "f":
			b.WriteString("." + text)
		case "k":
			b.WriteString("[" + printKey(text) + "]")
		case "v":
			b.WriteString("[=" + text + "]")
		default:
			b.WriteString("[" + text + "]")
		}
	}
	return b.String()
}

// printKey prints the key of a list element, which is a JSON object, as name="web",port=80.
func printKey(text string) string {
	key, err := parseKey(text)
	if err != nil {
		return text
	}
	parts := make([]string, 0, len(key))
	for _, name := range slices.Sorted(maps.Keys(key)) {
		value, err := wire.MarshalJSON(key[name])
		if err != nil {
			return text
		}
		parts = append(parts, name+"="+string(value))
	}
	return strings.Join(parts, ",")
}

// Parse reads a set of fields: the bytes of a metav1.FieldsV1.
func Parse(raw []byte) (*Fields, error) {
	var tree map[string]any
	if err := wire.UnmarshalJSON(raw, &tree); err != nil {
		return nil, fmt.Errorf("managed fields: %w", err)
	}
	return parse(tree, nil)
}

func parse(tree map[string]any, at Path) (*Fields, error) {
	f := &Fields{self: len(tree) == 0 && len(at) > 0}
	for text, value := range tree {
		if text == "." {
			f.self = len(at) > 0 // the object itself is nobody's
			continue
		}
		element, err := parseElement(text)
		if err != nil {
			return nil, fmt.Errorf("managed fields: in %q: %w", at.String(), err)
		}
		beneath, ok := value.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("managed fields: in %q: %s must have an object", at.String(), text)
		}
		inner, err := parse(beneath, append(slices.Clip(at), element))
		if err != nil {
			return nil, err
		}
		if f.inner == nil {
			f.inner = make(map[string]*Fields, len(tree))
		}
		f.inner[element] = f.inner[element].union(inner)
	}
	return f, nil
}

// parseElement returns an element in the one way to spell it.
func parseElement(text string) (string, error) {
	kind, rest, ok := strings.Cut(text, ":")
	switch {
	case !ok:
	case kind == "f":
		return text, nil
	case kind == "k":
		key, err := parseKey(rest)
		if err != nil {
			return "", fmt.Errorf("key %s: %w", rest, err)
		}
		return respell(kind, key)
	case kind == "v":
		var value any
		if err := wire.UnmarshalJSON([]byte(rest), &value); err != nil {
			return "", fmt.Errorf("value %s: %w", rest, err)
		}
		return respell(kind, value)
	case kind == "i":
		if i, err := strconv.Atoi(rest); err == nil && i >= 0 {
			return "i:" + strconv.Itoa(i), nil
		}
	}
	return "", fmt.Errorf("%q starts with none of f: k: v: i: as it should, or goes on wrongly", text)
}

func parseKey(text string) (map[string]any, error) {
	var key map[string]any
	if err := wire.UnmarshalJSON([]byte(text), &key); err != nil {
		return nil, err
	}
	if len(key) == 0 {
		return nil, fmt.Errorf("names no field")
	}
	return key, nil
}

func respell(kind string, value any) (string, error) {
	data, err := wire.MarshalJSON(value)
	return kind + ":" + string(data), err
}

// All returns the paths in the set, in the order of their spelling. A path may be in the set together with some beneath
// it, as that of a map whose existence is owned beside some of its entries.
func (f *Fields) All() iter.Seq[Path] {
	return func(yield func(Path) bool) { f.walk(nil, yield) }
}

func (f *Fields) walk(at Path, yield func(Path) bool) bool {
	if f == nil {
		return true
	}
	if f.self && !yield(slices.Clone(at)) {
		return false
	}
	for _, element := range slices.Sorted(maps.Keys(f.inner)) {
		if !f.inner[element].walk(append(at, element), yield) {
			return false
		}
	}
	return true
}

// MarshalJSON returns the set as FieldsV1, so that it can be written to an entry of metadata.managedFields.
func (f *Fields) MarshalJSON() ([]byte, error) {
	return wire.MarshalJSON(f.tree())
}

func (f *Fields) tree() map[string]any {
	tree := map[string]any{}
	if f == nil {
		return tree
	}
	if f.self && len(f.inner) > 0 {
		tree["."] = map[string]any{}
	}
	for element, inner := range f.inner {
		tree[element] = inner.tree()
	}
	return tree
}

// union returns the fields of both sets.
func (f *Fields) union(g *Fields) *Fields {
	if f == nil || g == nil {
		if f == nil {
			return g
		}
		return f
	}
	u := &Fields{self: f.self || g.self, inner: maps.Clone(f.inner)}
	for element, inner := range g.inner {
		if u.inner == nil {
			u.inner = make(map[string]*Fields, len(g.inner))
		}
		u.inner[element] = u.inner[element].union(inner)
	}
	return u
}

// at returns what the set has beneath an element.
func (f *Fields) at(element string) *Fields {
	if f == nil {
		return nil
	}
	return f.inner[element]
}

// beneath returns the elements that the set has beneath a path.
func (f *Fields) beneath(path Path) map[string]*Fields {
	for _, element := range path {
		f = f.at(element)
	}
	if f == nil {
		return nil
	}
	return f.inner
}
