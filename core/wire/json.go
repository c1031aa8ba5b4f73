// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"fmt"
	"io"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// jsonOptions are the rules of encoding/json but for exact-case field names and for integers in empty interfaces.
// They are never changed.
var jsonOptions = json.JoinOptions(
	jsonv1.DefaultOptionsV1(),
	json.MatchCaseInsensitiveNames(false),
	json.WithUnmarshalers(json.UnmarshalFromFunc(func(dec *jsontext.Decoder, v *any) (err error) {
		r := anyReader{dec: dec}
		*v, err = r.value()
		return err
	})),
)

// MarshalJSON encodes v by the rules of encoding/json.
func MarshalJSON(v any) ([]byte, error) {
	return json.Marshal(v, jsonOptions)
}

// UnmarshalJSON decodes data into v by the rules of encoding/json, with two differences that the API server makes too:
// field names match by exact case, and a number decoded into an empty interface is an int64 when it is an integer that
// fits, else a float64. Unknown fields are ignored.
func UnmarshalJSON(data []byte, v any) error {
	if m, ok := v.(*map[string]any); ok {
		return unmarshalMap(data, m)
	}
	return json.Unmarshal(data, v, jsonOptions)
}

// unmarshalMap is the path of unstructured objects.
func unmarshalMap(data []byte, m *map[string]any) error {
	r := anyReader{dec: jsontext.NewDecoder(bytes.NewBuffer(data), jsonOptions)}
	v, err := r.value()
	if err != nil {
		return err
	}
	if _, err := r.dec.ReadToken(); err != io.EOF {
		return fmt.Errorf("json: more after the end of the object")
	}
	switch v := v.(type) {
	case nil:
		*m = nil
	case map[string]any:
		*m = v
	default:
		return fmt.Errorf("json: want an object, not a %s", jsontext.Value(data).Kind())
	}
	return nil
}

// anyReader decodes values into the types that unstructured objects are made of: nil, bool, string, int64, float64,
// []any and map[string]any. Names recur all through an object, so their strings are shared.
type anyReader struct {
	dec   *jsontext.Decoder
	names [64]string
}

func (r *anyReader) value() (any, error) {
	switch r.dec.PeekKind() {
	case '{':
		return r.object()
	case '[':
		return r.array()
	}
	raw, err := r.dec.ReadValue()
	if err != nil {
		return nil, err
	}
	switch raw.Kind() {
	case '"':
		return unquote(raw), nil
	case '0':
		return number(raw)
	case 't':
		return true, nil
	case 'f':
		return false, nil
	default: // null: the decoder has refused everything else
		return nil, nil
	}
}

func (r *anyReader) object() (any, error) {
	if _, err := r.dec.ReadToken(); err != nil {
		return nil, err
	}
	m := make(map[string]any)
	for r.dec.PeekKind() != '}' {
		raw, err := r.dec.ReadValue()
		if err != nil {
			return nil, err
		}
		name := r.name(raw)
		if m[name], err = r.value(); err != nil {
			return nil, err
		}
	}
	_, err := r.dec.ReadToken()
	return m, err
}

func (r *anyReader) array() (any, error) {
	if _, err := r.dec.ReadToken(); err != nil {
		return nil, err
	}
	a := []any{}
	for r.dec.PeekKind() != ']' {
		v, err := r.value()
		if err != nil {
			return nil, err
		}
		a = append(a, v)
	}
	_, err := r.dec.ReadToken()
	return a, err
}

func (r *anyReader) name(raw []byte) string {
	if len(raw) > 34 || !plain(raw) {
		return unquote(raw)
	}
	raw = raw[1 : len(raw)-1]
	h := uint(len(raw))
	for _, c := range raw {
		h = h*31 + uint(c)
	}
	slot := &r.names[h%uint(len(r.names))]
	if *slot != string(raw) {
		*slot = string(raw)
	}
	return *slot
}

// plain reports whether a JSON string has nothing to unescape or to repair.
func plain(raw []byte) bool {
	for _, c := range raw {
		if c == '\\' || c >= 0x80 {
			return false
		}
	}
	return true
}

func unquote(raw []byte) string {
	if plain(raw) {
		return string(raw[1 : len(raw)-1])
	}
	b, _ := jsontext.AppendUnquote(nil, raw) // the decoder has checked the string; bad UTF-8 is replaced
	return string(b)
}

func number(raw []byte) (any, error) {
	s := string(raw)
	if !bytes.ContainsAny(raw, ".eE") {
		if i, err := strconv.ParseInt(s, 10, 64); err == nil {
			return i, nil
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return nil, fmt.Errorf("json: number %s does not fit a float64", s)
	}
	return f, nil
}
