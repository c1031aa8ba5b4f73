// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/kube-openapi/pkg/validation/strfmt"

	"github.com/kube-go/sdk/derive/internal/openapi"
)

// valueOf returns the CEL value of a value with a schema.
func valueOf(v any, s *openapi.Schema) ref.Val {
	if v == nil {
		if s.Nullable {
			return types.NullValue
		}
		return types.NewErr("invalid data, got null for schema with nullable=false")
	}
	if s.IntOrString {
		switch v := v.(type) {
		case string:
			return types.String(v)
		case int64:
			return types.Int(v)
		}
		return types.NewErr("invalid data, expected XIntOrString value to be either a string or integer")
	}
	switch s.Type {
	case "object":
		if m, ok := v.(map[string]any); ok {
			if s.EmbeddedResource {
				s = withMeta(s)
			}
			return &object{m, s}
		}
		return types.NewErr("invalid data, expected a map for the provided schema with type=object")
	case "array":
		return listValue(v, s)
	case "string":
		if text, ok := v.(string); ok {
			return textValue(text, s.Format)
		}
		return types.NewErr("invalid data, expected string, got %T", v)
	case "number":
		switch v := v.(type) {
		case int64:
			return types.Double(v)
		case float64:
			return types.Double(v)
		}
		return types.NewErr("invalid data, expected float, got %T", v)
	case "integer":
		if n, ok := v.(int64); ok {
			return types.Int(n)
		}
		return types.NewErr("invalid data, expected int, got %T", v)
	case "boolean":
		if b, ok := v.(bool); ok {
			return types.Bool(b)
		}
		return types.NewErr("invalid data, expected bool, got %T", v)
	}
	if s.Preserves() {
		return &opaque{v}
	}
	return types.NewErr("invalid type, expected object, array, number, integer, boolean or string, or no type with "+
		"x-kubernetes-int-or-string or x-kubernetes-preserve-unknown-fields is true, got %s", s.Type)
}

func textValue(text, format string) ref.Val {
	switch format {
	case "duration":
		d, err := strfmt.ParseDuration(text)
		if err != nil {
			return types.NewErr("Invalid duration %s: %v", text, err)
		}
		return types.Duration{Duration: d}
	case "date":
		d, err := time.Parse(strfmt.RFC3339FullDate, text)
		if err != nil {
			return types.NewErr("Invalid date formatted string %s: %v", text, err)
		}
		return types.Timestamp{Time: d}
	case "date-time":
		d, err := strfmt.ParseDateTime(text)
		if err != nil {
			return types.NewErr("Invalid date-time formatted string %s: %v", text, err)
		}
		return types.Timestamp{Time: time.Time(d)}
	case "byte":
		var b strfmt.Base64
		if err := b.UnmarshalText([]byte(text)); err != nil {
			return types.NewErr("Invalid byte formatted string %s: %v", text, err)
		}
		return types.Bytes(b)
	}
	return types.String(text)
}

// opaque is a value of unknown type, which supports only equality.
type opaque struct{ v any }

func (o *opaque) ConvertToNative(t reflect.Type) (any, error) {
	return nil, fmt.Errorf("type conversion to '%s' not supported for values preserved by x-kubernetes-preserve-unknown-fields", t)
}

func (o *opaque) ConvertToType(t ref.Type) ref.Val {
	return types.NewErr("type conversion to '%s' not supported for values preserved by x-kubernetes-preserve-unknown-fields", t.TypeName())
}

func (o *opaque) Equal(other ref.Val) ref.Val {
	return types.Bool(equality.Semantic.DeepEqual(o.v, other.Value()))
}
func (o *opaque) Type() ref.Type { return types.UnknownType }
func (o *opaque) Value() any     { return o.v }

// object is the CEL value of an object with properties or of a map.
type object struct {
	m map[string]any
	s *openapi.Schema
}

var _ traits.Mapper = (*object)(nil)

func (o *object) hasProperties() bool { return o.s.Properties != nil }

// schemaOf returns the schema of a property or an entry, or nil if rules can't access it.
func (o *object) schemaOf(key string) *openapi.Schema {
	if o.s.EmbeddedResource || o.hasProperties() {
		return o.s.Properties[key]
	}
	return o.s.Value()
}

// Find returns a property. Properties that are null are absent.
func (o *object) Find(key ref.Val) (ref.Val, bool) {
	text, ok := key.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(key), true
	}
	name := string(text)
	if o.hasProperties() {
		if name, ok = unescape(name); !ok {
			return nil, false
		}
	}
	v, ok := o.m[name]
	if !ok || v == nil && o.hasProperties() {
		return nil, false
	}
	if s := o.schemaOf(name); s != nil {
		return valueOf(v, s), true
	}
	return nil, false
}

// Get returns a property, or an error if it is absent.
func (o *object) Get(key ref.Val) ref.Val {
	if v, ok := o.Find(key); ok {
		return v
	}
	return types.ValOrErr(key, "no such key: %v", key)
}

// Contains reports whether a property is present.
func (o *object) Contains(key ref.Val) ref.Val {
	v, ok := o.Find(key)
	if v != nil && types.IsUnknownOrError(v) {
		return v
	}
	return types.Bool(ok)
}

// Equal compares the properties with a schema. It compares other properties only if both objects have them.
func (o *object) Equal(other ref.Val) ref.Val {
	m, ok := other.(traits.Mapper)
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	if o.Size() != m.Size() {
		return types.False
	}
	for key, v := range o.m {
		if o.schemaOf(key) == nil {
			raw, ok := other.(*object)
			if !ok {
				return types.MaybeNoSuchOverloadErr(other)
			}
			if w, ok := raw.m[key]; ok && !equality.Semantic.DeepEqual(v, w) {
				return types.False
			}
			continue
		}
		v1, ok1 := o.Find(types.String(key))
		v2, ok2 := m.Find(types.String(key))
		if ok1 != ok2 {
			return types.False
		}
		if ok1 {
			if eq := v1.Equal(v2); eq != types.True {
				return eq
			}
		}
	}
	return types.True
}

// Iterator iterates over the keys in sorted order.
func (o *object) Iterator() traits.Iterator {
	var keys []ref.Val
	for _, key := range slices.Sorted(maps.Keys(o.m)) {
		if o.schemaOf(key) == nil {
			continue
		}
		if name, ok := Escape(key); ok && o.hasProperties() {
			key = name
		}
		keys = append(keys, types.String(key))
	}
	return types.NewRefValList(types.DefaultTypeAdapter, keys).(traits.Iterable).Iterator()
}

// ConvertToNative converts to a map.
func (o *object) ConvertToNative(t reflect.Type) (any, error) {
	if t.Kind() == reflect.Map {
		return o.m, nil
	}
	return nil, fmt.Errorf("type conversion error from '%s' to '%s'", o.Type(), t)
}

// ConvertToType converts to the type itself.
func (o *object) ConvertToType(t ref.Type) ref.Val { return convertTo(o, types.MapType, t) }
func (o *object) Size() ref.Val                    { return types.Int(len(o.m)) }
func (o *object) Type() ref.Type                   { return types.MapType }
func (o *object) Value() any                       { return o.m }

// convertTo converts a value to its own type, which is the only valid conversion.
func convertTo(v ref.Val, own *types.Type, t ref.Type) ref.Val {
	switch t {
	case own:
		return v
	case types.TypeType:
		return own
	}
	return types.NewErr("type conversion error from '%s' to '%s'", v.Type(), t.TypeName())
}
