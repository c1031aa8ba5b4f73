// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// jsonOptions are the rules of encoding/json but for exact-case field names and for errors that say where.
//
//nolint:gochecknoglobals // a constant that Go can't express
var jsonOptions = json.JoinOptions(
	jsonv1.DefaultOptionsV1(),
	json.MatchCaseInsensitiveNames(false),
	jsonv1.ReportErrorsWithLegacySemantics(false),
)

// jsonAnyOptions are jsonOptions with integers in empty interfaces.
//
//nolint:gochecknoglobals // a constant that Go can't express
var jsonAnyOptions = json.JoinOptions(
	jsonOptions,
	json.WithUnmarshalers(json.UnmarshalFromFunc(func(dec *jsontext.Decoder, v *any) error {
		raw, err := dec.ReadValue()
		if err == nil {
			*v, err = parseAny(raw)
		}
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
	if SupportsProtobuf(v) { // it has no empty interfaces, since protobuf has none; saves their look-up for each field
		return json.Unmarshal(data, v, jsonOptions)
	}
	return json.Unmarshal(data, v, jsonAnyOptions)
}

// unmarshalMap is the path of unstructured objects.
func unmarshalMap(data []byte, m *map[string]any) error {
	v, err := parseAny(data)
	if err != nil {
		return err
	}
	switch v := v.(type) {
	case nil:
		*m = nil
	case map[string]any:
		*m = v
	default:
		return fmt.Errorf("json: want an object, not %s", jsontext.Value(data).Kind())
	}
	return nil
}

// unquote returns what a JSON string says. It must be a valid one, but for bad UTF-8, which is replaced.
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
