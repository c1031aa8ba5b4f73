// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// errStop ends a walk over members or fields early.
var errStop = errors.New("stop")

// eachMember calls visit with each member of a JSON object. The value lives until visit returns. A nil object has none.
func eachMember(data []byte, visit func(name string, value jsontext.Value) error) error {
	if len(data) == 0 {
		return nil
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(data), jsonOptions)
	tok, err := dec.ReadToken()
	if err != nil {
		return fmt.Errorf("json: %w", err)
	}
	if tok.Kind() == 'n' {
		return nil
	}
	if tok.Kind() != '{' {
		return fmt.Errorf("json: want an object, not a %s", tok.Kind())
	}
	for dec.PeekKind() != '}' {
		raw, err := dec.ReadValue()
		if err != nil {
			return fmt.Errorf("json: %w", err)
		}
		name := unquote(raw)
		value, err := dec.ReadValue()
		if err != nil {
			return fmt.Errorf("json: member %q: %w", name, err)
		}
		if err := visit(name, value); err != nil {
			return err
		}
	}
	_, err = dec.ReadToken()
	return err
}

// text returns the string that a JSON value is, empty for any other value.
func text(value jsontext.Value) string {
	if value.Kind() != '"' {
		return ""
	}
	return unquote(value)
}

// compactJSON copies an object without metadata.managedFields.
func compactJSON(data []byte) ([]byte, error) {
	out := append(make([]byte, 0, len(data)), '{')
	err := eachMember(data, func(name string, value jsontext.Value) error {
		if name != "metadata" || value.Kind() != '{' {
			out = appendMember(out, name, value)
			return nil
		}
		out = append(appendMember(out, name, nil), '{')
		err := eachMember(value, func(name string, value jsontext.Value) error {
			if name != "managedFields" {
				out = appendMember(out, name, value)
			}
			return nil
		})
		out = append(out, '}')
		return err
	})
	if err != nil {
		return nil, err
	}
	return bytes.Clone(append(out, '}')), nil
}

// appendMember appends a member to the object that dst is in the middle of.
func appendMember(dst []byte, name string, value jsontext.Value) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	dst, _ = jsontext.AppendQuote(dst, name) // it only refuses bad UTF-8, which the decoder has repaired
	return append(append(dst, ':'), value...)
}
