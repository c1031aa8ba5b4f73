// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package protobuf

import (
	"fmt"
	"reflect"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/api/resource"
)

// An entry of a map is a message of two fields.
const (
	keyTag   = 1<<3 | uint64(protowire.BytesType)
	valueTag = 2<<3 | uint64(protowire.BytesType)
)

// decodeEntry decodes an entry into the map at p.
func (f *field) decodeEntry(data []byte, p unsafe.Pointer, depth int) error {
	switch f.kind {
	case text:
		return decodeEntry((*map[string]string)(p), data, "")
	case blob:
		return decodeEntry((*map[string][]byte)(p), data, []byte{})
	case quantity:
		return decodeEntry((*map[string]resource.Quantity)(p), data, resource.Quantity{})
	}
	v := reflect.New(f.elemType)
	absent := reflect.Zero(f.elemType)
	if f.elemType.Kind() == reflect.Slice {
		absent = reflect.MakeSlice(f.elemType, 0, 0)
	}
	v.Elem().Set(absent)
	key, err := parseEntry(data, func(data []byte) error {
		v.Elem().Set(absent)
		return f.decodeValue(data, v.UnsafePointer(), depth)
	})
	if err != nil {
		return err
	}
	m := value(f.typ, p)
	if m.IsNil() {
		m.Set(reflect.MakeMap(f.typ))
	}
	k := reflect.New(f.typ.Key()).Elem()
	k.SetString(string(key))
	m.SetMapIndex(k, v.Elem())
	return nil
}

// decodeEntry decodes an entry into a map of common values, with the value v if it has none.
func decodeEntry[V string | []byte | resource.Quantity](m *map[string]V, data []byte, v V) error {
	key, err := parseEntry(data, func(data []byte) error {
		switch v := any(&v).(type) {
		case *string:
			*v = string(data)
		case *[]byte:
			*v = clone(data)
		case *resource.Quantity:
			*v = resource.Quantity{}
			return v.Unmarshal(data)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if *m == nil {
		*m = make(map[string]V)
	}
	(*m)[string(key)] = v
	return nil
}

// parseEntry returns the key of an entry and calls decode with its value, if it has one.
func parseEntry(data []byte, decode func([]byte) error) (key []byte, err error) {
	for pos := 0; pos < len(data); {
		tag, next, err := varint(data, pos)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errEntry, err)
		}
		var part []byte
		switch tag {
		case keyTag, valueTag:
			part, next, err = bytes(data, next)
		default:
			next, err = skip(data, next, tag)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errEntry, err)
		}
		if tag == keyTag {
			key = part
		} else if tag == valueTag {
			if err = decode(part); err != nil {
				return nil, within(fmt.Sprintf("[%.64q]", key), err)
			}
		}
		pos = next
	}
	return key, nil
}

// encodeMap writes the entries of the map at p.
func (f *field) encodeMap(w *writer, p unsafe.Pointer, depth int) error {
	switch f.kind {
	case text:
		encodeMap(w, f.tag, *(*map[string]string)(p))
		return nil
	case blob:
		encodeMap(w, f.tag, *(*map[string][]byte)(p))
		return nil
	case quantity:
		encodeMap(w, f.tag, *(*map[string]resource.Quantity)(p))
		return nil
	}
	m := value(f.typ, p)
	if m.Len() == 0 {
		return nil
	}
	first := len(w.keys)
	for iter := m.MapRange(); iter.Next(); {
		w.keys = append(w.keys, iter.Key().String())
	}
	k, v := reflect.New(f.typ.Key()).Elem(), reflect.New(f.elemType)
	for key := range w.descending(first) {
		k.SetString(key)
		v.Elem().Set(m.MapIndex(k))
		end := w.end()
		if err := f.encodeValue(w, v.UnsafePointer(), uint16(valueTag), depth); err != nil {
			return within(fmt.Sprintf("[%.64q]", key), err)
		}
		w.string(key, uint16(keyTag))
		w.head(end, f.tag)
	}
	return nil
}

func encodeMap[V string | []byte | resource.Quantity](w *writer, tag uint16, m map[string]V) {
	if len(m) == 0 {
		return
	}
	first := len(w.keys)
	for key := range m {
		w.keys = append(w.keys, key)
	}
	for key := range w.descending(first) {
		end := w.end()
		v := m[key]
		switch v := any(&v).(type) {
		case *string:
			w.string(*v, uint16(valueTag))
		case *[]byte:
			if *v != nil {
				w.bytes(*v, uint16(valueTag))
			}
		case *resource.Quantity:
			w.quantity(v, uint16(valueTag))
		}
		w.string(key, uint16(keyTag))
		w.head(end, tag)
	}
}
