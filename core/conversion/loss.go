// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"fmt"
	"maps"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/internal/tree"
	"github.com/kube-go/sdk/core/wire"
)

// loss is what of an object can't be said in another version. Both are parts of the object in its own version, with
// nothing but what differs: as it would come back from the other version, and as it is.
type loss struct {
	Was map[string]any `json:"was,omitempty"`
	Is  map[string]any `json:"is,omitempty"`
}

// lossAnnotation is where what a version can't say in the others is kept.
func lossAnnotation(v *version) string { return v.resource.Group + "/conversion-" + v.resource.Version }

// keep gives back to out, which has been converted, what its version has lost before, and has it keep what the version that
// it comes from loses now.
func (c *Converter) keep(packed wire.Packed, out core.Object, from, to *version) (core.Object, error) {
	meta := metaOf(out)
	annotations := maps.Clone(meta.Annotations)
	if kept := annotations[lossAnnotation(to)]; kept != "" {
		restored, err := restore(out, kept, to)
		if err != nil {
			return nil, err
		}
		out = restored
	}
	delete(annotations, lossAnnotation(to))
	delete(annotations, lossAnnotation(from)) // a copy from elsewhere: what it says is in the object itself

	in := from.empty() // once more: the functions may have shared what they were given
	if err := packed.Decode(in); err != nil {
		return nil, err
	}
	text, err := c.lost(in, out, from, to)
	if err != nil {
		return nil, err
	}
	if text != "" {
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[lossAnnotation(from)] = text
	}
	if len(annotations) == 0 {
		annotations = nil
	}
	metaOf(out).Annotations = annotations
	return out, nil
}

// lost returns what does not come back of an object from what it has been converted to, empty for nothing.
func (c *Converter) lost(in, out core.Object, from, to *version) (string, error) {
	back, err := c.through(out, to, from)
	if err != nil {
		return "", fmt.Errorf("look for what is lost: back from %s: %w", to.resource.Version, err)
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
		return "", fmt.Errorf("what %s can't say takes %d bytes to keep, and ConverterOptions.MaxLostBytes allows %d",
			to.resource.Version, len(text), c.opts.MaxLostBytes)
	}
	return string(text), nil
}

// content returns what an object is besides its type and metadata.
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

// differences returns the parts of two objects that are not the same, nil for none. Lists are taken as a whole.
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

// restore gives an object back what was lost of it, as an annotation tells. One that tells nothing is ignored: anybody who
// may write the object may write it, and an object must not become unreadable by that.
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

// restoreObject turns was into is wherever now still says what was says. What has been changed meanwhile stays changed.
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
	switch {
	case nowOK && isOK && (wasOK || !was.there):
		return restoreObject(nowObject, wasObject, isObject), true
	case now.there == was.there && tree.Equal(now.value, was.value):
		return is.value, is.there
	case nowLists && wasLists && isLists:
		return restoreList(nowList, wasList, isList), true
	}
	return now.value, now.there
}

// restoreList does it for the items that are still there, which are told apart by their names or what is in them. Items that
// the other version could not say at all nobody has removed there.
func restoreList(now, was, is []any) []any {
	origin := map[int]int{} // from indexes in was to those in is
	var unsaid []any
	for _, step := range tree.Align(was, is) {
		switch {
		case step.To >= 0 && (step.From < 0 || !step.Kin):
			unsaid = append(unsaid, is[step.To])
		case step.To >= 0:
			origin[step.From] = step.To
		}
	}
	out := make([]any, 0, len(now))
	for _, step := range tree.Align(now, was) {
		if step.From < 0 {
			continue // removed meanwhile
		}
		item := now[step.From]
		if to, ok := origin[step.To]; step.Kin && step.To >= 0 && ok {
			item, _ = restoreValue(optional{item, true}, optional{was[step.To], true}, optional{is[to], true})
		}
		out = append(out, item)
	}
	return append(out, unsaid...)
}
