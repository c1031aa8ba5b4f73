// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kube-go/sdk/derive/internal/suggest"
)

// textFormat is a format of +k8s:format in terms of a CRD: a pattern for most formats, since older servers and editors
// support it, and a CEL rule for the others.
type textFormat struct {
	pattern   string
	rule      string // in CEL, with %s for the string; empty if the pattern is enough
	maxLength uint64 // 0 for no limit
	message   string
}

// test returns a CEL expression that checks a string.
func (f textFormat) test(text string) string {
	var tests []string
	if f.pattern != "" {
		tests = append(tests, fmt.Sprintf("%s.matches(r'%s')", text, f.pattern))
	}
	if f.rule != "" {
		tests = append(tests, strings.ReplaceAll(f.rule, "%s", text))
	}
	return strings.Join(tests, " && ")
}

// formatOf finds a format by its name.
func formatOf(name string) (textFormat, error) {
	known := formats()
	if f, ok := known[name]; ok {
		return f, nil
	}
	names := slices.Sorted(maps.Keys(known))
	if near := suggest.Nearest(name, names); near != "" {
		return textFormat{}, fmt.Errorf("unknown format %q; did you mean %q?", name, near)
	}
	return textFormat{}, fmt.Errorf("unknown format %q: use one of %s", name, strings.Join(names, ", "))
}

// formats are those of https://kubernetes.io/docs/reference/using-api/declarative-validation/.
func formats() map[string]textFormat {
	const (
		label    = `[a-z0-9]([-a-z0-9]*[a-z0-9])?`
		caseless = `[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?`
		domain   = label + `(\.` + label + `)*`
	)
	return map[string]textFormat{
		"k8s-short-name":         {pattern: "^" + label + "$", maxLength: 63, message: "must be a lower-case label"},
		"k8s-long-name":          {pattern: "^" + domain + "$", maxLength: 253, message: "must be a lower-case domain"},
		"k8s-long-name-caseless": {pattern: "^" + caseless + `(\.` + caseless + ")*$", maxLength: 253, message: "must be a domain"},
		"k8s-uuid":               {pattern: "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$", message: "must be a UUID in lower case"},
		"k8s-label-value":        {pattern: "^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$", maxLength: 63, message: "must be a label value"},
		"k8s-label-key": {
			rule: "!format.qualifiedName().validate(%s).hasValue()", maxLength: 317, message: "must be a label key",
		},
		"k8s-prefixed-label-key": {
			rule:      "%s.contains('/') && !format.qualifiedName().validate(%s).hasValue()",
			maxLength: 317, message: "must be a label key with a prefix",
		},
		"k8s-path-segment-name": {
			pattern: `^([^./%][^/%]*|\.[^./%][^/%]*|\.\.[^/%]+|)$`, message: "must be a valid path segment",
		},
		"k8s-resource-pool-name": {
			pattern: "^" + domain + "(/" + domain + ")*$", maxLength: 253, message: "must be lower-case domains, separated by slashes",
		},
		"k8s-resource-fully-qualified-name": {
			pattern: "^" + domain + "/[A-Za-z_][A-Za-z0-9_]{0,31}$", rule: "%s.indexOf('/') <= 63",
			maxLength: 96, message: "must be a domain and an identifier, separated by a slash",
		},
		"k8s-extended-resource-name": {
			rule: "%s.contains('/') && !%s.contains('kubernetes.io/') && !%s.startsWith('requests.') && " +
				"!format.qualifiedName().validate('requests.' + %s).hasValue()",
			maxLength: 308, message: "must be the name of an extended resource",
		},
		"k8s-ip": {rule: "isIP(%s)", maxLength: 45, message: "must be an IP address"},
	}
}
