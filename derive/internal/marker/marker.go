// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package marker

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Target is a set of the declarations that may have a marker.
type Target uint8

// The targets.
const (
	Package Target = 1 << iota
	Type
	Field
	Const
)

// String returns the target for messages, such as "type or field".
func (t Target) String() string {
	var names []string
	for _, n := range []struct {
		target Target
		name   string
	}{{Package, "package"}, {Type, "type"}, {Field, "field"}, {Const, "constant"}} {
		if t&n.target != 0 {
			names = append(names, n.name)
		}
	}
	return strings.Join(names, " or ")
}

// Marker is a parsed marker comment.
type Marker struct {
	Name  string // as defined, such as "kubebuilder:validation:MaxLength"
	Items bool   // it has the items: prefix and applies to the items of an array
	Args  Args   // by name; the value of the marker has the name ""

	// Applies is the marker that this one applies to a part of the value, or nil. The argument "" is its name.
	Applies *Marker

	// Offset is the index of the marker in the parsed text, in bytes.
	Offset int
}

// Args are the arguments of a marker by name. Their values have the types string, bool, json.Number, []string, or those
// of decoded JSON.
type Args map[string]any

// Has reports whether the argument is set.
func (a Args) Has(name string) bool {
	_, ok := a[name]
	return ok
}

// String returns a string argument, or "" if it is not set.
func (a Args) String(name string) string {
	s, _ := a[name].(string)
	return s
}

// Strings returns a list argument, or nil if it is not set.
func (a Args) Strings(name string) []string {
	s, _ := a[name].([]string)
	return s
}

// Number returns a numeric argument, or "" if it is not set.
func (a Args) Number(name string) json.Number {
	n, _ := a[name].(json.Number)
	return n
}

// Bool returns a boolean argument, or otherwise if it is not set.
func (a Args) Bool(name string, otherwise bool) bool {
	if b, ok := a[name].(bool); ok {
		return b
	}
	return otherwise
}

// SyntaxError is an error in a marker, with its position.
type SyntaxError struct {
	Offset int // in the parsed text, in bytes
	Msg    string
}

// Error returns the message without the position.
func (e *SyntaxError) Error() string { return e.Msg }

func errorAt(offset int, format string, args ...any) *SyntaxError {
	return &SyntaxError{Offset: offset, Msg: fmt.Sprintf(format, args...)}
}

// Parse parses a line comment, which begins with its slashes. It returns nil without an error if the comment is not a
// marker of the set. It does not check the target, see [Set.Allowed].
//
// Errors: [*SyntaxError].
func (s *Set) Parse(comment string) (*Marker, error) {
	text, ok := strings.CutPrefix(comment, "//")
	if !ok {
		return nil, s.blockComment(comment)
	}
	if IsCode(comment) {
		return nil, nil
	}
	trimmed := strings.TrimLeft(text, " ")
	offset := len(comment) - len(trimmed)
	trimmed = strings.TrimRight(trimmed, " \t\r")
	var m *Marker
	var err error
	switch {
	case strings.HasPrefix(trimmed, "kube:"), offset == len("//") && strings.HasPrefix(trimmed, "Kube:"):
		if offset != len("//") {
			near := s.near(firstWord(trimmed), false, ours)
			if near == "" { // prose
				return nil, nil
			}
			return nil, errorAt(offset, "write //%s without a space after the slashes", near)
		}
		m, err = s.parseOurs(trimmed)
	case strings.HasPrefix(trimmed, "+kube:") && s.byName[firstWord(trimmed[1:])] != nil:
		return nil, errorAt(offset, "kube: markers have no plus: write //%s", firstWord(trimmed[1:]))
	case strings.HasPrefix(trimmed, "+") && !strings.HasPrefix(trimmed, "+ ") && !strings.HasPrefix(trimmed, "+\t"):
		m, err = s.parseTheirs(trimmed)
	default:
		err = s.withoutPlus(trimmed)
	}
	if err != nil {
		if e, ok := err.(*SyntaxError); ok { //nolint:errorlint // never wrapped
			e.Offset += offset
		}
		return nil, err
	}
	if m != nil {
		m.Offset = offset
	}
	return m, nil
}

// IsCode reports whether a line comment belongs to an example in a doc comment, which gofmt indents by a tab. Markers
// in examples have no effect.
func IsCode(comment string) bool { return strings.HasPrefix(comment, "//\t") }

// blockComment returns an error for a marker in a block comment, where markers have no effect.
func (s *Set) blockComment(comment string) error {
	offset := 0
	for line := range strings.Lines(comment) {
		trimmed := strings.TrimLeft(strings.TrimLeft(line, " \t"), "/* \t")
		our := strings.HasPrefix(trimmed, "kube:") && s.near(firstWord(trimmed), false, ours) != ""
		if our || strings.HasPrefix(trimmed, "+kubebuilder:") {
			return errorAt(offset+len(line)-len(trimmed), "%s: markers are read from line comments only; use //", firstWord(trimmed))
		}
		offset += len(line)
	}
	return nil
}

// Allowed returns an error if the target can't have the marker. The error names the valid targets.
func (s *Set) Allowed(m *Marker, on Target) error {
	d := s.byName[m.Name]
	if d.on&on != 0 {
		return nil
	}
	msg := fmt.Sprintf("%s belongs on a %s, not on a %s", d.spelling(m.Items), d.on, on)
	if d.hint != "" {
		msg += ": " + d.hint
	}
	return errorAt(m.Offset, "%s", msg)
}

// On returns the targets that may have the marker.
func (s *Set) On(m *Marker) Target { return s.byName[m.Name].on }

// Loose reports whether the marker applies to its package, whatever its position.
func (s *Set) Loose(m *Marker) bool { return s.byName[m.Name].loose }

// Repeatable reports whether a target may have the marker more than once.
func (s *Set) Repeatable(m *Marker) bool { return s.byName[m.Name].repeat }

// Spelling returns the marker's name as in source code.
func (s *Set) Spelling(m *Marker) string { return s.byName[m.Name].spelling(m.Items) }

func firstWord(s string) string {
	word, _, _ := strings.Cut(strings.TrimSpace(s), " ")
	return word
}
