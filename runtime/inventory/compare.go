// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"crypto/sha256"

	"github.com/kube-go/sdk/core/wire"
)

// sum is a hash.
type sum [16]byte

func sumOf(parts ...[]byte) sum {
	h := sha256.New()
	for _, part := range parts {
		h.Write(part)
		h.Write([]byte{0})
	}
	return sum(h.Sum(nil)[:len(sum{})])
}

// covers reports whether a value of an existing object has every declared value. A server may change values, such as
// quantities, or add items to lists. So if it returns false, the values may be the same to the server.
func covers(live, declared any) bool {
	switch declared := declared.(type) {
	case map[string]any:
		live, ok := live.(map[string]any)
		if !ok {
			return false
		}
		for name, value := range declared {
			if !covers(live[name], value) {
				return false
			}
		}
		return true
	case []any:
		live, ok := live.([]any)
		return ok && coversList(live, declared)
	case int64:
		f, isFloat := live.(float64)
		return live == any(declared) || isFloat && f == float64(declared)
	case float64:
		i, isInt := live.(int64)
		return live == any(declared) || isInt && float64(i) == declared
	}
	return live == declared // a string, a boolean or nil
}

// coversList compares the items of lists by name if all have different names, and otherwise by position.
func coversList(live, declared []any) bool {
	if len(live) != len(declared) {
		return false
	}
	byName, named := itemsByName(live)
	_, alsoNamed := itemsByName(declared)
	for i, value := range declared {
		item := live[i]
		if named && alsoNamed {
			item = byName[value.(map[string]any)["name"].(string)]
		}
		if !covers(item, value) {
			return false
		}
	}
	return true
}

// itemsByName returns the items of a list by name. It reports whether all have different names.
func itemsByName(list []any) (map[string]any, bool) {
	items := make(map[string]any, len(list))
	for _, item := range list {
		m, _ := item.(map[string]any)
		name, ok := m["name"].(string)
		if _, twice := items[name]; twice || !ok {
			return nil, false
		}
		items[name] = item
	}
	return items, true
}

// shapeOf returns a hash of the declared part of an existing object: of the fields that are declared, with the values
// that they have.
func shapeOf(live, declared any) (sum, error) {
	data, err := wire.MarshalJSON(part(live, declared))
	return sumOf(data), err
}

// part returns the part of a value that is declared.
func part(live, declared any) any {
	switch declared := declared.(type) {
	case map[string]any:
		if live, ok := live.(map[string]any); ok {
			parts := make(map[string]any, len(declared))
			for name, value := range declared {
				if item, ok := live[name]; ok {
					parts[name] = part(item, value)
				}
			}
			return parts
		}
	case []any:
		if live, ok := live.([]any); ok && len(live) == len(declared) {
			parts := make([]any, len(live))
			for i := range live {
				parts[i] = part(live[i], declared[i])
			}
			return parts
		}
	}
	return live
}
