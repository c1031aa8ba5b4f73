// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/kube-go/sdk/derive/internal/openapi"
)

// listValue returns the CEL value of a list.
func listValue(v any, s *openapi.Schema) ref.Val {
	items, ok := v.([]any)
	if !ok {
		return types.NewErr("invalid data, expected an array for the provided schema with type=array")
	}
	if s.Item() == nil {
		return types.NewErr("invalid array type, expected Items with a non-empty Schema")
	}
	plain := &list{items, s.Item()}
	switch {
	case s.ListType == nil || *s.ListType == "atomic":
		return plain
	case *s.ListType == "set":
		return &set{plain, setKey}
	case *s.ListType == "map":
		return &set{plain, mapKey(s.ListMapKeys)}
	}
	return types.NewErr("invalid x-kubernetes-list-type, expected 'map', 'set' or 'atomic' but got %s", *s.ListType)
}

// list is the CEL value of an atomic list.
type list struct {
	items []any
	s     *openapi.Schema
}

var _ traits.Lister = (*list)(nil)

func (l *list) values() []ref.Val {
	values := make([]ref.Val, len(l.items))
	for i, item := range l.items {
		values[i] = valueOf(item, l.s)
	}
	return values
}

// Get returns an item.
func (l *list) Get(index ref.Val) ref.Val {
	i, ok := index.(types.Int)
	if !ok {
		return types.ValOrErr(index, "unsupported index: %v", index)
	}
	if i < 0 || int(i) >= len(l.items) {
		return types.NewErr("index out of bounds: %v", index)
	}
	return valueOf(l.items[i], l.s)
}

// Add concatenates two lists.
func (l *list) Add(other ref.Val) ref.Val {
	o, ok := other.(traits.Lister)
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	return newList(append(l.values(), valuesOf(o)...))
}

// Contains reports whether a value is an item.
func (l *list) Contains(v ref.Val) ref.Val {
	if types.IsUnknownOrError(v) {
		return v
	}
	var failure ref.Val
	for _, item := range l.values() {
		eq := item.Equal(v)
		if eq == types.True {
			return types.True
		}
		if _, ok := eq.(types.Bool); !ok && failure == nil {
			failure = types.MaybeNoSuchOverloadErr(eq)
		}
	}
	if failure != nil {
		return failure
	}
	return types.False
}

// Equal compares two lists item by item.
func (l *list) Equal(other ref.Val) ref.Val {
	o, ok := other.(traits.Lister)
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	if l.Size() != o.Size() {
		return types.False
	}
	for i, item := range l.values() {
		if eq := item.Equal(o.Get(types.Int(i))); eq != types.True {
			return eq
		}
	}
	return types.True
}

// ConvertToNative converts to a slice of values or strings.
func (l *list) ConvertToNative(t reflect.Type) (any, error) {
	switch {
	case t.Kind() != reflect.Slice:
		return nil, fmt.Errorf("type conversion error from '%s' to '%s'", l.Type(), t)
	case l.s.Type != "string":
		return l.items, nil
	}
	var strs []string
	for _, item := range l.items {
		text, ok := item.(string)
		if !ok {
			return nil, fmt.Errorf("expected all elements to be of type string, but got %T", item)
		}
		strs = append(strs, text)
	}
	return strs, nil
}

// ConvertToType converts to the type itself.
func (l *list) ConvertToType(t ref.Type) ref.Val { return convertTo(l, types.ListType, t) }
func (l *list) Iterator() traits.Iterator        { return newList(l.values()).Iterator() }
func (l *list) Size() ref.Val                    { return types.Int(len(l.items)) }
func (l *list) Type() ref.Type                   { return types.ListType }
func (l *list) Value() any                       { return l.items }

// set is a list with unique items or unique keys. The order of the items does not matter.
type set struct {
	traits.Lister
	key func(ref.Val) (any, ref.Val)
}

// Equal compares two sets regardless of the order.
func (s *set) Equal(other ref.Val) ref.Val {
	o, ok := other.(traits.Lister)
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	if s.Size() != o.Size() {
		return types.False
	}
	byKey := map[any]ref.Val{}
	for _, item := range valuesOf(s.Lister) {
		key, err := s.key(item)
		if err != nil {
			return err
		}
		byKey[key] = item
	}
	seen := map[any]bool{}
	for _, item := range valuesOf(o) {
		key, err := s.key(item)
		if err != nil {
			return err
		}
		same, ok := byKey[key]
		if !ok {
			return types.False
		}
		if eq := same.Equal(item); eq != types.True {
			return eq
		}
		seen[key] = true
	}
	return types.Bool(len(seen) == len(byKey))
}

// Add returns the union of two sets. Items of other replace items with the same key; all other items are appended.
func (s *set) Add(other ref.Val) ref.Val {
	o, ok := other.(traits.Lister)
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	all := valuesOf(s.Lister)
	places := map[any]int{}
	for i, item := range all {
		key, err := s.key(item)
		if err != nil {
			return err
		}
		places[key] = i
	}
	for _, item := range valuesOf(o) {
		key, err := s.key(item)
		if err != nil {
			return err
		}
		if i, ok := places[key]; ok {
			all[i] = item
			continue
		}
		places[key] = len(all)
		all = append(all, item)
	}
	return &set{newList(all), s.key}
}

// ConvertToType converts to the type itself.
func (s *set) ConvertToType(t ref.Type) ref.Val { return convertTo(s, types.ListType, t) }

// setKey returns the key of an item of a set, which is the item itself.
func setKey(item ref.Val) (any, ref.Val) {
	switch item.(type) {
	case traits.Lister, traits.Mapper:
		return nil, types.NewErr("listSet operations are only supported on lists of scalar values")
	}
	return mapKeyOf(item.Value()), nil
}

// mapKey returns a function that returns the key of an item of a map, which consists of the values of properties.
func mapKey(names []string) func(ref.Val) (any, ref.Val) {
	return func(item ref.Val) (any, ref.Val) {
		m, ok := item.(traits.Mapper)
		if !ok {
			return nil, types.NewErr("unexpected data format for element of array with x-kubernetes-list-type=map: %T", item.Value())
		}
		var key strings.Builder
		for _, name := range names {
			if escaped, ok := Escape(name); ok {
				name = escaped
			}
			if v, ok := m.Find(types.String(name)); ok {
				fmt.Fprintf(&key, "%T %q ", v.Value(), fmt.Sprint(v.Value()))
			} else {
				key.WriteString("- ")
			}
		}
		return key.String(), nil
	}
}

// mapKeyOf converts a value to a key of a Go map.
func mapKeyOf(v any) any {
	if v == nil || reflect.TypeOf(v).Comparable() {
		return v
	}
	return fmt.Sprintf("%#v", v)
}

func valuesOf(l traits.Lister) []ref.Val {
	var values []ref.Val
	for it := l.Iterator(); it.HasNext() == types.True; {
		values = append(values, it.Next())
	}
	return values
}

func newList(values []ref.Val) traits.Lister {
	return types.NewRefValList(types.DefaultTypeAdapter, values)
}
