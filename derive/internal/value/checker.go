// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package value

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kube-go/sdk/derive/internal/openapi"
)

// Checker checks values against a schema. It is safe for concurrent use.
type Checker struct {
	root     *openapi.Schema
	literal  bool
	patterns map[string]*regexp.Regexp
}

// NewChecker returns a checker of objects. Invalid patterns match all strings.
func NewChecker(root *openapi.Schema) *Checker {
	c := &Checker{root: root, patterns: map[string]*regexp.Regexp{}}
	root.Each(func(s *openapi.Schema) {
		if re, err := regexp.Compile(s.Pattern); err == nil && s.Pattern != "" {
			c.patterns[s.Pattern] = re
		}
	})
	return c
}

// NewDefaultChecker returns a checker of default values. Like the server, it does not check the type of values with
// x-kubernetes-int-or-string.
func NewDefaultChecker(root *openapi.Schema) *Checker {
	c := NewChecker(root)
	c.literal = true
	return c
}

// Check returns the errors of a value. It ignores errors of values that are unchanged since old. For a new object, old
// is nil.
func (c *Checker) Check(path *field.Path, v any, old *Correlated) field.ErrorList {
	res := c.ratchet(c.root, v, "", old)
	var errs field.ErrorList
	for _, p := range res.problems {
		e := *p.err
		switch name := strings.TrimPrefix(e.Field, "."); name {
		case "":
			e.Field = path.String()
		default:
			e.Field = path.Child(name).String()
		}
		errs = append(errs, &e)
	}
	return errs
}

// IsBlocking reports whether servers skip the evaluation of rules because of an error.
func IsBlocking(err *field.Error) bool {
	switch err.Type {
	case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
		return true
	default:
		return false
	}
}

// problem is an error with a field path relative to the root value.
type problem struct {
	text string // identifies duplicates
	err  *field.Error
}

// result contains problems and the number of successful checks. If all alternatives fail, the one with the most
// successful checks is reported.
type result struct {
	problems []problem
	matches  int
}

func (r *result) merge(other result) {
	for _, p := range other.problems {
		r.add(p)
	}
	r.matches += other.matches
}

func (r *result) add(p problem) {
	if !slices.ContainsFunc(r.problems, func(q problem) bool { return q.text == p.text }) {
		r.problems = append(r.problems, p)
	}
}

func (r *result) valid() bool { return len(r.problems) == 0 }

func failed(p problem) result { return result{problems: []problem{p}} }

// invalid returns a problem of type Invalid.
func invalid(path string, v any, format string, args ...any) problem {
	return problemOf(path, field.ErrorTypeInvalid, v, path+" in body "+fmt.Sprintf(format, args...))
}

func problemOf(path string, t field.ErrorType, v any, text string) problem {
	if v == nil {
		v = ""
	}
	return problem{text, &field.Error{Type: t, Field: path, BadValue: v, Detail: text}}
}

// general returns a problem without a field.
func general(text string) problem {
	return problem{text, &field.Error{Type: field.ErrorTypeInvalid, BadValue: "", Detail: text}}
}

// ratchet checks a value, and ignores errors of unchanged values.
func (c *Checker) ratchet(s *openapi.Schema, v any, path string, old *Correlated) result {
	res := c.check(s, v, path, old)
	if !res.valid() && old.Unchanged() {
		res.problems = nil
	}
	return res
}

// check checks a value, in the server's order.
func (c *Checker) check(s *openapi.Schema, v any, path string, old *Correlated) result {
	var res result
	if s == nil {
		return res
	}
	if v == nil {
		res.merge(c.checkType(s, v, path))
		res.merge(checkEnum(s, v, path))
		return res
	}
	run := func(r result) {
		res.merge(r)
		res.matches++
	}
	if len(c.types(s)) > 0 || c.format(s) != "" {
		run(c.checkType(s, v, path))
	}
	run(c.checkJunctors(s, v, path))
	switch v := v.(type) {
	case string:
		run(c.checkString(s, v, path))
		if known(c.format(s)) {
			run(checkFormat(c.format(s), v, path))
		}
	case int64, float64:
		run(c.checkNumber(s, v, path))
	case []any:
		run(c.checkList(s, v, path, old))
	}
	run(checkEnum(s, v, path))
	if m, ok := v.(map[string]any); ok {
		run(c.checkObject(s, m, path, old))
	}
	res.matches++
	return res
}

// types returns the allowed types of a value, or nil if all types are allowed.
func (c *Checker) types(s *openapi.Schema) []string {
	switch {
	case s.IntOrString && !c.literal:
		return []string{"integer", "string"}
	case s.Type != "":
		return []string{s.Type}
	}
	return nil
}

// checkType checks the type of a value.
func (c *Checker) checkType(s *openapi.Schema, v any, path string) result {
	want, format := c.types(s), c.format(s)
	wrong := func(want, got string) result {
		return failed(problemOf(path, field.ErrorTypeTypeInvalid, got, fmt.Sprintf("%s in body must be of type %s: %q", path, want, got)))
	}
	if v == nil {
		if len(want) > 0 && !s.Nullable {
			return wrong(strings.Join(want, ","), "null")
		}
		return result{matches: 1}
	}
	got, size := typeOf(v)
	matches := slices.Contains(want, got)
	switch v := v.(type) {
	case float64:
		matches = matches || slices.Contains(want, "integer") && isWhole(v)
	case int64:
		matches = matches || slices.Contains(want, "number")
	}
	sized := slices.Contains(want, "number") || slices.Contains(want, "integer")
	if format != "" {
		switch v.(type) {
		case string, []any:
			if !sized { // like the server, accept any list for a string with a format
				return result{matches: 1}
			}
		default:
			if !matches && size != format {
				return wrong(format, size)
			}
		}
	}
	if !matches {
		return wrong(strings.Join(want, ","), got)
	}
	return result{matches: 1}
}

