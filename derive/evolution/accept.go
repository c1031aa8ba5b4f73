// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package evolution

import (
	"fmt"
	"slices"
	"strings"
)

// Accept returns the changes that none of the patterns matches. A pattern is the [Change.ID] of a change, in which each *
// stands for any text: documents.docs.example.com/v1.spec.title:maxLength, */v1alpha1*, *:column. It is an error when a
// pattern matches no change that is more than compatible: then it is misspelt, or has done its work.
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
		return nil, fmt.Errorf("accept %q: there is no such change; remove the pattern, or correct it", patterns[i])
	}
	return rest, nil
}

// matches reports whether a text is like a pattern, in which * stands for any text.
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
