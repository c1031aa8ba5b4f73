// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package plain makes text of other programs safe to print.
package plain

import (
	"strings"
	"unicode"
)

// Line returns s as one line of valid UTF-8 without control characters, which could change a terminal. Each sequence of
// spaces is one space.
func Line(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	return strings.Join(strings.Fields(s), " ")
}
