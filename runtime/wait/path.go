// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/kube-go/sdk/core/wire"
)

// step is one part of a JSON path. Exactly one of its fields is set.
type step struct {
	name   string  // of a field
	index  *int    // of an item
	span   *span   // of items
	filter *filter // of items
	union  []step  // of names, indexes and spans
	every  bool    // all fields or items: .*
	deep   bool    // the value and all values in it: ..
}

// span selects every by-th item from the start until the end, which are not clipped to the list yet.
type span struct{ start, end, by int }

// filter selects the items of a list that have a field at path, or whose field compares with a value. As in kubectl, no
// operator selects an item without the field.
type filter struct {
	path     []step
	operator string // "" if the field must exist
	value    string
	quoted   bool // the value is a string
}

// parsePath reads a path such as {.status.conditions[?(@.type=="Ready")].status}. The braces and the first dot may be
// omitted.
func parsePath(s string) ([]step, error) {
	if !utf8.ValidString(s) {
		return nil, errors.New("it is not valid UTF-8")
	}
	p := strings.TrimSpace(s)
	if inner, ok := strings.CutPrefix(p, "{"); ok {
		if p, ok = strings.CutSuffix(inner, "}"); !ok {
			return nil, errors.New("the closing } is missing")
		}
	}
	p = strings.TrimPrefix(p, "$")
	if p != "" && p[0] != '.' && p[0] != '[' {
		p = "." + p
	}
	steps, rest, err := parseSteps(p)
	switch {
	case err != nil:
		return nil, err
	case rest != "":
		return nil, fmt.Errorf("want a dot or a bracket before %q", rest)
	case len(steps) == 0:
		return nil, errors.New("it has no field: want one such as {.status.phase}")
	}
	return steps, nil
}

// parseSteps reads as many steps as possible, and returns the rest.
func parseSteps(s string) (steps []step, rest string, err error) {
	for s != "" && (s[0] == '.' || s[0] == '[') {
		var st step
		switch {
		case strings.HasPrefix(s, ".."):
			if slices.ContainsFunc(steps, func(st step) bool { return st.deep }) {
				return nil, "", errors.New("it has .. more than once")
			}
			steps = append(steps, step{deep: true})
			if s = s[1:]; strings.HasPrefix(s, ".[") {
				s = s[1:]
			}
			continue
		case strings.HasPrefix(s, ".*"):
			st.every, s = true, s[len(".*"):]
		case s[0] == '.':
			st.name, s, err = parseName(s[1:])
		default:
			st, s, err = parseBracket(s[1:])
		}
		if err != nil {
			return nil, "", err
		}
		steps = append(steps, st)
	}
	return steps, s, nil
}

// parseName reads the name of a field. A backslash escapes a character, such as the dots of an annotation.
func parseName(s string) (name, rest string, err error) {
	var b strings.Builder
	i := 0
	for ; i < len(s) && !strings.ContainsRune(".[]{}()<>=!?*@,'\" ", rune(s[i])); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b.WriteByte(s[i])
	}
	if b.Len() == 0 {
		return "", "", errors.New("the name of a field is empty")
	}
	return b.String(), s[i:], nil
}

// parseBracket reads a filter, or indexes, slices and quoted names with commas between them, after the opening bracket.
func parseBracket(s string) (st step, rest string, err error) {
	if strings.HasPrefix(s, "?(") {
		st.filter, s, err = parseFilter(s[len("?("):])
	} else {
		for {
			var next step
			if next, s, err = parseSelector(strings.TrimLeft(s, " ")); err != nil {
				return st, "", err
			}
			st.union = append(st.union, next)
			var more bool
			if s, more = strings.CutPrefix(strings.TrimLeft(s, " "), ","); !more {
				break
			}
		}
		if len(st.union) == 1 {
			st = st.union[0]
		}
	}
	if err != nil {
		return st, "", err
	}
	rest, ok := strings.CutPrefix(s, "]")
	if !ok {
		return st, "", errors.New("a closing ] is missing")
	}
	return st, rest, nil
}

