// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"cmp"
	"encoding"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
)

// declared returns the type that declares the members of a value of type t. It returns nil if the type has a decoder of
// its own or accepts any value.
func declared(t reflect.Type) reflect.Type {
	for t != nil {
		if decodesItself(t) || decodesItself(reflect.PointerTo(t)) {
			return nil
		}
		switch t.Kind() {
		case reflect.Pointer:
			t = t.Elem()
		case reflect.Interface:
			return nil
		default:
			return t
		}
	}
	return nil
}

func decodesItself(t reflect.Type) bool {
	return t.Implements(reflect.TypeFor[json.Unmarshaler]()) || t.Implements(reflect.TypeFor[json.UnmarshalerFrom]()) ||
		t.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// jsonField is a field of a struct, which may be that of an embedded struct.
type jsonField struct {
	reflect.Type
	index  []int
	tagged bool
	omits  bool // if it is empty: the tag has omitempty or omitzero
	rest   bool // it holds the members that no other field has
}

// fieldsOf returns the fields of a struct by JSON name, by the rules of encoding/json: of several fields with one name,
// the least deep counts; of several that are equally deep, the one with a tag, or none.
func fieldsOf(t reflect.Type) map[string]jsonField {
	fields := map[string]jsonField{}
	level := []jsonField{{Type: t}}
	visited := map[reflect.Type]bool{}
	hidden := map[string]bool{} // names that several fields of one depth have
	for len(level) > 0 {
		candidates := map[string][]jsonField{}
		var next []jsonField
		for _, s := range level {
			if !visited[s.Type] {
				visited[s.Type] = true
				next = append(next, collectFields(s, candidates)...)
			}
		}
		for name, found := range candidates {
			if _, ok := fields[name]; ok || hidden[name] {
				continue
			}
			if f, ok := dominant(found); ok {
				fields[name] = f
			} else {
				hidden[name] = true
			}
		}
		level = next
	}
	return fields
}

// collectFields adds the fields of a struct by their names, and returns the structs that it embeds.
func collectFields(s jsonField, fields map[string][]jsonField) (embedded []jsonField) {
	for f := range s.Fields() {
		tag := f.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		field := jsonField{
			Type:   f.Type,
			index:  slices.Concat(s.index, f.Index),
			tagged: name != "",
			omits:  strings.Contains(options, "omit"),
		}
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case tag == "-":
		case f.Anonymous && name == "" && inner.Kind() == reflect.Struct:
			field.Type = inner
			embedded = append(embedded, field)
		case f.IsExported():
			name = cmp.Or(name, f.Name)
			field.rest = strings.Contains(options, "inline") || strings.Contains(options, "unknown")
			fields[name] = append(fields[name], field)
		}
	}
	return embedded
}

// dominant returns the field that counts among those of one name and depth.
func dominant(found []jsonField) (jsonField, bool) {
	if len(found) > 1 {
		found = slices.DeleteFunc(found, func(f jsonField) bool { return !f.tagged })
	}
	if len(found) != 1 {
		return jsonField{}, false
	}
	return found[0], true
}
