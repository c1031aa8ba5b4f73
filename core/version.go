// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"cmp"
	"strings"
)

// CompareVersions orders the versions of an API by how much one may rely on them: v2 after v1, both after v2beta1 and
// v1beta3, these after v9alpha1, and that after every name of another form, such as "foo10", which are in the order of
// the alphabet. It returns a positive number when a is to be preferred to b, so that slices.MaxFunc finds the best. See
// https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/#version-priority.
func CompareVersions(a, b string) int {
	va, vb := parseVersion(a), parseVersion(b)
	return cmp.Or(
		cmp.Compare(va.stability, vb.stability),
		compareNumbers(va.major, vb.major),
		compareNumbers(va.minor, vb.minor),
		strings.Compare(b, a),
	)
}

// version is the name of an API's version, taken apart. Its numbers are decimal, without a limit.
type version struct {
	major     string
	stability stability
	minor     string // of an alpha or a beta
}

// stability is how much one may rely on a version; more is better.
type stability uint8

const (
	unknownStability stability = iota
	alpha
	beta
	stable
)

// parseVersion takes v1, v1beta2 and v1alpha3 apart. Any other name has an unknown stability.
func parseVersion(name string) version {
	rest, ok := strings.CutPrefix(name, "v")
	if !ok {
		return version{}
	}
	v := version{stability: stable}
	v.major, rest = cutNumber(rest)
	if v.major != "" && rest == "" {
		return v
	}
	if after, ok := strings.CutPrefix(rest, "alpha"); ok {
		v.stability, rest = alpha, after
	} else if after, ok := strings.CutPrefix(rest, "beta"); ok {
		v.stability, rest = beta, after
	}
	v.minor, rest = cutNumber(rest)
	if v.major == "" || v.minor == "" || rest != "" {
		return version{}
	}
	return v
}

// cutNumber cuts the digits off with which s starts.
func cutNumber(s string) (number, rest string) {
	rest = strings.TrimLeft(s, "0123456789")
	return s[:len(s)-len(rest)], rest
}

// compareNumbers compares what cutNumber returns: without leading zeros, the longer one is the greater.
func compareNumbers(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}
