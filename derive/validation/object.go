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
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/derive/internal/value"
)

// decode reads an object as a server does: pruned, and with defaults.
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

// normalize gives metadata its form, and drops what is unknown.
func (v *Validator) normalize(content map[string]any) (unknown []string, err error) {
	if _, ok := content["metadata"]; ok {
		before := runtime.DeepCopyJSONValue(content["metadata"])
		if err := value.Coerce(nil, content, nil, true); err != nil {
			return nil, err
		}
		for _, path := range lost("metadata", before, content["metadata"]) {
			unknown = append(unknown, fmt.Sprintf("unknown field %q", path))
		}
	}
	for _, path := range value.Prune(content, v.root, true) {
		unknown = append(unknown, fmt.Sprintf("unknown field %q", path))
	}
	value.PruneNulls(content, v.root)
	if err := value.Coerce(nil, content, v.root, false); err != nil {
		return nil, err
	}
	return unknown, nil
}

// lost returns the paths of the fields of metadata that its type does not have.
func lost(path string, before, after any) []string {
	was, ok := before.(map[string]any)
	now, _ := after.(map[string]any)
	if !ok {
		return nil
	}
	var paths []string
	for key, v := range was {
		if _, ok := now[key]; !ok && !isZero(v) {
			paths = append(paths, path+"."+key)
		}
	}
	slices.Sort(paths)
	return paths
}

// isZero reports whether a value is left out of JSON when it is known.
func isZero(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case int64:
		return v == 0
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

// contentOf returns the content of an object as JSON has it. Fields that are given twice are returned by name.
func contentOf(obj any) (content map[string]any, twice []string, err error) {
	switch obj := obj.(type) {
	case nil:
		return nil, nil, errors.New("there is no object")
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
	var twice []string
	err := wire.UnmarshalStrict(body, "application/json", u)
	if strict, ok := errors.AsType[*wire.StrictError](err); ok {
		for _, p := range strict.Problems {
			twice = append(twice, fmt.Sprintf("%s %q", p.Kind, p.Path))
		}
		err = nil
	}
	if err != nil {
		return nil, nil, err
	}
	if u.Object == nil {
		return nil, nil, errors.New("the object is null")
	}
	return u.Object, twice, nil
}

// place says which namespace an object is in if it does not say so itself.
func (v *Validator) place(u *unstructured.Unstructured, ns string) {
	if u.GetNamespace() == "" && !v.clustered {
		u.SetNamespace(ns)
	}
}

// pair reads an object and what it was. What a server fills in is filled in.
func (v *Validator) pair(obj, old any) (u, was *unstructured.Unstructured, err error) {
	if was, err = v.decode(old, false); err != nil {
		return nil, nil, err
	}
	if u, err = v.decode(obj, v.strict); err != nil {
		return nil, nil, err
	}
	v.place(was, "default")
	v.place(u, was.GetNamespace())
	if was.GetResourceVersion() == "" {
		was.SetResourceVersion("1")
	}
	if u.GetResourceVersion() == "" {
		u.SetResourceVersion(was.GetResourceVersion())
	}
	if u.GetUID() == "" {
		u.SetUID(was.GetUID())
	}
	if created := u.GetCreationTimestamp(); created.IsZero() {
		if before := was.GetCreationTimestamp(); !before.IsZero() {
			u.SetCreationTimestamp(before)
		}
	}
	u.SetGeneration(was.GetGeneration())
	u.SetDeletionTimestamp(was.GetDeletionTimestamp())
	u.SetDeletionGracePeriodSeconds(was.GetDeletionGracePeriodSeconds())
	return u, was, nil
}

// invalid makes a server's answer of what is wrong.
func (v *Validator) invalid(u *unstructured.Unstructured, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return &core.StatusError{Status: apierrors.NewInvalid(schema.GroupKind{Group: v.group, Kind: v.kind}, u.GetName(), errs).ErrStatus}
}

// badRequest makes a server's answer to an object that it can't read.
func (v *Validator) badRequest(err error) error {
	text := fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", v.kind, v.version, v.kind, err)
	return &core.StatusError{Status: apierrors.NewBadRequest(text).ErrStatus}
}
