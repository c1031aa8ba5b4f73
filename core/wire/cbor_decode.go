// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// unmarshalCBOR decodes a data item into v by the rules of UnmarshalJSON. Typed values go by way of JSON: that takes less
// time than a CBOR decoder built on reflection, and what a type does with a field is the same in both encodings.
func unmarshalCBOR(data []byte, v any) error {
	if m, ok := v.(*map[string]any); ok {
		value, err := parseCBOR(data)
		if err == nil {
			err = setMap(m, value)
		}
		return err
	}
	text, err := cborToJSON(data)
	if err != nil {
		return err
	}
	return unmarshalJSON(text, v, jsontext.AllowDuplicateNames(false)) // which CBOR forbids
}

// setMap makes the content of an unstructured object of a value.
func setMap(m *map[string]any, value any) error {
	switch value := value.(type) {
	case nil:
		*m = nil
	case map[string]any:
		*m = value
	case []any:
		return errors.New("want an object, not an array")
	case string:
		return errors.New("want an object, not a string")
	default:
		return errors.New("want an object, not a number or a boolean")
	}
	return nil
}

// parseCBOR is parseAny for CBOR.
func parseCBOR(data []byte) (any, error) {
	p := cborParser{data: data}
	v, err := p.value(maxDepth)
	if err == nil && p.pos < len(data) {
		err = errCBORRest
	}
	if err != nil {
		return nil, fmt.Errorf("%w, at byte %d", err, p.pos)
	}
	return v, nil
}

type cborParser struct {
	data    []byte
	pos     int
	strings interner
}

func (p *cborParser) head() (h cborHead, err error) {
	h, p.pos, err = cborHeadAt(p.data, p.pos)
	return h, err
}

func (p *cborParser) value(depth int) (any, error) {
	h, err := p.head()
	switch {
	case err != nil:
		return nil, err
	case depth == 0:
		return nil, errCBORDepth
	}
	switch h.major {
	case cborUint, cborNegative:
		return h.integer()
	case cborBytes, cborText:
		return p.string(h)
	case cborArray:
		return p.array(h, depth-1)
	case cborMap:
		return p.object(h, depth-1)
	case cborTag:
		text, done, err := p.tagged(h)
		if done || err != nil {
			return text, err
		}
		return p.value(depth - 1)
	}
	switch h.info {
	case cborFalse, cborTrue:
		return h.info == cborTrue, nil
	case cborNull:
		return nil, nil
	case cborIndefinite:
		return nil, errCBORHead
	}
	return h.float()
}

func (p *cborParser) text(h cborHead) (text []byte, err error) {
	text, p.pos, err = cborStringAt(p.data, p.pos, h)
	if err == nil && h.major == cborText && !utf8.Valid(text) {
		err = errCBORUTF8
	}
	return text, err
}

func (p *cborParser) string(h cborHead) (any, error) {
	text, err := p.text(h)
	if err != nil {
		return nil, err
	}
	if 0 < len(text) && len(text) <= maxShared && utf8.Valid(text) {
		return p.strings.value(text), nil
	}
	return validString(text), nil
}

func (p *cborParser) array(h cborHead, depth int) (any, error) {
	n, err := h.elements()
	if err != nil {
		return nil, err
	}
	a := make([]any, 0, max(0, min(n, int64(len(p.data)-p.pos))))
	for ; n != 0 && !p.atBreak(n); n-- {
		v, err := p.value(depth)
		if err != nil {
			return nil, err
		}
		a = append(a, v)
	}
	return a, nil
}

// atBreak reports whether a container ends here that has no count, and consumes its end.
func (p *cborParser) atBreak(n int64) bool {
	if n < 0 && p.pos < len(p.data) && p.data[p.pos] == cborBreak {
		p.pos++
		return true
	}
	return false
}

