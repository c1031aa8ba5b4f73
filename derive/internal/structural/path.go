// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package structural

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kube-go/sdk/derive/internal/suggest"
)

// At returns the schema at a simple JSON path, such as .status.conditions[?(@.type=="Ready")].status. It returns nil
// without an error if the schema allows any value there.
func (s *Schema) At(path string) (*Schema, error) {
	if !strings.HasPrefix(path, ".") {
		return nil, fmt.Errorf("path %q must begin with a dot", path)
	}
	root := s
	for i := 0; i < len(path); {
		step, end, err := nextStep(path, i)
		if err != nil {
			return nil, err
		}
		next, err := follow(root, s, path[:i], step)
		if err != nil || next == nil {
			return nil, err
		}
		s, i = next, end
	}
	return s, nil
}

// step is one step of a path: a name, or an expression in brackets that selects an item.
type step struct {
	name  string
	index bool
}

// nextStep parses the step of a path that starts at i, and returns its end.
func nextStep(path string, i int) (step, int, error) {
	if path[i] == '.' {
		var name strings.Builder
		j := i + 1
		for ; j < len(path) && path[j] != '.' && path[j] != '['; j++ {
			if path[j] == '\\' && j+1 < len(path) {
				j++
			}
			name.WriteByte(path[j])
		}
		if name.Len() == 0 {
			return step{}, 0, fmt.Errorf("path %q contains an empty name", path)
		}
		return step{name: name.String()}, j, nil
	}
	if path[i] != '[' {
		return step{}, 0, fmt.Errorf("path %q: expected a dot or a bracket before %q", path, path[i:])
	}
	inner, j, ok := brackets(path, i)
	if !ok {
		return step{}, 0, fmt.Errorf("path %q has an unclosed bracket", path)
	}
	if name := strings.Trim(inner, `'"`); name != inner && len(name) == len(inner)-2 {
		return step{name: name}, j, nil
	}
	return step{index: true}, j, nil
}

// brackets returns the text between the bracket at i and the matching bracket, and the end of the expression.
func brackets(path string, i int) (inner string, end int, ok bool) {
	depth, quote := 0, byte(0)
	for j := i; j < len(path); j++ {
		switch c := path[j]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '[' || c == '(':
			depth++
		case c == ']' || c == ')':
			if depth--; depth == 0 {
				return path[i+1 : j], j + 1, true
			}
		}
	}
	return "", 0, false
}

// follow returns the schema after one step.
func follow(root, s *Schema, so string, st step) (*Schema, error) {
	if st.index {
		switch {
		case s.Type == "array" && s.Items != nil:
			return s.Items, nil
		case s.PreserveUnknownFields || s.Type == "":
			return nil, nil
		}
		return nil, fmt.Errorf("path %s is not a list, so it has no items", so)
	}
	properties := s.Properties
	if s == root.Properties["metadata"] {
		properties = metadata()
	}
	if p := properties[st.name]; p != nil {
		return p, nil
	}
	switch {
	case s.AdditionalProperties != nil:
		return s.AdditionalProperties, nil
	case s.PreserveUnknownFields || s.EmbeddedResource || s.Type == "":
		return nil, nil
	case s.Type == "array":
		return nil, fmt.Errorf("path %s is a list: select an item with [0] or [?(@.field==\"value\")]", so)
	}
	msg := fmt.Sprintf("path %s.%s does not exist", so, st.name)
	if near := suggest.Nearest(st.name, slices.Sorted(maps.Keys(properties))); near != "" {
		msg += fmt.Sprintf("; did you mean %s.%s?", so, near)
	}
	return nil, fmt.Errorf("%s", msg)
}

// metadata returns the schema of object metadata, which the schema of a kind does not contain.
func metadata() map[string]*Schema {
	text := &Schema{Type: "string"}
	date := &Schema{Type: "string", Format: "date-time"}
	strs := &Schema{Type: "object", AdditionalProperties: text}
	anything := &Schema{}
	return map[string]*Schema{
		"name": text, "generateName": text, "namespace": text, "uid": text, "resourceVersion": text, "selfLink": text,
		"generation":        {Type: "integer"},
		"creationTimestamp": date, "deletionTimestamp": date,
		"deletionGracePeriodSeconds": {Type: "integer"},
		"labels":                     strs, "annotations": strs,
		"finalizers":      {Type: "array", Items: text},
		"ownerReferences": {Type: "array", Items: anything},
		"managedFields":   {Type: "array", Items: anything},
	}
}
