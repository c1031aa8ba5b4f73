// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package structural

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Impossible returns the reason if no value, or no item of a list, can be valid, or "". The bounds of a type and the
// bounds of a field of that type can contradict each other.
func (s *Schema) Impossible() string {
	all := append([]*Schema{s}, s.AllOf...)
	for _, one := range all {
		if one.Enum != nil && !slices.ContainsFunc(one.Enum, func(v any) bool { return s.Accepts(v) == nil }) {
			return "the other keywords allow none of the enum values " + text(one.Enum)
		}
	}
	for _, low := range all {
		for _, high := range all {
			if why := contradiction(low, high); why != "" {
				return why
			}
		}
	}
	if s.Items != nil {
		if why := s.Items.Impossible(); why != "" {
			return "items: " + why
		}
	}
	return ""
}

// contradiction returns a message if a lower bound of low is above the corresponding upper bound of high.
func contradiction(low, high *Schema) string {
	for _, b := range []struct {
		unit     string
		min, max *uint64
	}{
		{"characters", low.MinLength, high.MaxLength},
		{"items", low.MinItems, high.MaxItems},
		{"fields", low.MinProperties, high.MaxProperties},
	} {
		if b.min != nil && b.max != nil && *b.min > *b.max {
			return fmt.Sprintf("at least %d %s are required, but at most %d are allowed", *b.min, b.unit, *b.max)
		}
	}
	least, err := low.Minimum.Float64()
	if err != nil {
		return "" // without a minimum
	}
	most, err := high.Maximum.Float64()
	if err != nil || least < most || least == most && !low.ExclusiveMinimum && !high.ExclusiveMaximum {
		return ""
	}
	return fmt.Sprintf("no value is both %s and %s", bound("greater than", low.ExclusiveMinimum, low.Minimum), bound("less than", high.ExclusiveMaximum, high.Maximum))
}

// bound describes one end of a range.
func bound(side string, exclusive bool, n json.Number) string {
	if exclusive {
		return side + " " + n.String()
	}
	return side + " or equal to " + n.String()
}
