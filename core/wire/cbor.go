// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"

	"github.com/kube-go/sdk/core"
)

// cborPrefix is the tag "self-described CBOR" that starts every body: https://www.rfc-editor.org/rfc/rfc8949#section-3.4.6.
const cborPrefix = "\xd9\xd9\xf7"

// The major types of data items.
const (
	cborUint = iota
	cborNegative
	cborBytes
	cborText
	cborArray
	cborMap
	cborTag
	cborSimple
)

// What the lower five bits of an item's first byte can say.
const (
	cborFalse      = 20
	cborTrue       = 21
	cborNull       = 22
	cborFloat16    = 25
	cborFloat32    = 26
	cborFloat64    = 27
	cborIndefinite = 31 // of a container or a string: it goes on to the next break; by itself: the break

	cborBreak = cborSimple<<5 | cborIndefinite
)

// Tags that mean something to us. What others enclose is taken as it is.
const (
	cborTagEpoch     = 1
	cborTagBignum    = 2
	cborTagNegBignum = 3
	cborTagBase64URL = 21
	cborTagBase64    = 22
	cborTagBase16    = 23
)

var (
	errCBORDepth  = fmt.Errorf("cbor: values nest deeper than %d", maxDepth)
	errCBORHead   = errors.New("cbor: malformed data item")
	errCBORChunk  = errors.New("cbor: malformed string of chunks")
	errCBORKey    = errors.New("cbor: a name that is no string")
	errCBORSimple = errors.New("cbor: a simple value other than false, true and null")
	errCBORUTF8   = errors.New("cbor: a text that is not UTF-8")
	errCBORRest   = errors.New("cbor: more after the end of the object")
)

// marshalCBOR encodes an object the way API servers do, but for the prefix: byte for byte the same.
func marshalCBOR(obj core.Object) ([]byte, error) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return direct.Marshal(u.Object)
	}
	return direct.Marshal(obj)
}

// cborHead is the start of a data item.
type cborHead struct {
	major byte
	info  byte
	arg   uint64 // a number, a length, or a count of elements
}

func (h cborHead) indefinite() bool { return h.info == cborIndefinite }

func (h cborHead) isBreak() bool { return h.major == cborSimple && h.info == cborIndefinite }

func (h cborHead) isNull() bool { return h.major == cborSimple && h.info == cborNull }

func (h cborHead) isString() bool { return h.major == cborBytes || h.major == cborText }

// elements returns how many data items a container has, -1 when it ends with a break.
func (h cborHead) elements() (int64, error) {
	n := int64(min(h.arg, math.MaxInt64/2))
	switch {
	case h.indefinite():
		return -1, nil
	case uint64(n) != h.arg:
		return 0, errCBORHead
	case h.major == cborMap:
		return 2 * n, nil
	}
	return n, nil
}

// cborHeadBytes returns how many bytes follow an item's first byte in its head.
func cborHeadBytes(first byte) int {
	if info := first & 31; info >= 24 && info <= 27 {
		return 1 << (info - 24)
	}
	return 0
}

// cborHeadAt parses the head at i and returns where it ends.
func cborHeadAt(data []byte, i int) (h cborHead, end int, err error) {
	if i >= len(data) {
		return h, i, io.ErrUnexpectedEOF
	}
	h.major, h.info = data[i]>>5, data[i]&31
	end = i + 1 + cborHeadBytes(data[i])
	if end > len(data) {
		return h, i, io.ErrUnexpectedEOF
	}
	switch more := data[i+1 : end]; {
	case h.info < 24:
		h.arg = uint64(h.info)
	case h.info == 24:
		h.arg = uint64(more[0])
	case h.info == 25:
		h.arg = uint64(binary.BigEndian.Uint16(more))
	case h.info == 26:
		h.arg = uint64(binary.BigEndian.Uint32(more))
	case h.info == 27:
		h.arg = binary.BigEndian.Uint64(more)
	case h.info < cborIndefinite, h.major < cborBytes, h.major == cborTag:
		return h, i, errCBORHead
	}
	return h, end, h.checkSimple()
}

// checkSimple refuses the simple values that JSON has nothing like.
func (h cborHead) checkSimple() error {
	if h.major != cborSimple {
		return nil
	}
	switch h.info {
	case cborFalse, cborTrue, cborNull, cborFloat16, cborFloat32, cborFloat64, cborIndefinite:
		return nil
	}
	return errCBORSimple
}

// appendCBORHead appends the shortest head for a number.
func appendCBORHead(dst []byte, major byte, arg uint64) []byte {
	first := major << 5
	switch {
	case arg < 24:
		return append(dst, first|byte(arg))
	case arg <= math.MaxUint8:
		return append(dst, first|24, byte(arg))
	case arg <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(dst, first|25), uint16(arg))
	case arg <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(dst, first|26), uint32(arg))
	}
	return binary.BigEndian.AppendUint64(append(dst, first|27), arg)
}

// skipCBORTags returns the index after the tags that data starts with.
func skipCBORTags(data []byte) int {
	i := 0
	for i < len(data) && data[i]>>5 == cborTag {
		_, end, err := cborHeadAt(data, i)
		if err != nil {
			return i
		}
		i = end
	}
	return i
}

