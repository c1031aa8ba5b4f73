// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package value

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/derive/internal/openapi"
)

// Coerce normalizes the metadata of embedded resources: it drops unknown fields, and returns their paths, sorted. It
// returns an error if a field has the wrong type.
func Coerce(path *field.Path, v any, s *openapi.Schema, resource bool) (unknown []string, err *field.Error) {
	c := &coercer{}
	err = c.coerce(path, v, s, resource)
	slices.Sort(c.unknown)
	return c.unknown, err
}

type coercer struct{ unknown []string }

func (c *coercer) coerce(path *field.Path, v any, s *openapi.Schema, resource bool) *field.Error {
	if s == nil && !resource {
		return nil
	}
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if resource || s.EmbeddedResource {
				if err := c.meta(path, v, key); err != nil {
					return err
				}
			}
			sub, below := s.Value(), path.Key(key)
			if s != nil && s.Properties[key] != nil {
				sub, below = s.Properties[key], path.Child(key)
			}
			if err := c.coerce(below, v[key], sub, false); err != nil {
				return err
			}
		}
	case []any:
		for i, item := range v {
			if err := c.coerce(path.Index(i), item, s.Item(), false); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *coercer) meta(path *field.Path, v map[string]any, key string) *field.Error {
	switch key {
	case "apiVersion", "kind":
		if _, ok := v[key].(string); !ok {
			return field.Invalid(path.Child(key), v[key], "must be a string")
		}
	case "metadata":
		meta, unknown, err := decodeMeta(v[key])
		if err != nil {
			return field.Invalid(path.Child("metadata"), v[key], err.Error())
		}
		m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(meta)
		if err != nil {
			return field.Invalid(path.Child("metadata"), v[key], err.Error())
		}
		if meta.CreationTimestamp.IsZero() {
			delete(m, "creationTimestamp")
		}
		v[key] = m
		for _, name := range unknown {
			if path != nil {
				name = path.String() + "." + name
			}
			c.unknown = append(c.unknown, name)
		}
	}
	return nil
}

// decodeMeta decodes metadata, and returns the paths of its unknown fields. Fields in the wrong case are unknown, too.
func decodeMeta(v any) (meta *metav1.ObjectMeta, unknown []string, err error) {
	if meta, err = metaOf(map[string]any{"metadata": v}); err != nil {
		return nil, nil, err
	}
	b, err := wire.MarshalJSON(map[string]any{"metadata": v})
	if err != nil {
		return nil, nil, fmt.Errorf("encode metadata: %w", err)
	}
	err = wire.UnmarshalStrict(b, wire.MediaTypeJSON, &metav1.PartialObjectMetadata{})
	strict, ok := errors.AsType[*wire.StrictError](err)
	if !ok {
		return meta, nil, err
	}
	for _, p := range strict.Problems {
		unknown = append(unknown, p.Path)
	}
	return meta, unknown, nil
}

// metaOf decodes the metadata of an object.
func metaOf(v map[string]any) (*metav1.ObjectMeta, error) {
	b, err := wire.MarshalJSON(v["metadata"])
	if err != nil {
		return nil, fmt.Errorf("encode metadata: %w", err)
	}
	meta := &metav1.ObjectMeta{}
	if err := wire.UnmarshalJSON(b, meta); err != nil {
		return nil, fmt.Errorf("decode metadata: %w", err)
	}
	return meta, nil
}

// CheckMeta checks apiVersion, kind and metadata of embedded resources.
func CheckMeta(path *field.Path, v any, s *openapi.Schema, resource bool) field.ErrorList {
	if s == nil && !resource {
		return nil
	}
	var errs field.ErrorList
	switch v := v.(type) {
	case map[string]any:
		if resource || s.EmbeddedResource {
			errs = append(errs, checkResource(path, v)...)
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			sub, below := s.Value(), path.Key(key)
			if s != nil && s.Properties[key] != nil {
				sub, below = s.Properties[key], path.Child(key)
			}
			errs = append(errs, CheckMeta(below, v[key], sub, false)...)
		}
	case []any:
		for i, item := range v {
			errs = append(errs, CheckMeta(path.Index(i), item, s.Item(), false)...)
		}
	}
	return errs
}

func checkResource(path *field.Path, v map[string]any) field.ErrorList {
	errs := append(checkAPIVersion(path.Child("apiVersion"), v), checkKind(path.Child("kind"), v)...)
	if _, ok := v["metadata"]; !ok {
		return errs
	}
	meta, err := metaOf(v)
	if err != nil {
		return append(errs, field.Invalid(path.Child("metadata"), v["metadata"], err.Error()))
	}
	if meta.Name == "" {
		meta.Name = "any" // the name is optional
	}
	return append(errs, validation.ValidateObjectMeta(meta, meta.Namespace != "", PathSegment, path.Child("metadata"))...)
}

// PathSegment validates a name that is a path segment, or the prefix of such a name.
func PathSegment(name string, prefix bool) []string {
	if prefix {
		return content.IsPathSegmentPrefix(name)
	}
	return content.IsPathSegmentName(name)
}

func checkAPIVersion(path *field.Path, v map[string]any) field.ErrorList {
	text, errs := requiredString(path, v, "apiVersion")
	if len(errs) > 0 {
		return errs
	}
	if _, err := schema.ParseGroupVersion(text); err != nil {
		return field.ErrorList{field.Invalid(path, text, err.Error())}
	}
	return nil
}

func checkKind(path *field.Path, v map[string]any) field.ErrorList {
	text, errs := requiredString(path, v, "kind")
	if len(errs) > 0 {
		return errs
	}
	if errs := utilvalidation.IsDNS1035Label(strings.ToLower(text)); len(errs) > 0 {
		return field.ErrorList{field.Invalid(path, text, "may have mixed case, but should otherwise match: "+strings.Join(errs, ","))}
	}
	return nil
}

// requiredString returns a required string.
func requiredString(path *field.Path, v map[string]any, key string) (string, field.ErrorList) {
	value, ok := v[key]
	text, isText := value.(string)
	switch {
	case !ok:
		return "", field.ErrorList{field.Required(path, "")}
	case !isText:
		return "", field.ErrorList{field.Invalid(path, value, "must be a string")}
	case text == "":
		return "", field.ErrorList{field.Invalid(path, text, "must not be empty")}
	}
	return text, nil
}
