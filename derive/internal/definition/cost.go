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

// scope is what rules need to know of where they stand. Nil is where no rule is looked at.
type scope struct {
	schema *openapi.Schema
	parent *scope
	within bool                      // whether there are rules here or above
	child  func(*cel.Type) *cel.Type // finds the type in the parent's

	cardinality *uint64 // how many such values an object has at most; nil when nothing bounds it
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

// maxElements returns how many values a schema bounds those below it to, for each of its own.
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

// celType returns the type that rules see. It is part of the parent's, if that is needed anyway.
func (s *scope) celType() (*cel.Type, error) {
	if s == nil || !s.within {
		return nil, nil
	}
	if s.typ != nil || s.typeErr != nil {
		return s.typ, s.typeErr
	}
	above, err := s.parent.celType()
	if err != nil {
		s.typeErr = err
		return nil, err
	}
	if above != nil {
		s.typ = s.child(above)
	}
	if s.typ == nil {
		s.typ = cel.TypeOf(s.schema, s.parent == nil || s.schema.EmbeddedResource)
	}
	if s.typ == nil {
		s.typeErr = errors.New("unable to convert structural schema to CEL declarations")
	}
	return s.typ, s.typeErr
}

// maxTotalCost is what all rules of a schema may cost together at worst.
const maxTotalCost = 100_000_000

// total adds up what the rules of a schema cost.
type total struct {
	cost uint64
	most []costOf // the most expensive rules first
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
	t.most = append(t.most, costOf{path, cost})
	slices.SortStableFunc(t.most, func(a, b costOf) int { return cmp.Compare(b.cost, a.cost) })
	t.most = t.most[:min(len(t.most), 4)]
}

func (t *total) check(path *field.Path) field.ErrorList {
	if t.cost <= maxTotalCost {
		return nil
	}
	var errs field.ErrorList
	for _, rule := range t.most {
		errs = append(errs, field.Forbidden(rule.path, "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"))
	}
	const what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
	return append(errs, field.Forbidden(path, exceeds(what, t.cost, maxTotalCost)))
}

// exceeds says by how much a cost is too high, and what to do about it.
func exceeds(what string, cost, limit uint64) string {
	factor := float64(cost) / float64(limit)
	text := fmt.Sprintf("%.1fx", factor)
	switch {
	case factor > 100:
		text = "more than 100x"
	case factor < 1.5:
		text = fmt.Sprintf("%fx", factor)
	}
	return fmt.Sprintf("%s exceeds budget by factor of %s (try simplifying the rule, or adding maxItems, maxProperties, and "+
		"maxLength where arrays, maps, and strings are declared)", what, text)
}

// times multiplies, up to the largest number there is.
func times(a, b uint64) uint64 {
	if a != 0 && math.MaxUint64/a < b {
		return math.MaxUint64
	}
	return a * b
}