// parseSelector reads an index, a slice, a quoted name or an asterisk.
func parseSelector(s string) (st step, rest string, err error) {
	switch {
	case s != "" && (s[0] == '\'' || s[0] == '"'):
		st.name, rest, err = parseQuoted(s)
		if err == nil && st.name == "" {
			err = errors.New("the name of a field is empty")
		}
		return st, rest, err
	case strings.HasPrefix(s, "*"):
		return step{span: &span{0, math.MaxInt, 1}}, s[1:], nil
	}
	end := max(0, strings.IndexAny(s, ",] "))
	numbers, invalid := [3]int{0, math.MaxInt, 1}, false
	parts := strings.Split(s[:end], ":")
	for i, part := range parts[:min(len(parts), 3)] {
		if part != "" || len(parts) == 1 {
			numbers[i], err = strconv.Atoi(part)
			invalid = invalid || err != nil
		}
	}
	switch {
	case invalid, len(parts) > 3, numbers[2] < 1:
		return st, "", fmt.Errorf("[%s is not supported: want an index, a slice, a quoted name, * or a filter such as "+
			`[?(@.type=="Ready")]`, s)
	case len(parts) == 1:
		st.index = &numbers[0]
	default:
		st.span = &span{numbers[0], numbers[1], numbers[2]}
	}
	return st, s[end:], nil
}

// parseFilter reads a comparison of a field of @ with a value, or only the field, after the opening parenthesis.
func parseFilter(s string) (*filter, string, error) {
	f := &filter{}
	s, ok := strings.CutPrefix(strings.TrimLeft(s, " "), "@")
	if !ok {
		return nil, "", errors.New("a filter must begin with @, the item")
	}
	var err error
	if f.path, s, err = parseSteps(s); err != nil {
		return nil, "", err
	}
	s = strings.TrimLeft(s, " ")
	if rest, ok := strings.CutPrefix(s, ")"); ok {
		return f, rest, nil
	}
	for _, operator := range []string{"==", "!=", "<=", ">=", "<", ">"} { // a longer one before its prefix
		if strings.HasPrefix(s, operator) && f.operator == "" {
			f.operator = operator
		}
	}
	if f.operator == "" {
		return nil, "", errors.New("a filter must compare with ==, !=, <, <=, > or >=")
	}
	s = strings.TrimLeft(s[len(f.operator):], " ")
	if f.quoted = s != "" && (s[0] == '\'' || s[0] == '"'); f.quoted {
		f.value, s, err = parseQuoted(s)
	} else { // a number, or a boolean
		end := max(0, strings.IndexAny(s, " )"))
		f.value, s = s[:end], s[end:]
		switch {
		case f.value == "":
			err = errors.New("the value of a filter is missing")
		case f.value != "true" && f.value != "false" && !isNumber(f.value):
			err = fmt.Errorf("the value of a filter, %s, is neither a number nor a boolean: put a string in quotes", f.value)
		}
	}
	if err != nil {
		return nil, "", err
	}
	rest, ok := strings.CutPrefix(strings.TrimLeft(s, " "), ")")
	if !ok {
		return nil, "", errors.New("a closing ) is missing")
	}
	return f, rest, nil
}

// isNumber reports whether a string is a decimal number.
func isNumber(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil && strings.Trim(s, "0123456789.+-eE") == ""
}

// parseQuoted reads a quoted string. A backslash escapes a character.
func parseQuoted(s string) (value, rest string, err error) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == s[0]:
			return b.String(), s[i+1:], nil
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		b.WriteByte(s[i])
	}
	return "", "", errors.New("a closing quote is missing")
}

// find appends the values to which the path leads. JSON's null does not count as a value.
func find(path []step, v any, found []any) []any {
	if len(path) == 0 {
		if v == nil {
			return found
		}
		return append(found, v)
	}
	for next := range path[0].of(v) {
		found = find(path[1:], next, found)
	}
	return found
}

