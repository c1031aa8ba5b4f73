// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package builtin

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// A decoder decodes definitions about three times as fast as the methods of [spec.Schema], because it decodes equal
// properties and references once, and knows only the keywords that the server uses. Each test binary decodes them.
type decoder struct {
	*jsontext.Decoder
	refs       map[string]spec.Ref    // by their text
	properties map[string]spec.Schema // by their text
	err        error                  // the first error; after it, all methods do nothing
}

// decodeSchemas decodes a JSON object with definitions.
func decodeSchemas(data []byte) (map[string]*spec.Schema, error) {
	d := &decoder{
		Decoder:    jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true)),
		refs:       map[string]spec.Ref{},
		properties: map[string]spec.Schema{},
	}
	decoded := map[string]*spec.Schema{}
	d.object(func(name string) {
		s := d.schema()
		decoded[name] = &s
	})
	return decoded, d.err
}

func (d *decoder) schema() spec.Schema {
	var s spec.Schema
	d.object(func(keyword string) { d.keyword(&s, keyword) })
	return s
}

func (d *decoder) keyword(s *spec.Schema, keyword string) {
	switch keyword {
	case "$ref":
		s.Ref = d.ref()
	case "type":
		s.Type = spec.StringOrArray{d.string()}
	case "format":
		s.Format = d.string()
	case "default":
		s.Default = d.any()
	case "enum":
		s.Enum, _ = d.any().([]any)
	case "required":
		d.array(func() { s.Required = append(s.Required, d.string()) })
	case "allOf":
		d.array(func() { s.AllOf = append(s.AllOf, d.schema()) })
	case "oneOf":
		d.array(func() { s.OneOf = append(s.OneOf, d.schema()) })
	case "items":
		s.Items = &spec.SchemaOrArray{Schema: new(d.schema())}
	case "additionalProperties":
		s.AdditionalProperties = &spec.SchemaOrBool{Allows: true, Schema: new(d.schema())}
	case "properties":
		s.Properties = map[string]spec.Schema{}
		d.object(func(name string) { s.Properties[name] = d.property() })
	default:
		if !strings.HasPrefix(keyword, "x-kubernetes-") {
			d.fail(fmt.Errorf("keyword %q is not supported", keyword))
		}
		s.AddExtension(keyword, d.any())
	}
}

// property reads the schema of a property. Most are the same as one that was read before.
func (d *decoder) property() spec.Schema {
	if d.err != nil {
		return spec.Schema{}
	}
	text, err := d.ReadValue()
	d.fail(err)
	s, ok := d.properties[string(text)]
	if !ok {
		in := *d
		in.Decoder = jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true))
		s = in.schema()
		d.fail(in.err)
		d.properties[string(text)] = s
	}
	return s
}

func (d *decoder) ref() spec.Ref {
	text := d.string()
	ref, ok := d.refs[text]
	if !ok {
		var err error
		ref, err = spec.NewRef(text)
		d.fail(err)
		d.refs[text] = ref
	}
	return ref
}

// object reads an object. It calls member for each name; member reads the value.
func (d *decoder) object(member func(name string)) {
	d.expect(jsontext.BeginObject)
	for d.err == nil && d.PeekKind() != '}' {
		member(d.string())
	}
	d.expect(jsontext.EndObject)
}

// array reads an array. It calls element once for each element; element reads it.
func (d *decoder) array(element func()) {
	d.expect(jsontext.BeginArray)
	for d.err == nil && d.PeekKind() != ']' {
		element()
	}
	d.expect(jsontext.EndArray)
}

func (d *decoder) string() string { return d.read('"').String() }

func (d *decoder) expect(want jsontext.Token) { d.read(want.Kind()) }

func (d *decoder) read(want jsontext.Kind) jsontext.Token {
	if d.err != nil {
		return jsontext.Null
	}
	token, err := d.ReadToken()
	if err == nil && token.Kind() != want {
		err = fmt.Errorf("at %s: token is %s, not %s", d.StackPointer(), token.Kind(), want)
	}
	d.fail(err)
	return token
}

func (d *decoder) any() any {
	if d.err != nil {
		return nil
	}
	switch kind := d.PeekKind(); kind {
	case jsontext.KindBeginObject:
		object := map[string]any{}
		d.object(func(name string) { object[name] = d.any() })
		return object
	case jsontext.KindBeginArray:
		array := []any{}
		d.array(func() { array = append(array, d.any()) })
		return array
	case jsontext.KindString:
		return d.string()
	case jsontext.KindNumber:
		number, err := d.read(kind).Float()
		d.fail(err)
		return number
	case jsontext.KindTrue, jsontext.KindFalse:
		return d.read(kind).Bool()
	default:
		d.fail(fmt.Errorf("at %s: %s is not supported", d.StackPointer(), kind))
		return nil
	}
}

func (d *decoder) fail(err error) {
	if d.err == nil {
		d.err = err
	}
}
