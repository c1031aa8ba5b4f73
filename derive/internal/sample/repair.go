// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package sample

import (
	"iter"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kube-go/sdk/derive/internal/openapi"
	"github.com/kube-go/sdk/derive/internal/value"
)

// maxTries limits the search for a valid object.
const maxTries = 2000

// repair changes one value of an object at a time, as long as the number of errors decreases. It returns the best
// object that it found, and the remaining errors.
func (s *Sampler) repair(obj map[string]any) (map[string]any, field.ErrorList) {
	errs := s.validate(obj)
	for tries := 0; len(errs) > 0; {
		better := false
		for next := range s.changesFor(obj, errs) {
			if tries++; tries > maxTries {
				return obj, errs
			}
			if e := s.validate(next); weight(e) < weight(errs) {
				obj, errs, better = next, e, true
				break
			}
		}
		if !better {
			return s.repairTwo(obj, errs, maxTries-tries)
		}
	}
	return obj, nil
}

// changesFor is like changes, but begins with the values of the errors.
func (s *Sampler) changesFor(obj map[string]any, errs field.ErrorList) iter.Seq[map[string]any] {
	return func(yield func(map[string]any) bool) {
		for _, err := range errs {
			schema, v, at := s.placeOf(obj, err)
			for next := range s.changesOf(obj, schema, v, at) {
				if !yield(next) {
					return
				}
			}
		}
		for next := range s.changes(obj) {
			if !yield(next) {
				return
			}
		}
	}
}

// placeOf returns the value of an error, or the innermost enclosing value that exists.
func (s *Sampler) placeOf(obj map[string]any, err *field.Error) (schema *openapi.Schema, v any, at []step) {
	path := err.Field
	if text, ok := strings.CutPrefix(err.Detail, `"`); ok && (path == "" || path == "<nil>") {
		path, _, _ = strings.Cut(text, `"`)
	}
	schema, v = s.root, obj
	for part := range strings.FieldsFuncSeq(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		var below *openapi.Schema
		var child any
		var st step = part
		switch node := v.(type) {
		case map[string]any:
			if below = schema.Properties[part]; below == nil {
				below = schema.Value()
			}
			child = node[part]
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i >= len(node) {
				return schema, v, at
			}
			below, child, st = schema.Item(), node[i], i
		}
		if below == nil || child == nil {
			return schema, v, at
		}
		schema, v, at = below, child, append(at, st)
	}
	return schema, v, at
}

// repairTwo changes two values at once, for rules that a single change can't satisfy.
func (s *Sampler) repairTwo(obj map[string]any, errs field.ErrorList, tries int) (map[string]any, field.ErrorList) {
	for next := range s.changesFor(obj, errs) {
		e := s.validate(next)
		if len(e) > len(errs)+1 {
			continue
		}
		for after := range s.changesFor(next, e) {
			if tries--; tries < 0 {
				return obj, errs
			}
			if e := s.validate(after); len(e) == 0 {
				return after, nil
			}
		}
	}
	return obj, errs
}

// weight returns the weight of errors. Errors that prevent the evaluation of rules have a higher weight.
func weight(errs field.ErrorList) int {
	n := 0
	for _, err := range errs {
		if value.IsBlocking(err) {
			n += 10
		}
		n++
	}
	return n
}

// changes yields copies of an object in which one value is changed, added or removed.
func (s *Sampler) changes(obj map[string]any) iter.Seq[map[string]any] {
	return s.changesOf(obj, s.root, obj, nil)
}

// changesOf is like changes, for one value and its contents.
func (s *Sampler) changesOf(obj map[string]any, schema *openapi.Schema, v any, at []step) iter.Seq[map[string]any] {
	return s.walk(obj, schema, v, at, &walker{literals: literalsOf(schema)})
}

// toggles is like changesOf, but only adds and removes values.
func (s *Sampler) toggles(obj map[string]any, schema *openapi.Schema, v any, at []step) iter.Seq[map[string]any] {
	return s.walk(obj, schema, v, at, &walker{toggle: true})
}

func (s *Sampler) walk(obj map[string]any, schema *openapi.Schema, v any, at []step, with *walker) iter.Seq[map[string]any] {
	return func(yield func(map[string]any) bool) {
		w := &walker{literals: with.literals, toggle: with.toggle, visit: func(at []step, v any, remove bool) bool {
			return yield(s.changed(obj, at, v, remove))
		}}
		w.value(schema, v, at)
	}
}

// changed returns a copy of an object with a new value, or without a value.
func (*Sampler) changed(obj map[string]any, at []step, v any, remove bool) map[string]any {
	next := runtime.DeepCopyJSON(obj)
	place(next, at, v, remove)
	return next
}

// walker traverses an object and its schema, and proposes changes.
type walker struct {
	literals literals
	toggle   bool // propose only added and removed values
	visit    func(at []step, v any, remove bool) bool
	done     bool
}

// step is the name of a property or the index of an item.
type step any

// propose proposes a new value, or the removal of a value.
func (w *walker) propose(at []step, v any, remove bool) {
	if w.done {
		return
	}
	w.done = !w.visit(at, v, remove)
}

