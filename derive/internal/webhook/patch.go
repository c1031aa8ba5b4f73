// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// patched returns the webhook with the fields that a JSON patch sets, or removes if they are null. Lists are replaced:
// the markers set no list that a strategic merge would merge.
func (w *Webhook) patched(patch string) (*Webhook, error) {
	var change map[string]any
	dec := json.NewDecoder(strings.NewReader(patch))
	if err := dec.Decode(&change); err != nil {
		return nil, fmt.Errorf("it must be a JSON object: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("text follows the object")
	}
	body, err := json.Marshal(w)
	if err != nil {
		return nil, err
	}
	var object map[string]any
	if err := json.Unmarshal(body, &object); err != nil {
		return nil, err
	}
	if err := known(change, "", object); err != nil {
		return nil, err
	}
	merge(object, change)
	if body, err = json.Marshal(object); err != nil {
		return nil, err
	}
	out := &Webhook{Mutating: w.Mutating}
	strict := json.NewDecoder(bytes.NewReader(body))
	strict.DisallowUnknownFields()
	if err := strict.Decode(out); err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	return out, out.keeps(object)
}

// known returns an error for a directive of a strategic merge patch, and for null as the value of an unknown field.
func known(change map[string]any, path string, object map[string]any) error {
	for _, key := range slices.Sorted(maps.Keys(change)) {
		if strings.HasPrefix(key, "$") {
			return fmt.Errorf("%s%s: directives are not supported: write the value itself", path, key)
		}
		if _, there := object[key]; change[key] == nil && !there {
			return fmt.Errorf("%s%s is null, but the field is not set", path, key)
		}
		if inner, ok := change[key].(map[string]any); ok {
			below, _ := object[key].(map[string]any)
			if err := known(inner, path+key+".", below); err != nil {
				return err
			}
		}
	}
	return nil
}

// merge applies a JSON merge patch, see https://www.rfc-editor.org/rfc/rfc7386.
func merge(object, change map[string]any) {
	for key, v := range change {
		inner, isObject := v.(map[string]any)
		switch {
		case v == nil:
			delete(object, key)
		case isObject:
			below, _ := object[key].(map[string]any)
			if below == nil {
				below = map[string]any{}
			}
			merge(below, inner)
			object[key] = below
		default:
			object[key] = v
		}
	}
}

// keeps checks that decoding has kept all fields of an object. Names in the wrong case are lost.
func (w *Webhook) keeps(object map[string]any) error {
	body, err := json.Marshal(w)
	if err != nil {
		return err
	}
	var again map[string]any
	if err := json.Unmarshal(body, &again); err != nil {
		return err
	}
	if path := lost(object, again, ""); path != "" {
		return fmt.Errorf("unknown field %q", path)
	}
	return nil
}

// lost returns the path of the first key that only the first value has, or "" if the second one has all keys.
func lost(object, again any, path string) string {
	switch object := object.(type) {
	case map[string]any:
		other, _ := again.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(object)) {
			below := strings.TrimPrefix(path+"."+key, ".")
			if _, ok := other[key]; !ok && !empty(object[key]) {
				return below
			}
			if p := lost(object[key], other[key], below); p != "" {
				return p
			}
		}
	case []any:
		other, _ := again.([]any)
		for i := range object {
			if i < len(other) {
				if p := lost(object[i], other[i], fmt.Sprintf("%s[%d]", path, i)); p != "" {
					return p
				}
			}
		}
	}
	return ""
}

// empty reports whether omitempty omits a value.
func empty(v any) bool {
	switch v := v.(type) {
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return v == nil
}
