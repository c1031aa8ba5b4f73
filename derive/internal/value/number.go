// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package value

import (
	"fmt"
	"math"
	"strconv"

	"github.com/kube-go/sdk/derive/internal/openapi"
)

// checkNumber checks the bounds of a number. It also reports bounds that do not fit the type.
func (c *Checker) checkNumber(s *openapi.Schema, v any, path string) result {
	var typ, format string
	if types := c.types(s); len(types) == 1 && (types[0] == "integer" || types[0] == "number") {
		typ, format = types[0], c.format(s)
	}
	var res result
	if p, ok := fitsType(v, typ, format, "Checked", path); !ok {
		res.add(p)
	}
	bound := func(limit *float64, name string, exact func(int64, int64) *problem, rough func(float64, float64) *problem) {
		if limit == nil {
			return
		}
		integer, isInt := v.(int64)
		if p, ok := fitsType(*limit, typ, format, name, path); !ok {
			res.add(p)
			isInt = false
		}
		var p *problem
		if isInt {
			p = exact(integer, int64(*limit))
		} else {
			p = rough(asFloat(v), *limit)
		}
		if p != nil {
			res.add(*p)
		}
	}
	bound(s.MultipleOf, "MultipleOf",
		func(n, factor int64) *problem {
			return notMultiple(path, n, factor, factor <= 0 || n/factor*factor == n)
		},
		func(n, factor float64) *problem {
			return notMultiple(path, n, factor, factor <= 0 || isMultiple(n, factor))
		})
	bound(s.Minimum, "Minimum boundary",
		func(n, limit int64) *problem { return below(path, n, limit, s.ExclusiveMinimum) },
		func(n, limit float64) *problem { return below(path, n, limit, s.ExclusiveMinimum) })
	bound(s.Maximum, "Maximum boundary",
		func(n, limit int64) *problem { return above(path, n, limit, s.ExclusiveMaximum) },
		func(n, limit float64) *problem { return above(path, n, limit, s.ExclusiveMaximum) })
	res.matches++
	return res
}

func notMultiple[N int64 | float64](path string, n, factor N, ok bool) *problem {
	switch {
	case factor <= 0:
		text := fmt.Sprintf("factor MultipleOf declared for %s must be positive: %v", path, factor)
		return new(problemOf(path, "FieldValueInvalid", factor, text))
	case !ok:
		return new(invalid(path, n, "should be a multiple of %v", factor))
	}
	return nil
}

func below[N int64 | float64](path string, n, limit N, exclusive bool) *problem {
	switch {
	case exclusive && n <= limit:
		return new(invalid(path, n, "should be greater than %v", limit))
	case !exclusive && n < limit:
		return new(invalid(path, n, "should be greater than or equal to %v", limit))
	}
	return nil
}

func above[N int64 | float64](path string, n, limit N, exclusive bool) *problem {
	switch {
	case exclusive && n >= limit:
		return new(invalid(path, n, "should be less than %v", limit))
	case !exclusive && n > limit:
		return new(invalid(path, n, "should be less than or equal to %v", limit))
	}
	return nil
}

// fitsType checks that a number has a type and a format.
func fitsType(v any, typ, format, subject, path string) (problem, bool) {
	var text string
	switch v := v.(type) {
	case int64:
		text = strconv.FormatInt(v, 10)
	case float64:
		text = strconv.FormatFloat(v, 'f', -1, 64)
	}
	var err error
	switch {
	case typ == "integer" && format == "int32":
		_, err = strconv.ParseInt(text, 10, 32)
	case typ == "integer":
		_, err = strconv.ParseInt(text, 10, 64)
	case format == "float":
		_, err = strconv.ParseFloat(text, 32)
	}
	switch {
	case err == nil:
		return problem{}, true
	case format != "":
		return general(fmt.Sprintf("%s value must be of type %s with format %s in %s", subject, typ, format, path)), false
	}
	return general(fmt.Sprintf("%s value must be of type %s (default format) in %s", subject, typ, path)), false
}

func asFloat(v any) float64 {
	if n, ok := v.(int64); ok {
		return float64(n)
	}
	f, _ := v.(float64)
	return f
}

func isMultiple(n, factor float64) bool {
	if factor < 1 {
		return isWhole(1 / factor * n)
	}
	return isWhole(n / factor)
}

// isWhole reports whether a number is an integer that JSON represents exactly, except for rounding errors of divisions.
func isWhole(f float64) bool {
	const (
		largest = 1<<53 - 1
		slack   = 1e-9
	)
	if math.IsNaN(f) || math.Abs(f) > largest {
		return false
	}
	rounded := math.Round(f)
	return f == rounded || rounded != 0 && math.Abs(f-rounded) < slack*math.Abs(rounded)
}
