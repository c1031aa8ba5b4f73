// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package sample

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/derive/internal/cel"
	"github.com/kube-go/sdk/derive/internal/openapi"
	"github.com/kube-go/sdk/derive/internal/structural"
	"github.com/kube-go/sdk/derive/internal/value"
)

// Sampler makes objects of a kind. It is safe for concurrent use.
type Sampler struct {
	apiVersion, kind string

	root    *openapi.Schema
	checker *value.Checker
	rules   *cel.Rules
}

// New returns a sampler for the objects of a schema, which must be one that servers accept.
func New(s *structural.Schema, apiVersion, kind string) (*Sampler, error) {
	body, err := json.Marshal(s) // numbers that are texts in Go are numbers
	if err != nil {
		return nil, fmt.Errorf("encode the schema: %w", err)
	}
	root := &openapi.Schema{}
	if err := wire.UnmarshalJSON(body, root); err != nil {
		return nil, fmt.Errorf("decode the schema: %w", err)
	}
	rules, err := cel.NewEnvironment().Rules(root, true)
	if err != nil {
		return nil, err
	}
	return Of(root, rules, apiVersion, kind), nil
}

// Of is New for a schema whose rules are compiled.
func Of(root *openapi.Schema, rules *cel.Rules, apiVersion, kind string) *Sampler {
	return &Sampler{apiVersion, kind, root, value.NewChecker(root), rules}
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
	u := s.read(obj)
	var was any
	if update {
		was = s.read(old)
	}
	errs := s.checker.Check(nil, u, nil)
	errs = append(errs, value.CheckMeta(nil, u, s.root, false)...)
	errs = append(errs, value.CheckUnique(nil, s.root, u)...)
	for _, err := range errs {
		switch err.Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
			return errs // rules are not asked
		default:
		}
	}
	more, _ := s.rules.Check(nil, u, was, nil, cel.Budget)
	return append(errs, more...)
}

// read returns an object as servers read it.
func (s *Sampler) read(obj map[string]any) map[string]any {
	u := runtime.DeepCopyJSON(obj)
	delete(u, "status")
	value.PruneNulls(u, s.root)
	value.Default(u, s.root)
	return u
}
