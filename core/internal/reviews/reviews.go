// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package reviews reads the reviews that API servers send to webhooks.
package reviews

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/core/internal/protobuf"
	"github.com/kube-go/sdk/core/wire"
)

// Head identifies a review.
type Head struct {
	APIVersion string
	Kind       string
	UID        types.UID // of the request
}

const (
	headBytes = 64 << 10 // an API server writes the head first
	uidBytes  = 128
)

// The bound for the values of an object in package wire.
const (
	maxValues = protobuf.MaxValues
	scalars   = protobuf.Scalars
)

// Read reads a review and its head. If there is an error, the head has what could be read.
func Read(r io.Reader, limits *wire.Limits) ([]byte, Head, error) {
	start := &prefix{}
	body, err := wire.ReadBody(io.TeeReader(r, start), limits)
	head := headOf(start.data)
	if err != nil {
		return nil, head, err
	}
	// The server and this program may take different ones of duplicate fields.
	if !jsontext.Value(body).IsValid() {
		return nil, head, errors.New("is not JSON, or has a duplicate field")
	}
	if weightOf(body) > maxValues*scalars {
		return nil, head, &wire.TooLargeError{What: "body", LimitValues: maxValues}
	}
	return body, head, nil
}

// weightOf returns the number of tokens of a review, of which the start of an object or an array and a null count as
// several. The values in its objects do not count: package wire bounds them when it decodes an object. It is zero for a
// short review.
func weightOf(body []byte) (n int) {
	if len(body) <= 2*maxValues { // each value takes at least two bytes
		return 0
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true))
	name := "" // of the last member of the request
	for n <= maxValues*scalars {
		kind, depth := d.PeekKind(), d.StackDepth()
		if kind == '{' || kind == '[' || kind == 'n' {
			n += scalars - 1
		}
		n++
		if kind == '{' && isObject(name, depth) {
			if d.SkipValue() != nil {
				return n
			}
			continue
		}
		token, err := d.ReadToken()
		if err != nil {
			return n // the end
		}
		if kind == '"' && depth == 2 {
			name = token.String()
		}
	}
	return n
}

// isObject reports whether a value at a depth, of a member of the request or in it, is an object to review.
func isObject(name string, depth int) bool {
	switch name {
	case "object", "oldObject", "options": // of an admission
		return depth == 2
	case "objects": // of a conversion
		return depth == 3
	}
	return false
}

// prefix keeps the first bytes that are written to it.
type prefix struct{ data []byte }

func (p *prefix) Write(data []byte) (int, error) {
	p.data = append(p.data, data[:min(len(data), headBytes-len(p.data))]...)
	return len(data), nil
}

// headOf reads the head of a review, which may be invalid or cut off.
func headOf(data []byte) (h Head) {
	d := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true))
	fields(d, func(name string) bool {
		switch name {
		case "apiVersion":
			return text(d, &h.APIVersion)
		case "kind":
			return text(d, &h.Kind)
		case "request":
			return d.PeekKind() == '{' && fields(d, func(name string) bool {
				var uid string
				if name != "uid" {
					return d.SkipValue() == nil
				}
				ok := text(d, &uid)
				if len(uid) <= uidBytes {
					h.UID = types.UID(uid)
				}
				return ok
			})
		default:
			return d.SkipValue() == nil
		}
	})
	return h
}

// fields calls f for each field of an object until it returns false. It reports whether the whole object was read.
func fields(d *jsontext.Decoder, f func(name string) bool) bool {
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return false
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil || !f(name.String()) {
			return false
		}
	}
	_, err := d.ReadToken()
	return err == nil
}

// text reads a string.
func text(d *jsontext.Decoder, to *string) bool {
	t, err := d.ReadToken()
	if err != nil || t.Kind() != '"' {
		return false
	}
	*to = t.String()
	return true
}
