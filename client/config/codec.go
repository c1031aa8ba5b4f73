// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"sigs.k8s.io/yaml"
)

// The codec of the kubeconfig model. encoding/json alone would not do: it ignores the case of names, forgets unknown
// fields, says nothing about the place of a mistake, and would have to print secrets. Fields are described by the tag
// `wire:"name"`, with the option base64 for text that is encoded; a field Unknown of a struct takes the rest.

// Encode returns k as the YAML of a kubeconfig, unknown fields and extensions included. It shows all secrets.
// Relative paths stay relative to the files they came from.
func (k *Kubeconfig) Encode() ([]byte, error) {
	data, err := encodeObject(reflect.ValueOf(*k))
	if err != nil {
		return nil, err
	}
	return yaml.JSONToYAML(data)
}

// wireField is a struct field that has a place in the file.
type wireField struct {
	index  int
	name   string
	base64 bool
}

func wireFields(t reflect.Type) []wireField {
	var out []wireField
	for i := range t.NumField() {
		if tag, ok := t.Field(i).Tag.Lookup("wire"); ok {
			name, option, _ := strings.Cut(tag, ",")
			out = append(out, wireField{i, name, option == "base64"})
		}
	}
	return out
}

// decodeObject fills the struct that into points to from a JSON object; null leaves it as it is.
func decodeObject(raw json.RawMessage, into any) error {
	if isNull(raw) {
		return nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return fmt.Errorf("want a mapping, got %s", describe(raw))
	}
	v := reflect.ValueOf(into).Elem()
	var errs []error
	for _, f := range wireFields(v.Type()) {
		value, ok := members[f.name]
		if !ok {
			continue
		}
		delete(members, f.name)
		if err := decodeField(f, value, v.Field(f.index)); err != nil {
			errs = append(errs, prefixEach(f.name, err))
		}
	}
	if len(members) > 0 {
		v.FieldByName("Unknown").Set(reflect.ValueOf(Unknown(members)))
	}
	return errors.Join(errs...)
}

func decodeField(f wireField, raw json.RawMessage, into reflect.Value) error {
	if isNull(raw) {
		return nil
	}
	if f.base64 {
		var data []byte
		if err := decodeScalar(raw, reflect.ValueOf(&data).Elem()); err != nil {
			return err
		}
		into.SetString(string(data))
		return nil
	}
	return decodeValue(raw, into)
}

func decodeValue(raw json.RawMessage, into reflect.Value) error {
	t := into.Type()
	switch {
	case t == reflect.TypeFor[json.RawMessage]():
		into.SetBytes(bytes.Clone(raw))
		return nil
	case t.Kind() == reflect.Struct:
		return decodeObject(raw, into.Addr().Interface())
	case t.Kind() == reflect.Pointer:
		into.Set(reflect.New(t.Elem()))
		return decodeObject(raw, into.Interface())
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		return decodeList(raw, into)
	}
	return decodeScalar(raw, into)
}

// decodeList fills a slice of structs, and names the entries in errors by their name if they have one.
func decodeList(raw json.RawMessage, into reflect.Value) error {
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return fmt.Errorf("want a list, got %s", describe(raw))
	}
	list := reflect.MakeSlice(into.Type(), len(items), len(items))
	var errs []error
	for i, item := range items {
		entry := list.Index(i)
		if err := decodeObject(item, entry.Addr().Interface()); err != nil {
			place := fmt.Sprintf("entry %d", i+1)
			if name := entry.FieldByName("Name").String(); name != "" {
				place = fmt.Sprintf("%q", name)
			}
			errs = append(errs, prefixEach(place, err))
		}
	}
	into.Set(list)
	return errors.Join(errs...)
}

// decodeScalar leaves text, booleans and plain collections to encoding/json, and words its errors without the value.
func decodeScalar(raw json.RawMessage, into reflect.Value) error {
	err := json.Unmarshal(raw, into.Addr().Interface())
	if err == nil {
		return nil
	}
	into.SetZero()
	if bad, ok := errors.AsType[base64.CorruptInputError](err); ok {
		return fmt.Errorf("not base64 at character %d: encode the content of the file with base64", int64(bad)+1)
	}
	if got := describe(raw); into.Kind() == reflect.String {
		return fmt.Errorf("want text, got %s: put it in quotes", got)
	}
	return fmt.Errorf("want %s, got %s", wanted(into.Type()), describe(raw))
}

func wanted(t reflect.Type) string {
	switch {
	case t.Kind() == reflect.Bool:
		return "true or false"
	case t == reflect.TypeFor[[]byte]():
		return "text in base64"
	case t.Kind() == reflect.Slice:
		return "a list of text"
	case t == reflect.TypeFor[map[string][]string]():
		return "a mapping of lists of text"
	}
	return "a mapping of text"
}

// describe names the type of a JSON value, never the value.
func describe(raw json.RawMessage) string {
	switch raw[0] {
	case '{':
		return "a mapping"
	case '[':
		return "a list"
	case '"':
		return "text"
	case 't', 'f':
		return "true or false"
	case 'n':
		return "nothing"
	}
	return "a number"
}

// prefixEach puts a place before an error, or before each of those that were joined.
func prefixEach(place string, err error) error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return fmt.Errorf("%s: %w", place, err)
	}
	var errs []error
	for _, e := range joined.Unwrap() {
		errs = append(errs, prefixEach(place, e))
	}
	return errors.Join(errs...)
}

// encodeObject writes the fields that are set, and those that were unknown.
func encodeObject(v reflect.Value) (json.RawMessage, error) {
	members := map[string]json.RawMessage{}
	for name, raw := range v.FieldByName("Unknown").Interface().(Unknown) {
		members[name] = raw
	}
	for _, f := range wireFields(v.Type()) {
		field := v.Field(f.index)
		if field.IsZero() {
			continue
		}
		raw, err := encodeField(f, field)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		members[f.name] = raw
	}
	return json.Marshal(members)
}

func encodeField(f wireField, v reflect.Value) (json.RawMessage, error) {
	switch {
	case f.base64:
		return json.Marshal([]byte(v.String()))
	case v.Kind() == reflect.String: // a Secret, too, as it is
		return json.Marshal(v.String())
	case v.Kind() == reflect.Struct:
		return encodeObject(v)
	case v.Kind() == reflect.Pointer:
		return encodeObject(v.Elem())
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct:
		items := make([]json.RawMessage, v.Len())
		for i := range items {
			item, err := encodeObject(v.Index(i))
			if err != nil {
				return nil, fmt.Errorf("entry %d: %w", i+1, err)
			}
			items[i] = item
		}
		return json.Marshal(items)
	}
	if secrets, ok := v.Interface().(map[string]Secret); ok {
		plain := make(map[string]string, len(secrets))
		for name, secret := range secrets {
			plain[name] = string(secret)
		}
		return json.Marshal(plain)
	}
	return json.Marshal(v.Interface())
}

func isNull(raw json.RawMessage) bool { return string(raw) == "null" }
