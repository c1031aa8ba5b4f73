// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package sample

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kube-go/sdk/derive/internal/openapi"
	"github.com/kube-go/sdk/derive/internal/value"
)

// Sampler generates objects of a kind. It is safe for concurrent use.
type Sampler struct {
	apiVersion, kind string

	root  *openapi.Schema
	check Check
}

// Check validates a new object, or an update if old is not nil. Both objects have their default values. Check can
// modify them.
type Check func(obj, old map[string]any) field.ErrorList

// New returns a sampler for a schema, which must be valid.
func New(root *openapi.Schema, apiVersion, kind string, check Check) *Sampler {
	return &Sampler{apiVersion, kind, root, check}
}

// Object returns a valid object without status: the smallest one, or a full one with all fields. It returns an error if
// it does not find a valid object.
func (s *Sampler) Object(full bool) (map[string]any, error) {
	m := &maker{full: full}
	obj := map[string]any{
		"apiVersion": s.apiVersion,
		"kind":       s.kind,
		"metadata":   map[string]any{"name": s.name(m)},
	}
	for name, p := range s.root.Properties {
		switch {
		case name == "apiVersion" || name == "kind" || name == "metadata" || name == "status":
		case m.includes(s.root, name) || name == "spec":
			obj[name] = m.value(p, 0, 0)
		}
	}
	obj, errs := s.repair(obj)
	if len(errs) > 0 {
		return nil, fmt.Errorf("find a valid object: %w", errs.ToAggregate())
	}
	return obj, nil
}

// name returns the name of an object.
func (s *Sampler) name(m *maker) string {
	meta := s.root.Properties["metadata"]
	if meta == nil || meta.Properties["name"] == nil {
		return "example"
	}
	if text, ok := m.value(meta.Properties["name"], 0, 0).(string); ok && text != "" {
		return text
	}
	return "example"
}

// validate validates a new object.
func (s *Sampler) validate(obj map[string]any) field.ErrorList {
	return s.validateChange(obj, nil, false)
}

// validateChange validates a new object, or an update of old.
func (s *Sampler) validateChange(obj, old map[string]any, update bool) field.ErrorList {
	if update {
		return s.check(s.normalize(obj), s.normalize(old))
	}
	return s.check(s.normalize(obj), nil)
}

// normalize returns a copy of an object without status and invalid nulls, and with default values.
func (s *Sampler) normalize(obj map[string]any) map[string]any {
	u := runtime.DeepCopyJSON(obj)
	delete(u, "status")
	value.PruneNulls(u, s.root)
	value.Default(u, s.root)
	return u
}
