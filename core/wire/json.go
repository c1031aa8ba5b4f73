// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/kube-go/sdk/core/internal/protobuf"
)

// jsonOptions are the rules of encoding/json, except for exact-case field names and errors with positions.
//
//nolint:gochecknoglobals // a constant that Go can't express
var jsonOptions = json.JoinOptions(
	jsonv1.DefaultOptionsV1(),
	json.MatchCaseInsensitiveNames(false),
	jsonv1.ReportErrorsWithLegacySemantics(false),
)

// legacyErrors makes the library accept the tags that encoding/json accepts, see isTagError.
//
//nolint:gochecknoglobals // a constant that Go can't express
var legacyErrors = jsonv1.ReportErrorsWithLegacySemantics(true)

// jsonAnyOptions add integers in empty interfaces, bounds of quantities, json.Number and fast times to jsonOptions.
//
//nolint:gochecknoglobals // a constant that Go can't express
var jsonAnyOptions = json.JoinOptions(
	jsonOptions,
	json.WithMarshalers(json.MarshalToFunc(marshalNumber)),
	json.WithUnmarshalers(json.JoinUnmarshalers(
		json.UnmarshalFromFunc(
			unmarshalAny,
		),
		json.UnmarshalFromFunc(unmarshalQuantity),
		json.UnmarshalFromFunc(unmarshalNumber),
		json.UnmarshalFromFunc(unmarshalTime),
		json.UnmarshalFromFunc(unmarshalMicroTime),
	)),
)

// marshalNumber writes a json.Number as a number; the library writes it as a string.
func marshalNumber(enc *jsontext.Encoder, n stdjson.Number) error {
	if n == "" {
		n = "0" // as encoding/json does
	}
	return enc.WriteValue(jsontext.Value(n))
}

// unmarshalNumber reads a json.Number without changing it. As in encoding/json, it may be in a string.
func unmarshalNumber(dec *jsontext.Decoder, n *stdjson.Number) error {
	kind := dec.PeekKind()
	if kind != '0' && kind != '"' {
		return errors.ErrUnsupported // null, or another type
	}
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	text := string(raw)
	if kind == '"' {
		text = unquote(raw)
		number := jsontext.Value(text)
		if number.Kind() != '0' || !number.IsValid() || strings.TrimSpace(text) != text {
			return errors.New("want a number")
		}
	}
	*n = stdjson.Number(text)
	return nil
}

func unmarshalAny(dec *jsontext.Decoder, v *any) error {
	raw, err := dec.ReadValue()
	if err == nil {
		*v, err = parseAny(raw)
	}
	return err
}

// MarshalJSON encodes v by the rules of encoding/json.
func MarshalJSON(v any) ([]byte, error) {
	opts := jsonAnyOptions
	if SupportsProtobuf(v) {
		opts = jsonOptions // as in unmarshalJSON
	}
	data, err := json.Marshal(v, opts)
	if isTagError(err) {
		return json.Marshal(v, opts, legacyErrors)
	}
	return data, err
}

// UnmarshalJSON decodes data into v by the rules of encoding/json, with two differences that the API server makes too:
// field names match by exact case, and a number in an empty interface becomes an int64 if it is an integer in that
// range, and a float64 otherwise. Unknown fields are ignored.
func UnmarshalJSON(data []byte, v any) error {
	if m, ok := v.(*map[string]any); ok {
		return unmarshalMap(data, m)
	}
	return unmarshalJSON(data, v)
}

// unmarshalJSON decodes into anything but the map of an unstructured object.
func unmarshalJSON(data []byte, v any) error {
	opts := jsonAnyOptions
	if SupportsProtobuf(v) && !protobuf.HasQuantities(reflect.TypeOf(v)) {
		opts = jsonOptions // saves a look-up for each field: there are no empty interfaces, since protobuf has none
	}
	err := json.Unmarshal(data, v, opts)
	if err != nil && bytes.HasPrefix(data, []byte(magic)) {
		return errNotJSON
	}
	if isTagError(err) {
		return describeLegacy(json.Unmarshal(data, v, opts, legacyErrors))
	}
	return describe(err)
}

// unmarshalMap decodes the content of an unstructured object.
func unmarshalMap(data []byte, m *map[string]any) error {
	v, err := parseAny(data)
	if err != nil && bytes.HasPrefix(data, []byte(magic)) {
		return errNotJSON
	}
	if err != nil {
		return err
	}
	switch v := v.(type) {
	case nil:
		*m = nil
	case map[string]any:
		*m = v
	case []any:
		return errors.New("want an object, not an array")
	case string:
		return errors.New("want an object, not a string")
	default:
		return errors.New("want an object, not a number or a boolean")
	}
	return nil
}

// unquote returns the value of a JSON string. The string must be valid, except for invalid UTF-8, which is replaced.
func unquote(raw []byte) string {
	text := raw[1 : len(raw)-1]
	for _, c := range text {
		if c == '\\' || c >= 0x80 {
			b, _ := jsontext.AppendUnquote(nil, raw)
			return string(b)
		}
	}
	return string(text)
}
