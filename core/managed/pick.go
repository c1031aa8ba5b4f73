// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kube-go/sdk/core/internal/tree"
)

// picker takes fields out of a value. It needs no schema: the elements of a set tell whether a value is an object or a
// list, and a list's keys.
type picker struct {
	absent []string // fields that should be there, and are not
}

// pick returns what a set owns of a value. All is what anybody owns of it.
func (p *picker) pick(value any, mine, all *Fields, at Path) any {
	if len(mine.inner) == 0 {
		return whole(value, all)
	}
	switch value := value.(type) {
	case map[string]any:
		return p.pickMembers(value, mine, all, at)
	case []any:
		return p.pickItems(value, mine, all, at)
	}
	p.miss(mine, at)
	return value
}

// whole returns a value that is owned as a whole. That means all that is in it, as of an atomic list, unless somebody owns
// a part of it by itself: then it is only there for the parts.
func whole(value any, all *Fields) any {
	if all != nil && len(all.inner) > 0 {
		switch value.(type) {
		case map[string]any:
			return map[string]any{}
		case []any:
			return []any{}
		}
	}
	return value
}

func (p *picker) pickMembers(value map[string]any, mine, all *Fields, at Path) any {
	picked := make(map[string]any, len(mine.inner))
	for element, inner := range mine.inner {
		here := append(slices.Clip(at), element)
		name, isName := strings.CutPrefix(element, "f:")
		member, ok := value[name]
		if !isName || !ok {
			p.miss(inner, here)
			continue
		}
		picked[name] = p.pick(member, inner, all.at(element), here)
	}
	return picked
}

func (p *picker) pickItems(value []any, mine, all *Fields, at Path) any {
	picked := []any{}
	wanted := itemsOf(mine)
	for i, v := range value {
		for w := range wanted {
			item := &wanted[w]
			if !item.is(i, v) {
				continue
			}
			item.found = true
			here := append(slices.Clip(at), item.element)
			got := p.pick(v, mine.inner[item.element], all.at(item.element), here)
			if object, ok := got.(map[string]any); ok {
				maps.Copy(object, item.key)
			}
			picked = append(picked, got)
			break
		}
	}
	for _, item := range wanted {
		if !item.found {
			p.miss(mine.inner[item.element], append(slices.Clip(at), item.element))
		}
	}
	return picked
}

// miss notes the fields of a set that are not there.
func (p *picker) miss(fields *Fields, at Path) {
	for path := range fields.All() {
		p.absent = append(p.absent, append(slices.Clone(at), path...).String())
	}
}

// item is an item of a list that is wanted.
type item struct {
	element string
	key     map[string]any // what tells it from others, of k:
	value   any            // what it is, of v:
	index   int            // where it is, of i:; else -1
	found   bool
}

// itemsOf returns the items that a set has of a list, in the order of their spelling.
func itemsOf(f *Fields) []item {
	items := make([]item, 0, len(f.inner))
	for _, element := range slices.Sorted(maps.Keys(f.inner)) {
		it := item{element: element, index: -1}
		kind, text, _ := strings.Cut(element, ":")
		var err error
		switch kind {
		case "k":
			it.key, err = parseKey(text)
		case "v":
			it.value, err = tree.Of(text)
		case "i":
			it.index, err = strconv.Atoi(text)
		}
		if err != nil { // Parse has read it
			continue
		}
		items = append(items, it)
	}
	return items
}

// is reports whether the item is a value that is at an index.
func (it *item) is(i int, value any) bool {
	switch {
	case it.key != nil:
		object, ok := value.(map[string]any)
		if !ok {
			return false
		}
		for name, want := range it.key {
			if !tree.Equal(object[name], want) {
				return false
			}
		}
		return true
	case it.index >= 0:
		return it.index == i
	}
	return strings.HasPrefix(it.element, "v:") && tree.Equal(it.value, value)
}