// of returns the values in v to which the step leads.
func (st *step) of(v any) iter.Seq[any] {
	fields, _ := v.(map[string]any)
	items, _ := v.([]any)
	return func(yield func(any) bool) {
		switch {
		case st.deep:
			descend(v, yield)
		case st.every:
			children(v, yield)
		case st.union != nil:
			for i := range st.union {
				for next := range st.union[i].of(v) {
					if !yield(next) {
						return
					}
				}
			}
		case st.filter != nil:
			for _, item := range items {
				if st.filter.selects(item) && !yield(item) {
					return
				}
			}
		case st.span != nil:
			start, end := clip(st.span.start, len(items)), clip(st.span.end, len(items))
			for ; start < end; start += min(st.span.by, end-start) {
				if !yield(items[start]) {
					return
				}
			}
		case st.index != nil:
			i := *st.index
			if i < 0 {
				i += len(items)
			}
			if i >= 0 && i < len(items) {
				yield(items[i])
			}
		default:
			yield(fields[st.name])
		}
	}
}

// children calls yield for all fields of an object, sorted by name, or all items of a list, until it returns false.
func children(v any, yield func(any) bool) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if !yield(v[name]) {
				return false
			}
		}
	case []any:
		for _, item := range v {
			if !yield(item) {
				return false
			}
		}
	}
	return true
}

// descend calls yield for v and all values in it, until it returns false.
func descend(v any, yield func(any) bool) bool {
	return yield(v) && children(v, func(child any) bool { return descend(child, yield) })
}

// clip returns a position in a list of n items. A negative one counts from the end.
func clip(i, n int) int {
	if i < 0 {
		i += n
	}
	return max(0, min(i, n))
}

func (f *filter) selects(item any) bool {
	values := find(f.path, item, nil)
	if f.operator == "" {
		return len(values) > 0
	}
	if len(values) != 1 {
		return false
	}
	got := textOf(values[0])
	order, ok := f.compare(values[0], got)
	equal := got == f.value || ok && order == 0
	switch f.operator {
	case "==":
		return equal
	case "!=":
		return !equal
	case "<":
		return ok && order < 0
	case "<=":
		return ok && order <= 0
	case ">":
		return ok && order > 0
	}
	return ok && order >= 0
}

// textOf returns a string unchanged, and a number or a boolean in its JSON form.
func textOf(v any) string {
	if _, ok := v.(float64); ok {
		if data, err := wire.MarshalJSON(v); err == nil {
			return string(data)
		}
	}
	return fmt.Sprint(v)
}

// compare compares a number with a number, or a string with a quoted value.
func (f *filter) compare(v any, text string) (order int, ok bool) {
	if _, isString := v.(string); isString || f.quoted {
		return strings.Compare(text, f.value), isString && f.quoted
	}
	got, err1 := strconv.ParseFloat(text, 64)
	want, err2 := strconv.ParseFloat(f.value, 64)
	return cmp.Compare(got, want), err1 == nil && err2 == nil
}

// declares reports whether a value at the path survives being decoded into a K. A K that can't be decoded declares the
// field with a type that is not a string. The part after .., .* or a union is not checked.
func declares[K any](path []step) bool {
	if i := slices.IndexFunc(path, func(st step) bool { return st.deep || st.every || st.union != nil }); i >= 0 {
		path = path[:i]
	}
	var doc any = "sample"
	plain := slices.Clone(path) // with the only item of each list
	for i, st := range slices.Backward(path) {
		if st.name != "" {
			doc = map[string]any{st.name: doc}
		} else {
			doc, plain[i] = []any{doc}, step{index: new(int)}
		}
	}
	obj := new(K)
	var got any
	if convert(doc, obj) != nil || convert(obj, &got) != nil {
		return true
	}
	return len(find(plain, got, nil)) > 0
}
