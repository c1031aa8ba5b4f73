// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/core"
)

// maxProblems is how many problems a StrictError lists.
const maxProblems = 100

// StrictError says what an object has that its type does not have. The object is decoded all the same, without that.
type StrictError struct {
	// Problems are in the order in which they stand in the object.
	Problems []Problem
	// More is how many there are besides, when there are more than a hundred.
	More int
}

// Error lists the problems.
func (e *StrictError) Error() string {
	var b strings.Builder
	for i, p := range e.Problems {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(p.String())
	}
	if e.More > 0 {
		fmt.Fprintf(&b, "; and %d more", e.More)
	}
	return b.String()
}

// Problem is one name that an object should not have.
type Problem struct {
	Kind ProblemKind
	// Path is where the name stands, such as spec.containers[0].imagePullPolcy.
	Path string
	// Want is how a miscased name is spelled.
	Want string
	// Line is the line of the bytes where the name stands, counted from 1.
	Line int
}

// String says what is wrong.
func (p Problem) String() string {
	s := fmt.Sprintf("%s: %s", p.Path, p.Kind)
	if p.Line > 1 {
		s = fmt.Sprintf("line %d: %s", p.Line, s)
	}
	if p.Kind == MiscasedField {
		s += ", want " + p.Want
	}
	return s
}

// ProblemKind is what is wrong with a name.
type ProblemKind string

// The kinds of problems. All these names are lost: of a duplicate field, all but the last.
const (
	UnknownField   ProblemKind = "unknown field"
	DuplicateField ProblemKind = "duplicate field"
	MiscasedField  ProblemKind = "miscased field"
)

// UnmarshalStrict is [Unmarshal] for what people write: what would be lost in silence is an error, all of it at once. An
// object of any kind has no unknown fields.
//
// Errors: [*StrictError], when the body is fine otherwise.
func UnmarshalStrict(body []byte, contentType string, obj core.Object) error {
	encoding, err := EncodingOf(contentType)
	if err != nil {
		return err
	}
	return Packed{encoding, body}.DecodeStrict(obj)
}

// DecodeStrict is [Packed.Decode] for what people write: what would be lost in silence is an error, all of it at once. An
// object of any kind has no unknown fields. Protobuf has no names, so it can't be decoded strictly.
//
// Errors: [*StrictError], when the object is fine otherwise.
func (p Packed) DecodeStrict(obj core.Object) error {
	if p.encoding == Protobuf {
		return errors.New("decode protobuf: there are no names to be strict about; use JSON")
	}
	if err := p.Decode(obj); err != nil {
		return err
	}
	check := strictCheck{
		data:   p.data,
		dec:    jsontext.NewDecoder(bytes.NewReader(p.data), jsonOptions),
		fields: map[reflect.Type]map[string]jsonField{},
	}
	t := reflect.TypeOf(obj)
	if _, ok := obj.(*unstructured.Unstructured); ok {
		t = nil
	}
	if err := check.value(t); err != nil {
		return fmt.Errorf("decode %s: %w", p.encoding, err)
	}
	if check.found.Problems != nil {
		return &check.found
	}
	return nil
}

// strictCheck walks over an object together with its type.
type strictCheck struct {
	data   []byte
	dec    *jsontext.Decoder
	fields map[reflect.Type]map[string]jsonField
	found  StrictError
}

// value walks over a value of a type, nil for one that takes any.
func (c *strictCheck) value(t reflect.Type) error {
	t = declared(t)
	switch c.dec.PeekKind() {
	case '{':
		return c.object(t)
	case '[':
		var element reflect.Type
		if t != nil && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) {
			element = t.Elem()
		}
		return c.array(element)
	default:
		return c.dec.SkipValue()
	}
}

func (c *strictCheck) array(element reflect.Type) error {
	if _, err := c.dec.ReadToken(); err != nil {
		return err
	}
	for c.dec.PeekKind() != ']' {
		if err := c.value(element); err != nil {
			return err
		}
	}
	_, err := c.dec.ReadToken()
	return err
}

func (c *strictCheck) object(t reflect.Type) error {
	if _, err := c.dec.ReadToken(); err != nil {
		return err
	}
	known := c.members(t)
	seen := map[string]bool{}
	for c.dec.PeekKind() != '}' {
		token, err := c.dec.ReadToken()
		if err != nil {
			return err
		}
		name := token.String()
		member, ok := known(name)
		switch {
		case seen[name]:
			c.report(Problem{Kind: DuplicateField})
		case !ok:
			c.report(c.unknown(t, name))
		}
		seen[name] = true
		if err := c.value(member); err != nil {
			return err
		}
	}
	_, err := c.dec.ReadToken()
	return err
}

// members returns a function that tells the type of a member, and whether there may be such a member.
func (c *strictCheck) members(t reflect.Type) func(name string) (reflect.Type, bool) {
	switch {
	case t != nil && t.Kind() == reflect.Struct:
		fields := c.fieldsOf(t)
		return func(name string) (reflect.Type, bool) {
			field, ok := fields[name]
			return field.Type, ok
		}
	case t != nil && t.Kind() == reflect.Map:
		return func(string) (reflect.Type, bool) { return t.Elem(), true }
	}
	return func(string) (reflect.Type, bool) { return nil, true }
}

func (c *strictCheck) unknown(t reflect.Type, name string) Problem {
	for want := range c.fieldsOf(t) {
		if strings.EqualFold(want, name) {
			return Problem{Kind: MiscasedField, Want: want}
		}
	}
	return Problem{Kind: UnknownField}
}

// report notes a problem with the name that was read last.
func (c *strictCheck) report(p Problem) {
	if len(c.found.Problems) == maxProblems {
		c.found.More++
		return
	}
	p.Path = pathOf(c.dec.StackPointer())
	p.Line = 1 + bytes.Count(c.data[:c.dec.InputOffset()], []byte("\n"))
	c.found.Problems = append(c.found.Problems, p)
}

func (c *strictCheck) fieldsOf(t reflect.Type) map[string]jsonField {
	fields, ok := c.fields[t]
	if !ok {
		fields = fieldsOf(t)
		c.fields[t] = fields
	}
	return fields
}
