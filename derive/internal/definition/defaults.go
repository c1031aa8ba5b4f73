// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kube-go/sdk/derive/internal/cel"
	"github.com/kube-go/sdk/derive/internal/openapi"
	"github.com/kube-go/sdk/derive/internal/value"
)

// defaults checks the default values of a structural schema.
func (c *checker) defaults(path *field.Path, root *openapi.Schema) field.ErrorList {
	clone := *root
	clone.EmbeddedResource = true
	d := &defaults{env: c.env, budget: cel.Budget}
	d.schema(path, &clone, surroundings{root: &clone}, false)
	return d.errs
}

type defaults struct {
	env    *cel.Environment
	budget int64
	errs   field.ErrorList
}

// surroundings contains the resource that encloses a value, and the path from the resource to the value.
type surroundings struct {
	root  *openapi.Schema
	steps []string // names of properties, or empty strings for the first item of a list
}

func (s surroundings) below(step string) surroundings {
	s.steps = append(slices.Clone(s.steps), step)
	return s
}

// wrap returns an object that contains only v.
func (s surroundings) wrap(v any) (map[string]any, bool) {
	for _, step := range slices.Backward(s.steps) {
		if step == "" {
			v = []any{v}
		} else {
			v = map[string]any{step: v}
		}
	}
	obj, ok := v.(map[string]any)
	if !ok {
		return nil, false
	}
	for key, text := range map[string]string{"apiVersion": "validation/v1", "kind": "Validation"} {
		if _, ok := obj[key]; !ok {
			obj[key] = text
		}
	}
	return obj, true
}

func (d *defaults) schema(path *field.Path, s *openapi.Schema, in surroundings, inMeta bool) {
	if s == nil || d.budget < 0 {
		return
	}
	if s.EmbeddedResource {
		inMeta, in = false, surroundings{root: s}
	}
	if s.Default != nil {
		d.value(path.Child("default"), s, in, inMeta)
	}
	d.schema(path.Child("items"), s.Item(), in.below(""), inMeta)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		isMeta := s.EmbeddedResource && (name == "metadata" || name == "apiVersion" || name == "kind")
		d.schema(path.Child("properties").Key(name), s.Properties[name], in.below(name), inMeta || isMeta)
	}
}

// value checks one default. It evaluates the rules only if the default is otherwise valid.
func (d *defaults) value(path *field.Path, s *openapi.Schema, in surroundings, inMeta bool) {
	v := runtime.DeepCopyJSONValue(s.Default)
	if !inMeta {
		pruned := runtime.DeepCopyJSONValue(v)
		if value.Prune(pruned, s, s.EmbeddedResource); !reflect.DeepEqual(pruned, v) {
			d.errs = append(d.errs, field.Invalid(path, v, "must not have unknown fields"))
		}
	}
	errs := d.form(path, s, v, in, inMeta)
	if len(errs) == 0 {
		errs = value.NewDefaultChecker(s).Check(path, v, nil)
	}
	d.errs = append(d.errs, errs...)
	if len(errs) > 0 {
		return
	}
	rules, err := d.env.Rules(s, s == in.root)
	if err != nil {
		d.errs = append(d.errs, field.InternalError(path, err))
		return
	}
	errs, left := rules.Check(path, v, v, nil, d.budget)
	if len(errs) == 0 {
		var less int64
		errs, less = rules.Check(path, v, nil, nil, d.budget)
		left = min(left, less)
	}
	d.errs = append(d.errs, errs...)
	d.budget = left
}

// form checks defaults that are part of metadata.
func (d *defaults) form(path *field.Path, s *openapi.Schema, v any, in surroundings, inMeta bool) field.ErrorList {
	if inMeta {
		obj, ok := in.wrap(runtime.DeepCopyJSONValue(v))
		if !ok {
			return nil
		}
		if _, err := value.Coerce(nil, obj, in.root, true); err != nil {
			return field.ErrorList{field.Invalid(path, v, fmt.Sprintf("must result in valid metadata: %v", err))}
		}
		if errs := value.CheckMeta(nil, obj, in.root, true); len(errs) > 0 {
			return field.ErrorList{field.Invalid(path, v, fmt.Sprintf("must result in valid metadata: %v", errs.ToAggregate()))}
		}
		return nil
	}
	if _, err := value.Coerce(path, v, s, s.EmbeddedResource); err != nil {
		return field.ErrorList{err}
	}
	return value.CheckMeta(path, v, s, s.EmbeddedResource)
}
