// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package marker

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Target is what a marker stands on. Targets may be combined.
type Target uint8

// The targets.
const (
	Package Target = 1 << iota
	Type
	Field
	Const
)

// String names the target as one would in a sentence.
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

// Marker is one marker comment that was understood.
type Marker struct {
	Name  string // as defined, such as "kubebuilder:validation:MaxLength"
	Items bool   // it is about the items of an array: its name was written with the items: prefix
	Args  Args   // by name; a value without a name is under ""

	// Applies is the marker that this one applies to a part of the value, for those that do. Its name is under "", too.
	Applies *Marker

	// Offset is where the marker starts in the text that was parsed, in bytes.
	Offset int
}

// Args are the arguments of a marker by name. Their values are string, bool, json.Number, []string, and what JSON has.
type Args map[string]any

// Has reports whether the argument was given.
func (a Args) Has(name string) bool {
	_, ok := a[name]
	return ok
}

// String returns a string argument, "" when it was not given.
func (a Args) String(name string) string {
	s, _ := a[name].(string)
	return s
}

// Strings returns a list argument, nil when it was not given.
func (a Args) Strings(name string) []string {
	s, _ := a[name].([]string)
	return s
}

// Number returns a numeric argument, "" when it was not given.
func (a Args) Number(name string) json.Number {
	n, _ := a[name].(json.Number)
	return n
}

// Bool returns a boolean argument, or otherwise when it was not given.
func (a Args) Bool(name string, otherwise bool) bool {
	if b, ok := a[name].(bool); ok {
		return b
	}
	return otherwise
}

// SyntaxError says what is wrong with a marker, and where.
type SyntaxError struct {
	Offset int // in the text that was parsed, in bytes
	Msg    string
}

// Error returns the message without the place.
func (e *SyntaxError) Error() string { return e.Msg }

func errorAt(offset int, format string, args ...any) *SyntaxError {
	return &SyntaxError{Offset: offset, Msg: fmt.Sprintf(format, args...)}
}

// Parse reads the text of a line comment, from its slashes on. It returns nil without an error when the comment is not
// a marker of the set. Whether the marker may stand on a given target is for [Set.Allowed] to say.
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
			return nil, errorAt(offset, "write //%s without a space after the slashes", firstWord(trimmed))
		}
		m, err = s.parseOurs(trimmed)
	case strings.HasPrefix(trimmed, "+kube:") && s.byName[firstWord(trimmed[1:])] != nil:
		return nil, errorAt(offset, "markers of kube-derive have no plus: write //%s", firstWord(trimmed[1:]))
	case strings.HasPrefix(trimmed, "+") && !strings.HasPrefix(trimmed, "+ ") && !strings.HasPrefix(trimmed, "+\t"):
		m, err = s.parseTheirs(trimmed)
	default:
		err = s.withoutPlus(trimmed)
	}
	if err != nil {
		if e, ok := err.(*SyntaxError); ok { //nolint:errorlint // never wrapped: this package made it
			e.Offset += offset
		}
		return nil, err
	}
	if m != nil {
		m.Offset = offset
	}
	return m, nil
}

// IsCode reports whether a line comment is part of an example in a documentation, which gofmt indents by a tab. There,
// markers are quoted and mean nothing.
func IsCode(comment string) bool { return strings.HasPrefix(comment, "//\t") }

// blockComment refuses markers where nobody reads them.
func (s *Set) blockComment(comment string) error {
	offset := 0
	for line := range strings.Lines(comment) {
		trimmed := strings.TrimLeft(strings.TrimLeft(line, " \t"), "/* \t")
		if strings.HasPrefix(trimmed, "kube:") || strings.HasPrefix(trimmed, "+kubebuilder:") {
			return errorAt(offset+len(line)-len(trimmed), "%s: markers are read from line comments only; use //", firstWord(trimmed))
		}
		offset += len(line)
	}
	return nil
}

// Allowed reports whether the marker may stand on the target, and where else it belongs if not.
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

// On returns the targets that the marker may stand on.
func (s *Set) On(m *Marker) Target { return s.byName[m.Name].on }

// Loose reports whether the marker is about its package, wherever it stands.
func (s *Set) Loose(m *Marker) bool { return s.byName[m.Name].loose }

// Repeatable reports whether the marker may be given more than once.
func (s *Set) Repeatable(m *Marker) bool { return s.byName[m.Name].repeat }

// Spelling returns the marker's name as it is written.
func (s *Set) Spelling(m *Marker) string { return s.byName[m.Name].spelling(m.Items) }

func firstWord(s string) string {
	word, _, _ := strings.Cut(strings.TrimSpace(s), " ")
	return word
}
