// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package evolution

import (
	"encoding/json"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/kube-go/sdk/derive/internal/structural"
)

// types compares the accepted types, and reports whether the other keywords can be compared.
func (d *comparison) types(b, a *structural.Schema, at place) bool {
	if !b.Nullable && a.Nullable {
		d.add(at, finding{Compatible, "nullable", "", "true", "readers must expect null"})
	}
	switch removed := b.Nullable && !a.Nullable; {
	case removed && strings.HasSuffix(string(at), "[]"): // servers drop only nulls of fields and of the values of maps
		d.add(at, finding{Breaking, "nullable", "true", "", "null values are invalid; " + tighter})
	case removed:
		d.add(at, finding{Risky, "nullable", "true", "", "null is dropped, or replaced by the default"})
	}
	old, now := accepted(b), accepted(a)
	if slices.Equal(old, now) {
		return true
	}
	rule := "type"
	if b.IntOrString != a.IntOrString {
		rule = structural.KeyIntOrString
	}
	if f := (finding{Risky, rule, kindOf(b), kindOf(a), nothingLost + ", but readers may get values of other types"}); containsAll(now, old) {
		d.add(at, f)
		return true
	}
	d.add(at, finding{Breaking, rule, kindOf(b), kindOf(a), "readers can't decode the value; " + tighter})
	return containsAll(old, now) // a narrower type still has the keywords of the wider one
}

// accepted returns the types that a schema accepts, in order. Numbers include integers.
func accepted(s *structural.Schema) []string {
	switch {
	case s.IntOrString:
		return []string{"integer", "string"}
	case s.Type == "":
		return []string{"array", "boolean", "integer", "number", "object", "string"}
	case s.Type == "number":
		return []string{"integer", "number"}
	}
	return []string{s.Type}
}

func containsAll(all, some []string) bool {
	return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(all, s) })
}

// scalars compares the keywords that restrict a single value.
func (d *comparison) scalars(b, a *structural.Schema, at place) {
	d.format(b, a, at)
	d.enum(b.Enum, a.Enum, at)
	d.atMost("maxLength", count(b.MaxLength), count(a.MaxLength), at)
	d.atMost("maxItems", count(b.MaxItems), count(a.MaxItems), at)
	d.atMost("maxProperties", count(b.MaxProperties), count(a.MaxProperties), at)
	d.atLeast("minLength", atLeastOne(b.MinLength), atLeastOne(a.MinLength), at)
	d.atLeast("minItems", atLeastOne(b.MinItems), atLeastOne(a.MinItems), at)
	d.atLeast("minProperties", atLeastOne(b.MinProperties), atLeastOne(a.MinProperties), at)
	d.atMost("maximum", bound{string(b.Maximum), b.ExclusiveMaximum}, bound{string(a.Maximum), a.ExclusiveMaximum}, at)
	d.atLeast("minimum", bound{string(b.Minimum), b.ExclusiveMinimum}, bound{string(a.Minimum), a.ExclusiveMinimum}, at)
	d.multipleOf(b.MultipleOf, a.MultipleOf, at)
	switch {
	case a.Pattern == b.Pattern:
	case a.Pattern == "":
		d.add(at, finding{Compatible, "pattern", text(b.Pattern), "", nothingLost})
	case b.Pattern == "":
		d.add(at, finding{Breaking, "pattern", "", text(a.Pattern), tighter})
	default:
		d.add(at, finding{Breaking, "pattern", text(b.Pattern), text(a.Pattern), unclear})
	}
}

// format compares formats. The server ignores unknown formats.
func (d *comparison) format(b, a *structural.Schema, at place) {
	switch {
	case b.Format == a.Format:
	case a.Format == "" || !checked(a.Format) || b.Format == "int32" && a.Format == "int64":
		d.add(at, finding{Compatible, "format", quoted(b.Format), quoted(a.Format), nothingLost})
	default:
		d.add(at, finding{Breaking, "format", quoted(b.Format), quoted(a.Format), tighter})
	}
}

