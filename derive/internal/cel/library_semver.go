// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

func versionType() *cel.Type { return cel.ObjectType("kubernetes.Semver") }

// versions returns the functions of https://kubernetes.io/docs/reference/using-api/cel/#kubernetes-semver-library.
func versions() functions {
	t := versionType()
	part := func(name string, i int) []cel.FunctionOpt {
		return []cel.FunctionOpt{member("semver_"+name, t, cel.IntType, func(v version) ref.Val { return types.Int(v.numbers[i]) })}
	}
	compare := func(id string, result *cel.Type, f func(int) ref.Val) []cel.FunctionOpt {
		return []cel.FunctionOpt{member1("semver_"+id, t, t, result, func(a, b version) ref.Val { return f(a.compare(b)) })}
	}
	parse := func(id string, result *cel.Type, f func(version, error) ref.Val) []cel.FunctionOpt {
		return []cel.FunctionOpt{
			function(id, cel.StringType, result, func(s string) ref.Val { return f(parseVersion(s)) }),
			cel.Overload(id+"_bool", []*cel.Type{cel.StringType, cel.BoolType}, result, binary(func(s string, lenient bool) ref.Val {
				if lenient {
					return f(parseLenient(s))
				}
				return f(parseVersion(s))
			})),
		}
	}
	return functions{
		"semver":        parse("string_to_semver", t, versionOf),
		"isSemver":      parse("is_semver_string", cel.BoolType, func(_ version, err error) ref.Val { return types.Bool(err == nil) }),
		"isGreaterThan": compare("is_greater_than", cel.BoolType, func(n int) ref.Val { return types.Bool(n > 0) }),
		"isLessThan":    compare("is_less_than", cel.BoolType, func(n int) ref.Val { return types.Bool(n < 0) }),
		"compareTo":     compare("compare_to", cel.IntType, func(n int) ref.Val { return types.Int(n) }),
		"major":         part("major", 0), "minor": part("minor", 1), "patch": part("patch", 2),
	}
}

// version is a semantic version: https://semver.org.
type version struct {
	numbers    [3]uint64
	prerelease []string
	text       string
}

func versionOf(v version, err error) ref.Val {
	if err != nil {
		return failure(err)
	}
	return &extension{versionType(), v, v.text, func(other any) bool {
		o, ok := other.(version)
		return ok && v.compare(o) == 0
	}}
}

func parseVersion(text string) (version, error) {
	v := version{text: text}
	parts := strings.SplitN(text, ".", 3)
	switch {
	case text == "":
		return v, errors.New("Version string empty") //nolint:staticcheck // the message of API servers
	case len(parts) != 3:
		return v, errors.New("No Major.Minor.Patch elements found") //nolint:staticcheck // the message of API servers
	}
	rest, build, hasBuild := strings.Cut(parts[2], "+")
	patch, prerelease, hasPrerelease := strings.Cut(rest, "-")
	for i, number := range []string{parts[0], parts[1], patch} {
		n, err := parseNumber([]string{"Major", "Minor", "Patch"}[i], number)
		if err != nil {
			return v, err
		}
		v.numbers[i] = n
	}
	if hasPrerelease {
		v.prerelease = strings.Split(prerelease, ".")
	}
	for _, part := range v.prerelease {
		switch {
		case part == "":
			return v, errors.New("Prerelease is empty") //nolint:staticcheck // the message of API servers
		case isNumber(part) && len(part) > 1 && part[0] == '0':
			return v, fmt.Errorf("Numeric PreRelease version must not contain leading zeroes %q", part) //nolint:staticcheck // the message of API servers
		case !isWord(part):
			return v, fmt.Errorf("Invalid character(s) found in prerelease %q", part) //nolint:staticcheck // the message of API servers
		}
		if _, err := strconv.ParseUint(part, 10, 64); err != nil && isNumber(part) {
			return v, err
		}
	}
	if !hasBuild {
		return v, nil
	}
	for part := range strings.SplitSeq(build, ".") {
		switch {
		case part == "":
			return v, errors.New("Build meta data is empty") //nolint:staticcheck // the message of API servers
		case !isWord(part):
			return v, fmt.Errorf("Invalid character(s) found in build meta data %q", part) //nolint:staticcheck // the message of API servers
		}
	}
	return v, nil
}

func parseNumber(name, text string) (uint64, error) {
	switch {
	case strings.Trim(text, "0123456789") != "":
		return 0, fmt.Errorf("Invalid character(s) found in %s number %q", strings.ToLower(name), text) //nolint:staticcheck // the message of API servers
	case len(text) > 1 && text[0] == '0':
		return 0, fmt.Errorf("%s number must not contain leading zeroes %q", name, text)
	}
	return strconv.ParseUint(text, 10, 64)
}

func isNumber(s string) bool { return strings.Trim(s, "0123456789") == "" }

func isWord(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}

// parseLenient parses a version that may have a prefix v, leading zeros, or fewer than three numbers.
func parseLenient(text string) (version, error) {
	parts := strings.SplitN(strings.TrimPrefix(text, "v"), ".", 3)
	for i, part := range parts {
		if len(part) < 2 {
			continue
		}
		part = strings.TrimLeft(part, "0")
		if part == "" || part[0] < '0' || part[0] > '9' {
			part = "0" + part
		}
		parts[i] = part
	}
	if len(parts) < 3 && strings.ContainsAny(parts[len(parts)-1], "+-") {
		return version{}, errors.New("short version cannot contain PreRelease/Build meta data")
	}
	for len(parts) < 3 {
		parts = append(parts, "0")
	}
	return parseVersion(strings.Join(parts, "."))
}

// compare compares two versions. It ignores build metadata.
func (v version) compare(o version) int {
	if n := slices.Compare(v.numbers[:], o.numbers[:]); n != 0 {
		return n
	}
	if len(v.prerelease) == 0 || len(o.prerelease) == 0 {
		return cmp.Compare(len(o.prerelease), len(v.prerelease))
	}
	return slices.CompareFunc(v.prerelease, o.prerelease, func(a, b string) int {
		switch {
		case isNumber(a) && isNumber(b):
			return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
		case isNumber(a):
			return -1
		case isNumber(b):
			return 1
		}
		return cmp.Compare(a, b)
	})
}
