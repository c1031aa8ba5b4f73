// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
)

// Decode completes the decoding of an object in place: it normalizes metadata, drops unknown fields and invalid nulls,
// and sets defaults. It returns a message for each unknown field, such as `unknown field "spec.x"`, in the order of the
// server. With the field validation Strict, they are one error of the request, and with Warn, they are warnings. Decode
// changes only the metadata of an object of another kind or version.
//
// Errors: the error of a field with the wrong type in metadata. In the server's response, it follows the text
// "Widget in version "v1" cannot be handled as a Widget: ".
func (v *Version) Decode(obj *unstructured.Unstructured) (unknown []string, err error) {
	var dropped []string
	if _, ok := obj.Object["metadata"]; ok {
		if dropped, err = coerceMeta(nil, obj.Object); err != nil {
			return nil, err
		}
	}
	if v.owns(obj) {
		val, err := v.validator()
		if err != nil {
			return nil, internal(err)
		}
		dropped = append(dropped, val.Prune(obj)...)
		val.Default(obj)
		more, err := coerceEmbedded(nil, obj.Object, v.schema)
		if err != nil {
			return nil, err
		}
		slices.Sort(more)
		dropped = append(dropped, more...)
	}
	for _, path := range dropped {
		unknown = append(unknown, fmt.Sprintf(`unknown field "%s"`, path))
	}
	return unknown, nil
}

// owns reports whether an object is of this version of the kind.
func (v *Version) owns(obj *unstructured.Unstructured) bool {
	return obj.GetKind() == v.Resource.Kind && obj.GetAPIVersion() == v.Resource.APIVersion()
}

// coerceMeta decodes and encodes the metadata of an object, and returns the paths of the fields that it drops.
func coerceMeta(path *field.Path, obj map[string]any) ([]string, error) {
	body, err := wire.MarshalJSON(obj["metadata"])
	if err != nil {
		return nil, err
	}
	meta := &metav1.ObjectMeta{}
	if err := utiljson.Unmarshal(body, meta); err != nil { // its errors are those of the server
		return nil, err
	}
	dropped, err := unknownMeta(path, obj["metadata"])
	if err != nil {
		return nil, err
	}
	next, err := runtime.DefaultUnstructuredConverter.ToUnstructured(meta)
	if err != nil {
		return nil, err
	}
	if meta.CreationTimestamp.IsZero() {
		delete(next, "creationTimestamp")
	}
	obj["metadata"] = next
	return dropped, nil
}

// unknownMeta returns the paths of the unknown fields of metadata. Fields in the wrong case are unknown as well.
func unknownMeta(path *field.Path, meta any) ([]string, error) {
	body, err := wire.MarshalJSON(map[string]any{"metadata": meta})
	if err != nil {
		return nil, err
	}
	err = wire.UnmarshalStrict(body, "application/json", &metav1.PartialObjectMetadata{})
	strict, ok := errors.AsType[*wire.StrictError](err)
	if !ok {
		return nil, err
	}
	var paths []string
	for _, p := range strict.Problems {
		if path != nil {
			p.Path = path.String() + "." + p.Path
		}
		paths = append(paths, p.Path)
	}
	return paths, nil
}

// coerceEmbedded normalizes the metadata of embedded resources, and returns the paths of the fields that it drops.
func coerceEmbedded(path *field.Path, value any, s *spec.Schema) (dropped []string, err error) {
	if s == nil {
		return nil, nil
	}
	visit := func(path *field.Path, value any, s *spec.Schema) error {
		more, err := coerceEmbedded(path, value, s)
		dropped = append(dropped, more...)
		return err
	}
	switch value := value.(type) {
	case map[string]any:
		if isEmbedded(s) {
			if dropped, err = coerceResource(path, value); err != nil {
				return nil, err
			}
		}
		for _, key := range slices.Sorted(maps.Keys(value)) {
			if p, ok := s.Properties[key]; ok {
				err = visit(path.Child(key), value[key], &p)
			} else if s.AdditionalProperties != nil {
				err = visit(path.Key(key), value[key], s.AdditionalProperties.Schema)
			}
			if err != nil {
				return nil, err
			}
		}
	case []any:
		if s.Items == nil {
			return nil, nil
		}
		for i := range value {
			if err := visit(path.Index(i), value[i], s.Items.Schema); err != nil {
				return nil, err
			}
		}
	}
	return dropped, nil
}

func isEmbedded(s *spec.Schema) bool {
	embedded, _ := s.Extensions.GetBool("x-kubernetes-embedded-resource")
	return embedded
}

// coerceResource normalizes the metadata of one embedded resource.
func coerceResource(path *field.Path, obj map[string]any) ([]string, error) {
	for _, key := range []string{"apiVersion", "kind"} {
		if value, ok := obj[key]; ok {
			if _, isString := value.(string); !isString {
				return nil, field.Invalid(path.Child(key), value, "must be a string")
			}
		}
	}
	meta, ok := obj["metadata"]
	if !ok {
		return nil, nil
	}
	dropped, err := coerceMeta(path, obj)
	if err != nil {
		return nil, field.Invalid(path.Child("metadata"), meta, err.Error())
	}
	return dropped, nil
}

// Convert returns an object of any version of the kind in this version, without the fields that this version does not
// have. Conversion sets the defaults of the original version, and not those of this version. Use Convert for each
// object that is read from the store, even in the storage version, because the schema may be newer than the object.
//
// Errors: core.ErrInternal if the conversion webhook fails, or has no handler.
func (v *Version) Convert(obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	out := obj.DeepCopy()
	from := v.def.find(func(v *Version) bool { return v.Resource.APIVersion() == obj.GetAPIVersion() })
	if from == nil {
		return nil, internal(fmt.Errorf("request to convert CR from an invalid group/version: %s", obj.GetAPIVersion()))
	}
	if _, err := from.Decode(out); err != nil {
		return nil, internal(err)
	}
	if from == v {
		return out, nil
	}
	switch {
	case !v.def.webhook:
		out.SetAPIVersion(v.Resource.APIVersion())
	case v.def.convert == nil:
		return nil, failedConversion(obj, fmt.Errorf("set Options.Webhooks of kubetest, or use version %s only",
			from.Resource.Version))
	default:
		converted, err := v.def.convert.Convert(out, v.Resource.APIVersion())
		if err != nil {
			return nil, failedConversion(obj, err)
		}
		out = converted
	}
	val, err := v.validator()
	if err != nil {
		return nil, internal(err)
	}
	val.Prune(out)
	return out, nil
}

func failedConversion(obj *unstructured.Unstructured, err error) error {
	return internal(fmt.Errorf("conversion webhook for %s failed: %w", obj.GroupVersionKind(), err))
}

func internal(err error) error {
	return &core.StatusError{Status: apierrors.NewInternalError(err).ErrStatus}
}
