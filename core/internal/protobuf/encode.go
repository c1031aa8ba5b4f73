// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package protobuf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"reflect"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

var errNil = errors.New("nil element")

// Append appends the encoded message of obj, a pointer to a struct of a supported type.
func Append(dst []byte, obj any) ([]byte, error) {
	w := writers.Get().(*writer)
	defer w.release()
	if err := w.encode(obj); err != nil {
		return nil, err
	}
	return append(dst, w.buf[w.pos:]...), nil
}

// AppendField appends the message like Append, as a field of an outer message.
func AppendField(dst []byte, num protowire.Number, obj any) ([]byte, error) {
	w := writers.Get().(*writer)
	defer w.release()
	if err := w.encode(obj); err != nil {
		return nil, err
	}
	msg := w.buf[w.pos:]
	dst = slices.Grow(dst, protowire.SizeTag(num)+protowire.SizeBytes(len(msg)))
	dst = protowire.AppendTag(dst, num, protowire.BytesType)
	return protowire.AppendBytes(dst, msg), nil
}

// encode writes the message before the data that the writer has.
func (p *plan) encode(w *writer, obj address, depth int) error {
	if depth == 0 {
		return errDepth
	}
	if p.extension {
		extension, err := withRaw(as[runtime.RawExtension](obj))
		if err != nil {
			return err
		}
		obj = address(extension)
	}
	for i := len(p.fields) - 1; i >= 0; i-- {
		f := &p.fields[i]
		v := f.in(obj)
		if f.nilable && *as[address](v) == nil {
			continue
		}
		var err error
		switch f.shape {
		case single:
			if f.kind == text {
				w.string(*as[string](v), f.tag)
				continue
			}
			err = f.encodeValue(w, v, f.tag, depth)
		case nullable:
			err = f.encodeValue(w, v, f.tag, depth)
		case optional:
			err = f.encodeValue(w, *as[address](v), f.tag, depth)
		case list, pointers:
			err = f.encodeList(w, as[slice](v), depth)
		case dict:
			err = f.encodeMap(w, v, depth)
		}
		if err != nil {
			return within(f.name, err)
		}
	}
	return nil
}

// withRaw returns an extension with the JSON of its Object in Raw. The message has no field for the Object.
func withRaw(e *runtime.RawExtension) (*runtime.RawExtension, error) {
	if e.Raw != nil || e.Object == nil {
		return e, nil
	}
	raw, err := e.MarshalJSON()
	return &runtime.RawExtension{Raw: raw}, err
}

func (f *field) encodeList(w *writer, s *slice, depth int) (err error) {
	for i := s.len - 1; i >= 0; i-- {
		p := f.at(s, i)
		if f.shape == pointers {
			p = *as[address](p)
		}
		if p == nil {
			err = errNil
		} else {
			err = f.encodeValue(w, p, f.tag, depth)
		}
		if err != nil {
			return within(fmt.Sprintf("[%d]", i), err)
		}
	}
	return nil
}

// encodeValue writes the value at p and its tag.
func (f *field) encodeValue(w *writer, p address, tag uint16, depth int) error {
	switch f.kind {
	case boolean:
		var v uint64
		if *as[bool](p) {
			v = 1
		}
		w.number(v, tag)
	case signed32:
		w.number(uint64(*as[int32](p)), tag)
	case unsigned32:
		w.number(uint64(*as[uint32](p)), tag)
	case bits64:
		w.number(*as[uint64](p), tag)
	case float32bits:
		w.reserve(4)
		w.pos -= 4
		binary.LittleEndian.PutUint32(w.buf[w.pos:], *as[uint32](p))
		w.tag(tag)
	case float64bits:
		w.reserve(8)
		w.pos -= 8
		binary.LittleEndian.PutUint64(w.buf[w.pos:], *as[uint64](p))
		w.tag(tag)
	case text:
		w.string(*as[string](p), tag)
	case blob:
		w.bytes(*as[[]byte](p), tag)
	case message:
		end := w.end()
		if err := f.elem.encode(w, p, depth-1); err != nil {
			return err
		}
		w.head(end, tag)
	case instant:
		w.timestamp(as[metav1.Time](p).Time, 0, tag)
	case microInstant:
		t := as[metav1.MicroTime](p).Time
		w.timestamp(t, t.Nanosecond()/1000*1000, tag)
	case quantity:
		w.quantity(as[resource.Quantity](p), tag)
	case fieldSet:
		end := w.end()
		if raw := as[metav1.FieldsV1](p).GetRawBytes(); len(raw) > 0 {
			w.bytes(raw, 1<<3|uint16(protowire.BytesType))
		}
		w.head(end, tag)
	}
	return nil
}

