// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package tree compares JSON values: nil, bool, int64, float64, string, []any, map[string]any.
package tree

import (
	"maps"
	"slices"

	"github.com/kube-go/sdk/core/wire"
)

// Of returns the JSON value that v encodes to. A []byte or a string is JSON text. The result shares no memory with v.
func Of(v any) (any, error) {
	var data []byte
	switch v := v.(type) {
	case []byte:
		data = v
	case string:
		data = []byte(v)
	default:
		var err error
		if data, err = wire.MarshalJSON(v); err != nil {
			return nil, err
		}
	}
	var value any
	err := wire.UnmarshalJSON(data, &value)
	return value, err
}

// Equal reports whether two values are equal. Numbers are compared by value: 1 equals 1.0.
func Equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, Equal)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, Equal)
	case int64:
		if f, ok := b.(float64); ok {
			return sameNumber(a, f)
		}
	case float64:
		if i, ok := b.(int64); ok {
			return sameNumber(i, a)
		}
	}
	switch b.(type) {
	case map[string]any, []any: // not comparable with ==
		return false
	}
	return a == b
}

// sameNumber compares exactly, since not every int64 is a float64.
func sameNumber(i int64, f float64) bool {
	const limit = 1 << 63
	return f >= -limit && f < limit && int64(f) == i && float64(int64(f)) == f
}
