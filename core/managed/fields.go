// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/kube-go/sdk/core/wire"
)

// fieldsOf returns the fields that an entry owns.
func fieldsOf(entry metav1.ManagedFieldsEntry) (*fieldpath.Set, error) {
	set := fieldpath.NewSet()
	if entry.FieldsV1 == nil {
		return set, nil
	}
	raw := entry.FieldsV1.GetRawBytes()
	var tree map[string]any
	err := wire.UnmarshalJSON(raw, &tree)
	if err == nil && !utf8.Valid(raw) {
		err = errors.New("the JSON text is not valid UTF-8")
	}
	if err == nil {
		err = checkElements(tree, nil)
	}
	if err == nil {
		err = set.FromJSON(bytes.NewReader(raw))
	}
	if err != nil {
		return nil, fmt.Errorf("managed fields of %q: %w", entry.Manager, err)
	}
	return set, nil
}

// checkElements refuses path elements that are not valid. FromJSON ignores those of an unknown kind, so that an apply
// would give up the fields that they stand for.
func checkElements(tree map[string]any, at fieldpath.Path) error {
	for text, value := range tree {
		if text == "." {
			continue
		}
		element, err := fieldpath.DeserializePathElement(text)
		beneath, isObject := value.(map[string]any)
		switch {
		case err != nil:
		case element.Key != nil && len(*element.Key) == 0:
			err = errors.New("the key has no fields")
		case !isObject:
			err = errors.New("the value is not an object")
		default:
			err = checkElements(beneath, append(at, element))
			if err != nil {
				return err
			}
		}
		if err != nil {
			return fmt.Errorf("in %q: element %q: %w", at.String(), text, err)
		}
	}
	return nil
}

// elements returns the elements that a set has directly beneath it.
func elements(set *fieldpath.Set) []fieldpath.PathElement {
	var all []fieldpath.PathElement
	set.Members.Iterate(func(element fieldpath.PathElement) { all = append(all, element) })
	set.Children.Iterate(func(element fieldpath.PathElement) {
		if !set.Members.Has(element) {
			all = append(all, element)
		}
	})
	return all
}

// beneath returns the fields that a set has beneath a path. The result is never nil.
func beneath(set *fieldpath.Set, path ...fieldpath.PathElement) *fieldpath.Set {
	for _, element := range path {
		var ok bool
		if set, ok = set.Children.Get(element); !ok {
			return fieldpath.NewSet()
		}
	}
	return set
}
