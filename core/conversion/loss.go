// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"fmt"
	"maps"
	"slices"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/internal/tree"
	"github.com/kube-go/sdk/core/wire"
)

// loss is the part of an object that another version can't represent. Both fields have only the differences, in the
// object's own version: as the other version would return them, and as they are.
type loss struct {
	Was map[string]any `json:"was,omitempty"`
	Is  map[string]any `json:"is,omitempty"`
}

// lossAnnotation is the annotation with the fields of a version that the others lack.
func lossAnnotation(v *version) string { return v.resource.Group + "/conversion-" + v.resource.Version }

// keep restores the fields in out, which has been converted, that its version lost before, and stores those that the
// version of in loses now.
func (c *Converter) keep(packed wire.Packed, out core.Object, from, to *version) (core.Object, error) {
	in := from.empty() // a new one: the functions may have shared memory with theirs
	if err := packed.Decode(in); err != nil {
		return nil, err
	}
	stored := metaOf(in).Annotations // those of out may be the functions' own
	annotations := maps.Clone(metaOf(out).Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	for _, v := range c.versions {
		name := lossAnnotation(v)
		delete(annotations, name)
		// That of from is a copy from elsewhere: the object itself has these fields.
		if text := stored[name]; text != "" && v != from && v != to {
			annotations[name] = text
		}
	}
	converted := out
	if kept := stored[lossAnnotation(to)]; kept != "" {
		restored, err := restore(out, kept, to)
		if err != nil {
			return nil, err
		}
		out = restored
	}
	text, err := c.lost(in, out, from, to)
	if err != nil && out != converted { // the functions refuse the restored values, see restore
		out = converted
		text, err = c.lost(in, out, from, to)
	}
	if err != nil {
		return nil, err
	}
	if text != "" {
		annotations[lossAnnotation(from)] = text
	}
	if len(annotations) == 0 {
		annotations = nil
	}
	metaOf(out).Annotations = annotations
	return out, nil
}

// lost returns the fields of an object that are missing after it is converted back. It is empty without such fields.
func (c *Converter) lost(in, out core.Object, from, to *version) (string, error) {
	back, err := c.through(out, to, from)
	if err != nil {
		return "", fmt.Errorf("find lost fields: back from %s: %w", to.resource.Version, err)
	}
	was, err := content(back)
	if err != nil {
		return "", err
	}
	is, err := content(in)
	if err != nil {
		return "", err
	}
	var l loss
	if l.Was, l.Is = differences(was, is); l.Was == nil && l.Is == nil {
		return "", nil
	}
	text, err := wire.MarshalJSON(l)
	if err != nil {
		return "", err
	}
	if len(text) > c.opts.MaxLostBytes {
		return "", fmt.Errorf("the fields that %s lacks take %d bytes, and ConverterOptions.MaxLostBytes allows %d",
			to.resource.Version, len(text), c.opts.MaxLostBytes)
	}
	return string(text), nil
}

// content returns the fields of an object except for its type and metadata.
func content(obj core.Object) (map[string]any, error) {
	value, err := tree.Of(obj)
	if err != nil {
		return nil, err
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("a %T does not encode to a JSON object", obj)
	}
	for _, name := range []string{"apiVersion", "kind", "metadata"} {
		delete(object, name)
	}
	return object, nil
}

// differences returns the parts of two objects that differ, or nil. It compares lists as a whole.
func differences(was, is map[string]any) (onlyWas, onlyIs map[string]any) {
	put := func(m *map[string]any, name string, v any) {
		if *m == nil {
			*m = map[string]any{}
		}
		(*m)[name] = v
	}
	for name, w := range was {
		i, still := is[name]
		wObject, wOK := w.(map[string]any)
		iObject, iOK := i.(map[string]any)
		switch {
		case still && wOK && iOK:
			w, i := differences(wObject, iObject)
			if w != nil || i != nil {
				put(&onlyWas, name, orEmpty(w))
				put(&onlyIs, name, orEmpty(i))
			}
		case !still:
			put(&onlyWas, name, w)
		case !tree.Equal(w, i):
			put(&onlyWas, name, w)
			put(&onlyIs, name, i)
		}
	}
	for name, i := range is {
		if _, ok := was[name]; !ok {
			put(&onlyIs, name, i)
		}
	}
	return onlyWas, onlyIs
}

func orEmpty(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

// restore restores the fields of an object that an annotation stores. It ignores an invalid annotation: any user that
// may write the object may write it, and must not make the object unreadable.
func restore(obj core.Object, annotation string, v *version) (core.Object, error) {
	var l loss
	if err := wire.UnmarshalJSON([]byte(annotation), &l); err != nil {
		return obj, nil //nolint:nilerr // see above
	}
	now, err := content(obj)
	if err != nil {
		return nil, err
	}
	data, err := wire.MarshalJSON(restoreObject(now, l.Was, l.Is))
	if err != nil {
		return nil, err
	}
	restored := v.empty()
	if err := wire.UnmarshalJSON(data, restored); err != nil {
		return obj, nil //nolint:nilerr // values of other types, see above
	}
	*metaOf(restored) = *metaOf(obj)
	return restored, nil
}

// restoreObject changes now from was to is where it still equals was. Values that were changed in the meantime stay.
func restoreObject(now, was, is map[string]any) map[string]any {
	out := maps.Clone(orEmpty(now))
	restoreField := func(name string) {
		n, there := out[name]
		w, before := was[name]
		i, lost := is[name]
		value, keep := restoreValue(optional{n, there}, optional{w, before}, optional{i, lost})
		if keep {
			out[name] = value
		} else {
			delete(out, name)
		}
	}
	for name := range was {
		restoreField(name)
	}
	for name := range is {
		if _, done := was[name]; !done {
			restoreField(name)
		}
	}
	return out
}

// optional is a value that may be absent.
type optional struct {
	value any
	there bool
}

func restoreValue(now, was, is optional) (value any, there bool) {
	nowObject, nowOK := now.value.(map[string]any)
	wasObject, wasOK := was.value.(map[string]any)
	isObject, isOK := is.value.(map[string]any)
	nowList, nowLists := now.value.([]any)
	wasList, wasLists := was.value.([]any)
	isList, isLists := is.value.([]any)
	wasEmpty := was.value == nil // absent or null
	switch {
	case nowOK && isOK && (wasOK || wasEmpty):
		return restoreObject(nowObject, wasObject, isObject), true
	case now.there == was.there && tree.Equal(now.value, was.value):
		return is.value, is.there
	case nowLists && isLists && (wasLists || wasEmpty):
		return restoreList(nowList, wasList, isList), true
	}
	return now.value, now.there
}

// restoreList does the same for the remaining items of a list, which may have moved. It adds the items that the other
// version could not represent at all, until the list has as many of a name or value as it had before.
func restoreList(now, was, is []any) []any {
	out := make([]any, 0, len(now)+len(is))
	kept := slices.Repeat([]int{-1}, len(was)) // the index in is of each item of was
	var hidden []any
	for to, from := range origins(was, is) {
		if from >= 0 {
			kept[from] = to
		} else {
			hidden = append(hidden, is[to])
		}
	}
	for j, i := range origins(was, now) {
		item := now[j]
		if i >= 0 && kept[i] >= 0 {
			item, _ = restoreValue(optional{item, true}, optional{was[i], true}, optional{is[kept[i]], true})
		}
		out = append(out, item)
	}
	used, stored := counts(out), counts(is)
	for _, item := range hidden {
		if key := tree.Key(item); used[key] < stored[key] {
			used[key]++
			out = append(out, item)
		}
	}
	return out
}

// origins is [tree.Origins], and also pairs the items that it leaves because their number differs, or because only one
// of two has a name.
func origins(from, to []any) []int {
	origins := tree.Origins(from, to)
	used := make([]bool, len(from))
	for _, i := range origins {
		if i >= 0 {
			used[i] = true
		}
	}
	for _, step := range tree.Align(from, to) {
		if step.Kin && step.From >= 0 && step.To >= 0 && !used[step.From] && origins[step.To] < 0 {
			origins[step.To] = step.From
		}
	}
	return origins
}

// counts returns how many items of a list have each key.
func counts(list []any) map[string]int {
	n := make(map[string]int, len(list))
	for _, item := range list {
		n[tree.Key(item)]++
	}
	return n
}
