// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// picker copies fields out of an object. It needs no schema: the elements of a set show whether a value is an object or
// a list, and which fields are the keys of a list.
type picker struct {
	absent []string // fields that are in the set and not in the object
}

// pick returns the part of a value that is in the set mine. The set all has the fields of all managers.
func (p *picker) pick(value any, mine, all *fieldpath.Set, at fieldpath.Path) any {
	if mine.Empty() {
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

// whole returns a value that is owned as a whole, such as an atomic list. If a manager owns a field in it, the value is
// not atomic: then only its existence is owned.
func whole(value any, all *fieldpath.Set) any {
	if !all.Empty() {
		switch value.(type) {
		case map[string]any:
			return map[string]any{}
		case []any:
			return []any{}
		}
	}
	return value
}

func (p *picker) pickMembers(object map[string]any, mine, all *fieldpath.Set, at fieldpath.Path) any {
	picked := map[string]any{}
	for _, element := range elements(mine) {
		if element.FieldName != nil {
			name := *element.FieldName
			if member, ok := object[name]; ok {
				picked[name] = p.pick(member, beneath(mine, element), beneath(all, element), append(slices.Clip(at), element))
				continue
			}
		}
		p.missElement(mine, element, at)
	}
	return picked
}

func (p *picker) pickItems(items []any, mine, all *fieldpath.Set, at fieldpath.Path) any {
	picked := []any{}
	wanted := elements(mine)
	found := make([]bool, len(wanted))
	for i, item := range items {
		n := slices.IndexFunc(wanted, func(element fieldpath.PathElement) bool { return isItem(element, i, item) })
		if n < 0 {
			continue
		}
		found[n] = true
		element := wanted[n]
		got := p.pick(item, beneath(mine, element), beneath(all, element), append(slices.Clip(at), element))
		if object, ok := got.(map[string]any); ok && element.Key != nil {
			for _, field := range *element.Key {
				object[field.Name] = item.(map[string]any)[field.Name]
			}
		}
		picked = append(picked, got)
	}
	for n, element := range wanted {
		if !found[n] {
			p.missElement(mine, element, at)
		}
	}
	return picked
}

// isItem reports whether an element is that of an item of a list.
func isItem(element fieldpath.PathElement, index int, item any) bool {
	switch {
	case element.Key != nil:
		object, ok := item.(map[string]any)
		return ok && !slices.ContainsFunc(*element.Key, func(key value.Field) bool {
			return !value.Equals(key.Value, value.NewValueInterface(object[key.Name]))
		})
	case element.Value != nil:
		return value.Equals(*element.Value, value.NewValueInterface(item))
	case element.Index != nil:
		return *element.Index == index
	}
	return false
}

// miss notes the fields of a set that are not in the object.
func (p *picker) miss(set *fieldpath.Set, at fieldpath.Path) {
	set.Iterate(func(path fieldpath.Path) { p.absent = append(p.absent, at.String()+path.String()) })
}

// missElement is miss for an element of a set and its descendants.
func (p *picker) missElement(set *fieldpath.Set, element fieldpath.PathElement, at fieldpath.Path) {
	here := append(slices.Clip(at), element)
	if set.Members.Has(element) {
		p.absent = append(p.absent, here.String())
	}
	p.miss(beneath(set, element), here)
}