func (p *cborParser) object(h cborHead, depth int) (any, error) {
	n, err := h.elements()
	if err != nil {
		return nil, err
	}
	m := make(map[string]any, max(0, min(n, int64(len(p.data)-p.pos))/2))
	for ; n != 0 && !p.atBreak(n); n -= 2 {
		name, err := p.name()
		if err != nil {
			return nil, err
		}
		if _, ok := m[name]; ok {
			return nil, fmt.Errorf("cbor: duplicate name %.64q", name)
		}
		if m[name], err = p.value(depth); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (p *cborParser) name() (name string, err error) {
	text, end, err := cborNameAt(p.data, p.pos)
	if err != nil {
		return "", err
	}
	p.pos = end
	if 0 < len(text) && len(text) <= maxShared && utf8.Valid(text) {
		return p.strings.name(text), nil
	}
	return validString(text), nil
}

// tagged reads what a tag encloses when the tag says how to read it, else nothing.
func (p *cborParser) tagged(tag cborHead) (text string, done bool, err error) {
	switch tag.arg {
	case cborTagBignum, cborTagNegBignum:
		return "", false, errors.New("cbor: an integer that does not fit 64 bits")
	case cborTagBase64URL, cborTagBase64, cborTagBase16:
		h, end, err := cborHeadAt(p.data, p.pos)
		if err != nil || h.major != cborBytes {
			return "", false, err
		}
		raw, end, err := cborStringAt(p.data, end, h)
		if err != nil {
			return "", false, err
		}
		p.pos = end
		return laterText(tag.arg, raw), true, nil
	case cborTagEpoch:
		text, err := p.epoch()
		return text, true, err
	}
	return "", false, nil
}

// laterText returns the text that the tag "expected later encoding" asks for: https://www.rfc-editor.org/rfc/rfc8949#section-3.4.5.2.
func laterText(tag uint64, raw []byte) string {
	switch tag {
	case cborTagBase64URL:
		return base64.RawURLEncoding.EncodeToString(raw)
	case cborTagBase16:
		return strings.ToUpper(hex.EncodeToString(raw))
	}
	return base64.StdEncoding.EncodeToString(raw)
}

// epoch reads seconds since 1970 as the text that JSON has for a time.
func (p *cborParser) epoch() (string, error) {
	h, err := p.head()
	if err != nil {
		return "", err
	}
	var f float64
	switch {
	case h.major == cborUint, h.major == cborNegative:
		seconds, err := h.integer()
		if err != nil {
			return "", err
		}
		f = float64(seconds)
	case h.major == cborSimple && h.info >= cborFloat16 && h.info <= cborFloat64:
		if f, err = h.float(); err != nil {
			return "", err
		}
	default:
		return "", errors.New("cbor: a time that is no number")
	}
	if f < -62135596800 || f >= 253402300800 {
		return "", errors.New("cbor: a time outside the years 1 to 9999")
	}
	seconds, fraction := math.Modf(f)
	return time.Unix(int64(seconds), int64(fraction*1e9)).UTC().Format(time.RFC3339Nano), nil
}

// cborToJSON returns a data item as JSON. A floating-point number keeps a point or an exponent, so that it stays one.
func cborToJSON(data []byte) ([]byte, error) {
	w := cborTranscoder{p: cborParser{data: data}, out: make([]byte, 0, len(data)+len(data)/4)}
	err := w.value(maxDepth)
	if err == nil && w.p.pos < len(data) {
		err = errCBORRest
	}
	if err != nil {
		return nil, fmt.Errorf("%w, at byte %d", err, w.p.pos)
	}
	return w.out, nil
}

type cborTranscoder struct {
	p   cborParser
	out []byte
}

func (w *cborTranscoder) value(depth int) error {
	h, err := w.p.head()
	switch {
	case err != nil:
		return err
	case depth == 0:
		return errCBORDepth
	}
	switch h.major {
	case cborUint:
		w.out = strconv.AppendUint(w.out, h.arg, 10)
	case cborNegative:
		i, err := h.integer()
		w.out = strconv.AppendInt(w.out, i, 10)
		return err
	case cborBytes, cborText:
		text, err := w.p.text(h)
		w.quote(text)
		return err
	case cborArray, cborMap:
		return w.container(h, depth-1)
	case cborTag:
		text, done, err := w.p.tagged(h)
		if !done && err == nil {
			return w.value(depth - 1)
		}
		w.quote([]byte(text))
		return err
	case cborSimple:
		return w.simple(h)
	}
	return nil
}

func (w *cborTranscoder) quote(text []byte) {
	w.out, _ = jsontext.AppendQuote(w.out, text) // replaces what is not UTF-8
}

func (w *cborTranscoder) simple(h cborHead) error {
	switch h.info {
	case cborFalse:
		w.out = append(w.out, "false"...)
	case cborTrue:
		w.out = append(w.out, "true"...)
	case cborNull:
		w.out = append(w.out, "null"...)
	case cborIndefinite:
		return errCBORHead
	default:
		f, err := h.float()
		if err != nil {
			return err
		}
		start := len(w.out)
		w.out = strconv.AppendFloat(w.out, f, 'g', -1, 64)
		if !strings.ContainsAny(string(w.out[start:]), ".e") {
			w.out = append(w.out, ".0"...)
		}
	}
	return nil
}

func (w *cborTranscoder) container(h cborHead, depth int) error {
	n, err := h.elements()
	if err != nil {
		return err
	}
	opening, closing := byte('['), byte(']')
	if h.major == cborMap {
		opening, closing = '{', '}'
	}
	w.out = append(w.out, opening)
	start := len(w.out)
	for n != 0 && !w.p.atBreak(n) {
		if len(w.out) > start {
			w.out = append(w.out, ',')
		}
		n--
		if h.major == cborMap {
			name, end, err := cborNameAt(w.p.data, w.p.pos)
			if err != nil {
				return err
			}
			w.p.pos = end
			w.quote(name)
			w.out = append(w.out, ':')
			n--
		}
		if err := w.value(depth); err != nil {
			return err
		}
	}
	w.out = append(w.out, closing)
	return nil
}