// checked reports whether API servers validate a format. It is false for int64, because all integers fit.
func checked(format string) bool {
	switch format {
	case "int32", "bsonobjectid", "uri", "email", "hostname", "ipv4", "ipv6", "cidr", "mac", "uuid", "uuid3", "uuid4", "uuid5",
		"isbn", "isbn10", "isbn13", "creditcard", "ssn", "hexcolor", "rgbcolor", "byte", "date", "duration", "datetime", "date-time":
		return true
	}
	return strings.HasPrefix(format, "k8s-")
}

// enum compares the allowed values. An empty list allows all values.
func (d *comparison) enum(before, after []any, at place) {
	switch {
	case len(before) == 0 && len(after) == 0:
		return
	case len(after) == 0:
		d.add(at, finding{Compatible, "enum", text(before), "", "readers must expect any value"})
		return
	case len(before) == 0:
		d.add(at, finding{Breaking, "enum", "", text(after), tighter})
		return
	}
	for _, v := range without(before, after) {
		d.add(at, finding{Breaking, "enum", text(v), "", tighter})
	}
	for _, v := range without(after, before) {
		d.add(at, finding{Compatible, "enum", "", text(v), "readers must expect the value"})
	}
}

// without returns the values of list that are not in other.
func without[T any](list, other []T) []T {
	var rest []T
	for _, v := range list {
		if !slices.ContainsFunc(other, func(o T) bool { return same(v, o) }) {
			rest = append(rest, v)
		}
	}
	return rest
}

// bound is a limit of a number. An absent limit has an empty value.
type bound struct {
	value     string
	exclusive bool
}

func count(n *uint64) bound {
	if n == nil {
		return bound{}
	}
	return bound{value: strconv.FormatUint(*n, 10)}
}

// atLeastOne is count for minimums, where zero has no effect.
func atLeastOne(n *uint64) bound {
	if n == nil || *n == 0 {
		return bound{}
	}
	return count(n)
}

func (b bound) String() string {
	if b.exclusive && b.value != "" {
		return b.value + " exclusively"
	}
	return b.value
}

func (b bound) number() float64 {
	f, err := strconv.ParseFloat(b.value, 64)
	if err != nil {
		return math.NaN() // all comparisons are false
	}
	return f
}

func (d *comparison) atMost(rule string, before, after bound, at place) {
	looser := after.number() > before.number() || after.number() == before.number() && !after.exclusive
	d.limit(rule, before, after, looser, at)
}

func (d *comparison) atLeast(rule string, before, after bound, at place) {
	looser := after.number() < before.number() || after.number() == before.number() && !after.exclusive
	d.limit(rule, before, after, looser, at)
}

func (d *comparison) limit(rule string, before, after bound, looser bool, at place) {
	same := before.number() == after.number() && before.exclusive == after.exclusive
	switch {
	case before.value == "" && after.value == "" || same:
	case after.value == "" || before.value != "" && looser:
		d.add(at, finding{Compatible, rule, before.String(), after.String(), nothingLost})
	default:
		d.add(at, finding{Breaking, rule, before.String(), after.String(), tighter})
	}
}

func (d *comparison) multipleOf(before, after json.Number, at place) {
	old, now := exactly(before), exactly(after)
	switch both := old != nil && now != nil; {
	case before == after || both && old.Cmp(now) == 0:
	case after == "" || both && new(big.Rat).Quo(old, now).IsInt():
		d.add(at, finding{Compatible, "multipleOf", string(before), string(after), nothingLost})
	default:
		d.add(at, finding{Breaking, "multipleOf", string(before), string(after), tighter})
	}
}

// exactly returns the exact value of a number, or nil if it is absent, zero or too large.
func exactly(n json.Number) *big.Rat {
	if f, err := strconv.ParseFloat(string(n), 64); err != nil || f == 0 {
		return nil
	}
	r, _ := new(big.Rat).SetString(string(n))
	return r
}
