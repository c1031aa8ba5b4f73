// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package conversiontest

import (
	"cmp"
	"encoding"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/kube-go/sdk/core"
)

// coverage has the fields that a filler could not fill, and those with a value in at least one object. The name of a
// field begins with the type that declares it, not with a path, because types may be recursive.
type coverage struct {
	gaveUp, filled map[string]bool
}

func newCoverage() *coverage { return &coverage{gaveUp: map[string]bool{}, filled: map[string]bool{}} }

// missing returns the fields that the filler could not fill and that have a value in no object.
func (c *coverage) missing() []string {
	missing := maps.Clone(c.gaveUp)
	maps.DeleteFunc(missing, func(field string, _ bool) bool { return c.filled[field] })
	return slices.Sorted(maps.Keys(missing))
}

// add adds the fields of an object that have a value.
func (c *coverage) add(obj core.Object) { c.value(reflect.ValueOf(obj).Elem(), "") }

// value adds a field if a value in it is not zero, and the fields in the value.
func (c *coverage) value(v reflect.Value, field string) {
	p := reflect.PointerTo(v.Type())
	if p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		c.filled[field] = c.filled[field] || !v.IsZero()
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			name, _, ok := jsonField(v.Type().Field(i))
			switch {
			case ok && name == "":
				c.value(v.Field(i), field)
			case ok:
				c.value(v.Field(i), fieldName(v.Type(), name))
			}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			c.value(v.Elem(), field)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			c.value(v.Index(i), field)
		}
	case reflect.Map:
		for _, item := range v.Seq2() {
			c.value(item, field)
		}
	default:
		c.filled[field] = c.filled[field] || !v.IsZero()
	}
}

// fieldName returns the name of the JSON field of a struct type.
func fieldName(t reflect.Type, name string) string { return cmp.Or(t.Name(), "struct") + "." + name }

// jsonField returns the JSON name of a struct field, and whether it may be omitted. The name is empty if the fields of
// its type are encoded in its place.
func jsonField(field reflect.StructField) (name string, omits, ok bool) {
	name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
	switch {
	case name == "-":
		return "", false, false
	case field.Anonymous && name == "", field.IsExported() && strings.Contains(options, "inline"):
		return "", false, field.IsExported() || field.Type.Kind() == reflect.Struct
	}
	return cmp.Or(name, field.Name), strings.Contains(options, "omit"), field.IsExported()
}
