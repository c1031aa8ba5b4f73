// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package value

import (
	"fmt"

	"github.com/kube-go/sdk/derive/internal/openapi"
)

// checkJunctors checks allOf, anyOf, oneOf and not. It does not ignore errors of unchanged values inside of junctors.
func (c *Checker) checkJunctors(s *openapi.Schema, v any, path string) result {
	var res result
	c.checkAny(&res, s.AnyOf, v, path)
	c.checkOne(&res, s.OneOf, v, path)
	c.checkAll(&res, s.AllOf, v, path)
	if s.Not != nil {
		if r := c.check(s.Not, v, path, nil); r.valid() {
			res.add(general(fmt.Sprintf("%q must not validate the schema (not)", path)))
		}
	}
	res.matches++
	return res
}

func (c *Checker) checkAny(res *result, branches []*openapi.Schema, v any, path string) {
	if len(branches) == 0 {
		return
	}
	var best *result
	for _, branch := range branches {
		r := c.check(branch, v, path, nil)
		if r.valid() {
			res.merge(r)
			return
		}
		if best == nil || r.matches > best.matches {
			best = &r
		}
	}
	res.add(general(fmt.Sprintf("%q must validate at least one schema (anyOf)", path)))
	res.merge(*best)
}

func (c *Checker) checkOne(res *result, branches []*openapi.Schema, v any, path string) {
	if len(branches) == 0 {
		return
	}
	var best, good *result
	valid := 0
	for _, branch := range branches {
		r := c.check(branch, v, path, nil)
		switch {
		case r.valid():
			if valid++; good == nil {
				good = &r
			}
			best = nil
		case valid == 0 && (best == nil || r.matches > best.matches):
			best = &r
		}
	}
	if valid == 1 {
		res.merge(*good)
		return
	}
	found := "Found none valid"
	if valid > 1 {
		found = fmt.Sprintf("Found %d valid alternatives", valid)
	}
	res.add(general(fmt.Sprintf("%q must validate one and only one schema (oneOf). %s", path, found)))
	if best != nil {
		res.merge(*best)
	}
}

func (c *Checker) checkAll(res *result, branches []*openapi.Schema, v any, path string) {
	valid := 0
	for _, branch := range branches {
		r := c.check(branch, v, path, nil)
		if r.valid() {
			valid++
		}
		res.merge(r)
	}
	if valid == len(branches) {
		return
	}
	none := ""
	if valid == 0 {
		none = ". None validated"
	}
	res.add(general(fmt.Sprintf("%q must validate all the schemas (allOf)%s", path, none)))
}
