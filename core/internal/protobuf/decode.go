// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package protobuf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"reflect"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxDepth is the maximum nesting of messages, see the package comment.
const maxDepth = 100

var (
	errTruncated = fmt.Errorf("message ends early: %w", io.ErrUnexpectedEOF)
	errOverflow  = errors.New("varint of more than ten bytes")
	errTag       = errors.New("invalid tag")
	errDepth     = fmt.Errorf("messages nest deeper than %d", maxDepth)
	errUnknown   = errors.New("unknown field")
	errPacked    = errors.New("packed numbers do not end with their field")
	errWireType  = errors.New("wrong wire type")
	errPart      = errors.New("invalid map entry or quantity")
)

// Unmarshal decodes a message into obj, a pointer to a struct of a supported type. Obj should be a new value: like
// generated code, Unmarshal keeps the fields that the message does not have, and appends to existing slices and maps.
func Unmarshal(data []byte, obj any) error {
	v := reflect.ValueOf(obj)
	p, err := planOfValue(v)
	if err != nil {
		return err
	}
	d := &decoder{left: len(data)}
	if err := d.decode(p, data, address(v.UnsafePointer()), maxDepth); err != nil {
		return fmt.Errorf("protobuf: %v: %w", v.Type().Elem(), err)
	}
	return nil
}

// decode decodes a message into the value at obj.
func (d *decoder) decode(p *plan, data []byte, obj address, depth int) error {
	if depth == 0 {
		return errDepth
	}
	var grown *field // the list that was given room last
	for pos := 0; pos < len(data); {
		tag, next, err := uint64(data[pos]), pos+1, error(nil)
		if tag >= 0x80 {
			tag, next, err = varint(data, pos)
		}
		f := p.field(tag >> 3)
		switch {
		case err != nil:
			return err
		case f == nil || uint64(f.tag) != tag:
			next, err = f.decodeOther(data, next, tag, obj)
		case tag&7 == uint64(protowire.BytesType):
			var value []byte
			if next < len(data) && int(data[next]) < min(0x80, len(data)-next) { // a length of one byte
				value = data[next+1 : next+1+int(data[next])]
				next += 1 + len(value)
			} else if value, next, err = bytes(data, next); err != nil {
				break
			}
			switch v := f.in(obj); f.shape {
			case single:
				if f.kind == text { // by far the most common kind
					*as[string](v) = d.text(value)
				} else {
					err = d.value(f, value, v, depth)
				}
			case list, pointers:
				if s := as[slice](v); s.len == s.cap {
					f.reserve(v, 1+f.repeats(data[next:]))
					grown = f
				}
				err = d.element(f, value, v, depth, grown == f)
			case dict:
				err = d.entry(f, value, data[next:], v, depth)
			default:
				err = d.value(f, value, f.ensure(v), depth)
			}
		default:
			var v uint64
			if tag&7 == uint64(protowire.VarintType) && next < len(data) && data[next] < 0x80 {
				v = uint64(data[next])
				next++
			} else if v, next, err = number(data, next, tag); err != nil {
				break
			}
			f.decodeNumber(v, f.in(obj))
		}
		if err != nil && f != nil {
			return within(f.name, err)
		}
		if err != nil {
			return err
		}
		pos = next
	}
	return nil
}

// MaxValues is the largest number of values in an object that is decoded, of which a string, a number or a boolean is
// only an eighth: it takes up to 24 bytes in memory, and an empty struct up to a KiB. Each takes at least two bytes of
// the object, so that no object of up to 1.5 MiB, which is the default limit of etcd, has more values.
const MaxValues = 3 << 18

// Scalars is the size of a message in scalars, which are strings, numbers and booleans, see [Values].
const Scalars = 8

// Values returns the number of values in a message that Unmarshal would decode into obj. A nested message counts as
// several values, see [Scalars]. In a malformed message, it counts the values before the error.
func Values(data []byte, obj any) int {
	p, err := planOfValue(reflect.ValueOf(obj))
	if err != nil {
		return 0
	}
	return p.count(data, maxDepth)
}

