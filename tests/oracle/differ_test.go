// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package oracle_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// difference is a difference between two CRDs.
type difference struct {
	path string // starts with a dot and the name of the file
	want string // the value of controller-gen; "" if it is missing
	got  string // the value of kube-derive; "" if it is missing
}

func (d difference) String() string {
	return fmt.Sprintf("%s: controller-gen %s, kube-derive %s", d.path, d.want, d.got)
}

// file returns the name of the file with the difference.
func (d difference) file() string {
	name, _, _ := strings.Cut(strings.TrimPrefix(d.path, "."), ".yaml")
	return name + ".yaml"
}

// differ returns the differences of two values that were decoded from YAML.
func differ(path string, want, got any) []difference {
	switch want := want.(type) {
	case map[string]any:
		if got, ok := got.(map[string]any); ok {
			return differMaps(path, want, got)
		}
	case []any:
		if got, ok := got.([]any); ok && len(got) == len(want) {
			var all []difference
			for i := range want {
				all = append(all, differ(fmt.Sprintf("%s[%d]", path, i), want[i], got[i])...)
			}
			return all
		}
	}
	if reflect.DeepEqual(want, got) {
		return nil
	}
	return []difference{{path, text(want), text(got)}}
}

func differMaps(path string, want, got map[string]any) []difference {
	keys := map[string]bool{}
	for key := range want {
		keys[key] = true
	}
	for key := range got {
		keys[key] = true
	}
	var all []difference
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		all = append(all, differ(path+"."+key, want[key], got[key])...)
	}
	return all
}

// text formats a value for error messages.
func text(v any) string {
	if v == nil {
		return ""
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}
