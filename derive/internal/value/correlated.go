// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package value

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/kube-go/sdk/derive/internal/openapi"
)

// Correlated is a pair of a value and the corresponding old value. It is nil for a value without an old value. It
// caches results, and is not safe for concurrent use.
type Correlated struct {
	new, old any
	schema   *openapi.Schema

	same     *bool
	byKeys   *ByKeys
	children map[any]*Correlated
}

// Correlate returns the pair of a new and an old object.
func Correlate(s *openapi.Schema, v, old any) *Correlated {
	return &Correlated{new: v, old: old, schema: s, children: map[any]*Correlated{}}
}

// Key returns the pair of a property, or nil if the old object does not have the property.
func (c *Correlated) Key(name string) *Correlated {
	if c == nil || c.schema == nil {
		return nil
	}
	if child, ok := c.children[name]; ok {
		return child
	}
	child := c.key(name)
	c.children[name] = child
	return child
}

func (c *Correlated) key(name string) *Correlated {
	newMap, _ := c.new.(map[string]any)
	oldMap, _ := c.old.(map[string]any)
	v, ok := newMap[name]
	old, existed := oldMap[name]
	if !ok || !existed {
		return nil
	}
	s := c.schema.Properties[name]
	if s == nil {
		s = c.schema.Value()
	}
	if s == nil {
		return nil
	}
	return Correlate(s, v, old)
}

// Index returns the pair of an item, or nil if the old list does not have an item with the same keys.
func (c *Correlated) Index(i int) *Correlated {
	if c == nil || c.schema.Item() == nil {
		return nil
	}
	if child, ok := c.children[i]; ok {
		return child
	}
	child := c.index(i)
	c.children[i] = child
	return child
}

func (c *Correlated) index(i int) *Correlated {
	newList, _ := c.new.([]any)
	oldList, _ := c.old.([]any)
	if i >= len(newList) {
		return nil
	}
	if c.byKeys == nil {
		c.byKeys = new(IndexKeys(c.schema, oldList))
	}
	old := c.byKeys.Like(newList[i])
	if old == nil {
		return nil
	}
	return Correlate(c.schema.Item(), newList[i], old)
}

// ByKeys contains the items of a list of type map, by their keys. It is empty for lists of other types.
type ByKeys struct {
	schema *openapi.Schema
	items  map[string]any
}

// IndexKeys indexes the items of a list by their keys. It uses the first of several items with the same keys.
func IndexKeys(s *openapi.Schema, list []any) ByKeys {
	b := ByKeys{s, map[string]any{}}
	for _, item := range list {
		if keys, ok := keysOf(s, item); ok && b.items[keys] == nil {
			b.items[keys] = item
		}
	}
	return b
}

// Like returns the item with the same keys as item, or nil if no item has these keys.
func (b ByKeys) Like(item any) any {
	keys, ok := keysOf(b.schema, item)
	if !ok {
		return nil
	}
	return b.items[keys]
}

// keysOf returns a string that identifies an item by its keys.
func keysOf(s *openapi.Schema, item any) (string, bool) {
	m, ok := item.(map[string]any)
	if !ok || s.Type != "array" || !s.IsListType("map") || len(s.ListMapKeys) == 0 {
		return "", false
	}
	var text strings.Builder
	for _, key := range s.ListMapKeys {
		switch v := m[key].(type) {
		case bool, float64, int64, string:
			fmt.Fprintf(&text, "%T %q ", v, fmt.Sprint(v))
		default:
			return "", false
		}
	}
	return text.String(), true
}

// Unchanged reports whether the value is equal to the old value. The order of items in lists of type map is ignored.
func (c *Correlated) Unchanged() bool {
	if c == nil {
		return false
	}
	if c.same == nil {
		c.same = new(c.compare())
	}
	return *c.same
}

func (c *Correlated) compare() bool {
	switch v := c.new.(type) {
	case []any:
		old, ok := c.old.([]any)
		if !ok || len(old) != len(v) {
			return false
		}
		if !c.schema.IsListType("map") {
			return reflect.DeepEqual(v, old)
		}
		for i := range v {
			if !c.Index(i).Unchanged() {
				return false
			}
		}
		return true
	case map[string]any:
		old, ok := c.old.(map[string]any)
		if !ok || len(old) != len(v) {
			return false
		}
		for name := range v {
			if !c.Key(name).Unchanged() {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(c.new, c.old)
}
