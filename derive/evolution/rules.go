// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package evolution

import (
	"regexp"
	"slices"
	"strings"

	"github.com/kube-go/sdk/derive/internal/structural"
)

// refersToOld matches rules that compare a value with its old value.
var refersToOld = regexp.MustCompile(`\boldSelf\b`)

// rules compares CEL rules. Rules are equal if their expressions are the same string.
func (d *comparison) rules(b, a *structural.Schema, at place) {
	find := func(list []structural.Rule, rule string) *structural.Rule {
		if i := slices.IndexFunc(list, func(r structural.Rule) bool { return strings.TrimSpace(r.Rule) == strings.TrimSpace(rule) }); i >= 0 {
			return &list[i]
		}
		return nil
	}
	const name = structural.KeyValidations
	for _, r := range a.Validations {
		old := find(b.Validations, r.Rule)
		optional := r.OptionalOldSelf != nil && *r.OptionalOldSelf
		switch {
		case old != nil && optional && (old.OptionalOldSelf == nil || !*old.OptionalOldSelf):
			d.add(at, finding{Breaking, name, "", text(r.Rule), "with optionalOldSelf, the rule also applies to new objects, which are rejected if they violate it"})
		case old != nil:
		case refersToOld.MatchString(r.Rule):
			d.add(at, finding{Breaking, name, "", text(r.Rule), "new transition rule: updates that violate it are rejected, even for stored objects"})
		default:
			d.add(at, finding{Breaking, name, "", text(r.Rule), "new rule: " + tighter})
		}
	}
	for _, r := range b.Validations {
		if find(a.Validations, r.Rule) == nil {
			d.add(at, finding{Compatible, name, text(r.Rule), "", "removed rule: " + nothingLost})
		}
	}
}

// branches compares allOf, anyOf, oneOf and not.
func (d *comparison) branches(b, a *structural.Schema, at place) {
	d.allOf(b.AllOf, a.AllOf, at)
	d.anyOf(alternatives(b), alternatives(a), at)
	switch {
	case same(b.OneOf, a.OneOf):
	case len(a.OneOf) == 0:
		d.add(at, finding{Compatible, "oneOf", text(b.OneOf), "", nothingLost})
	case len(b.OneOf) == 0:
		d.add(at, finding{Breaking, "oneOf", "", text(a.OneOf), tighter})
	default:
		d.add(at, finding{Breaking, "oneOf", text(b.OneOf), text(a.OneOf), unclear})
	}
	switch {
	case same(b.Not, a.Not):
	case a.Not == nil:
		d.add(at, finding{Compatible, "not", text(b.Not), "", nothingLost})
	case b.Not == nil:
		d.add(at, finding{Breaking, "not", "", text(a.Not), tighter})
	default:
		d.add(at, finding{Breaking, "not", text(b.Not), text(a.Not), unclear})
	}
}

// allOf compares schemas that must all be satisfied. If schemas at the same index differ only in the keywords that
// [comparison.scalars] compares, such as the lengths of a type and of its field, they are compared with each other.
func (d *comparison) allOf(before, after []*structural.Schema, at place) {
	if len(before) == len(after) && !slices.ContainsFunc(indexes(before), func(i int) bool { return !same(rest(before[i]), rest(after[i])) }) {
		for i := range before {
			d.scalars(before[i], after[i], at)
		}
		return
	}
	for _, s := range without(before, after) {
		d.add(at, finding{Compatible, "allOf", text(s), "", nothingLost})
	}
	for _, s := range without(after, before) {
		d.add(at, finding{Breaking, "allOf", "", text(s), tighter})
	}
}

func indexes[T any](list []T) []int {
	all := make([]int, len(list))
	for i := range all {
		all[i] = i
	}
	return all
}

// rest returns a schema without the keywords that [comparison.scalars] compares.
func rest(s *structural.Schema) *structural.Schema {
	r := *s
	r.Format, r.Pattern, r.Enum, r.MultipleOf = "", "", nil, ""
	r.MaxLength, r.MinLength, r.MaxItems, r.MinItems, r.MaxProperties, r.MinProperties = nil, nil, nil, nil, nil, nil
	r.Maximum, r.Minimum, r.ExclusiveMaximum, r.ExclusiveMinimum = "", "", false, false
	return &r
}

// alternatives returns the schemas of anyOf. It omits the two types that x-kubernetes-int-or-string implies.
func alternatives(s *structural.Schema) []*structural.Schema {
	types := []*structural.Schema{{Type: "integer"}, {Type: "string"}}
	if s.IntOrString && len(without(s.AnyOf, types)) == 0 {
		return nil
	}
	return s.AnyOf
}

// anyOf compares schemas of which at least one must be satisfied.
func (d *comparison) anyOf(before, after []*structural.Schema, at place) {
	switch {
	case len(before) == 0 && len(after) == 0:
		return
	case len(after) == 0:
		d.add(at, finding{Compatible, "anyOf", text(before), "", nothingLost})
		return
	case len(before) == 0:
		d.add(at, finding{Breaking, "anyOf", "", text(after), tighter})
		return
	}
	for _, s := range without(before, after) {
		d.add(at, finding{Breaking, "anyOf", text(s), "", tighter})
	}
	for _, s := range without(after, before) {
		d.add(at, finding{Compatible, "anyOf", "", text(s), nothingLost})
	}
}
