// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package defaults

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
)

// A rule sets fields of an object, or of a part of one.
type rule func(map[string]any)

// all returns a rule that applies rules in order.
func all(rules ...rule) rule {
	return func(obj map[string]any) {
		for _, r := range rules {
			r(obj)
		}
	}
}

// within applies rules to the existing objects at a path. The suffix [] of a name means each element of a list.
func within(path string, rules ...rule) rule {
	if first, rest, nested := strings.Cut(path, "."); nested {
		return within(first, within(rest, rules...))
	}
	r := all(rules...)
	name, isList := strings.CutSuffix(path, "[]")
	return func(obj map[string]any) {
		if isList {
			for _, element := range objects(obj, name) {
				r(element)
			}
		} else if child := object(obj, name); child != nil {
			r(child)
		}
	}
}

// ensure applies rules to the object at a path, which it creates if it does not exist.
func ensure(path string, rules ...rule) rule {
	if first, rest, nested := strings.Cut(path, "."); nested {
		return ensure(first, ensure(rest, rules...))
	}
	return all(unset(path, map[string]any{}), within(path, rules...))
}

// unset sets a field that is not set. It is for fields that are pointers in Go.
func unset(name string, value any) rule {
	value = normal(value)
	return func(obj map[string]any) {
		if obj[name] == nil {
			obj[name] = runtime.DeepCopyJSONValue(value)
		}
	}
}

// zero sets a field that has its zero value or is an empty list. It is for fields that are not pointers in Go.
func zero(name string, value any) rule {
	value = normal(value)
	return func(obj map[string]any) {
		if isZero(obj[name]) {
			obj[name] = runtime.DeepCopyJSONValue(value)
		}
	}
}

// zeroThen sets a field that has its zero value, and then applies a rule.
func zeroThen(name string, value any, r rule) rule {
	return func(obj map[string]any) {
		if isZero(obj[name]) {
			obj[name] = value
			r(obj)
		}
	}
}

// set sets a field to a value that it always has.
func set(name string, value any) rule {
	return func(obj map[string]any) { obj[name] = value }
}

// now returns a rule that sets a field that is not set to the time.
func now(name string) rule {
	return func(obj map[string]any) { unset(name, time.Now().UTC().Format(time.RFC3339))(obj) }
}

// when applies rules if a field has a value.
func when(name string, value any, rules ...rule) rule {
	r := all(rules...)
	return func(obj map[string]any) {
		if is(obj[name], value) {
			r(obj)
		}
	}
}

// drop removes a field.
func drop(name string) rule {
	return func(obj map[string]any) { delete(obj, name) }
}

// normal returns a constant as unstructured content has it.
func normal(value any) any {
	if n, ok := value.(int); ok {
		return int64(n)
	}
	return value
}

func is(value, want any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return false // they can't be compared
	default:
		return value == normal(want)
	}
}

func isZero(value any) bool {
	switch value := value.(type) {
	case []any:
		return len(value) == 0
	case map[string]any:
		return false
	default:
		return value == nil || value == "" || value == false || value == int64(0) || value == float64(0)
	}
}

// text returns a field that is a string, or an empty string.
func text(obj map[string]any, name string) string {
	s, _ := obj[name].(string)
	return s
}

// object returns a field that is an object, or nil.
func object(obj map[string]any, path ...string) map[string]any {
	for _, name := range path {
		obj, _ = obj[name].(map[string]any)
	}
	return obj
}

// objects returns the objects in a field that is a list.
func objects(obj map[string]any, name string) []map[string]any {
	list, _ := obj[name].([]any)
	var result []map[string]any
	for _, element := range list {
		if child, ok := element.(map[string]any); ok && child != nil {
			result = append(result, child)
		}
	}
	return result
}

// fill copies the entries that an object does not have.
func fill(obj, from map[string]any) {
	for name, value := range from {
		if _, ok := obj[name]; !ok {
			obj[name] = value
		}
	}
}

// fillFrom fills an object in a field with the entries of another one. It creates the object if there are entries.
func fillFrom(name, from string) rule {
	return func(obj map[string]any) {
		if source := object(obj, from); len(source) > 0 {
			unset(name, map[string]any{})(obj)
			if target := object(obj, name); target != nil {
				fill(target, source)
			}
		}
	}
}
