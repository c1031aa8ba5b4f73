// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package marker

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/kube-go/sdk/derive/internal/suggest"
)

// scanner reads values from the text of a marker.
type scanner struct {
	text string
	pos  int
}

func (s *scanner) done() bool             { return s.pos >= len(s.text) }
func (s *scanner) rest() string           { return s.text[s.pos:] }
func (s *scanner) has(prefix string) bool { return strings.HasPrefix(s.rest(), prefix) }

func (s *scanner) skipSpace() {
	for !s.done() && (s.text[s.pos] == ' ' || s.text[s.pos] == '\t') {
		s.pos++
	}
}

func (s *scanner) accept(c byte) bool {
	if s.done() || s.text[s.pos] != c {
		return false
	}
	s.pos++
	return true
}

// until returns the text before the first of the bytes, which it does not read.
func (s *scanner) until(stop string) string {
	start := s.pos
	if i := strings.IndexAny(s.rest(), stop); i >= 0 {
		s.pos += i
	} else {
		s.pos = len(s.text)
	}
	return s.text[start:s.pos]
}

// quoted reads a string in double quotes or backquotes, if it is the next value.
func (s *scanner) quoted() (text string, ok bool, err error) {
	switch {
	case s.has("'"):
		return "", false, errorAt(s.pos, "quote with \" or `, not with '")
	case !s.has(`"`) && !s.has("`"):
		return "", false, nil
	}
	prefix, err := strconv.QuotedPrefix(s.rest())
	if err != nil {
		return "", false, errorAt(s.pos, "the closing quote is missing, or the string has an invalid escape sequence")
	}
	text, err = strconv.Unquote(prefix)
	if err != nil {
		return "", false, errorAt(s.pos, "invalid quoted string")
	}
	s.pos += len(prefix)
	return text, true, nil
}

// text1 reads one string: a quoted one, or the text before one of the bytes that is not in brackets or quotes.
func (s *scanner) text1(stop string) (string, error) {
	if text, ok, err := s.quoted(); ok || err != nil {
		return text, err
	}
	start, depth := s.pos, 0
	for ; !s.done(); s.pos++ {
		c := s.text[s.pos]
		if depth == 0 && strings.IndexByte(stop, c) >= 0 {
			break
		}
		switch c {
		case '[', '(':
			depth++
		case ']', ')':
			depth = max(0, depth-1)
		case '"', '`':
			if prefix, err := strconv.QuotedPrefix(s.rest()); err == nil && stop != "" {
				s.pos += len(prefix) - 1
			}
		}
	}
	return strings.TrimRight(s.text[start:s.pos], " \t"), nil
}

// list reads {a, b} or a;b.
func (s *scanner) list() ([]any, error) {
	s.skipSpace()
	if s.accept('{') {
		return s.items()
	}
	var list []any
	for {
		v, err := s.value(";,")
		if err != nil {
			return nil, err
		}
		list = append(list, v)
		if s.skipSpace(); !s.accept(';') {
			return list, nil
		}
	}
}

// items reads the rest of a list {a,b} behind its opening brace.
func (s *scanner) items() ([]any, error) {
	list := []any{}
	for {
		s.skipSpace()
		if s.accept('}') {
			return list, nil
		}
		v, err := s.value("},;")
		if err != nil {
			return nil, err
		}
		list = append(list, v)
		s.skipSpace()
		if s.accept('}') {
			return list, nil
		}
		if !s.accept(',') {
			return nil, errorAt(s.pos, "expected ',' or '}'")
		}
	}
}

