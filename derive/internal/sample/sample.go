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

// Sampler makes objects of a kind. It is safe for concurrent use.
type Sampler struct {
	apiVersion, kind string

	root  *openapi.Schema
	check Check
}

// Check says what a server finds wrong in an object, or in what it has become when there is an old one. Both have their
// defaults, and may be changed.
type Check func(obj, old map[string]any) field.ErrorList

// New returns a sampler for the objects of a schema, which must be one that servers accept.
func New(root *openapi.Schema, apiVersion, kind string, check Check) *Sampler {
	return &Sampler{apiVersion, kind, root, check}
}

// Object makes an object that servers accept: the smallest, or a full one that has each field. The status is not part of
// it. It is an error when none was found.
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
		case m.wants(s.root, name) || name == "spec":
			obj[name] = m.value(p, 0, 0)
		}
	}
	obj, errs := s.repair(obj)
	if len(errs) > 0 {
		return nil, fmt.Errorf("found no object that the schema accepts: %w", errs.ToAggregate())
	}
	return obj, nil
}

// name makes a name for an object.
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

// faults says what a server would find wrong in an object.
func (s *Sampler) faults(obj map[string]any) field.ErrorList { return s.faultsOf(obj, nil, false) }

// faultsOf is faults of a new object, or of an update.
func (s *Sampler) faultsOf(obj, old map[string]any, update bool) field.ErrorList {
	if update {
		return s.check(s.read(obj), s.read(old))
	}
	return s.check(s.read(obj), nil)
}

// read returns an object as servers read it.
func (s *Sampler) read(obj map[string]any) map[string]any {
	u := runtime.DeepCopyJSON(obj)
	delete(u, "status")
	value.PruneNulls(u, s.root)
	value.Default(u, s.root)
	return u
}
