// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package value

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kube-go/sdk/derive/internal/openapi"
)

// CheckUnique checks that sets have unique items, and that lists of type map have unique keys.
func CheckUnique(path *field.Path, s *openapi.Schema, v any) field.ErrorList {
	var errs field.ErrorList
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if more := s.Value(); more != nil {
				errs = append(errs, CheckUnique(path.Key(key), more, v[key])...)
			}
			if p := s.Properties[key]; p != nil {
				errs = append(errs, CheckUnique(path.Child(key), p, v[key])...)
			}
		}
	case []any:
		switch {
		case s.IsListType("set"):
			for _, i := range repeated(v) {
				errs = append(errs, field.Duplicate(path.Index(i), v[i]))
			}
		case s.IsListType("map"):
			errs = append(errs, checkKeys(path, s, v)...)
		}
		if item := s.Item(); item != nil {
			for i := range v {
				errs = append(errs, CheckUnique(path.Index(i), item, v[i])...)
			}
		}
	}
	return errs
}

// checkKeys checks the items of a list of type map.
func checkKeys(path *field.Path, s *openapi.Schema, v []any) field.ErrorList {
	keys := make([]any, len(v))
	for i, item := range v {
		m, ok := item.(map[string]any)
		if !ok && item != nil {
			return field.ErrorList{field.Invalid(path.Index(i), item, "must be an object for an array of list-type map")}
		}
		key := map[string]any{}
		for _, name := range s.ListMapKeys {
			if part, ok := m[name]; ok {
				key[name] = part
			}
		}
		keys[i] = key
	}
	var errs field.ErrorList
	for _, i := range repeated(keys) {
		errs = append(errs, field.Duplicate(path.Index(i), keys[i]))
	}
	return errs
}

// repeated returns the indexes of duplicate values.
func repeated(list []any) []int {
	seen := map[string]int{}
	var places []int
	for i, v := range list {
		b, err := json.Marshal(v)
		text := fmt.Sprintf("%T %s", v, b)
		if err != nil {
			text = fmt.Sprintf("%#v", v)
		}
		if seen[text]++; seen[text] == 2 {
			places = append(places, i)
		}
	}
	return places
}

// plain formats a value for use in a list of values.
func plain(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}