// place sets or removes a value in a tree.
func place(root any, at []step, v any, remove bool) any {
	if len(at) == 0 {
		return v
	}
	switch node := root.(type) {
	case map[string]any:
		name, _ := at[0].(string)
		if len(at) == 1 && remove {
			delete(node, name)
			return node
		}
		node[name] = place(node[name], at[1:], v, remove)
		return node
	case []any:
		i, _ := at[0].(int)
		switch {
		case i == len(node) && len(at) == 1:
			return append(node, v)
		case i >= len(node):
			return node
		case len(at) == 1 && remove:
			return slices.Delete(node, i, i+1)
		}
		node[i] = place(node[i], at[1:], v, remove)
		return node
	}
	return root
}

func (w *walker) value(s *openapi.Schema, v any, at []step) {
	if w.done || s == nil {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		w.object(s, v, at)
	case []any:
		w.list(s, v, at)
	default:
		if w.toggle {
			return
		}
		for _, other := range w.others(s) {
			if other != v {
				w.propose(at, other, false)
			}
		}
	}
}

// object proposes to add and remove properties, and to change their values.
func (w *walker) object(s *openapi.Schema, v map[string]any, at []step) {
	root := len(at) == 0
	smallest := &maker{}
	if meta := s.Properties["metadata"]; root && !w.toggle && (meta == nil || meta.Properties["name"] == nil) {
		for _, text := range w.others(&openapi.Schema{Type: "string"}) {
			w.propose([]step{"metadata", "name"}, text, false)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if root && (name == "apiVersion" || name == "kind" || name == "status") {
			continue
		}
		below := append(slices.Clone(at), name)
		if _, ok := v[name]; !ok {
			w.propose(below, smallest.value(s.Properties[name], 0, maxDepth), false)
		} else if !slices.Contains(s.Required, name) && (!root || name != "metadata") {
			w.propose(below, nil, true)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if p := s.Properties[name]; p != nil && (!root || name != "apiVersion" && name != "kind" && name != "status") {
			w.value(p, v[name], append(slices.Clone(at), name))
		}
	}
	if more := s.Value(); more != nil {
		for _, name := range slices.Sorted(maps.Keys(v)) {
			below := append(slices.Clone(at), name)
			w.value(more, v[name], below)
			w.propose(below, nil, true)
		}
		for _, name := range append([]string{word(len(v))}, w.literals.strs...) {
			if _, ok := v[name]; !ok {
				w.propose(append(slices.Clone(at), name), smallest.value(more, len(v), maxDepth), false)
			}
		}
	}
}

func (w *walker) list(s *openapi.Schema, v []any, at []step) {
	for i, item := range v {
		w.value(s.Item(), item, append(slices.Clone(at), i))
	}
	if len(v) > 0 {
		w.propose(append(slices.Clone(at), len(v)), v[0], false)
	}
	w.propose(append(slices.Clone(at), len(v)), (&maker{}).value(s.Item(), len(v), maxDepth), false)
	for i := range v {
		w.propose(append(slices.Clone(at), i), nil, true)
	}
}

// others returns candidates for a value.
func (w *walker) others(s *openapi.Schema) []any {
	s = flat(s)
	if len(s.Enum) > 0 {
		return s.Enum
	}
	var values []any
	numbers := func() {
		for variant := range 4 {
			values = append(values, numberOf(s, variant))
		}
		low, high := bounds(s)
		values = append(values, int64(low), int64(high), int64(0))
		for _, n := range w.literals.numbers {
			values = append(values, n-1, n, n+1)
		}
	}
	switch {
	case s.Type == "boolean":
		return []any{true, false}
	case s.IntOrString:
		numbers()
		values = append(values, textOf(s, 0), textOf(s, 1))
	case s.Type == "integer":
		numbers()
	case s.Type == "number":
		values = append(values, fractionOf(s, 1), fractionOf(s, 2))
		numbers()
	case s.Type == "string":
		for variant := range 3 {
			values = append(values, textOf(s, variant))
		}
	}
	if s.Type == "string" || s.IntOrString {
		for _, text := range w.literals.strs {
			values = append(values, text, text+"x", "x"+text, sized(s, text))
		}
		for _, n := range w.literals.numbers {
			if n < maxText {
				values = append(values, strings.Repeat("x", int(n)+1), strings.Repeat("x", int(max(n, 1))-1))
			}
		}
		for _, text := range []string{
			"a", "", "1", "https://example.com", "10.0.0.1", "2001:db8::1", "10.0.0.0/24", "1.2.3", "100m", "1Gi", "1h",
			"2024-01-01T00:00:00Z", "example.com", "50%", "A",
		} {
			values = append(values, text)
		}
	}
	return values
}

// literals contains the string and number literals in the rules of a schema.
type literals struct {
	strs    []string
	numbers []int64
}

var (
	quoted  = regexp.MustCompile(`'([^'\\]*)'|"([^"\\]*)"`)
	integer = regexp.MustCompile(`\b\d{1,15}\b`)
)

func literalsOf(s *openapi.Schema) literals {
	var l literals
	s.Each(func(s *openapi.Schema) {
		for _, rule := range s.Validations {
			for _, m := range quoted.FindAllStringSubmatch(rule.Rule, -1) {
				l.strs = append(l.strs, m[1]+m[2])
			}
			for _, text := range integer.FindAllString(rule.Rule, -1) {
				if n, err := strconv.ParseInt(text, 10, 64); err == nil {
					l.numbers = append(l.numbers, n)
				}
			}
		}
	})
	slices.Sort(l.strs)
	slices.Sort(l.numbers)
	l.strs, l.numbers = slices.Compact(l.strs), slices.Compact(l.numbers)
	return l
}
