// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package structural

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Impossible tells why no value at all is valid, or no item of a list, "" when there may be one. A type and a field of that type can have bounds
// that each make sense, and together do not.
func (s *Schema) Impossible() string {
	all := append([]*Schema{s}, s.AllOf...)
	for _, one := range all {
		if one.Enum != nil && !slices.ContainsFunc(one.Enum, func(v any) bool { return s.Accepts(v) == nil }) {
			return "none of " + text(one.Enum) + " is valid by what else is said"
		}
	}
	for _, low := range all {
		for _, high := range all {
			if why := apart(low, high); why != "" {
				return why
			}
		}
	}
	if s.Items != nil {
		if why := s.Items.Impossible(); why != "" {
			return "of each item, " + why
		}
	}
	return ""
}

// apart tells which lower bound of one schema is above the upper bound of another.
func apart(low, high *Schema) string {
	for _, b := range []struct {
		what     string
		min, max *uint64
	}{
		{"characters", low.MinLength, high.MaxLength},
		{"items", low.MinItems, high.MaxItems},
		{"fields", low.MinProperties, high.MaxProperties},
	} {
		if b.min != nil && b.max != nil && *b.min > *b.max {
			return fmt.Sprintf("at least %d %s are wanted, and at most %d allowed", *b.min, b.what, *b.max)
		}
	}
	if low.Minimum == "" || high.Maximum == "" || low.acceptsNumber(high.Maximum) == nil && high.acceptsNumber(low.Minimum) == nil {
		return ""
	}
	return fmt.Sprintf("nothing is both %s and %s", bound("above", low.ExclusiveMinimum, low.Minimum), bound("below", high.ExclusiveMaximum, high.Maximum))
}

// bound describes one end of a range.
func bound(side string, exclusive bool, n json.Number) string {
	if exclusive {
		return side + " " + n.String()
	}
	return side + " or equal to " + n.String()
}
