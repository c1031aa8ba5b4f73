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

// patched returns the webhook with the fields that a patch in JSON sets, or removes where they are null. Lists are
// replaced: of those that a strategic merge would merge, the markers fill none.
func (w *Webhook) patched(patch string) (*Webhook, error) {
	var change map[string]any
	dec := json.NewDecoder(strings.NewReader(patch))
	if err := dec.Decode(&change); err != nil {
		return nil, fmt.Errorf("it must be an object in JSON: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is text behind the object")
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

// known refuses directives of strategic merge patches, and null for what is not there, which is a misspelt name.
func known(change map[string]any, path string, object map[string]any) error {
	for _, key := range slices.Sorted(maps.Keys(change)) {
		if strings.HasPrefix(key, "$") {
			return fmt.Errorf("%s%s: directives are not understood: write the value itself", path, key)
		}
		if _, there := object[key]; change[key] == nil && !there {
			return fmt.Errorf("%s%s is null, but there is nothing to remove", path, key)
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

// merge is a JSON merge patch, see https://www.rfc-editor.org/rfc/rfc7386.
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

// keeps checks that nothing of an object was lost when it was decoded, which happens to names in the wrong case.
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
		return fmt.Errorf("there is no field %q", path)
	}
	return nil
}

// lost returns the path of the first key that is in one value and not in the other, "" when there is none.
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

// empty reports whether a value is one that is left out when it is written.
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
