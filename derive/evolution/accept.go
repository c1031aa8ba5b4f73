// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package evolution

import (
	"fmt"
	"slices"
	"strings"
)

// Accept returns the changes that do not match any of the patterns. A pattern is the [Change.ID] of a change with
// wildcards: each asterisk matches any string, as in */v1alpha1* and *:column. A pattern that does not match any change
// above [Compatible] is an error: it is misspelled or obsolete.
func Accept(changes []Change, patterns ...string) ([]Change, error) {
	used := make([]bool, len(patterns))
	rest := slices.DeleteFunc(slices.Clone(changes), func(c Change) bool {
		accepted := false
		for i, p := range patterns {
			if c.Severity > Compatible && matches(p, c.ID()) {
				used[i], accepted = true, true
			}
		}
		return accepted
	})
	if i := slices.Index(used, false); i >= 0 {
		return nil, fmt.Errorf("accept %q: the pattern does not match any risky or breaking change: correct or remove it", patterns[i])
	}
	return rest, nil
}

// matches reports whether text matches pattern, in which * matches any string.
func matches(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	first, last := parts[0], parts[len(parts)-1]
	if len(parts) == 1 {
		return pattern == text
	}
	rest, ok := strings.CutPrefix(text, first)
	if !ok {
		return false
	}
	if rest, ok = strings.CutSuffix(rest, last); !ok {
		return false
	}
	for _, part := range parts[1 : len(parts)-1] {
		if _, rest, ok = strings.Cut(rest, part); !ok {
			return false
		}
	}
	return true
}
