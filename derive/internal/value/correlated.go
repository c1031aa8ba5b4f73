// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package value

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/kube-go/sdk/derive/internal/openapi"
)

// Correlated is a value of an object beside the same value of the object before it was changed. Nil is a value that has
// none before. It remembers what it has compared, so it is not safe for concurrent use.
type Correlated struct {
	new, old any
	schema   *openapi.Schema

	same     *bool
	byKeys   *ByKeys
	children map[any]*Correlated
}

// Correlate pairs an object with what it was.
func Correlate(s *openapi.Schema, v, old any) *Correlated {
	return &Correlated{new: v, old: old, schema: s, children: map[any]*Correlated{}}
}

// Key returns the pair of a property, nil when it was not there.
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
	old, was := oldMap[name]
	if !ok || !was {
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

// Index returns the pair of an item, nil when there was none with the item's keys.
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

// ByKeys are the items of a list of type map by their keys. Lists of other types have no keys.
type ByKeys struct {
	schema *openapi.Schema
	items  map[string]any
}

// IndexKeys finds the keys of the items of a list. Of items with the same keys the first counts.
func IndexKeys(s *openapi.Schema, list []any) ByKeys {
	b := ByKeys{s, map[string]any{}}
	for _, item := range list {
		if keys, ok := keysOf(s, item); ok && b.items[keys] == nil {
			b.items[keys] = item
		}
	}
	return b
}

// Like returns the item that has the keys of another, nil when there is none.
func (b ByKeys) Like(item any) any {
	keys, ok := keysOf(b.schema, item)
	if !ok {
		return nil
	}
	return b.items[keys]
}

// keysOf returns what is the same for two items that are one.
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

// Unchanged reports whether the value is what it was. Items of lists of type map may have moved.
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
