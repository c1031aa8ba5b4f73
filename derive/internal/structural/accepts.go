// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package structural

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Accepts validates a decoded JSON value, with json.Number for numbers. It checks types, bounds, patterns, enums and
// required properties, which is enough to detect invalid defaults. It does not evaluate CEL rules.
func (s *Schema) Accepts(v any) error {
	if v == nil {
		if s.Nullable || s.Type == "" {
			return nil
		}
		return fmt.Errorf("null is not %s", Article(s.Type))
	}
	if err := s.acceptsType(v); err != nil {
		return err
	}
	if s.Enum != nil && !slices.ContainsFunc(s.Enum, func(e any) bool { return reflect.DeepEqual(e, v) }) {
		return fmt.Errorf("%s is not one of %s", text(v), text(s.Enum))
	}
	for _, branch := range s.AllOf {
		if err := branch.Accepts(v); err != nil {
			return err
		}
	}
	switch v := v.(type) {
	case string:
		return s.acceptsString(v)
	case json.Number:
		return s.acceptsNumber(v)
	case []any:
		return s.acceptsList(v)
	case map[string]any:
		return s.acceptsObject(v)
	}
	return nil
}

func (s *Schema) acceptsType(v any) error {
	number, isNumber := v.(json.Number)
	_, isString := v.(string)
	if s.IntOrString {
		if isString || isNumber && isInt64(number) {
			return nil
		}
		return fmt.Errorf("%s is neither an integer nor a string", text(v))
	}
	ok := true
	switch s.Type {
	case "string":
		ok = isString
	case "boolean":
		_, ok = v.(bool)
	case "integer":
		ok = isNumber && isInt64(number)
	case "number":
		ok = isNumber
	case "array":
		_, ok = v.([]any)
	case "object":
		_, ok = v.(map[string]any)
	}
	if !ok {
		return fmt.Errorf("%s is not %s", text(v), Article(s.Type))
	}
	return nil
}

func (s *Schema) acceptsString(v string) error {
	n := uint64(utf8.RuneCountInString(v))
	switch {
	case s.MaxLength != nil && n > *s.MaxLength:
		return fmt.Errorf("%q is longer than the maximum length %d", v, *s.MaxLength)
	case s.MinLength != nil && n < *s.MinLength:
		return fmt.Errorf("%q is shorter than the minimum length %d", v, *s.MinLength)
	}
	if s.Pattern != "" {
		if re, err := regexp.Compile(s.Pattern); err == nil && !re.MatchString(v) {
			return fmt.Errorf("%q does not match %s", v, s.Pattern)
		}
	}
	return nil
}

func (s *Schema) acceptsNumber(v json.Number) error {
	n, err := v.Float64()
	if err != nil {
		return err
	}
	if limit, err := s.Maximum.Float64(); err == nil && (n > limit || s.ExclusiveMaximum && n == limit) {
		return fmt.Errorf("%s is above the maximum %s", v, s.Maximum)
	}
	if limit, err := s.Minimum.Float64(); err == nil && (n < limit || s.ExclusiveMinimum && n == limit) {
		return fmt.Errorf("%s is below the minimum %s", v, s.Minimum)
	}
	if n, of := exact(v), exact(s.MultipleOf); n != nil && of != nil && of.Sign() != 0 && !n.Quo(n, of).IsInt() {
		return fmt.Errorf("%s is not a multiple of %s", v, s.MultipleOf)
	}
	return nil
}

// exact returns the exact value of a number, or nil if it is invalid, too long, or has an exponent.
func exact(n json.Number) *big.Rat {
	if len(n) > 50 || strings.ContainsAny(n.String(), "eE") {
		return nil
	}
	r, ok := new(big.Rat).SetString(n.String())
	if !ok {
		return nil
	}
	return r
}

func (s *Schema) acceptsList(v []any) error {
	n := uint64(len(v))
	switch {
	case s.MaxItems != nil && n > *s.MaxItems:
		return fmt.Errorf("%d items exceed the maximum of %d", n, *s.MaxItems)
	case s.MinItems != nil && n < *s.MinItems:
		return fmt.Errorf("%d items are below the minimum of %d", n, *s.MinItems)
	case s.Items == nil:
		return nil
	}
	for i, item := range v {
		if err := s.Items.Accepts(item); err != nil {
			return fmt.Errorf("item %d: %w", i, err)
		}
	}
	return nil
}

func (s *Schema) acceptsObject(v map[string]any) error {
	for _, name := range s.Required {
		if _, ok := v[name]; !ok && (s.Properties[name] == nil || s.Properties[name].Default == nil) {
			return fmt.Errorf("field %q is missing", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		p := s.Properties[name]
		if p == nil {
			p = s.AdditionalProperties
		}
		switch {
		case p != nil:
			if err := p.Accepts(v[name]); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		case !s.PreserveUnknownFields && !s.EmbeddedResource && s.Type == "object":
			return fmt.Errorf("unknown field %q", name)
		}
	}
	return nil
}

// isInt64 reports whether a number is an integer that fits into an int64.
func isInt64(n json.Number) bool {
	_, err := strconv.ParseInt(n.String(), 10, 64)
	return err == nil
}

// Article returns the name of a type with its indefinite article.
func Article(name string) string {
	if name != "" && strings.ContainsRune("aeiou", rune(name[0])) {
		return "an " + name
	}
	return "a " + name
}

// text encodes a value as JSON, for messages.
func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

// Contradictions returns an error for each default, example and enum value that the schema itself does not accept.
func (s *Schema) Contradictions() []error {
	var errs []error
	check := func(keyword string, v any, against *Schema) {
		if err := against.Accepts(v); v != nil && err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", keyword, err))
		}
	}
	check("default", s.Default, s)
	check("example", s.Example, s)
	bare := *s
	bare.Enum = nil
	for _, v := range s.Enum {
		check("enum", v, &bare)
	}
	if s.Items != nil {
		errs = append(errs, s.Items.Contradictions()...)
	}
	return errs
}
