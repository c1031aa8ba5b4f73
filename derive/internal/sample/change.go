// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package sample

import (
	"fmt"
	"iter"
	"reflect"
	"strings"
)

// Change is a valid object that differs from another one in one value.
type Change struct {
	// Path is the path of the value.
	Path string
	// Old and New are the values, or nil for one that is added or removed.
	Old, New any
	Object   map[string]any
}

// Changes yields changes of a valid object: for each value, except for those of its metadata and status, another one,
// and its removal; for each optional field, list and map, a value that is added. Servers accept each change and its
// reversal. Objects have their default values, and no status.
func (s *Sampler) Changes(obj map[string]any) iter.Seq[Change] {
	return func(yield func(Change) bool) {
		seen := make(map[string]bool)
		obj := s.normalize(obj)
		w := &walker{literals: literalsOf(s.root)}
		w.visit = func(at []step, v any, remove bool) bool {
			c := Change{Path: textOfSteps(at), Old: valueAt(obj, at)}
			if !remove {
				c.New = v
			}
			kind := fmt.Sprint(c.Path, c.Old == nil, remove)
			if at[0] == "metadata" || seen[kind] {
				return true
			}
			c.Object = s.changed(obj, at, v, remove)
			if reflect.DeepEqual(obj, s.normalize(c.Object)) ||
				len(s.validateChange(c.Object, obj, true)) > 0 || len(s.validateChange(obj, c.Object, true)) > 0 {
				return true
			}
			seen[kind] = true
			return yield(c)
		}
		w.value(s.root, obj, nil)
	}
}

// textOfSteps returns a path such as "spec.items[0].name".
func textOfSteps(at []step) string {
	var b strings.Builder
	for _, st := range at {
		switch st := st.(type) {
		case int:
			fmt.Fprintf(&b, "[%d]", st)
		case string:
			if strings.ContainsAny(st, "./") {
				fmt.Fprintf(&b, "[%s]", st)
				continue
			}
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(st)
		}
	}
	return b.String()
}
