// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package plain makes text from a cluster safe to print.
package plain

import (
	"strings"
	"unicode"
)

// Text replaces control characters with spaces, so that the text cannot add lines or control the terminal.
func Text(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
}