// count is Values for a nested message.
func (p *plan) count(data []byte, depth int) (n int) {
	for pos := 0; pos < len(data) && depth > 0; n++ {
		tag, next, err := varint(data, pos)
		if err != nil {
			return n
		}
		f := p.field(tag >> 3)
		if f == nil || tag&7 != uint64(protowire.BytesType) {
			if next, err = skip(data, next, tag); err != nil {
				return n
			}
			pos = next
			continue
		}
		value, next, err := bytes(data, next)
		if err != nil {
			return n
		}
		switch {
		case f.kind == message && f.shape == dict:
			n += Scalars - 1 + f.elem.countEntry(value, depth-1)
		case f.kind == message:
			n += Scalars - 1 + f.elem.count(value, depth-1)
		case f.kind < text: // packed numbers
			n += len(value)
		}
		pos = next
	}
	return n
}

// countEntry is Values for the values in an entry of a map.
func (p *plan) countEntry(data []byte, depth int) (n int) {
	for pos := 0; pos < len(data); {
		num, value, next, err := part(data, pos, valueNum)
		if err != nil {
			return n
		}
		if num == valueNum {
			n += p.count(value, depth)
		}
		pos = next
	}
	return n
}

// ensure allocates the value of the nullable or optional field at p if it is nil, and returns the address of the value.
func (f *field) ensure(p address) address {
	if f.shape == nullable {
		if s := as[[]struct{}](p); *s == nil {
			*s = []struct{}{}
		}
		return p
	}
	ref := as[address](p)
	if *ref == nil || f.kind < message { // scalars are replaced, messages merged
		*ref = f.allocate()
	}
	return *ref
}

// element appends a length-delimited value to the list at p, which has enough capacity. zeroed reports whether
// the unused capacity is zero.
func (d *decoder) element(f *field, data []byte, p address, depth int, zeroed bool) error {
	s := as[slice](p)
	i := s.len
	s.len++
	elem := f.at(s, i)
	if f.kind >= message && !zeroed { // the unused capacity of a caller's slice may hold old values
		reflected(f.typ.Elem(), elem).SetZero()
	}
	if f.shape == pointers {
		elem = f.ensure(elem)
	}
	if err := d.value(f, data, elem, depth); err != nil {
		return within(fmt.Sprintf("[%d]", i), err)
	}
	return nil
}

// value decodes a single length-delimited value to p.
func (d *decoder) value(f *field, data []byte, p address, depth int) error {
	switch f.kind {
	case text:
		*as[string](p) = d.text(data)
	case blob:
		*as[[]byte](p) = clone(data)
	case message:
		return d.decode(f.elem, data, p, depth-1)
	case instant:
		return decodeTime(data, as[metav1.Time](p))
	case microInstant:
		return as[metav1.MicroTime](p).Unmarshal(data)
	case quantity:
		return decodeQuantity(data, as[resource.Quantity](p))
	case fieldSet:
		return as[metav1.FieldsV1](p).Unmarshal(data)
	default: // numbers have other wire types
	}
	return nil
}

// decodeTime does the same as the time's own method, which takes longer.
func decodeTime(data []byte, t *metav1.Time) error {
	if len(data) == 0 || data[0] != 1<<3 {
		return t.Unmarshal(data)
	}
	seconds, next, err := varint(data, 1)
	if rest := data[min(next, len(data)):]; err != nil || len(rest) != 0 && (len(rest) != 2 || rest[0] != 2<<3 || rest[1] >= 0x80) {
		return t.Unmarshal(data)
	}
	t.Time = time.Unix(int64(seconds), 0).Local() // without nanoseconds, as in JSON
	return nil
}

// clone copies data. The result is never nil.
func clone(data []byte) []byte {
	b := make([]byte, len(data))
	copy(b, data)
	return b
}

// decodeNumber stores a number in the field at p.
func (f *field) decodeNumber(v uint64, p address) {
	switch f.shape {
	case optional:
		p = f.ensure(p)
	case list:
		s := as[slice](p)
		if s.len == s.cap {
			f.reserve(p, 1)
		}
		p = f.at(s, s.len)
		s.len++
	default: // the field holds the number itself; there are no pointers to numbers and no maps of numbers
	}
	switch f.kind {
	case boolean:
		*as[bool](p) = v != 0
	case signed32, unsigned32, float32bits:
		*as[uint32](p) = uint32(v)
	default:
		*as[uint64](p) = v
	}
}

// repeats returns the number of values of the field at the start of data.
func (f *field) repeats(data []byte) (n int) {
	for pos := 0; pos < len(data); n++ {
		tag, next, err := varint(data, pos)
		if err != nil || tag != uint64(f.tag) {
			return n
		}
		if _, pos, err = bytes(data, next); err != nil {
			return n
		}
	}
	return n
}

