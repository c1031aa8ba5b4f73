// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
)

// declared returns the type that says what members a value of type t has, nil when the type decodes itself or takes
// anything.
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

// fieldsOf returns the members of a struct by the rules of encoding/json: those of embedded structs are among them, and of
// several by one name that which is least deep counts, then that with a tag, or else none.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	level := []reflect.Type{t}
	visited := map[reflect.Type]bool{}
	hidden := map[string]bool{} // by those of the same name
	for len(level) > 0 {
		candidates := map[string][]jsonField{}
		var next []reflect.Type
		for _, s := range level {
			if !visited[s] {
				visited[s] = true
				next = append(next, collectFields(s, candidates)...)
			}
		}
		for name, found := range candidates {
			if _, ok := fields[name]; ok || hidden[name] {
				continue
			}
			if f, ok := dominant(found); ok {
				fields[name] = f.Type
			} else {
				hidden[name] = true
			}
		}
		level = next
	}
	return fields
}

type jsonField struct {
	reflect.Type
	tagged bool
}

// collectFields adds the fields of a struct by their names, and returns the structs that it embeds.
func collectFields(t reflect.Type, fields map[string][]jsonField) (embedded []reflect.Type) {
	for f := range t.Fields() {
		tag := f.Tag.Get("json")
		name, _, _ := strings.Cut(tag, ",")
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case tag == "-":
		case f.Anonymous && name == "" && inner.Kind() == reflect.Struct:
			embedded = append(embedded, inner)
		case !f.IsExported():
		case name == "":
			fields[f.Name] = append(fields[f.Name], jsonField{f.Type, false})
		default:
			fields[name] = append(fields[name], jsonField{f.Type, true})
		}
	}
	return embedded
}

// dominant returns the field that counts of those of one name in one depth.
func dominant(found []jsonField) (jsonField, bool) {
	if len(found) == 1 {
		return found[0], true
	}
	var tagged []jsonField
	for _, f := range found {
		if f.tagged {
			tagged = append(tagged, f)
		}
	}
	if len(tagged) == 1 {
		return tagged[0], true
	}
	return jsonField{}, false
}
