// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package sample

import (
	"fmt"
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kube-go/sdk/derive/internal/openapi"
)

// maxDepth is the maximum depth of optional values.
const maxDepth = 12

// maker generates values from a schema.
type maker struct {
	full bool
}

// includes reports whether objects include a property.
func (m *maker) includes(s *openapi.Schema, name string) bool {
	if slices.Contains(s.Required, name) {
		return true
	}
	return m.full
}

// value returns a value. Different variants are different values if possible.
func (m *maker) value(s *openapi.Schema, variant, depth int) any {
	s = flat(s)
	switch {
	case variant == 0 && s.Example != nil:
		return runtime.DeepCopyJSONValue(s.Example)
	case variant == 0 && s.Default != nil:
		return runtime.DeepCopyJSONValue(s.Default)
	case len(s.Enum) > 0:
		return runtime.DeepCopyJSONValue(s.Enum[variant%len(s.Enum)])
	case s.EmbeddedResource:
		return m.resource(s, variant, depth)
	case s.IntOrString:
		if s.Pattern != "" || s.Format != "" {
			return textOf(s, variant)
		}
		return numberOf(s, variant)
	}
	switch s.Type {
	case "object":
		return m.object(s, variant, depth)
	case "array":
		return m.list(s, depth)
	case "string":
		return textOf(s, variant)
	case "integer":
		return numberOf(s, variant)
	case "number":
		return fractionOf(s, variant)
	case "boolean":
		return variant%2 == 0
	}
	return map[string]any{}
}

func (m *maker) object(s *openapi.Schema, variant, depth int) map[string]any {
	obj := map[string]any{}
	for name, p := range s.Properties {
		if m.includes(s, name) && (depth < maxDepth || slices.Contains(s.Required, name)) {
			obj[name] = m.value(p, variant, depth+1)
		}
	}
	n := int64(0)
	if m.full && depth < maxDepth {
		n = 1
	}
	if s.MinProperties != nil {
		n = max(n, *s.MinProperties)
	}
	if s.MaxProperties != nil {
		n = min(n, *s.MaxProperties)
	}
	if more := s.Value(); more != nil {
		for i := range int(max(0, min(n, maxItems))) {
			obj[word(i)] = m.value(more, variantOf(more, i), depth+1)
		}
	}
	return obj
}

// resource returns an embedded resource.
func (m *maker) resource(s *openapi.Schema, variant, depth int) map[string]any {
	obj := m.object(s, variant, depth)
	defaults := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "example"}}
	for name, v := range defaults {
		if have, ok := obj[name]; !ok || have == "" || name == "metadata" || s.Properties[name] != nil && len(s.Properties[name].Enum) == 0 {
			obj[name] = v
		}
	}
	return obj
}

// maxItems is the maximum number of items in a list, even if minItems is larger.
const maxItems = 1000

func (m *maker) list(s *openapi.Schema, depth int) []any {
	n := int64(0)
	if m.full && depth < maxDepth {
		n = 1
	}
	if s.MinItems != nil {
		n = max(n, *s.MinItems)
	}
	if s.MaxItems != nil {
		n = min(n, *s.MaxItems)
	}
	n = max(0, min(n, maxItems))
	list := make([]any, 0, n)
	for i := range int(n) {
		if !s.IsListType("set") && !s.IsListType("map") {
			i = variantOf(s.Item(), i)
		}
		list = append(list, m.value(s.Item(), i, depth+1))
	}
	return list
}

// variantOf returns the variant of an item in a list that may have duplicates. It is always 0 if there is an example.
func variantOf(s *openapi.Schema, i int) int {
	if flat(s).Example != nil {
		return 0
	}
	return i
}

// numberOf returns an integer within the bounds.
func numberOf(s *openapi.Schema, variant int) int64 {
	low, high := bounds(s)
	step := int64(1)
	if s.MultipleOf != nil && *s.MultipleOf >= 1 {
		step = int64(*s.MultipleOf)
	}
	first := int64(max(low, -math.MaxInt32))
	if s.Minimum == nil {
		first = int64(min(1, high))
	}
	if rest := ((first % step) + step) % step; rest != 0 {
		first += step - rest
	}
	n := first + int64(variant)*step
	if float64(n) > high {
		return first
	}
	return n
}

