// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// step is one part of a JSON path: the name of a field, the index of an item, or a filter of items.
type step struct {
	name   string
	index  *int
	filter *filter
}

// filter selects the items of a list whose field at path has a value, or has another one.
type filter struct {
	path    []step
	value   string
	differs bool
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
		if s[0] == '.' {
			st.name, s, err = parseName(s[1:])
		} else {
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
	for ; i < len(s) && !strings.ContainsRune(".[]{}()=!?*@'\" ", rune(s[i])); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b.WriteByte(s[i])
	}
	switch {
	case b.Len() > 0:
		return b.String(), s[i:], nil
	case s != "" && (s[0] == '.' || s[0] == '*'):
		return "", "", errors.New("the operators .. and * are not supported: name the field")
	}
	return "", "", errors.New("the name of a field is empty")
}

// parseBracket reads an index, a quoted name or a filter, after the opening bracket.
func parseBracket(s string) (st step, rest string, err error) {
	switch {
	case strings.HasPrefix(s, "?("):
		if st.filter, s, err = parseFilter(s[len("?("):]); err != nil {
			return st, "", err
		}
	case s != "" && (s[0] == '\'' || s[0] == '"'):
		if st.name, s, err = parseQuoted(s); err != nil {
			return st, "", err
		}
		if st.name == "" {
			return st, "", errors.New("the name of a field is empty")
		}
	default:
		end := max(0, strings.IndexByte(s, ']'))
		n, err := strconv.Atoi(s[:end])
		if err != nil {
			return st, "", fmt.Errorf("[%s is not supported: want an index, a quoted name, or a filter such as "+
				`[?(@.type=="Ready")]`, s)
		}
		st.index, s = &n, s[end:]
	}
	rest, ok := strings.CutPrefix(s, "]")
	if !ok {
		return st, "", errors.New("a closing ] is missing")
	}
	return st, rest, nil
}

// parseFilter reads a comparison of a field of @ with a value, after the opening parenthesis.
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
	f.differs = strings.HasPrefix(s, "!=")
	if !f.differs && !strings.HasPrefix(s, "==") {
		return nil, "", errors.New("a filter must compare with == or !=")
	}
	s = strings.TrimLeft(s[len("=="):], " ")
	if s != "" && (s[0] == '\'' || s[0] == '"') {
		f.value, s, err = parseQuoted(s)
	} else { // a number, or a boolean
		end := max(0, strings.IndexAny(s, " )"))
		f.value, s = s[:end], s[end:]
		if f.value == "" {
			err = errors.New("the value of a filter is missing")
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
	st, rest := path[0], path[1:]
	items, _ := v.([]any)
	switch {
	case st.filter != nil:
		for _, item := range items {
			if st.filter.selects(item) {
				found = find(rest, item, found)
			}
		}
	case st.index != nil:
		i := *st.index
		if i < 0 {
			i += len(items)
		}
		if i >= 0 && i < len(items) {
			found = find(rest, items[i], found)
		}
	default:
		fields, _ := v.(map[string]any)
		found = find(rest, fields[st.name], found)
	}
	return found
}

func (f *filter) selects(item any) bool {
	values := find(f.path, item, nil)
	if f.differs {
		return len(values) != 1 || fmt.Sprint(values[0]) != f.value
	}
	return len(values) == 1 && fmt.Sprint(values[0]) == f.value
}

// declares reports whether a value at the path survives being decoded into a K. A K that can't be decoded declares the
// field with a type that is not a string.
func declares[K any](path []step) bool {
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