// typeOf returns the type of a value, and the format of a number.
func typeOf(v any) (name, size string) {
	switch v.(type) {
	case string:
		return "string", ""
	case int64:
		return "integer", "int64"
	case float64:
		return "number", "float64"
	case bool:
		return "boolean", ""
	case []any:
		return "array", ""
	}
	return "object", ""
}

// checkString checks the length and the pattern of a string, and reports the first error.
func (c *Checker) checkString(s *openapi.Schema, v, path string) result {
	n := int64(utf8.RuneCountInString(v))
	switch {
	case s.MaxLength != nil && n > *s.MaxLength:
		e := field.TooLong(nil, nil, int(*s.MaxLength))
		e.Field = path
		return failed(problem{fmt.Sprintf("%s in body should be at most %d chars long", path, *s.MaxLength), e})
	case s.MinLength != nil && n < *s.MinLength:
		return failed(invalid(path, v, "should be at least %d chars long", *s.MinLength))
	case s.Pattern != "" && c.patterns[s.Pattern] != nil && !c.patterns[s.Pattern].MatchString(v):
		return failed(invalid(path, v, "should match '%s'", s.Pattern))
	}
	return result{}
}

// checkEnum checks that a value is one of the enum values. Null is always invalid.
func checkEnum(s *openapi.Schema, v any, path string) result {
	if len(s.Enum) == 0 {
		return result{}
	}
	for _, allowed := range s.Enum {
		if allowed != nil && v != nil && sameAs(reflect.ValueOf(v), allowed) {
			return result{}
		}
	}
	var names []string
	for _, allowed := range s.Enum {
		names = append(names, plain(allowed))
	}
	e := field.NotSupported(nil, v, names)
	e.Field = path
	return failed(problem{fmt.Sprintf("%s in body should be one of %v", path, s.Enum), e})
}

// sameAs compares v, converted to the type of allowed, with allowed.
func sameAs(v reflect.Value, allowed any) bool {
	t := reflect.TypeOf(allowed)
	return v.Type().ConvertibleTo(t) && reflect.DeepEqual(v.Convert(t).Interface(), allowed)
}

// checkList checks a list and its items.
func (c *Checker) checkList(s *openapi.Schema, v []any, path string, old *Correlated) result {
	var res result
	if item := s.Item(); item != nil {
		for i := range v {
			res.merge(c.ratchet(item, v[i], fmt.Sprintf("%s[%d]", path, i), old.Index(i)))
		}
	}
	n := int64(len(v))
	if s.MinItems != nil && n < *s.MinItems {
		res.add(invalid(path, n, "should have at least %d items", *s.MinItems))
	}
	if s.MaxItems != nil && n > *s.MaxItems {
		res.add(tooMany(path, "items", n, *s.MaxItems))
	}
	res.matches++
	return res
}

func tooMany(path, unit string, n, limit int64) problem {
	e := field.TooMany(nil, int(n), int(limit))
	e.Field = path
	return problem{fmt.Sprintf("%s in body should have at most %d %s", path, limit, unit), e}
}

// checkObject checks an object and its properties.
func (c *Checker) checkObject(s *openapi.Schema, v map[string]any, path string, old *Correlated) result {
	var res result
	n := int64(len(v))
	if s.MinProperties != nil && n < *s.MinProperties {
		res.add(invalid(path, n, "should have at least %d properties", *s.MinProperties))
	}
	if s.MaxProperties != nil && n > *s.MaxProperties {
		res.add(tooMany(path, "properties", n, *s.MaxProperties))
	}
	keys := slices.Sorted(maps.Keys(v))
	for _, key := range keys {
		switch more := s.AdditionalProperties; {
		case s.Properties[key] != nil || more == nil:
		case !more.Allows:
			text := fmt.Sprintf("%s.%s in body is a forbidden property", path, key)
			res.add(problemOf(path, field.ErrorTypeInvalid, key, text))
		case more.Schema != nil:
			res.merge(c.property(more.Schema, key, v[key], path, path+"."+key, old))
		}
	}
	for _, key := range keys {
		if p := s.Properties[key]; p != nil {
			name := key
			if path != "" {
				name = path + "." + key
			}
			res.merge(c.property(p, key, v[key], path, name, old))
		}
	}
	for _, key := range s.Required {
		if _, ok := v[key]; !ok {
			e := field.Required(nil, "")
			e.Field = path + "." + key
			res.add(problem{path + "." + key + " in body is required", e})
		}
	}
	return res
}

// property checks a property. For apiVersion and kind at the root, it does not ignore errors of unchanged values.
func (c *Checker) property(s *openapi.Schema, key string, v any, parent, path string, old *Correlated) result {
	if parent == "" && (key == "kind" || key == "apiVersion") {
		return c.ratchet(s, v, path, nil)
	}
	return c.ratchet(s, v, path, old.Key(key))
}