// any reads a value of any kind. The value of a marker may be a list a;b.
func (s *scanner) any(own bool) (any, error) {
	if !own {
		return s.value(",;")
	}
	if v, err := decodeJSON(s.rest()); err == nil {
		s.pos = len(s.text)
		return v, nil
	}
	v, err := s.value(",;")
	if err != nil || !s.has(";") {
		return v, err
	}
	list := []any{v}
	for s.accept(';') {
		if v, err = s.value(",;"); err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// value reads one value that ends before one of the bytes.
func (s *scanner) value(stop string) (any, error) {
	s.skipSpace()
	if s.has("{") {
		return s.braces()
	}
	start := s.pos
	quoted := s.has(`"`) || s.has("`")
	text, err := s.text1(stop)
	if err != nil || quoted {
		return text, err
	}
	switch {
	case text == "":
		return nil, errorAt(start, `the value is missing: write "" for an empty string`)
	case text[0] == '[': // the list syntax of JSON
		return nil, errorAt(start, "write the list as a;b or {a,b}, or quote the bracket if it is part of a string")
	case text == "true", text == "false":
		return text == "true", nil
	case isNumber(text):
		return json.Number(text), nil
	}
	return text, nil
}

// braces reads {a, b} or {key: value}.
func (s *scanner) braces() (any, error) {
	start := s.pos
	s.accept('{')
	if s.skipSpace(); s.accept('}') {
		return map[string]any{}, nil
	}
	first := s.pos
	if s.has("{") { // not a key
		return s.items()
	}
	if _, err := s.key(); err != nil || s.pos == len(s.text) || !s.accept(':') {
		s.pos = first
		return s.items()
	}
	s.pos = first
	object := map[string]any{}
	for {
		s.skipSpace()
		key, err := s.key()
		if err != nil {
			return nil, err
		}
		if !s.accept(':') {
			return nil, errorAt(s.pos, "expected a colon after %q", key)
		}
		if object[key], err = s.value(",}"); err != nil {
			return nil, err
		}
		s.skipSpace()
		switch {
		case s.accept('}'):
			return object, nil
		case s.done():
			return nil, errorAt(start, "the closing brace is missing")
		case !s.accept(','):
			return nil, errorAt(s.pos, "expected a comma or a closing brace")
		}
	}
}

// key reads the key of an object and the space after it.
func (s *scanner) key() (string, error) {
	key, err := s.text1(":,}")
	s.skipSpace()
	return key, err
}

// json reads the rest of the text as JSON.
func (s *scanner) json() (any, error) {
	if s.has("ref(") {
		return nil, errorAt(s.pos, "references are not resolved: write the value itself")
	}
	v, err := decodeJSON(s.rest())
	if err != nil {
		return nil, errorAt(s.pos, "the value must be JSON, such as \"text\" or 3 or [1,2]: %v", err)
	}
	s.pos = len(s.text)
	return v, nil
}

func decodeJSON(text string) (any, error) {
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errorAt(0, "text after the value")
	}
	return v, nil
}

// isNumber reports whether the text is a JSON number.
func isNumber(text string) bool {
	if text == "" || !strings.ContainsRune("-0123456789", rune(text[0])) {
		return false
	}
	return json.Valid([]byte(text))
}

// convert converts a text to the value of an argument.
func convert(p *param, text string, at int) (any, error) {
	wrong := func(want string) error { return errorAt(at, "%q is not %s", text, want) }
	if len(p.oneOf) > 0 && !slices.Contains(p.oneOf, text) {
		msg := strings.Join(p.oneOf, ", ")
		if near := suggest.Nearest(text, p.oneOf); near != "" {
			return nil, errorAt(at, "%q is not one of %s; did you mean %q?", text, msg, near)
		}
		return nil, wrong("one of " + msg)
	}
	switch p.kind {
	case kindFlag, kindBool:
		if text != "true" && text != "false" {
			return nil, wrong("true or false")
		}
		return text == "true", nil
	case kindSize:
		if _, err := strconv.ParseUint(text, 10, 63); err != nil {
			return nil, wrong(p.kind.String())
		}
		return json.Number(text), nil
	case kindNumber:
		if !isNumber(text) {
			return nil, wrong(p.kind.String())
		}
		return json.Number(text), nil
	case kindString, kindStrings, kindValues, kindAny, kindJSON, kindMarker, kindRaw:
	}
	if text == "" && p.required {
		return nil, errorAt(at, "the value is empty")
	}
	return text, nil
}

// asStrings converts the items of a list. Numbers and booleans keep their text.
func asStrings(list []any, at int) ([]string, error) {
	texts := make([]string, len(list))
	for i, v := range list {
		switch v := v.(type) {
		case string:
			texts[i] = v
		case json.Number:
			texts[i] = v.String()
		case bool:
			texts[i] = strconv.FormatBool(v)
		default:
			return nil, errorAt(at, "item %d of the list is not a string", i+1)
		}
	}
	return texts, nil
}