// skipCBOR returns the index after the data item at i.
func skipCBOR(data []byte, i, depth int) (int, error) {
	if depth == 0 {
		return i, errCBORDepth
	}
	h, i, err := cborHeadAt(data, i)
	if err != nil {
		return i, err
	}
	switch h.major {
	case cborBytes, cborText:
		_, i, err = cborStringAt(data, i, h)
		return i, err
	case cborArray, cborMap:
		n, err := h.elements()
		for ; n != 0 && err == nil; n-- {
			atName := h.major == cborArray || n&1 != 0 // or an element
			if n < 0 && atName && i < len(data) && data[i] == cborBreak {
				return i + 1, nil
			}
			i, err = skipCBOR(data, i, depth-1)
		}
		return i, err
	case cborTag:
		return skipCBOR(data, i, depth-1)
	case cborSimple:
		if h.isBreak() {
			return i, errCBORHead
		}
	}
	return i, nil
}

// cborStringAt returns what a string says whose head ends at i, and where it ends. What it says is a part of data, but
// of a string in chunks a copy.
func cborStringAt(data []byte, i int, h cborHead) (text []byte, end int, err error) {
	if !h.indefinite() {
		if h.arg > uint64(len(data)-i) {
			return nil, i, io.ErrUnexpectedEOF
		}
		end = i + int(h.arg)
		return data[i:end], end, nil
	}
	for {
		chunk, next, err := cborHeadAt(data, i)
		switch {
		case err != nil:
			return nil, i, err
		case chunk.isBreak():
			return text, next, nil
		case chunk.major != h.major || chunk.indefinite():
			return nil, i, errCBORChunk
		}
		part, next, err := cborStringAt(data, next, chunk)
		if err != nil {
			return nil, i, err
		}
		text, i = append(text, part...), next
	}
}

// eachCBORMember is eachMember for maps. It checks no more than it needs either.
func eachCBORMember(data []byte, visit func(m member) error) error {
	if len(data) == 0 {
		return nil
	}
	h, i, err := cborHeadAt(data, skipCBORTags(data))
	if err != nil || h.isNull() {
		return err
	}
	if h.major != cborMap {
		return errCBORHead
	}
	n, err := h.elements()
	if err != nil {
		return err
	}
	for ; n != 0; n -= 2 {
		if n < 0 && i < len(data) && data[i] == cborBreak {
			return nil
		}
		m := member{start: i}
		if m.name, i, err = cborNameAt(data, i); err != nil {
			return err
		}
		from := i
		if i, err = skipCBOR(data, i, maxDepth); err != nil {
			return err
		}
		m.value, m.end = data[from:i], i
		if err := visit(m); err != nil {
			return err
		}
	}
	return nil
}

// cborNameAt returns the name at i, and where it ends.
func cborNameAt(data []byte, i int) (name []byte, end int, err error) {
	h, i, err := cborHeadAt(data, i)
	if err != nil {
		return nil, i, err
	}
	if !h.isString() {
		return nil, i, errCBORKey
	}
	name, end, err = cborStringAt(data, i, h)
	if err == nil && h.major == cborText && !utf8.Valid(name) {
		err = errCBORUTF8
	}
	return name, end, err
}

// cborString returns the string that a data item is, empty for any other.
func cborString(data []byte) string {
	h, i, err := cborHeadAt(data, skipCBORTags(data))
	if err != nil || !h.isString() {
		return ""
	}
	text, _, err := cborStringAt(data, i, h)
	if err != nil {
		return ""
	}
	return validString(text)
}

// validString returns text with each byte that is not UTF-8 replaced, as encoding/json does.
func validString(text []byte) string {
	if utf8.Valid(text) {
		return string(text)
	}
	return string([]rune(string(text)))
}

// compactCBOR copies an object without metadata.managedFields and without tags around it.
func compactCBOR(data []byte) ([]byte, error) {
	data = data[skipCBORTags(data):]
	var fields member
	meta, err := CBOR.findMember(data, "metadata")
	if err == nil && meta.value != nil {
		fields, err = CBOR.findMember(meta.value, "managedFields")
	}
	if err != nil {
		return nil, err
	}
	if fields.value == nil {
		return append(make([]byte, 0, len(data)), data...), nil
	}
	at := meta.end - len(meta.value) // where the metadata is
	start := skipCBORTags(meta.value)
	h, end, _ := cborHeadAt(meta.value, start)
	out := make([]byte, 0, len(data)-(fields.end-fields.start))
	out = append(out, data[:at+start]...)
	if h.indefinite() {
		out = append(out, data[at+start])
	} else {
		out = appendCBORHead(out, cborMap, h.arg-1)
	}
	out = append(out, meta.value[end:fields.start]...)
	return append(out, data[at+fields.end:]...), nil
}

// float16 returns the number that half a word is.
func float16(bits uint16) float64 {
	exponent, fraction := int(bits>>10&31), float64(bits&0x3ff)
	var f float64
	switch exponent {
	case 0:
		f = math.Ldexp(fraction, -24)
	case 31:
		f = math.Inf(1)
		if fraction != 0 {
			f = math.NaN()
		}
	default:
		f = math.Ldexp(fraction+0x400, exponent-25)
	}
	if bits>>15 != 0 {
		return -f
	}
	return f
}

// float returns the number of a floating-point item. JSON knows no other than finite ones.
func (h cborHead) float() (float64, error) {
	var f float64
	switch h.info {
	case cborFloat16:
		f = float16(uint16(h.arg))
	case cborFloat32:
		f = float64(math.Float32frombits(uint32(h.arg)))
	default:
		f = math.Float64frombits(h.arg)
	}
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return 0, errors.New("cbor: a number that is not finite")
	}
	return f, nil
}

// integer returns the number of an integer item.
func (h cborHead) integer() (int64, error) {
	if h.arg > math.MaxInt64 {
		return 0, errors.New("cbor: an integer that does not fit 64 bits")
	}
	if h.major == cborNegative {
		return -1 - int64(h.arg), nil
	}
	return int64(h.arg), nil
}
