// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package protobuf

import (
	"fmt"
	"reflect"

	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/api/resource"
)

// An entry of a map is a message of two fields.
const (
	keyNum   = 1
	valueNum = 2

	keyTag   = keyNum<<3 | uint16(protowire.BytesType)
	valueTag = valueNum<<3 | uint16(protowire.BytesType)
)

// entry decodes an entry into the map at p. rest is the data after the entry.
func (d *decoder) entry(f *field, data, rest []byte, p address, depth int) error {
	if *as[address](p) == nil {
		f.makeMap(p, 1+f.repeats(rest))
	}
	switch f.kind {
	case text:
		return decodeEntry(d, *as[map[string]string](p), data, "")
	case blob:
		return decodeEntry(d, *as[map[string][]byte](p), data, []byte{})
	case quantity:
		return decodeEntry(d, *as[map[string]resource.Quantity](p), data, resource.Quantity{})
	default:
		return d.anyEntry(f, data, p, depth)
	}
}

// anyEntry is entry for maps of uncommon values.
func (d *decoder) anyEntry(f *field, data []byte, p address, depth int) error {
	v := reflect.New(f.elemType)
	absent := reflect.Zero(f.elemType)
	if f.elemType.Kind() == reflect.Slice {
		absent = reflect.MakeSlice(f.elemType, 0, 0)
	}
	v.Elem().Set(absent)
	var key []byte
	for pos := 0; pos < len(data); {
		num, value, next, err := part(data, pos, valueNum)
		switch {
		case err != nil:
		case num == keyNum:
			key = value
		case num == valueNum:
			v.Elem().Set(absent)
			err = inEntry(key, d.value(f, value, address(v.UnsafePointer()), depth))
		}
		if err != nil {
			return err
		}
		pos = next
	}
	k := reflect.New(f.typ.Key()).Elem()
	k.SetString(d.text(key))
	reflected(f.typ, p).SetMapIndex(k, v.Elem())
	return nil
}

// makeMap allocates the map at p for about n entries.
func (f *field) makeMap(p address, n int) {
	switch f.kind {
	case text:
		*as[map[string]string](p) = make(map[string]string, n)
	case blob:
		*as[map[string][]byte](p) = make(map[string][]byte, n)
	case quantity:
		*as[map[string]resource.Quantity](p) = make(map[string]resource.Quantity, n)
	default:
		reflected(f.typ, p).Set(reflect.MakeMapWithSize(f.typ, n))
	}
}

// decodeEntry decodes an entry into a map of common values. An entry without a value gets v.
func decodeEntry[V string | []byte | resource.Quantity](d *decoder, m map[string]V, data []byte, v V) error {
	var key []byte
	for pos := 0; pos < len(data); {
		num, value, next, err := part(data, pos, valueNum)
		switch {
		case err != nil:
		case num == keyNum:
			key = value
		case num == valueNum:
			switch v := any(&v).(type) {
			case *string:
				*v = d.text(value)
			case *[]byte:
				*v = clone(value)
			case *resource.Quantity:
				*v = resource.Quantity{}
				err = inEntry(key, decodeQuantity(value, v))
			}
		}
		if err != nil {
			return err
		}
		pos = next
	}
	m[d.text(key)] = v
	return nil
}

// inEntry adds the key to the path of an error in the value of an entry.
func inEntry(key []byte, err error) error {
	if err == nil {
		return nil
	}
	return within(fmt.Sprintf("[%.64q]", key), err)
}

// encodeMap writes the entries of the map at p.
func (f *field) encodeMap(w *writer, p address, depth int) error {
	switch f.kind {
	case text:
		encodeMap(w, f.tag, *as[map[string]string](p))
	case blob:
		encodeMap(w, f.tag, *as[map[string][]byte](p))
	case quantity:
		encodeMap(w, f.tag, *as[map[string]resource.Quantity](p))
	default:
		return f.encodeAnyMap(w, p, depth)
	}
	return nil
}

// encodeAnyMap is encodeMap for maps of uncommon values.
func (f *field) encodeAnyMap(w *writer, p address, depth int) error {
	m := reflected(f.typ, p)
	first := len(w.keys)
	for iter := m.MapRange(); iter.Next(); {
		w.keys = append(w.keys, iter.Key().String())
	}
	k, v := reflect.New(f.typ.Key()).Elem(), reflect.New(f.elemType)
	for _, key := range w.descending(first) {
		k.SetString(key)
		v.Elem().Set(m.MapIndex(k))
		end := w.end()
		if err := f.encodeValue(w, address(v.UnsafePointer()), valueTag, depth); err != nil {
			return inEntry([]byte(key), err)
		}
		w.string(key, keyTag)
		w.head(end, f.tag)
	}
	w.forget(first)
	return nil
}

func encodeMap[V string | []byte | resource.Quantity](w *writer, tag uint16, m map[string]V) {
	first := len(w.keys)
	for key := range m {
		w.keys = append(w.keys, key)
	}
	for _, key := range w.descending(first) {
		end := w.end()
		v := m[key]
		switch v := any(&v).(type) {
		case *string:
			w.string(*v, valueTag)
		case *[]byte:
			if *v != nil {
				w.bytes(*v, valueTag)
			}
		case *resource.Quantity:
			w.quantity(v, valueTag)
		}
		w.string(key, keyTag)
		w.head(end, tag)
	}
	w.forget(first)
}
