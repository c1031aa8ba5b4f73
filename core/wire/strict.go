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

// StrictError reports fields of an object that were not decoded, since its type does not have them or they are
// duplicates. The rest of the object is decoded.
type StrictError struct {
	// Problems are in the order of the object.
	Problems []Problem
	// More is the number of problems beyond the first hundred.
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

// Problem is an invalid field of an object.
type Problem struct {
	Kind ProblemKind
	// Path is the path of the field, such as spec.containers[0].imagePullPolcy.
	Path string
	// Want is the correct name of a miscased field.
	Want string
	// Line is the line of the field in the bytes, counted from 1.
	Line int
}

// String returns the path and the problem.
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

// ProblemKind is the kind of a [Problem].
type ProblemKind string

// The kinds of problems. All such fields are ignored, except for the last one of duplicate fields.
const (
	UnknownField   ProblemKind = "unknown field"
	DuplicateField ProblemKind = "duplicate field"
	MiscasedField  ProblemKind = "miscased field"
)

// UnmarshalStrict is [Unmarshal] for objects that people write: it returns an error for fields that Unmarshal ignores,
// all of them at once. An unstructured object has no unknown fields.
//
// Errors: [*StrictError] if the body is valid otherwise.
func UnmarshalStrict(body []byte, contentType string, obj core.Object) error {
	encoding, err := EncodingOf(contentType)
	if err != nil {
		return err
	}
	return Packed{encoding, body}.DecodeStrict(obj)
}

// DecodeStrict is [Packed.Decode] for objects that people write: it returns an error for fields that Decode ignores,
// all of them at once. An unstructured object has no unknown fields. Protobuf has no field names, so it can't be
// decoded strictly.
//
// Errors: [*StrictError] if the object is valid otherwise.
func (p Packed) DecodeStrict(obj core.Object) error {
	if p.encoding == Protobuf {
		return errors.New("decode protobuf: it has no field names, so it can't be decoded strictly; use JSON")
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

// strictCheck compares an object with its type.
type strictCheck struct {
	data   []byte
	dec    *jsontext.Decoder
	fields map[reflect.Type]map[string]jsonField
	found  StrictError
}

// value checks a value of a type. The type is nil if it accepts any value.
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

// members returns a function that returns the type of a member, and whether the type t has such a member.
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

// report adds a problem of the field that was read last.
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
