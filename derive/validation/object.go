// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/derive/internal/openapi"
	"github.com/kube-go/sdk/derive/internal/value"
)

// decode decodes an object as a server does: it drops unknown fields and sets defaults.
func (v *Validator) decode(obj any, strict bool) (*unstructured.Unstructured, error) {
	content, unknown, err := contentOf(obj)
	if err != nil {
		return nil, v.badRequest(err)
	}
	u := &unstructured.Unstructured{Object: content}
	if u.GetKind() == "" && u.GetAPIVersion() == "" {
		u.SetGroupVersionKind(schema.GroupVersionKind{Group: v.group, Version: v.version, Kind: v.kind})
	}
	more, err := v.normalize(u.Object)
	if err != nil {
		return nil, v.badRequest(err)
	}
	if unknown = append(unknown, more...); strict && len(unknown) > 0 {
		return nil, v.badRequest(fmt.Errorf("strict decoding error: %s", strings.Join(slices.Compact(unknown), ", ")))
	}
	value.Default(u.Object, v.root)
	return u, nil
}

// normalize decodes metadata, and drops unknown fields and invalid nulls. It returns the unknown fields in the order of
// the server.
func (v *Validator) normalize(content map[string]any) (unknown []string, err error) {
	var paths []string
	coerce := func(s *openapi.Schema, resource bool) error {
		more, err := value.Coerce(nil, content, s, resource)
		paths = append(paths, more...)
		if err != nil {
			return err
		}
		return nil
	}
	if _, ok := content["metadata"]; ok {
		if err := coerce(nil, true); err != nil {
			return nil, err
		}
	}
	paths = append(paths, value.Prune(content, v.root, true)...)
	value.PruneNulls(content, v.root)
	if err := coerce(v.root, false); err != nil {
		return nil, err
	}
	for _, path := range paths {
		unknown = append(unknown, fmt.Sprintf("unknown field %q", path))
	}
	return unknown, nil
}

// contentOf returns the content of an object as decoded JSON, and the duplicate fields.
func contentOf(obj any) (content map[string]any, duplicates []string, err error) {
	switch obj := obj.(type) {
	case nil:
		return nil, nil, errors.New("object is nil")
	case *unstructured.Unstructured:
		return reread(obj.Object)
	case map[string]any:
		return reread(obj)
	case []byte:
		return parse(obj)
	}
	return reread(obj)
}

func reread(v any) (map[string]any, []string, error) {
	body, err := wire.MarshalJSON(v)
	if err != nil {
		return nil, nil, err
	}
	return parse(body)
}

func parse(body []byte) (map[string]any, []string, error) {
	if !bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) {
		var err error
		if body, err = yaml.YAMLToJSONStrict(body); err != nil {
			return nil, nil, err
		}
	}
	u := &unstructured.Unstructured{}
	var duplicates []string
	err := wire.UnmarshalStrict(body, "application/json", u)
	if strict, ok := errors.AsType[*wire.StrictError](err); ok {
		for _, p := range strict.Problems {
			duplicates = append(duplicates, fmt.Sprintf("%s %q", p.Kind, p.Path))
		}
		err = nil
	}
	if err != nil {
		return nil, nil, err
	}
	if u.Object == nil {
		return nil, nil, errors.New("object is null")
	}
	return u.Object, duplicates, nil
}

// setNamespace sets the namespace of a namespaced object that does not have one.
func (v *Validator) setNamespace(u *unstructured.Unstructured, ns string) {
	if u.GetNamespace() == "" && !v.clustered {
		u.SetNamespace(ns)
	}
}

// pair decodes a new and an old object, and sets the fields that the server controls.
func (v *Validator) pair(obj, old any) (u, prev *unstructured.Unstructured, err error) {
	if prev, err = v.decode(old, false); err != nil {
		return nil, nil, err
	}
	if u, err = v.decode(obj, v.strict); err != nil {
		return nil, nil, err
	}
	v.setNamespace(prev, "default")
	v.setNamespace(u, prev.GetNamespace())
	if prev.GetResourceVersion() == "" {
		prev.SetResourceVersion("1")
	}
	if u.GetResourceVersion() == "" {
		u.SetResourceVersion(prev.GetResourceVersion())
	}
	if u.GetUID() == "" {
		u.SetUID(prev.GetUID())
	}
	if created := u.GetCreationTimestamp(); created.IsZero() {
		if before := prev.GetCreationTimestamp(); !before.IsZero() {
			u.SetCreationTimestamp(before)
		}
	}
	u.SetGeneration(prev.GetGeneration())
	u.SetDeletionTimestamp(prev.GetDeletionTimestamp())
	u.SetDeletionGracePeriodSeconds(prev.GetDeletionGracePeriodSeconds())
	return u, prev, nil
}

// invalid returns the server's response to an invalid object, or nil without errors.
func (v *Validator) invalid(u *unstructured.Unstructured, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return &core.StatusError{Status: apierrors.NewInvalid(schema.GroupKind{Group: v.group, Kind: v.kind}, u.GetName(), errs).ErrStatus}
}

// badRequest returns the server's response to an object that it can't decode.
func (v *Validator) badRequest(err error) error {
	text := fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", v.kind, v.version, v.kind, err)
	return &core.StatusError{Status: apierrors.NewBadRequest(text).ErrStatus}
}
