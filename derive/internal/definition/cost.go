// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kube-go/sdk/derive/internal/cel"
	"github.com/kube-go/sdk/derive/internal/openapi"
)

// scope is the context of the rules of a schema. It is nil where rules are not compiled.
type scope struct {
	schema *openapi.Schema
	parent *scope
	within bool                      // whether this schema or a parent has rules
	child  func(*cel.Type) *cel.Type // returns the type from the parent's type

	cardinality *uint64 // the maximum number of values in an object, or nil if it is unbounded
	total       *total

	typ     *cel.Type
	typeErr error
}

func rootScope(root *openapi.Schema) *scope {
	return &scope{schema: root, within: len(root.Validations) > 0, cardinality: new(uint64(1)), total: &total{}}
}

func (s *scope) property(p *openapi.Schema, name string) *scope {
	return s.below(p, func(t *cel.Type) *cel.Type { return t.Property(name) })
}

func (s *scope) items(item *openapi.Schema) *scope {
	return s.below(item, func(t *cel.Type) *cel.Type { return t.Elem })
}

func (s *scope) values(value *openapi.Schema) *scope {
	return s.below(value, func(t *cel.Type) *cel.Type { return t.Elem })
}

func (s *scope) below(schema *openapi.Schema, child func(*cel.Type) *cel.Type) *scope {
	if s == nil || schema == nil {
		return nil
	}
	c := &scope{schema: schema, parent: s, child: child, total: s.total}
	c.within = s.within || len(schema.Validations) > 0
	if n := maxElements(s.schema); n != nil && s.cardinality != nil {
		c.cardinality = new(times(*s.cardinality, *n))
	}
	return c
}

// maxElements returns the maximum number of child values per value, or nil if it is unbounded.
func maxElements(s *openapi.Schema) *uint64 {
	limit := new(int64(1))
	switch {
	case s.Type == "object" && s.AdditionalProperties != nil:
		limit = s.MaxProperties
	case s.Type == "array":
		limit = s.MaxItems
	}
	if limit == nil {
		return nil
	}
	return new(uint64(max(0, *limit)))
}

// celType returns the CEL type. It is taken from the parent's type if a parent has rules.
func (s *scope) celType() (*cel.Type, error) {
	if s == nil || !s.within {
		return nil, nil
	}
	if s.typ != nil || s.typeErr != nil {
		return s.typ, s.typeErr
	}
	parent, err := s.parent.celType()
	if err != nil {
		s.typeErr = err
		return nil, err
	}
	if parent != nil {
		s.typ = s.child(parent)
	}
	if s.typ == nil {
		s.typ = cel.TypeOf(s.schema, s.parent == nil || s.schema.EmbeddedResource)
	}
	if s.typ == nil {
		s.typeErr = errors.New("unable to convert structural schema to CEL declarations")
	}
	return s.typ, s.typeErr
}

// maxTotalCost is the limit of the estimated total cost of all rules of a schema.
const maxTotalCost = 100_000_000

// total is the sum of the estimated costs of the rules of a schema.
type total struct {
	cost uint64
	top  []costOf // the top expensive rules, in descending order
}

type costOf struct {
	path *field.Path
	cost uint64
}

func (t *total) observe(path *field.Path, cost uint64) {
	if t.cost += cost; t.cost < cost {
		t.cost = math.MaxUint64
	}
	if cost < maxTotalCost/100 {
		return
	}
	t.top = append(t.top, costOf{path, cost})
	slices.SortStableFunc(t.top, func(a, b costOf) int { return cmp.Compare(b.cost, a.cost) })
	t.top = t.top[:min(len(t.top), 4)]
}

func (t *total) check(path *field.Path) field.ErrorList {
	if t.cost <= maxTotalCost {
		return nil
	}
	var errs field.ErrorList
	for _, rule := range t.top {
		errs = append(errs, field.Forbidden(rule.path, "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"))
	}
	const subject = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
	return append(errs, field.Forbidden(path, exceeds(subject, t.cost, maxTotalCost)))
}

// exceeds returns the message for a cost above the limit.
func exceeds(subject string, cost, limit uint64) string {
	factor := float64(cost) / float64(limit)
	text := fmt.Sprintf("%.1fx", factor)
	switch {
	case factor > 100:
		text = "more than 100x"
	case factor < 1.5:
		text = fmt.Sprintf("%fx", factor)
	}
	return fmt.Sprintf("%s exceeds budget by factor of %s (try simplifying the rule, or adding maxItems, maxProperties, and "+
		"maxLength where arrays, maps, and strings are declared)", subject, text)
}

// times returns a*b, or math.MaxUint64 on overflow.
func times(a, b uint64) uint64 {
	if a != 0 && math.MaxUint64/a < b {
		return math.MaxUint64
	}
	return a * b
}