// decodeOther decodes a list's numbers if they are packed, fails if f has values of another wire type, and skips the
// value if f is nil. The value starts at pos; decodeOther returns its end.
func (f *field) decodeOther(data []byte, pos int, tag uint64, obj address) (int, error) {
	typ := protowire.Type(tag & 7)
	switch {
	case f == nil:
		return skip(data, pos, tag)
	case f.shape == list && f.kind < text && typ == protowire.BytesType:
		packed, next, err := bytes(data, pos)
		if err != nil {
			return 0, err
		}
		return next, f.decodePacked(packed, f.in(obj))
	}
	return 0, fmt.Errorf("%w %d, want %d", errWireType, typ, f.tag&7)
}

// skip returns the end of an unknown value.
func skip(data []byte, pos int, tag uint64) (int, error) {
	num, typ := protowire.DecodeTag(tag)
	if !num.IsValid() {
		return 0, errTag
	}
	n := protowire.ConsumeFieldValue(num, typ, data[pos:])
	if n < 0 {
		return 0, fmt.Errorf("%w %d: %w", errUnknown, num, protowire.ParseError(n))
	}
	return pos + n, nil
}

// part reads a field at pos of a message whose fields, numbered from 1 to last, are all length-delimited. The number of
// an unknown field is 0.
func part(data []byte, pos int, last uint64) (num uint64, value []byte, next int, err error) {
	tag, next, err := varint(data, pos)
	num = tag >> 3
	switch {
	case err != nil:
	case num < 1 || num > last:
		num = 0
		next, err = skip(data, next, tag)
	case tag&7 != uint64(protowire.BytesType):
		err = errWireType
	default:
		value, next, err = bytes(data, next)
	}
	if err != nil {
		err = fmt.Errorf("%w: %w", errPart, err)
	}
	return num, value, next, err
}

// decodePacked appends packed numbers to the list at p.
func (f *field) decodePacked(data []byte, p address) error {
	count := 0 // the number of bytes that end a varint; more if the numbers are not varints
	for _, b := range data {
		if b < 0x80 {
			count++
		}
	}
	if s := as[slice](p); s.cap-s.len < count {
		f.reserve(p, count)
	}
	for pos := 0; pos < len(data); {
		v, next, err := number(data, pos, uint64(f.tag))
		if err != nil {
			return fmt.Errorf("%w: %w", errPacked, err)
		}
		f.decodeNumber(v, p)
		pos = next
	}
	return nil
}

// varint reads a varint that starts at pos, and returns its end.
func varint(data []byte, pos int) (v uint64, next int, err error) {
	for shift := uint(0); shift < 64; shift += 7 {
		if pos >= len(data) {
			return 0, 0, errTruncated
		}
		b := data[pos]
		pos++
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v, pos, nil
		}
	}
	return 0, 0, errOverflow
}

// number reads a value of the wire type in tag.
func number(data []byte, pos int, tag uint64) (uint64, int, error) {
	switch rest := data[pos:]; protowire.Type(tag & 7) {
	case protowire.Fixed32Type:
		if len(rest) < 4 {
			return 0, 0, errTruncated
		}
		return uint64(binary.LittleEndian.Uint32(rest)), pos + 4, nil
	case protowire.Fixed64Type:
		if len(rest) < 8 {
			return 0, 0, errTruncated
		}
		return binary.LittleEndian.Uint64(rest), pos + 8, nil
	}
	return varint(data, pos)
}

// bytes reads a length-delimited value.
func bytes(data []byte, pos int) ([]byte, int, error) {
	if pos < len(data) {
		if end := pos + 1 + int(data[pos]); data[pos] < 0x80 && end <= len(data) {
			return data[pos+1 : end], end, nil
		}
	}
	size, pos, err := varint(data, pos)
	if err != nil {
		return nil, 0, err
	}
	if size > uint64(len(data)-pos) {
		return nil, 0, errTruncated
	}
	end := pos + int(size)
	return data[pos:end], end, nil
}

// A pathError is an error in a field of a message.
type pathError struct {
	path string // for example spec.containers[0].name
	err  error
}

func (e *pathError) Error() string { return e.path + ": " + e.err.Error() }
func (e *pathError) Unwrap() error { return e.err }

// within prepends a step to the path of an error.
func within(step string, err error) error {
	if e, ok := err.(*pathError); ok { //nolint:errorlint // the path of a wrapped error is complete
		if e.path[0] != '[' {
			step += "."
		}
		return &pathError{step + e.path, e.err}
	}
	return &pathError{step, err}
}