// A writer writes a message from its end to its start, so that the length of a nested message is known when its length
// is written.
type writer struct {
	buf  []byte
	pos  int      // buf[pos:] has been written
	keys []string // the keys of the maps that are being written
}

// maxPooled is the maximum size of a writer that is reused. Few objects are larger.
const maxPooled = 64 << 10

// maxHead is the maximum size of the tag and the length of a value.
const maxHead = 2 + 10

//nolint:gochecknoglobals // a pool of buffers
var writers = sync.Pool{New: func() any { return new(writer) }}

// encode writes the message of obj, a pointer.
func (w *writer) encode(obj any) error {
	v := reflect.ValueOf(obj)
	p, err := planOfValue(v)
	if err != nil {
		return err
	}
	w.pos = len(w.buf)
	if err := p.encode(w, address(v.UnsafePointer()), maxDepth); err != nil {
		return fmt.Errorf("protobuf: %v: %w", v.Type().Elem(), err)
	}
	return nil
}

func (w *writer) release() {
	if len(w.buf) <= maxPooled {
		w.forget(0)
		writers.Put(w)
	}
}

// end returns the number of bytes that have been written, for head.
func (w *writer) end() int { return len(w.buf) - w.pos }

// head writes the length and the tag of a value. Before the value was written, there were end bytes.
func (w *writer) head(end int, tag uint16) { w.number(uint64(w.end()-end), tag) }

// reserve ensures capacity for n bytes and their head.
func (w *writer) reserve(n int) {
	if n += maxHead; w.pos < n {
		w.grow(n)
	}
}

func (w *writer) grow(n int) {
	done := w.buf[w.pos:]
	buf := make([]byte, max(1<<10, 2*len(w.buf), len(done)+n))
	w.pos = len(buf) - len(done)
	copy(buf[w.pos:], done)
	w.buf = buf
}

// tag writes a tag. The capacity must be reserved.
func (w *writer) tag(tag uint16) {
	if tag >= 0x80 {
		w.pos--
		w.buf[w.pos] = byte(tag >> 7)
		tag = tag&0x7f | 0x80
	}
	w.pos--
	w.buf[w.pos] = byte(tag)
}

// number writes a varint and its tag.
func (w *writer) number(v uint64, tag uint16) {
	w.reserve(0)
	w.roomyNumber(v, tag)
}

// roomyNumber is number with reserved capacity.
func (w *writer) roomyNumber(v uint64, tag uint16) {
	if v < 0x80 && tag < 0x80 {
		w.pos -= 2
		b := w.buf[w.pos:]
		b[1], b[0] = byte(v), byte(tag)
		return
	}
	n := (bits.Len64(v|1) + 6) / 7
	w.pos -= n
	binary.PutUvarint(w.buf[w.pos:], v)
	w.tag(tag)
}

func (w *writer) string(s string, tag uint16) {
	w.reserve(len(s))
	w.pos -= len(s)
	copy(w.buf[w.pos:], s)
	w.roomyNumber(uint64(len(s)), tag)
}

func (w *writer) bytes(b []byte, tag uint16) {
	w.reserve(len(b))
	w.pos -= len(b)
	copy(w.buf[w.pos:], b)
	w.roomyNumber(uint64(len(b)), tag)
}

// timestamp writes a point in time: the message metav1.Timestamp, which is empty for the zero time.
func (w *writer) timestamp(t time.Time, nanos int, tag uint16) {
	end := w.end()
	if !t.IsZero() {
		w.number(uint64(nanos), 2<<3)
		w.number(uint64(t.Unix()), 1<<3)
	}
	w.head(end, tag)
}

// quantity writes a message with the string of the quantity. It uses a copy, because the quantity caches its string.
func (w *writer) quantity(q *resource.Quantity, tag uint16) {
	end := w.end()
	c := *q
	w.string(c.String(), 1<<3|uint16(protowire.BytesType))
	w.head(end, tag)
}

// descending returns the keys from the first on in descending order.
func (w *writer) descending(first int) []string {
	keys := w.keys[first:]
	slices.Sort(keys)
	slices.Reverse(keys)
	return keys
}

// forget drops the keys from the first on.
func (w *writer) forget(first int) {
	clear(w.keys[first:])
	w.keys = w.keys[:first]
}
