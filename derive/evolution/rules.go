// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package evolution

import (
	"regexp"
	"slices"
	"strings"

	"github.com/kube-go/sdk/derive/internal/structural"
)

// refersToOld finds rules that compare a value with the one before.
var refersToOld = regexp.MustCompile(`\boldSelf\b`)

// rules compares the rules in CEL, which are the same only when they are written the same.
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
			d.add(at, finding{Breaking, name, "", text(r.Rule), "with optionalOldSelf it holds of new objects too, which are refused if they break it"})
		case old != nil:
		case refersToOld.MatchString(r.Rule):
			d.add(at, finding{Breaking, name, "", text(r.Rule), "a rule about updates is new: those that it forbids are refused, of stored objects too"})
		default:
			d.add(at, finding{Breaking, name, "", text(r.Rule), "a rule is new: " + tighter})
		}
	}
	for _, r := range b.Validations {
		if find(a.Validations, r.Rule) == nil {
			d.add(at, finding{Compatible, name, text(r.Rule), "", "a rule is gone: " + nothingLost})
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

// allOf compares schemas that must all hold. Those in the same place that differ in what restricts a value alone, such as
// the two lengths that a type and its field have, are compared with each other.
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

// rest returns a schema without what [comparison.scalars] compares.
func rest(s *structural.Schema) *structural.Schema {
	r := *s
	r.Format, r.Pattern, r.Enum, r.MultipleOf = "", "", nil, ""
	r.MaxLength, r.MinLength, r.MaxItems, r.MinItems, r.MaxProperties, r.MinProperties = nil, nil, nil, nil, nil, nil
	r.Maximum, r.Minimum, r.ExclusiveMaximum, r.ExclusiveMinimum = "", "", false, false
	return &r
}

// alternatives returns what is in anyOf, without the two types that x-kubernetes-int-or-string says already.
func alternatives(s *structural.Schema) []*structural.Schema {
	types := []*structural.Schema{{Type: "integer"}, {Type: "string"}}
	if s.IntOrString && len(without(s.AnyOf, types)) == 0 {
		return nil
	}
	return s.AnyOf
}

// anyOf compares schemas of which one must hold.
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
