// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// The codec of the kubeconfig model. encoding/json alone does not suffice: it ignores the case of names, drops unknown
// fields, does not report where a mistake is, and would have to print secrets. Fields are described by the tag
// `wire:"name"`, with the option base64 for strings that are encoded; the field Unknown of a struct takes all other
// fields.

// Encode returns k as a kubeconfig in YAML, including unknown fields and extensions. It shows all secrets. Relative
// paths stay relative to the files that they came from.
func (k *Kubeconfig) Encode() ([]byte, error) {
	data, err := encodeObject(reflect.ValueOf(*k))
	if err != nil {
		return nil, err
	}
	if data, err = canonicalJSON(data); err != nil {
		return nil, err
	}
	if text, ok := encodeYAML(data); ok {
		return text, nil
	}
	// Fall back to JSON, which is valid YAML.
	data = bytes.ReplaceAll(data, []byte("\u0085"), []byte(`\u0085`))
	return bytes.ReplaceAll(data, []byte("\u007f"), []byte(`\u007f`)), nil
}

// canonicalJSON sorts the members of all objects.
func canonicalJSON(data []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

// wireField is a struct field that occurs in the file.
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

// decoder collects the mistakes in the values, each with its path.
type decoder struct {
	path     []string
	mistakes []*FieldError
}

// decodeKubeconfig decodes one document. It reports all mistakes as joined [FieldError] values.
func decodeKubeconfig(raw json.RawMessage, file string) (*Kubeconfig, error) {
	kc := new(Kubeconfig)
	var d decoder
	d.object(raw, reflect.ValueOf(kc).Elem())
	errs := make([]error, len(d.mistakes))
	for i, mistake := range d.mistakes {
		mistake.File = file
		errs[i] = mistake
	}
	return kc, errors.Join(errs...)
}

// at calls decode with one more element in the path.
func (d *decoder) at(element string, decode func()) {
	d.path = append(d.path, element)
	decode()
	d.path = d.path[:len(d.path)-1]
}

func (d *decoder) add(remedy, problem string, args ...any) {
	e := &FieldError{Problem: fmt.Sprintf(problem, args...), Remedy: remedy}
	path := d.path
	if len(path) > 1 && slices.Contains([]string{"clusters", "users", "contexts"}, path[0]) {
		kind := strings.TrimSuffix(path[0], "s")
		e.Stanza = kind + " " + path[1]
		if path = path[2:]; len(path) > 1 && path[0] == kind {
			path = path[1:]
		}
	}
	e.Field = strings.Join(path, ".")
	d.mistakes = append(d.mistakes, e)
}

// object fills a struct from a JSON object. null leaves the struct unchanged.
func (d *decoder) object(raw json.RawMessage, into reflect.Value) {
	if isNull(raw) {
		return
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		d.add("", "want a mapping, got %s", describe(raw))
		return
	}
	for _, f := range wireFields(into.Type()) {
		if value, ok := members[f.name]; ok && !isNull(value) {
			d.at(f.name, func() { d.field(f, value, into.Field(f.index)) })
		}
		delete(members, f.name)
	}
	if len(members) > 0 {
		into.FieldByName("Unknown").Set(reflect.ValueOf(Unknown(members)))
	}
}

func (d *decoder) field(f wireField, raw json.RawMessage, into reflect.Value) {
	switch t := into.Type(); {
	case f.base64:
		var data []byte
		d.scalar(raw, reflect.ValueOf(&data).Elem())
		into.SetString(string(data))
	case t == reflect.TypeFor[json.RawMessage]():
		into.SetBytes(bytes.Clone(raw))
	case t.Kind() == reflect.Struct:
		d.object(raw, into)
	case t.Kind() == reflect.Pointer:
		into.Set(reflect.New(t.Elem()))
		d.object(raw, into.Elem())
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		d.list(raw, into)
	default:
		d.scalar(raw, into)
	}
}

// list fills a slice of structs. The path element of an item is its name if it has one, or its position.
func (d *decoder) list(raw json.RawMessage, into reflect.Value) {
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		d.add("", "want a list, got %s", describe(raw))
		return
	}
	list := reflect.MakeSlice(into.Type(), len(items), len(items))
	for i, item := range items {
		var head struct{ Name string }
		place := fmt.Sprintf("number %d", i+1)
		if json.Unmarshal(item, &head) == nil && head.Name != "" {
			place = strconv.Quote(head.Name)
		}
		d.at(place, func() { d.object(item, list.Index(i)) })
	}
	into.Set(list)
}

// scalar decodes strings, booleans and collections of them with encoding/json, and writes errors that do not contain
// the value. If an element of a collection is invalid, the error names the element.
func (d *decoder) scalar(raw json.RawMessage, into reflect.Value) {
	err := json.Unmarshal(raw, into.Addr().Interface())
	if err == nil {
		return
	}
	into.SetZero()
	if _, ok := errors.AsType[base64.CorruptInputError](err); ok {
		d.add("encode the content of the file with base64", "is not valid base64")
		return
	}
	if d.elements(raw, into.Type()) {
		return
	}
	remedy := ""
	if into.Kind() == reflect.String && raw[0] != '{' && raw[0] != '[' {
		remedy = "put it in quotes"
	}
	d.add(remedy, "want %s, got %s", wanted(into.Type()), describe(raw))
}

// elements reports the elements of a collection that have the wrong type. It returns whether raw is a collection.
func (d *decoder) elements(raw json.RawMessage, t reflect.Type) bool {
	switch {
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		var items []json.RawMessage
		if json.Unmarshal(raw, &items) != nil {
			return false
		}
		for i, item := range items {
			d.at(fmt.Sprintf("number %d", i+1), func() { d.scalar(item, reflect.New(t.Elem()).Elem()) })
		}
		return true
	case t.Kind() == reflect.Map:
		var members map[string]json.RawMessage
		if json.Unmarshal(raw, &members) != nil {
			return false
		}
		for _, name := range slices.Sorted(maps.Keys(members)) {
			d.at(strconv.Quote(name), func() { d.scalar(members[name], reflect.New(t.Elem()).Elem()) })
		}
		return true
	}
	return false
}

func wanted(t reflect.Type) string {
	switch {
	case t.Kind() == reflect.String:
		return "a string"
	case t.Kind() == reflect.Bool:
		return "a boolean"
	case t == reflect.TypeFor[[]byte]():
		return "a string in base64"
	case t.Kind() == reflect.Slice:
		return "a list of strings"
	case t == reflect.TypeFor[map[string][]string]():
		return "a mapping to lists of strings"
	}
	return "a mapping to strings"
}

// describe returns the type of a JSON value that is not null. It never returns the value.
func describe(raw json.RawMessage) string {
	switch raw[0] {
	case '{':
		return "a mapping"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	}
	return "a number"
}

// encodeObject encodes the fields that are set and the unknown fields.
func encodeObject(v reflect.Value) (json.RawMessage, error) {
	members := map[string]json.RawMessage{}
	maps.Copy(members, v.FieldByName("Unknown").Interface().(Unknown))
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
	case v.Kind() == reflect.String: // including a Secret, which is written in plain text
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
				return nil, fmt.Errorf("number %d: %w", i+1, err)
			}
			items[i] = item
		}
		return json.Marshal(items)
	}
	if secrets, ok := reflect.TypeAssert[map[string]Secret](v); ok {
		plain := make(map[string]string, len(secrets))
		for name, secret := range secrets {
			plain[name] = string(secret)
		}
		return json.Marshal(plain)
	}
	return json.Marshal(v.Interface())
}

func isNull(raw json.RawMessage) bool { return string(raw) == "null" }