// bounds returns the minimum and the maximum.
func bounds(s *openapi.Schema) (low, high float64) {
	low, high = -math.MaxInt32, math.MaxInt32
	if s.Minimum != nil {
		low = math.Ceil(*s.Minimum)
		if s.ExclusiveMinimum && low == *s.Minimum {
			low++
		}
		high = max(high, low)
	}
	if s.Maximum != nil {
		high = math.Floor(*s.Maximum)
		if s.ExclusiveMaximum && high == *s.Maximum {
			high--
		}
	}
	return low, high
}

// fractionOf returns a number within the bounds, which is an integer if possible.
func fractionOf(s *openapi.Schema, variant int) any {
	n := numberOf(s, variant)
	if low, high := bounds(s); low <= high && (s.MultipleOf == nil || *s.MultipleOf >= 1) {
		return n
	}
	if s.MultipleOf != nil && *s.MultipleOf > 0 {
		start := 0.0
		if s.Minimum != nil {
			start = math.Ceil(*s.Minimum / *s.MultipleOf)
			if s.ExclusiveMinimum {
				start++
			}
		}
		return (start + float64(variant)) * *s.MultipleOf
	}
	low, high := 0.0, 1.0
	switch {
	case s.Minimum != nil && s.Maximum != nil:
		low, high = *s.Minimum, *s.Maximum
	case s.Minimum != nil:
		low, high = *s.Minimum, *s.Minimum+1
	case s.Maximum != nil:
		low, high = *s.Maximum-1, *s.Maximum
	}
	return low + (high-low)/float64(variant+2)
}

// word returns a short word.
func word(variant int) string {
	words := []string{"example", "another", "third", "fourth"}
	if variant < len(words) {
		return words[variant]
	}
	return fmt.Sprintf("example-%d", variant)
}

// flat returns a schema with the keywords of allOf and of the first branches of anyOf and oneOf.
func flat(s *openapi.Schema) *openapi.Schema {
	if s == nil {
		return &openapi.Schema{}
	}
	branches := slices.Clone(s.AllOf)
	if len(s.AnyOf) > 0 && !s.IntOrString {
		branches = append(branches, s.AnyOf[0])
	}
	if len(s.OneOf) > 0 {
		branches = append(branches, s.OneOf[0])
	}
	if len(branches) == 0 {
		return s
	}
	out := *s
	for _, b := range branches {
		restrict(&out, flat(b))
	}
	return &out
}

// restrict adds the keywords of a branch that the schema does not have.
func restrict(s, b *openapi.Schema) {
	either := func(s **int64, b *int64) {
		if *s == nil {
			*s = b
		}
	}
	number := func(s **float64, b *float64) {
		if *s == nil {
			*s = b
		}
	}
	if s.Format == "" {
		s.Format = b.Format
	}
	if s.Pattern == "" {
		s.Pattern = b.Pattern
	}
	if len(s.Enum) == 0 {
		s.Enum = b.Enum
	}
	if s.Minimum == nil {
		s.ExclusiveMinimum = b.ExclusiveMinimum
	}
	if s.Maximum == nil {
		s.ExclusiveMaximum = b.ExclusiveMaximum
	}
	number(&s.Minimum, b.Minimum)
	number(&s.Maximum, b.Maximum)
	number(&s.MultipleOf, b.MultipleOf)
	either(&s.MinLength, b.MinLength)
	either(&s.MaxLength, b.MaxLength)
	either(&s.MinItems, b.MinItems)
	either(&s.MaxItems, b.MaxItems)
	either(&s.MinProperties, b.MinProperties)
	either(&s.MaxProperties, b.MaxProperties)
	s.Required = append(slices.Clone(s.Required), b.Required...)
}
