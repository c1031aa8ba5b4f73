// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kube-go/sdk/derive/internal/openapi"
)

// extensions checks the x-kubernetes-* keywords of objects.
func (k *keywords) extensions(s *openapi.Schema, path *field.Path) {
	if s.PreserveUnknownFields != nil && !*s.PreserveUnknownFields {
		k.add(field.Invalid(path.Child("x-kubernetes-preserve-unknown-fields"), false, "must be true or undefined"))
	}
	if s.MapType == nil {
		return
	}
	k.typed(s, path, "object", "must be object if x-kubernetes-map-type is specified")
	if types := []string{"atomic", "granular"}; !slices.Contains(types, *s.MapType) {
		k.add(field.NotSupported(path.Child("x-kubernetes-map-type"), *s.MapType, types))
	}
}

// typed checks that a schema has the type that a keyword requires.
func (k *keywords) typed(s *openapi.Schema, path *field.Path, want, msg string) {
	switch s.Type {
	case want:
	case "":
		k.add(field.Required(path.Child("type"), msg))
	default:
		k.add(field.Invalid(path.Child("type"), s.Type, msg))
	}
}

// lists checks the x-kubernetes-* keywords of lists.
func (k *keywords) lists(s *openapi.Schema, path *field.Path) {
	listType := path.Child("x-kubernetes-list-type")
	const keyed = "must be map if x-kubernetes-list-map-keys is non-empty"
	if s.ListType == nil {
		if len(s.ListMapKeys) > 0 {
			k.add(field.Required(listType, keyed))
		}
		return
	}
	k.typed(s, path, "array", "must be array if x-kubernetes-list-type is specified")
	if item := s.Item(); item != nil && s.Type == "array" && *s.ListType == "set" {
		const atomic = "must be atomic as item of a list with x-kubernetes-list-type=set"
		switch {
		case item.Type == "array" && item.ListType != nil && *item.ListType != "atomic":
			k.add(field.Invalid(path.Child("items").Child("x-kubernetes-list-type"), item.ListType, atomic))
		case item.Type == "object" && (item.MapType == nil || *item.MapType != "atomic"):
			k.add(field.Invalid(path.Child("items").Child("x-kubernetes-map-type"), item.ListType, atomic))
		}
	}
	if types := []string{"atomic", "set", "map"}; !slices.Contains(types, *s.ListType) {
		k.add(field.NotSupported(listType, *s.ListType, types))
	}
	if len(s.ListMapKeys) > 0 && *s.ListType != "map" {
		k.add(field.Invalid(listType, *s.ListType, keyed))
	}
}

// mapKeys checks the keys of lists of type map.
func (k *keywords) mapKeys(s *openapi.Schema, path *field.Path) {
	keys, items := path.Child("x-kubernetes-list-map-keys"), path.Child("items")
	isMap := s.ListType != nil && *s.ListType == "map"
	if isMap && len(s.ListMapKeys) == 0 {
		k.add(field.Required(keys, "must not be empty if x-kubernetes-list-type is map"))
	}
	item := s.Item()
	switch {
	case isMap && s.Items == nil:
		k.add(field.Required(items, "must have a schema if x-kubernetes-list-type is map"))
	case isMap && item == nil:
		k.add(field.Invalid(items, internalItems(s.Items), "must only have a single schema if x-kubernetes-list-type is map"))
	case isMap && item.Type != "object":
		k.add(field.Invalid(items.Child("type"), item.Type, "must be object if parent array's x-kubernetes-list-type is map"))
	case isMap:
		k.keysExist(s, item, keys, items)
	}
	if item == nil || !isMap && !s.IsListType("set") {
		return
	}
	if item.Nullable {
		k.add(field.Forbidden(items.Child("nullable"), "cannot be nullable when x-kubernetes-list-type is "+*s.ListType))
	}
	if isMap {
		k.keysAreSet(s, item, items)
	}
}

// keysExist checks that the keys are scalar properties of the items.
func (k *keywords) keysExist(s, item *openapi.Schema, keys, items *field.Path) {
	for i, key := range s.ListMapKeys {
		p := item.Properties[key]
		switch {
		case p == nil:
			k.add(field.Invalid(keys, s.ListMapKeys, "entries must all be names of item properties"))
		case p.Type == "array" || p.Type == "object": // like the server, report the type of the item instead of the key
			k.add(field.Invalid(items.Child("properties").Key(key).Child("type"), item.Type,
				"must be a scalar type if parent array's x-kubernetes-list-type is map"))
		}
		if slices.Contains(s.ListMapKeys[:i], key) {
			k.add(field.Invalid(keys, s.ListMapKeys, "must not contain duplicate entries"))
		}
	}
}

// keysAreSet checks that the keys of items are required or have a default.
func (k *keywords) keysAreSet(s, item *openapi.Schema, items *field.Path) {
	for _, key := range s.ListMapKeys {
		p := item.Properties[key]
		if p == nil {
			continue
		}
		path := items.Child("properties").Key(key)
		if !slices.Contains(item.Required, key) && p.Default == nil {
			k.add(field.Required(path.Child("default"),
				"this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"))
		}
		if p.Nullable {
			k.add(field.Forbidden(path.Child("nullable"), "this property is in x-kubernetes-list-map-keys, so it cannot be nullable"))
		}
	}
}
